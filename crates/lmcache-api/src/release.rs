//! Releases of LMCache.

use std::fmt;

use crate::EngineSpec;

/// A release: `0.5.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

/// Above this a first number is a year, not a release.
const MAX_MAJOR: u32 = 999;

impl Release {
    /// Reads `0.5.3`, `v0.5.3`, `v0.5.3-cu129`, `0.5.3.post1`, `v0.5.3@sha256:...`. `None` for what does not name three
    /// numbers: `latest`, `nightly`, `v0.5`, commit hashes, digests, dates. A pre-release counts as its release.
    pub fn from_tag(tag: &str) -> Option<Release> {
        let tag = tag.split_once('@').map_or(tag, |(tag, _)| tag);
        let (major, rest) = number(tag.strip_prefix('v').unwrap_or(tag))?;
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        let (patch, rest) = number(rest.strip_prefix('.')?)?;
        let suffix = rest
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte));
        (suffix && major <= MAX_MAJOR).then_some(Release { major, minor, patch })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// The release that an engine's servers run: `spec.server.release`, else the tag of its image if that is a version.
/// `None` when unknown, also when `spec.server.release` is unreadable.
pub fn server_release(spec: &dyn EngineSpec) -> Option<Release> {
    match spec.server().and_then(|server| server.release.as_deref()) {
        Some(release) => Release::from_tag(release),
        None => Release::from_tag(spec.image()?.effective_tag()?),
    }
}
