//! A page of documentation, made from cases: what is sent, what the policy says, and what it changes.

mod case;
mod input;
mod markdown;
mod reduce;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::Policy;
use case::Shown;
use input::{CaseEntry, Page, Section};
use markdown::{Anchors, heading};

/// Renders the page that an input file describes, in Markdown. Policies are `<policy_dir>/<folder above the case>.wasm`.
///
/// # Errors
/// Names the file and key of the input, the policy or the case that cannot be read, or the case that does not hold.
pub fn render(input: &Path, policy_dir: &Path) -> Result<String> {
    let page = Page::load(input)?;
    let mut renderer = Renderer {
        folder: input.parent().unwrap_or(Path::new("")),
        policy_dir,
        policies: BTreeMap::new(),
        anchors: Anchors::default(),
        contents: String::new(),
        body: String::new(),
    };
    renderer.anchors.take(&page.title);
    renderer
        .sections(&page.sections, 0)
        .with_context(|| input.display().to_string())?;
    let source = input.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!("<!-- Generated from {source} by `make generate`. Do not edit. -->\n");
    out.push_str(&heading(1, &page.title));
    out.push_str(&markdown::paragraph(page.intro.as_deref()));
    out.push('\n');
    out.push_str(&renderer.contents);
    out.push_str(&renderer.body);
    Ok(out)
}

struct Renderer<'a> {
    folder: &'a Path,
    policy_dir: &'a Path,
    policies: BTreeMap<PathBuf, Policy>,
    anchors: Anchors,
    /// The list of all headings.
    contents: String,
    body: String,
}

impl Renderer<'_> {
    /// Sections, their cases and the sections below them; `depth` counts from 0.
    fn sections(&mut self, sections: &[Section], depth: usize) -> Result<()> {
        for section in sections {
            self.head(&section.heading, depth, "");
            self.body.push_str(&markdown::paragraph(section.text.as_deref()));
            for entry in &section.cases {
                self.case(entry, depth + 1)
                    .with_context(|| entry.path.display().to_string())?;
            }
            self.sections(&section.sections, depth + 1)?;
        }
        Ok(())
    }

    fn case(&mut self, entry: &CaseEntry, depth: usize) -> Result<()> {
        let dir = self.folder.join(&entry.path);
        let shown = Shown::evaluate(&dir, &self.policy(&dir)?)?;
        let about = shown.about();
        let title = entry.title.as_deref().unwrap_or_else(|| about.trim_end_matches('.'));
        self.head(title, depth, &format!(": {}", shown.summary()));
        if entry.title.is_some() {
            self.body.push_str(&markdown::paragraph(Some(about)));
        }
        self.body.push_str(&markdown::paragraph(entry.text.as_deref()));
        self.body.push_str(&shown.body(&entry.path, entry.cluster)?);
        Ok(())
    }

    fn head(&mut self, title: &str, depth: usize, remark: &str) {
        let anchor = self.anchors.take(title);
        let indent = "  ".repeat(depth);
        self.contents
            .push_str(&format!("{indent}- [{title}](#{anchor}){remark}\n"));
        self.body.push_str(&heading(depth + 2, title));
    }

    /// The policy of a case, compiled once.
    fn policy(&mut self, dir: &Path) -> Result<Policy> {
        let name = dir
            .parent()
            .and_then(Path::file_name)
            .ok_or_else(|| anyhow!("is not below the folder of a policy"))?;
        let mut file = name.to_owned();
        file.push(".wasm");
        let path = self.policy_dir.join(file);
        if let Some(policy) = self.policies.get(&path) {
            return Ok(policy.clone());
        }
        if !dir.join("request.json").is_file() {
            bail!("holds no request.json");
        }
        let policy = Policy::from_file(&path)?;
        self.policies.insert(path, policy.clone());
        Ok(policy)
    }
}
