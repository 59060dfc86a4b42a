//! Rules of both kinds of engine.

use super::{Faults, backend, images, pods, resources};
use crate::connection::OWN_KEYS;
use crate::fault::{echo, push_key};
use crate::{
    CacheBlendEngineSpec, ConnectionSpec, EngineSpec, EvictionPolicy, EvictionSpec, FaultKind, FieldError, ImageSpec,
    L2BackendSpec, LMCacheEngineSpec, StorePolicy,
};

/// The only chunk size that the CacheBlend plugin works with: four blocks of 64 tokens.
const CACHEBLEND_CHUNK_SIZE: i32 = 256;

/// The Go operator's rules for an LMCacheEngine, in its order.
pub(super) fn check(spec: &LMCacheEngineSpec, faults: &mut Faults) {
    faults.take("spec.l1");
    check_eviction(spec.eviction.as_ref(), spec.l2_backend.as_ref(), faults);
    faults.take("spec.server");
    backend::check_l2(spec.l2_backend.as_ref(), faults);
    backend::check_coordinator(spec.coordinator.as_ref(), faults);
}

/// The Go operator's rules for a CacheBlendEngine, in its order.
pub(super) fn check_cacheblend(spec: &CacheBlendEngineSpec, faults: &mut Faults) {
    faults.take("spec.l1");
    check_eviction(spec.eviction.as_ref(), spec.l2_backend.as_ref(), faults);
    faults.take("spec.server.port");
    if let Some(chunk) = spec.server.as_ref().and_then(|server| server.chunk_size)
        && chunk != CACHEBLEND_CHUNK_SIZE
    {
        let expected = "must be 256 for CacheBlend (4 blocks of 64 tokens)";
        faults.push(FieldError::invalid("spec.server.chunkSize", chunk, expected));
    }
    faults.take("spec.server");
    faults.take("spec.blend");
    faults.take("spec.injection");
    // Decoders of a disaggregated deployment need no plugin, and the engine cannot know which Pods will come.
    if spec.pd.is_none() && spec.payload_image().is_none() {
        let expected = "must be set: Pods need the CacheBlend plugin (only an engine with spec.pd may do without)";
        faults.push(FieldError::required("spec.injection.payloadImage", expected));
    }
    check_payload_repository(spec.payload_image(), faults);
    backend::check_l2(spec.l2_backend.as_ref(), faults);
    backend::check_coordinator(spec.coordinator.as_ref(), faults);
}

/// What the Go operator does not check, for an LMCacheEngine.
pub(super) fn check_more(spec: &LMCacheEngineSpec, faults: &mut Faults) {
    check_payload_repository(spec.payload_image(), faults);
    check_engine(spec, spec.l2_backend.as_ref(), faults);
    resources::check(spec.resource_overrides.as_ref(), faults);
    pods::check_init_containers(spec.init_containers.as_deref(), faults);
    pods::check_volumes(spec.volumes.as_deref(), spec.l2_backend.as_ref(), faults);
}

/// What the Go operator does not check, for a CacheBlendEngine.
pub(super) fn check_cacheblend_more(spec: &CacheBlendEngineSpec, faults: &mut Faults) {
    check_engine(spec, spec.l2_backend.as_ref(), faults);
    resources::check(spec.resource_overrides.as_ref(), faults);
    pods::check_volumes(spec.volumes.as_deref(), spec.l2_backend.as_ref(), faults);
}

/// What the Go operator does not check, for both kinds.
fn check_engine(spec: &dyn EngineSpec, l2: Option<&L2BackendSpec>, faults: &mut Faults) {
    images::check("spec.image", spec.image(), faults);
    images::check("spec.injection.payloadImage", spec.payload_image(), faults);
    let release = spec.server().and_then(|server| server.release.as_deref());
    images::check_release("spec.server.release", release, faults);
    pods::check_interval(spec.prometheus(), faults);
    backend::check_more(l2, faults);
    check_extra_config(spec.connection(), faults);
}

/// Without eviction the first tier fills up and stays full, unless it is only the buffer in front of a second one.
fn check_eviction(eviction: Option<&EvictionSpec>, l2: Option<&L2BackendSpec>, faults: &mut Faults) {
    let noop = eviction.and_then(|eviction| eviction.policy) == Some(EvictionPolicy::Noop);
    let buffer_only = l2.and_then(|l2| l2.store_policy) == Some(StorePolicy::SkipL1);
    if noop && !buffer_only {
        let detail = "\"noop\": supported values: \"LRU\" (\"noop\" only with spec.l2Backend.storePolicy: skip_l1, else \
                      a full cache stores nothing any more)";
        faults.push(FieldError::new(
            "spec.eviction.policy",
            FaultKind::NotSupported,
            detail.to_owned(),
        ));
    }
    faults.take("spec.eviction");
}

/// The CRD fills the engine's own image into a payload image without repository, so that one cannot be told from none.
fn check_payload_repository(image: Option<&ImageSpec>, faults: &mut Faults) {
    let path = "spec.injection.payloadImage.repository";
    match image.map(|image| image.repository.as_deref().unwrap_or_default()) {
        Some("") => faults.push(FieldError::required(
            path,
            "must name the image that carries the client code",
        )),
        Some(repository) if crate::is_default_repository(repository) => {
            let expected = "must be an image that carries the client code; this is the engine's default image, which \
                            the CRD fills in where nobody names one";
            faults.push(FieldError::invalid(path, crate::fault::quote(repository), expected));
        }
        _ => {}
    }
}

/// Our own keys say where the server is; a user's value there would cut the connection.
fn check_extra_config(connection: Option<&ConnectionSpec>, faults: &mut Faults) {
    let entries = connection.and_then(|connection| connection.extra_config.as_ref());
    for (key, value) in entries
        .into_iter()
        .flatten()
        .filter(|(key, _)| OWN_KEYS.contains(&key.as_str()))
    {
        let mut path = "spec.connection.extraConfig".to_owned();
        push_key(&mut path, key);
        let detail = format!(
            "{} may not be set here: the key is made from the other fields of the engine",
            echo(value)
        );
        faults.push(FieldError::new(path, FaultKind::Forbidden, detail));
    }
}
