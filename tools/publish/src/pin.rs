//! Manifests with digests in the place of tags: only the value of `module` changes, and comments stay.

use anyhow::{Context, Result, bail};

use crate::digests::Digests;
use crate::target::Target;

/// Puts the policies' digests into the text of manifests. A `module` of a policy becomes
/// `registry://<repository>@sha256:...`, with the tag that it had as a comment; `target` replaces its registry and path.
/// Returns the text and how many modules it names.
///
/// # Errors
/// A module is named in a way that cannot be pinned, or it has no digest.
pub fn pin(text: &str, digests: &Digests, target: Option<&Target>) -> Result<(String, usize)> {
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match module(line) {
            None => out.push_str(line),
            Some((before, module, after)) => {
                let pinned = pin_module(module, digests, target).with_context(|| format!("line {}", index + 1))?;
                out.push_str(before);
                out.push_str(&pinned);
                out.push_str(after);
                count += 1;
            }
        }
    }
    Ok((out, count))
}

/// A line `module: <value>`, as text before the value, the value, and what follows.
fn module(line: &str) -> Option<(&str, &str, &str)> {
    let body = line.trim_start().strip_prefix("- ").unwrap_or(line).trim_start();
    let value = body.strip_prefix("module:")?.trim_start();
    let start = line.len() - value.len();
    let end = value.find(|c: char| c.is_whitespace()).unwrap_or(value.len());
    let (before, rest) = line.split_at_checked(start)?;
    let (module, after) = rest.split_at_checked(end)?;
    (!module.is_empty()).then_some((before, module, after))
}

fn pin_module(module: &str, digests: &Digests, target: Option<&Target>) -> Result<String> {
    let bare = module.trim_matches(['"', '\'']);
    let Some(place) = bare.strip_prefix("registry://") else {
        bail!("module '{bare}' is in no registry: expected registry://host/path/policy:tag");
    };
    // A port has a colon, too, but a slash behind it.
    let (repository, tag) = match place.split_once('@') {
        Some((repository, _)) => (repository, None),
        None => match place.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
            _ => (place, None),
        },
    };
    let Some((_, policy)) = repository.rsplit_once('/') else {
        bail!("module '{bare}' has no path: expected registry://host/path/policy:tag");
    };
    if let Some((tag, version)) = tag.and_then(|tag| Some((tag, digests.contradict(tag)?))) {
        bail!("the manifest is of {tag} and the digests are those of {version}: give the digests of {tag}");
    }
    let digest = digests
        .get(policy)
        .with_context(|| format!("there is no digest of '{policy}': package it first, with `make package`"))?;
    let pinned = match target {
        Some(target) => target.pinned(policy, digest),
        None => format!("{repository}@{digest}"),
    };
    Ok(match tag {
        Some(tag) => format!("registry://{pinned} # {tag}"),
        None => format!("registry://{pinned}"),
    })
}

#[cfg(test)]
mod tests;
