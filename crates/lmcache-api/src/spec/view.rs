//! The members of an engine that [`crate::EngineView`] reads.

use super::{BlendSpec, CacheBlendInjectionSpec, ConnectionSpec, GpuVendor, ImageSpec, PdSpec, ServerSpec};

/// The members that are read. Those of `injection` are the same in both kinds but for `cudagraph`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ViewSpec {
    pub gpu_vendor: Option<GpuVendor>,
    pub image: Option<ImageSpec>,
    pub server: Option<ServerSpec>,
    pub blend: Option<BlendSpec>,
    pub injection: Option<CacheBlendInjectionSpec>,
    pub connection: Option<ConnectionSpec>,
    pub host_ipc: Option<bool>,
    pub isolated_ipc: Option<bool>,
    pub extra_args: Option<Vec<String>>,
    pub pd: Option<PdSpec>,
}
