//! The field table: one list of names, types, limits and defaults, walked by the decoder and turned into the OpenAPI
//! schema under feature `crd`. It follows the Go operator's CRDs; what we check beyond them is a [`Limit`], which the
//! schema does not carry, because a stricter schema would block status writes of stored objects.
//!
//! Inside an object, fields stand in the order in which faults are reported.

use crate::{
    Cudagraph, EvictionPolicy, GpuVendor, HashAlgorithm, KeyProvider, LogLevel, NixlLoadFailurePolicy, PrefetchPolicy,
    PullPolicy, StorePolicy,
};

/// An object's fields.
pub(crate) struct Shape {
    pub fields: &'static [Field],
    /// `x-kubernetes-map-type: atomic`, as the Go operator's CRDs have it for references.
    #[cfg(feature = "crd")]
    pub atomic: bool,
}

impl Shape {
    const fn new(fields: &'static [Field]) -> Self {
        Shape {
            fields,
            #[cfg(feature = "crd")]
            atomic: false,
        }
    }

    const fn atomic(fields: &'static [Field]) -> Self {
        Shape {
            fields,
            #[cfg(feature = "crd")]
            atomic: true,
        }
    }
}

/// One field of an object.
pub(crate) struct Field {
    /// Name in JSON.
    pub name: &'static str,
    pub kind: Type,
    pub required: bool,
    pub limit: Limit,
    /// Further schema keywords, as JSON.
    #[cfg(feature = "crd")]
    pub keywords: &'static str,
    /// What the API server stores when the field is absent, as JSON; empty for nothing.
    #[cfg(feature = "crd")]
    pub default: &'static str,
}

/// What a field may hold. Bounds are those of the Go operator's CRDs.
pub(crate) enum Type {
    Bool,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A 32-bit integer in this range.
    Int32(i32, i32),
    /// One of these 32-bit integers.
    IntWord(&'static [i64]),
    /// A 64-bit integer of at least this much.
    Int64(i64),
    Number,
    /// A number greater than zero.
    PositiveNumber,
    Object(&'static Shape),
    Objects(&'static Shape),
    Texts,
    TextMap,
    /// Keys with any JSON as value. Nulls directly inside are dropped, as the API server does.
    AnyMap,
    /// An object of a Kubernetes type, passed through.
    Foreign,
    /// A list of objects of a Kubernetes type, passed through.
    Foreigns,
}

/// What is refused at admission although the CRD lets it through.
pub(crate) enum Limit {
    None,
    /// Absent or empty is a fault of kind Required.
    NonEmpty,
    /// An integer in this range.
    Within(i32, i32),
    /// Greater than 0.
    Positive,
    /// At least 0.
    NotNegative,
    /// In (0, 1].
    Share,
    /// In [0, 1].
    ShareOrZero,
}

const fn field(name: &'static str, kind: Type) -> Field {
    Field {
        name,
        kind,
        required: false,
        limit: Limit::None,
        #[cfg(feature = "crd")]
        keywords: "{}",
        #[cfg(feature = "crd")]
        default: "",
    }
}

impl Field {
    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn limit(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    const fn default(self, json: &'static str) -> Self {
        #[cfg(feature = "crd")]
        return Field { default: json, ..self };
        #[cfg(not(feature = "crd"))]
        {
            let _ = json;
            self
        }
    }
}

use Type::{
    AnyMap, Bool, Foreign, Foreigns, Int32, Int64, IntWord, Number, Object, Objects, PositiveNumber, Text, TextMap,
    Texts, Word,
};

const INT32: Type = Int32(i32::MIN, i32::MAX);
const AT_LEAST_1: Type = Int32(1, i32::MAX);
const UNPRIVILEGED_PORT: Type = Int32(1024, 65535);
const PORT: Type = Int32(1, 65535);

pub(crate) static IMAGE: Shape = Shape::new(&[
    field("repository", Text).default("\"lmcache/vllm-openai\""),
    field("tag", Text).default("\"latest\""),
    field("pullPolicy", Word(PullPolicy::VALUES)).default("\"IfNotPresent\""),
]);

pub(crate) static LOCAL_REF: Shape = Shape::atomic(&[field("name", Text).default("\"\"")]);

pub(crate) static SERVER: Shape = Shape::new(&[
    field("port", UNPRIVILEGED_PORT).default("5555"),
    field("chunkSize", INT32)
        .default("256")
        .limit(Limit::Within(1, i32::MAX)),
    field("maxWorkers", INT32)
        .default("1")
        .limit(Limit::Within(1, i32::MAX)),
    field("hashAlgorithm", Word(HashAlgorithm::VALUES)).default("\"blake3\""),
    field("httpPort", UNPRIVILEGED_PORT).default("8080"),
    field("release", Text),
]);

pub(crate) static L1: Shape = Shape::new(&[field("sizeGB", PositiveNumber).required()]);

pub(crate) static EVICTION: Shape = Shape::new(&[
    field("policy", Word(EvictionPolicy::VALUES)).default("\"LRU\""),
    field("triggerWatermark", Number).default("0.8").limit(Limit::Share),
    field("evictionRatio", Number).default("0.2").limit(Limit::Share),
]);

pub(crate) static PROMETHEUS: Shape = Shape::new(&[
    field("enabled", Bool).default("true"),
    field("port", INT32).default("9090").limit(Limit::Within(1, 65535)),
    field("serviceMonitor", Object(&SERVICE_MONITOR)),
]);

pub(crate) static SERVICE_MONITOR: Shape = Shape::new(&[
    field("enabled", Bool).default("false"),
    field("interval", Text).default("\"30s\""),
    field("labels", TextMap),
]);

pub(crate) static L2: Shape = Shape::new(&[
    field("resp", Object(&RESP)),
    field("raw", Object(&RAW)),
    field("storePolicy", Word(StorePolicy::VALUES)).default("\"default\""),
    field("prefetchPolicy", Word(PrefetchPolicy::VALUES)).default("\"default\""),
    field("prefetchMaxInFlight", AT_LEAST_1).default("8"),
    field("serde", Object(&SERDE)),
]);

pub(crate) static RESP: Shape = Shape::new(&[
    field("host", Text).required().limit(Limit::NonEmpty),
    field("port", PORT).required(),
    field("numWorkers", AT_LEAST_1).default("8"),
    field("maxCapacityGB", Number).default("0"),
    field("authSecretRef", Object(&SECRET_REF)),
    field("waitSeconds", Int32(1, 3600)),
]);

pub(crate) static SECRET_REF: Shape = Shape::new(&[
    field("name", Text).required().limit(Limit::NonEmpty),
    field("namespace", Text),
]);

pub(crate) static RAW: Shape = Shape::new(&[
    field("type", Text).required().limit(Limit::NonEmpty),
    field("config", AnyMap),
]);

pub(crate) static SERDE: Shape = Shape::new(&[field("aesgcm", Object(&AESGCM))]);

pub(crate) static AESGCM: Shape = Shape::new(&[
    field("masterKeySecretRef", Object(&MASTER_KEY_REF)).required(),
    field("keyProvider", Word(KeyProvider::VALUES)).default("\"hkdf\""),
    field("aesBits", IntWord(&[128, 256])).default("128"),
]);

/// A [`LOCAL_REF`] whose name must be given.
static MASTER_KEY_REF: Shape = Shape::atomic(&[field("name", Text).default("\"\"").limit(Limit::NonEmpty)]);

pub(crate) static COORDINATOR_CONNECTION: Shape = Shape::new(&[
    field("ref", Object(&LOCAL_REF)),
    field("url", Text),
    field("advertiseIP", Text),
    field("heartbeatInterval", Number).default("5").limit(Limit::Positive),
    field("l2EventReporting", Bool).default("false"),
    field("l2EventFlushInterval", Number)
        .default("1")
        .limit(Limit::Positive),
]);

pub(crate) static PD: Shape = Shape::new(&[
    field("nixlSideChannelPort", UNPRIVILEGED_PORT).default("5558"),
    field("nixlLoadFailurePolicy", Word(NixlLoadFailurePolicy::VALUES)).default("\"fail\""),
    field("enforceHandshakeCompat", Bool),
]);

pub(crate) static CONNECTION: Shape = Shape::new(&[field("extraConfig", AnyMap)]);

pub(crate) static INJECTION: Shape = Shape::new(&[
    field("payloadImage", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_REF)),
    field("targetContainer", Text),
]);

pub(crate) static CACHEBLEND_INJECTION: Shape = Shape::new(&[
    field("payloadImage", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_REF)),
    field("targetContainer", Text),
    field("cudagraph", Word(Cudagraph::VALUES)).default("\"eager\""),
]);

pub(crate) static BLEND: Shape = Shape::new(&[
    field("checkLayer", Int32(0, i32::MAX)).default("1"),
    field("recompRatio", Number).default("0.15").limit(Limit::Share),
    field("partialBucket", AT_LEAST_1),
]);

pub(crate) static ENGINE: Shape = Shape::new(&[
    field("l1", Object(&L1)).required(),
    field("eviction", Object(&EVICTION)),
    field("server", Object(&SERVER)),
    field("l2Backend", Object(&L2)),
    field("coordinator", Object(&COORDINATOR_CONNECTION)),
    field("gpuVendor", Word(GpuVendor::VALUES)).default("\"nvidia\""),
    field("runtimeClassName", Text),
    field("image", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_REF)),
    field("prometheus", Object(&PROMETHEUS)),
    field("injection", Object(&INJECTION)),
    field("connection", Object(&CONNECTION)),
    field("resourceOverrides", Foreign),
    field("logLevel", Word(LogLevel::VALUES)).default("\"INFO\""),
    field("nodeSelector", TextMap),
    field("affinity", Foreign),
    field("tolerations", Foreigns),
    field("env", Foreigns),
    field("volumes", Foreigns),
    field("volumeMounts", Foreigns),
    field("initContainers", Foreigns),
    field("podAnnotations", TextMap),
    field("podLabels", TextMap),
    field("serviceAccountName", Text),
    field("priorityClassName", Text),
    field("hostNetwork", Bool).default("false"),
    // No default, unlike the Go operator's CRD: unset means "as the installation says".
    field("hostIPC", Bool),
    field("isolatedIPC", Bool),
    field("privileged", Bool).default("false"),
    field("extraArgs", Texts),
    field("pd", Object(&PD)),
    field("updateStrategy", Foreign),
    field("terminationGracePeriodSeconds", Int64(0)),
    field("podSecurityContext", Foreign),
    field("containerSecurityContext", Foreign),
]);

pub(crate) static CACHEBLEND: Shape = Shape::new(&[
    field("l1", Object(&L1)).required(),
    field("eviction", Object(&EVICTION)),
    field("server", Object(&SERVER)),
    field("blend", Object(&BLEND)),
    field("injection", Object(&CACHEBLEND_INJECTION)),
    field("l2Backend", Object(&L2)),
    field("coordinator", Object(&COORDINATOR_CONNECTION)),
    field("gpuVendor", Word(GpuVendor::VALUES)).default("\"nvidia\""),
    field("runtimeClassName", Text),
    field("image", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_REF)),
    field("prometheus", Object(&PROMETHEUS)),
    field("connection", Object(&CONNECTION)),
    field("resourceOverrides", Foreign),
    field("logLevel", Word(LogLevel::VALUES)).default("\"INFO\""),
    field("nodeSelector", TextMap),
    field("affinity", Foreign),
    field("tolerations", Foreigns),
    field("env", Foreigns),
    field("volumes", Foreigns),
    field("volumeMounts", Foreigns),
    field("podAnnotations", TextMap),
    field("podLabels", TextMap),
    field("serviceAccountName", Text),
    field("priorityClassName", Text),
    field("hostIPC", Bool),
    field("privileged", Bool).default("false"),
    field("extraArgs", Texts),
    field("pd", Object(&PD)),
    field("updateStrategy", Foreign),
    field("terminationGracePeriodSeconds", Int64(0)),
    field("podSecurityContext", Foreign),
    field("containerSecurityContext", Foreign),
]);

pub(crate) static COORDINATOR: Shape = Shape::new(&[
    field("port", PORT).default("9300"),
    field("replicas", Int32(0, i32::MAX)).default("1"),
    field("instanceTimeout", Number).default("30").limit(Limit::Positive),
    field("healthCheckInterval", Number)
        .default("10")
        .limit(Limit::NotNegative),
    field("evictionCheckInterval", Number)
        .default("5")
        .limit(Limit::NotNegative),
    field("evictionRatio", Number).default("0.2").limit(Limit::ShareOrZero),
    field("triggerWatermark", Number).default("1").limit(Limit::Share),
    field("blendChunkSize", AT_LEAST_1),
    field("blendProbeStride", AT_LEAST_1),
    field("image", Object(&IMAGE)),
    field("release", Text),
    field("imagePullSecrets", Objects(&LOCAL_REF)),
    field("host", Text).default("\"0.0.0.0\""),
    field("prometheus", Object(&PROMETHEUS)),
    field("resourceOverrides", Foreign),
    field("logLevel", Word(LogLevel::VALUES)).default("\"INFO\""),
    field("nodeSelector", TextMap),
    field("affinity", Foreign),
    field("tolerations", Foreigns),
    field("env", Foreigns),
    field("volumes", Foreigns),
    field("volumeMounts", Foreigns),
    field("podAnnotations", TextMap),
    field("podLabels", TextMap),
    field("serviceAccountName", Text),
    field("priorityClassName", Text),
    field("extraArgs", Texts),
    field("updateStrategy", Foreign),
    field("terminationGracePeriodSeconds", Int64(0)),
    field("podSecurityContext", Foreign),
    field("containerSecurityContext", Foreign),
]);

#[cfg(feature = "crd")]
mod status;
#[cfg(feature = "crd")]
pub(crate) use status::*;
