//! A release as one number, so that the table and its comparisons are small in a policy's wasm.

use lmcache_api::Release;
use std::fmt;

/// A release that compares as [`Release`] does. A second number above 4194303 counts as that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Packed(u64);

/// Bits of the second and of the third number.
const MINOR_BITS: u32 = 22;
const PATCH_BITS: u32 = 32;
const MINOR_MASK: u64 = (1 << MINOR_BITS) - 1;

impl Packed {
    /// The first number of a [`Release`] is at most 999.
    pub const fn of(release: Release) -> Self {
        let minor = release.minor as u64;
        let minor = if minor < MINOR_MASK { minor } else { MINOR_MASK };
        Self((release.major as u64) << (MINOR_BITS + PATCH_BITS) | minor << PATCH_BITS | release.patch as u64)
    }

    /// Reads a release as [`Release::from_tag`] does.
    pub fn from_tag(tag: &str) -> Option<Self> {
        Release::from_tag(tag).map(Self::of)
    }
}

impl fmt::Display for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |shift: u32| (self.0 >> shift) as u32;
        let release = Release {
            major: number(MINOR_BITS + PATCH_BITS),
            minor: number(PATCH_BITS) & MINOR_MASK as u32,
            patch: number(0),
        };
        release.fmt(f)
    }
}
