//! The part of an engine that concerns the Pods which use it.

use serde_json::Value;

use crate::decode::typed::Typed;
use crate::defaults::default_client_side;
use crate::spec::ViewSpec;
use crate::{
    BlendSpec, ConnectionSpec, CoordinatorConnectionSpec, Cudagraph, EngineSpec, EvictionSpec, GpuVendor, ImageSpec,
    Kind, L1BackendSpec, L2BackendSpec, LocalObjectReference, LogLevel, PdSpec, PrometheusSpec, ServerSpec,
};

/// An engine of either kind as Pods see it. A policy that wires Pods reads nothing else of an engine: not its tiers, not
/// its Pod settings, and least of all its status.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineView {
    kind: Kind,
    uid: Option<String>,
    spec: ViewSpec,
}

impl EngineView {
    /// Reads any JSON as an engine of `kind`, without judging it: a member of the wrong type is absent. (A stored engine
    /// with a broken member elsewhere must not keep Pods from it; [`crate::decode`] has a verdict.)
    pub fn read(kind: Kind, object: &Value) -> Self {
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
        let mut spec = object.get("spec").and_then(ViewSpec::typed).unwrap_or_default();
        match kind {
            Kind::CacheBlendEngine => default_client_side(&mut spec.blend, &mut spec.injection),
            Kind::LMCacheEngine | Kind::LMCacheCoordinator => spec.blend = None,
        }
        Self {
            kind,
            uid: uid.filter(|uid| !uid.is_empty()).map(str::to_owned),
            spec,
        }
    }

    /// `metadata.uid`, by which owner references name the engine.
    pub fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }
}

impl EngineSpec for EngineView {
    fn kind(&self) -> Kind {
        self.kind
    }
    fn server(&self) -> Option<&ServerSpec> {
        self.spec.server.as_ref()
    }
    fn image(&self) -> Option<&ImageSpec> {
        self.spec.image.as_ref()
    }
    fn gpu_vendor(&self) -> GpuVendor {
        self.spec.gpu_vendor.unwrap_or(GpuVendor::Nvidia)
    }
    fn pd(&self) -> Option<&PdSpec> {
        self.spec.pd.as_ref()
    }
    fn connection(&self) -> Option<&ConnectionSpec> {
        self.spec.connection.as_ref()
    }
    fn blend(&self) -> Option<&BlendSpec> {
        self.spec.blend.as_ref()
    }
    fn payload_image(&self) -> Option<&ImageSpec> {
        self.spec.injection.as_ref()?.payload_image.as_ref()
    }
    fn payload_pull_secrets(&self) -> &[LocalObjectReference] {
        let injection = self.spec.injection.as_ref();
        injection
            .and_then(|injection| injection.image_pull_secrets.as_deref())
            .unwrap_or_default()
    }
    fn target_container(&self) -> Option<&str> {
        let name = self.spec.injection.as_ref()?.target_container.as_deref();
        name.filter(|name| !name.is_empty())
    }
    fn cudagraph(&self) -> Option<Cudagraph> {
        // An LMCacheEngine has no such field.
        let cudagraph = self.spec.injection.as_ref()?.cudagraph;
        cudagraph.filter(|_| self.kind == Kind::CacheBlendEngine)
    }
    fn host_ipc(&self) -> Option<bool> {
        self.spec.host_ipc
    }
    fn isolated_ipc(&self) -> Option<bool> {
        // A CacheBlendEngine has no such field; the API server prunes it.
        self.spec.isolated_ipc.filter(|_| self.kind == Kind::LMCacheEngine)
    }
    fn l1(&self) -> Option<&L1BackendSpec> {
        None
    }
    fn prometheus(&self) -> Option<&PrometheusSpec> {
        None
    }
    fn extra_args(&self) -> &[String] {
        self.spec.extra_args.as_deref().unwrap_or_default()
    }
    fn eviction(&self) -> Option<&EvictionSpec> {
        None
    }
    fn l2_backend(&self) -> Option<&L2BackendSpec> {
        None
    }
    fn coordinator(&self) -> Option<&CoordinatorConnectionSpec> {
        None
    }
    fn log_level(&self) -> Option<LogLevel> {
        None
    }
    fn env(&self) -> &[Value] {
        &[]
    }
    fn volume_mounts(&self) -> &[Value] {
        &[]
    }
    fn container_security_context(&self) -> Option<&Value> {
        None
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::chunk_size;
    use crate::{EngineRef, IpcMode, connection_config, decode, ipc_mode};
    use serde_json::json;

    /// The view and the whole object answer alike, so that a Pod gets the connection that the controller writes.
    #[test]
    fn a_view_says_what_the_whole_object_says() {
        let spec = json!({
            "l1": {"sizeGB": 60}, "gpuVendor": "amd", "image": {"tag": "v0.5.6"}, "server": {"port": 6000},
            "blend": {"checkLayer": 2, "partialBucket": 3}, "connection": {"extraConfig": {"lmcache.mp.mq_timeout": 30}},
            "injection": {"payloadImage": {"repository": "r/p"}, "targetContainer": "vllm", "cudagraph": "piecewise",
                "imagePullSecrets": [{"name": "s"}]},
            "hostIPC": false, "isolatedIPC": true, "extraArgs": ["--a"], "pd": {"nixlSideChannelPort": 5700}
        });
        for kind in [Kind::LMCacheEngine, Kind::CacheBlendEngine] {
            for spec in [&spec, &json!({}), &json!(null)] {
                let object = json!({"metadata": {"name": "kv", "uid": "u"}, "spec": spec});
                let mut whole = decode(kind, &object).object;
                whole.set_defaults();
                let (whole, view) = (whole.engine().unwrap(), EngineView::read(kind, &object));
                let connection = |spec: &dyn EngineSpec| {
                    let engine = EngineRef {
                        name: "kv",
                        namespace: "n",
                        spec,
                    };
                    connection_config(&engine, ipc_mode(spec, IpcMode::HostIPC), "cluster.local")
                };
                assert_eq!(connection(&view), connection(whole));
                assert_eq!(view.payload_image(), whole.payload_image());
                assert_eq!(view.payload_pull_secrets(), whole.payload_pull_secrets());
                assert_eq!(view.target_container(), whole.target_container());
                assert_eq!(view.cudagraph(), whole.cudagraph());
                assert_eq!((view.image(), chunk_size(&view)), (whole.image(), chunk_size(whole)));
                assert_eq!((view.pd(), view.extra_args()), (whole.pd(), whole.extra_args()));
                assert_eq!(view.uid(), Some("u"));
            }
        }
    }
}
