//! Which release runs.

use lmcache_api::{AnyObject, EngineSpec, ImageSpec, LMCacheCoordinatorSpec, Release, image_release, server_release};

use crate::table::{RELEASES, newest};

/// The release that an object's processes run, and where the object says so.
///
/// A field `release` decides, else the image tag where it is a version. Where neither names one, or one newer than the
/// table, the newest known release is assumed. Of two known releases around a stated one, the older one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// What the object names; `None` for `latest`, digests and the like.
    pub stated: Option<Release>,
    /// The field that names it: `spec.server.release` (of a coordinator `spec.release`) or `spec.image.tag`.
    pub path: &'static str,
    /// The field that would name it, whatever the tag is.
    pub field: &'static str,
    /// Position in [`RELEASES`] of the release that is assumed.
    pub position: usize,
    /// Whether the image is LMCache's own; others may hold more than LMCache.
    pub is_lmcache: bool,
    /// What the image tag says, where `field` says otherwise.
    pub contradicted: Option<Release>,
    /// A version in the tag that is none of LMCache's.
    pub own_version: Option<Release>,
}

/// Path of the field that tells an engine's release.
const ENGINE_FIELD: &str = "spec.server.release";
/// Path of the field that tells a coordinator's release.
const COORDINATOR_FIELD: &str = "spec.release";

impl Running {
    /// The release of an object of any kind.
    pub fn of(object: &AnyObject) -> Self {
        match object {
            AnyObject::LMCacheEngine(engine) => Self::of_engine(&engine.spec),
            AnyObject::CacheBlendEngine(engine) => Self::of_engine(&engine.spec),
            AnyObject::LMCacheCoordinator(coordinator) => Self::of_coordinator(&coordinator.spec),
        }
    }

    /// The release of an engine's servers.
    pub fn of_engine(spec: &dyn EngineSpec) -> Self {
        let field = spec.server().and_then(|server| server.release.as_deref());
        Self::new(server_release(spec), field.is_some(), spec.image(), ENGINE_FIELD)
    }

    /// The release of a coordinator.
    pub fn of_coordinator(spec: &LMCacheCoordinatorSpec) -> Self {
        let image = spec.image.as_ref();
        let stated = match spec.release.as_deref() {
            Some(release) => Release::from_tag(release),
            None => image.and_then(image_release),
        };
        Self::new(stated, spec.release.is_some(), image, COORDINATOR_FIELD)
    }

    fn new(stated: Option<Release>, by_field: bool, image: Option<&ImageSpec>, field: &'static str) -> Self {
        let repository = image.and_then(|image| image.repository.as_deref());
        let path = match repository {
            _ if by_field => field,
            Some(repository) if repository.contains('@') => "spec.image.repository",
            _ => "spec.image.tag",
        };
        let is_lmcache = image.is_none_or(ImageSpec::is_lmcache);
        let tag = image.and_then(ImageSpec::effective_tag).and_then(Release::from_tag);
        // In the tag of somebody's own image, a version that LMCache never had counts that image's builds.
        let stated = stated.filter(|stated| by_field || is_lmcache || *stated <= newest());
        let assumed = stated.unwrap_or(newest());
        let position = RELEASES.iter().rposition(|known| *known <= assumed);
        Self {
            stated,
            path,
            field,
            position: position.unwrap_or_default(),
            is_lmcache,
            contradicted: tag.filter(|tag| by_field && is_lmcache && stated.is_some_and(|stated| stated != *tag)),
            own_version: tag.filter(|_| !by_field && stated.is_none()),
        }
    }

    /// Whether the object names a release that the table covers (or that is older): only then is it certain what it
    /// cannot do.
    pub fn is_known(&self) -> bool {
        self.stated.is_some_and(|stated| stated <= newest())
    }

    /// Whether the object names a release newer than the table.
    pub fn is_newer(&self) -> bool {
        self.stated.is_some_and(|stated| stated > newest())
    }

    /// Whether it is certain that the release is older than `first`.
    pub fn is_before(&self, first: Release) -> bool {
        self.stated.is_some_and(|stated| stated < first)
    }

    /// The release that is assumed: the stated one where it is known, else the newest one.
    pub fn assumed(&self) -> Release {
        self.stated.filter(|_| self.is_known()).unwrap_or(newest())
    }
}
