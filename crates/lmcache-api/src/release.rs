//! Releases of LMCache.

use std::fmt;

use crate::{EngineSpec, ImageSpec};

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

/// The release that an engine's servers run: `spec.server.release`, else the tag of its image ([`image_release`]). `None`
/// when unknown, also when `spec.server.release` is unreadable.
pub fn server_release(spec: &dyn EngineSpec) -> Option<Release> {
    match spec.server().and_then(|server| server.release.as_deref()) {
        Some(release) => Release::from_tag(release),
        None => image_release(spec.image()?),
    }
}

/// The first release with servers of their own process. Lower versions in the tag of somebody's own image count its builds.
const FIRST_MULTIPROCESS: Release = Release {
    major: 0,
    minor: 4,
    patch: 1,
};

/// The release in the tag of an image, if that is a version. In a repository that is not LMCache's image, a version below
/// 0.4.1 is no release but somebody's own count.
pub fn image_release(image: &ImageSpec) -> Option<Release> {
    let release = Release::from_tag(image.effective_tag()?)?;
    (release >= FIRST_MULTIPROCESS || image.is_lmcache()).then_some(release)
}
