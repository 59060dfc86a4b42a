//! A module's metadata as text for people.

use std::fmt::Write as _;

use anyhow::Result;

use super::{Metadata, SECTION, custom_section, section};

/// Sizes of a module in bytes: whole, code, data, metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The whole file.
    pub module: usize,
    /// The code section.
    pub code: usize,
    /// The data section.
    pub data: usize,
    /// The metadata section.
    pub metadata: usize,
}

/// Measures a module.
///
/// # Errors
/// When the bytes are no wasm module.
pub fn sizes(wasm: &[u8]) -> Result<Sizes> {
    Ok(Sizes {
        module: wasm.len(),
        code: section::section_size(wasm, 10)?,
        data: section::section_size(wasm, 11)?,
        metadata: custom_section(wasm, SECTION)?.map_or(0, <[u8]>::len),
    })
}

/// The metadata as aligned lines, then the sizes.
pub fn describe(metadata: Option<&Metadata>, sizes: &Sizes) -> String {
    let mut out = String::new();
    match metadata {
        Some(metadata) => describe_metadata(metadata, &mut out),
        None => out.push_str("No Kubewarden metadata: annotate the module first.\n"),
    }
    heading("Size", &mut out);
    for (name, bytes) in [
        ("module", sizes.module),
        ("code", sizes.code),
        ("data", sizes.data),
        ("metadata", sizes.metadata),
    ] {
        line(name, &format!("{bytes} bytes"), &mut out);
    }
    out
}

fn describe_metadata(metadata: &Metadata, out: &mut String) {
    heading("Policy", out);
    for key in [
        "title",
        "version",
        "description",
        "author",
        "license",
        "ociUrl",
        "source",
        "url",
        "severity",
        "category",
    ] {
        if let Some(value) = metadata.annotation(&format!("io.kubewarden.policy.{key}")) {
            line(key, value, out);
        }
    }
    line("mutating", &metadata.mutating.to_string(), out);
    line("background audit", &metadata.background_audit.to_string(), out);
    line("execution mode", &metadata.execution_mode, out);
    line("policy type", &metadata.policy_type, out);
    line(
        "protocol",
        metadata.protocol_version.as_deref().unwrap_or("unknown"),
        out,
    );
    if let Some(version) = &metadata.minimum_kubewarden_version {
        line("needs Kubewarden", version, out);
    }
    heading("Rules", out);
    for rule in &metadata.rules {
        let groups: Vec<&str> = rule
            .api_groups
            .iter()
            .map(|group| if group.is_empty() { "core" } else { group.as_str() })
            .collect();
        let _ = writeln!(
            out,
            "  {} of {} in {}/{}",
            rule.operations.join(", "),
            rule.resources.join(", "),
            groups.join(", "),
            rule.api_versions.join(", ")
        );
    }
    if !metadata.context_aware_resources.is_empty() {
        heading("Reads from the cluster", out);
        for resource in &metadata.context_aware_resources {
            let _ = writeln!(out, "  {}/{}", resource.api_version, resource.kind);
        }
    }
    if let Some(capabilities) = &metadata.host_capabilities {
        heading("Host capabilities", out);
        for capability in capabilities {
            let _ = writeln!(out, "  {capability}");
        }
    }
    let others: Vec<_> = metadata
        .annotations
        .iter()
        .filter(|(key, _)| !key.starts_with("io.kubewarden.policy."))
        .collect();
    if !others.is_empty() {
        heading("Annotations", out);
        for (key, value) in others {
            let _ = writeln!(out, "  {key}: {}", value.trim());
        }
    }
    if let Some(usage) = metadata.annotation("io.kubewarden.policy.usage") {
        line("usage", &format!("{} lines of Markdown", usage.lines().count()), out);
    }
}

fn heading(text: &str, out: &mut String) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(text);
    out.push('\n');
}

fn line(name: &str, value: &str, out: &mut String) {
    let indented = value.trim().replace('\n', "\n                    ");
    let _ = writeln!(out, "  {name:<18}{indented}");
}
