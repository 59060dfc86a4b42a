//! An engine as its children see it.

use lmcache_api::{AnyObject, EngineSpec, IpcMode, LMCacheEngineSpec, ipc_mode};
use lmcache_server::{Offers, Place, Process, process};
use std::borrow::Cow;

use super::Site;
use super::labels::Owner;

/// An engine of either kind with what follows from it.
pub(super) struct Engine<'a> {
    /// Its place and labels.
    pub owner: Owner<'a>,
    /// What it asks for, by its own kind.
    pub spec: &'a dyn EngineSpec,
    /// Its server side: both kinds run the same workload apart from a few arguments. IPC is not read from here, since a
    /// CacheBlendEngine without a word about it follows the installation.
    pub server: Cow<'a, LMCacheEngineSpec>,
    /// How its clients reach its memory.
    pub ipc_mode: IpcMode,
    /// What its servers offer.
    pub offers: Offers,
    /// Command, arguments and environment of the server.
    pub process: Process,
}

impl<'a> Engine<'a> {
    /// `None` if `object` is no engine.
    pub fn of(object: &'a AnyObject, site: &Site<'_>) -> Option<Self> {
        let (spec, server): (&dyn EngineSpec, _) = match object {
            AnyObject::LMCacheEngine(engine) => (&engine.spec, Cow::Borrowed(&engine.spec)),
            AnyObject::CacheBlendEngine(engine) => (&engine.spec, Cow::Owned(engine.spec.server_side())),
            AnyObject::LMCacheCoordinator(_) => return None,
        };
        let place = Place {
            ipc_default: site.ipc_default,
            coordinator_url: spec
                .coordinator()
                .and_then(|coordinator| coordinator.url().or(coordinator.ref_name().and(site.coordinator_url))),
        };
        Some(Engine {
            owner: Owner::engine(object.metadata()),
            spec,
            server,
            ipc_mode: site.kept_ipc.unwrap_or_else(|| ipc_mode(spec, site.ipc_default)),
            offers: Offers::of_engine(spec),
            process: process(object, &place),
        })
    }
}
