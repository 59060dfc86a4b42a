//! Which releases work together.
//!
//! What is known stands in a [`table`] that is made from the packages on PyPI (`tools/releases`), and is asked through
//! [`rules`]. What is not known is not guessed: without two known releases there is no verdict, and one newer than the table
//! is let through with a warning.

mod packed;
mod rules;
mod table;

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::settings::{CacheblendArguments, Settings, Strictness};
use super::system::System;
use crate::keys::{CLIENT_RELEASE, VLLM_RELEASE};
use crate::text::quoted;
use lmcache_api::chunk_size;
use lmcache_api::{EngineSpec, IpcMode, image_parts, server_release};
pub(super) use packed::Packed;
use pod_edit::args::CommandLine;
use pod_edit::metadata;
use rules::{Fit, Row};
use serde_json::Value;
use table::{FIRST_ISOLATED, ISOLATED_CLIENT, ISOLATED_VLLM, NEWEST_LMCACHE, NEWEST_VLLM, WIRE_GROUPS};

/// The releases at work in one Pod, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Releases {
    pub vllm: Option<Packed>,
    pub client: Option<Packed>,
    pub server: Option<Packed>,
}

impl Releases {
    /// For a flag, as it is written, that the Pod's vLLM does not know: that vLLM, and what to do.
    pub fn without_flag(&self, name: &str) -> Option<(Packed, &'static str)> {
        let vllm = self.vllm?;
        rules::without_flag(vllm, name).map(|advice| (vllm, advice))
    }

    /// Reads releases from annotations of the Pod, which win, and from image tags.
    pub fn read(
        pod: &Value,
        target: &Value,
        engine: Option<&dyn EngineSpec>,
        system: &System,
        warnings: &mut Vec<String>,
    ) -> Self {
        let image = target.get("image").and_then(Value::as_str).unwrap_or_default();
        // An annotation that cannot be read means that nobody knows: it was put there because the tag does not say.
        let mut annotated = |key: &str| {
            let text = metadata::annotation(pod, key)?.trim();
            let found = Packed::from_tag(text);
            if found.is_none() {
                warnings.push(format!(
                    "{key} is {}, which is no release: taken for unknown; write it like 0.5.6",
                    quoted(text)
                ));
            }
            Some(found)
        };
        // A staged payload comes before what is in the image, whatever that is.
        let payload = engine.and_then(EngineSpec::payload_image);
        let client = if system.blends() {
            // CacheBlend's payload is counted by itself.
            None
        } else {
            annotated(CLIENT_RELEASE).unwrap_or_else(|| match payload {
                Some(payload) => payload.effective_tag().and_then(Packed::from_tag),
                None => tag_release(image, "lmcache/vllm-openai"),
            })
        };
        let vllm = annotated(VLLM_RELEASE).unwrap_or_else(|| tag_release(image, "vllm/vllm-openai"));
        Self {
            vllm,
            client,
            server: engine.and_then(server_release).map(Packed::of),
        }
    }
}

/// A verdict of harm, or only a doubt.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    Doubt(String),
    /// The reason, what was found and what to change.
    Bad(SkipReason, String, String),
}

/// A client that cannot work where it is.
fn incompatible(problem: String, remedy: &str) -> Verdict {
    Verdict::Bad(SkipReason::EngineImageIncompatible, problem, remedy.to_owned())
}

/// A client and a server that are to work together.
pub(super) struct Pair<'a> {
    pub releases: Releases,
    pub ipc_mode: IpcMode,
    /// Command line of the client's container.
    pub line: &'a CommandLine<'a>,
    pub engine: Option<&'a dyn EngineSpec>,
}

impl Pair<'_> {
    /// Judges the pair. Harm is a reason to skip, unless the setting says to warn or not to look.
    pub fn check(&self, setting: Strictness, warnings: &mut Vec<String>) -> Result<(), Skip> {
        if setting == Strictness::Off {
            return Ok(());
        }
        for verdict in [
            newer(&self.releases),
            connector(&self.releases),
            isolation(&self.releases, self.ipc_mode),
            skew(
                &self.releases,
                self.engine.and_then(EngineSpec::payload_image).is_some(),
            ),
            blocks(super::arguments::block_size(self.line, None), self.engine),
        ] {
            verdict.settle(setting, warnings)?;
        }
        Ok(())
    }
}

impl Verdict {
    fn settle(self, setting: Strictness, warnings: &mut Vec<String>) -> Result<(), Skip> {
        match self {
            Self::Fine => {}
            Self::Doubt(text) => warnings.push(text),
            Self::Bad(reason, problem, remedy) if setting == Strictness::Skip => {
                return Err(Skip::new(reason, problem, remedy));
            }
            Self::Bad(_, problem, remedy) => warnings.push(format!("{problem}; {remedy}")),
        }
        Ok(())
    }
}

/// Judges the block size alone: CacheBlend brings its own connector, whatever the releases are.
pub(super) fn check_blocks(
    line: &CommandLine<'_>,
    settings: &Settings,
    engine: Option<&dyn EngineSpec>,
    warnings: &mut Vec<String>,
) -> Result<(), Skip> {
    if settings.compatibility == Strictness::Off {
        return Ok(());
    }
    let list = settings.cacheblend_arguments;
    let mut verdict = blocks(super::arguments::block_size(line, Some(list)), engine);
    if let (Verdict::Bad(_, _, remedy), CacheblendArguments::Full) = (&mut verdict, list) {
        *remedy = format!(
            "CacheBlend runs with blocks of {}: set server.chunkSize: 256 on the engine",
            super::arguments::BLOCK
        );
    }
    verdict.settle(settings.compatibility, warnings)
}

/// Is one of the releases newer than what was compared? Then nobody knows.
fn newer(releases: &Releases) -> Verdict {
    let newer = |release: Option<Packed>, newest| release.filter(|release| *release > newest);
    let (name, release, newest) = match (
        newer(releases.vllm, NEWEST_VLLM),
        newer(releases.client, NEWEST_LMCACHE),
    ) {
        (Some(vllm), _) => ("vLLM", vllm, NEWEST_VLLM),
        (_, Some(client)) => ("LMCache", client, NEWEST_LMCACHE),
        _ => return Verdict::Fine,
    };
    Verdict::Doubt(format!(
        "{name} {release} is newer than {newest}, the newest that is compared: whether they work together is not known"
    ))
}

/// Does the connector load in this vLLM, and is it LMCache's own?
fn connector(releases: &Releases) -> Verdict {
    let Some(vllm) = releases.vllm else {
        return Verdict::Fine;
    };
    let client = releases.client.filter(|client| *client <= NEWEST_LMCACHE);
    let Some(Row { fit, advice, .. }) = rules::row(vllm, client) else {
        return Verdict::Fine;
    };
    let problem = match (fit, client) {
        (Fit::NoClient, _) => format!("no LMCache release works with vLLM {vllm}"),
        (Fit::OwnConnector, _) => {
            return Verdict::Doubt(format!(
                "vLLM {vllm} runs its own LMCacheMPConnector whatever is injected: {advice}"
            ));
        }
        (Fit::NoLayoutHint, Some(client)) => {
            return Verdict::Doubt(format!(
                "LMCache {client} cannot read the KV layout of vLLM {vllm}; {advice}"
            ));
        }
        (Fit::OwnConnectorFails, Some(client)) => {
            format!("vLLM {vllm} runs its own connector, which cannot use LMCache {client}")
        }
        (Fit::NoModule, Some(client)) => format!("LMCache {client} has no connector for vLLM {vllm}"),
        (Fit::DoesNotLoad, Some(client)) => format!("LMCache {client} does not load in vLLM {vllm}"),
        (Fit::Loads, _) | (_, None) => return Verdict::Fine,
    };
    incompatible(problem, advice)
}

/// Can the client do without shared host memory?
fn isolation(releases: &Releases, ipc_mode: IpcMode) -> Verdict {
    if ipc_mode != IpcMode::Isolated {
        return Verdict::Fine;
    }
    let own_connector = |vllm: &Packed| rules::row(*vllm, None).is_some_and(|row| row.fit == Fit::OwnConnector);
    match (releases.vllm.filter(own_connector), releases.client) {
        (Some(vllm), _) => incompatible(
            format!("the engine runs with isolated IPC, which the connector of vLLM {vllm} cannot"),
            ISOLATED_VLLM,
        ),
        (None, Some(client)) if client < FIRST_ISOLATED => incompatible(
            format!("the engine runs with isolated IPC, which LMCache {client} cannot"),
            ISOLATED_CLIENT,
        ),
        _ => Verdict::Fine,
    }
}

/// Do client and server speak the same protocol?
fn skew(releases: &Releases, staged: bool) -> Verdict {
    let group = |release: Packed| WIRE_GROUPS.iter().rposition(|first| release >= *first);
    match (releases.client, releases.server) {
        (Some(client), Some(server))
            if client <= NEWEST_LMCACHE && server <= NEWEST_LMCACHE && group(client) != group(server) =>
        {
            Verdict::Bad(
                SkipReason::ClientServerSkew,
                format!(
                    "LMCache client {client} does not understand server {server} (the engine would hang or the server lose its cache)"
                ),
                "use one release for both".to_owned(),
            )
        }
        (Some(client), Some(server)) if staged && client != server && client.max(server) <= NEWEST_LMCACHE => {
            Verdict::Doubt(format!(
                "the payload is LMCache {client}, the engine {server}: they understand each other, but one release for both is safer"
            ))
        }
        _ => Verdict::Fine,
    }
}

/// Does vLLM's block size, where it is known, divide the server's chunk size?
fn blocks(block: Option<i64>, engine: Option<&dyn EngineSpec>) -> Verdict {
    let Some(engine) = engine else { return Verdict::Fine };
    let chunk = i64::from(chunk_size(engine));
    match block {
        Some(block) if block > 0 && chunk > 0 && chunk % block != 0 => Verdict::Bad(
            SkipReason::BlockSizeMismatch,
            format!("--block-size {block} does not divide the engine's chunk size {chunk}"),
            format!("use a divisor of {chunk}"),
        ),
        _ => Verdict::Fine,
    }
}

/// The release in the tag of an image, if the image is `repository` (in whatever registry).
fn tag_release(image: &str, repository: &str) -> Option<Packed> {
    let (found, tag) = image_parts(image);
    let ours = found
        .strip_suffix(repository)
        .is_some_and(|registry| registry.is_empty() || registry.ends_with('/'));
    if ours { tag.and_then(Packed::from_tag) } else { None }
}

#[cfg(test)]
mod tests;
