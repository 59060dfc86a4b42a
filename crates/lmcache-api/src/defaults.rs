//! Defaults that the Go operator applies in memory, after those of the CRD's schema. Idempotent.

use std::collections::BTreeMap;

use crate::{
    BlendSpec, CacheBlendEngineSpec, CacheBlendInjectionSpec, Cudagraph, GpuVendor, LMCacheCoordinatorSpec,
    LMCacheEngineSpec, LogLevel, PullPolicy,
};

/// Label that NVIDIA's GPU feature discovery puts on nodes; the default node selector of nvidia engines.
const GPU_PRESENT_LABEL: &str = "nvidia.com/gpu.present";

/// An explicitly empty selector is a choice (every node) and stays; only an absent one gets the default.
fn default_node_selector(selector: &mut Option<BTreeMap<String, String>>, vendor: GpuVendor) {
    if selector.is_none() && vendor == GpuVendor::Nvidia {
        *selector = Some(BTreeMap::from([(GPU_PRESENT_LABEL.to_owned(), "true".to_owned())]));
    }
}

impl LMCacheEngineSpec {
    /// `logLevel`, `gpuVendor` and the node selector of nvidia engines. No absent block is created.
    pub fn set_defaults(&mut self) {
        self.log_level.get_or_insert(LogLevel::Info);
        let vendor = *self.gpu_vendor.get_or_insert(GpuVendor::Nvidia);
        default_node_selector(&mut self.node_selector, vendor);
    }
}

impl CacheBlendEngineSpec {
    /// As for an LMCacheEngine; in addition the blocks `server`, `blend` and `injection` come into being, with the
    /// chunk size, the blend parameters and the CUDA graph mode. The payload repository is never defaulted here.
    pub fn set_defaults(&mut self) {
        self.log_level.get_or_insert(LogLevel::Info);
        let vendor = *self.gpu_vendor.get_or_insert(GpuVendor::Nvidia);
        default_node_selector(&mut self.node_selector, vendor);
        self.server.get_or_insert_default().chunk_size.get_or_insert(256);
        default_client_side(&mut self.blend, &mut self.injection);
    }
}

/// The defaults of a CacheBlendEngine that its Pods see.
pub(crate) fn default_client_side(blend: &mut Option<BlendSpec>, injection: &mut Option<CacheBlendInjectionSpec>) {
    let blend = blend.get_or_insert_default();
    blend.check_layer.get_or_insert(1);
    blend.recomp_ratio.get_or_insert(0.15);
    let injection = injection.get_or_insert_default();
    if let Some(image) = &mut injection.payload_image {
        image.tag.get_or_insert_with(|| crate::DEFAULT_TAG.to_owned());
        image.pull_policy.get_or_insert(PullPolicy::IfNotPresent);
    }
    injection.cudagraph.get_or_insert(Cudagraph::Eager);
}

impl LMCacheCoordinatorSpec {
    /// `logLevel` and `replicas`; the other numbers are defaulted by the CRD and where they are used.
    pub fn set_defaults(&mut self) {
        self.log_level.get_or_insert(LogLevel::Info);
        self.replicas.get_or_insert(1);
    }
}
