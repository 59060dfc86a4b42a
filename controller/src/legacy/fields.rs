//! The CRDs of the Go operator: names, types, bounds and defaults of every field of a spec.

use super::State;
use super::kubernetes::{
    AFFINITY, CONTAINER, ENV_VAR, LOCAL_OBJECT_REFERENCE, RESOURCE_REQUIREMENTS, TOLERATION, VOLUME, VOLUME_MOUNT,
};
use super::schema::Kind::{
    AnyMap, Bool, Integer, IntegerWord, Number, Object, Objects, PositiveNumber, Text, TextMap, Texts, Word,
};
use super::schema::{Field, INT32, Kind, Shape, field};

const AT_LEAST_1: Kind = Integer(1, i32::MAX as i64);
const PORT: Kind = Integer(1, 65535);
const UNPRIVILEGED_PORT: Kind = Integer(1024, 65535);
const LOG_LEVEL: Field = field("logLevel", Word(&["DEBUG", "INFO", "WARNING", "ERROR"])).default("\"INFO\"");
const HOST_IPC: Field = field("hostIPC", Bool)
    .default("false")
    .since(State::V0_5_4)
    .ours_is_empty();
const PRIVILEGED: Field = field("privileged", Bool).default("false").since(State::July);

static IMAGE: Shape = Shape(&[
    field("repository", Text).default("\"lmcache/vllm-openai\""),
    field("tag", Text).default("\"latest\""),
    field("pullPolicy", Word(&["Always", "Never", "IfNotPresent"])).default("\"IfNotPresent\""),
]);

static SERVER: Shape = Shape(&[
    field("port", UNPRIVILEGED_PORT).default("5555"),
    field("chunkSize", INT32).default("256"),
    field("maxWorkers", INT32).default("1"),
    field("hashAlgorithm", Word(&["builtin", "sha256_cbor", "blake3"])).default("\"blake3\""),
    field("httpPort", UNPRIVILEGED_PORT).default("8080"),
]);

static L1: Shape = Shape(&[field("sizeGB", PositiveNumber).required()]);

static EVICTION: Shape = Shape(&[
    field("policy", Word(&["LRU", "noop"])).default("\"LRU\""),
    field("triggerWatermark", Number).default("0.8"),
    field("evictionRatio", Number).default("0.2"),
]);

static PROMETHEUS: Shape = Shape(&[
    field("enabled", Bool).default("true"),
    field("port", INT32).default("9090"),
    field("serviceMonitor", Object(&SERVICE_MONITOR)),
]);

static SERVICE_MONITOR: Shape = Shape(&[
    field("enabled", Bool).default("false"),
    field("interval", Text).default("\"30s\""),
    field("labels", TextMap),
]);

static L2_BACKEND: Shape = Shape(&[
    field("resp", Object(&RESP)),
    field("raw", Object(&RAW)),
    field("storePolicy", Word(&["default", "skip_l1"])).default("\"default\""),
    field("prefetchPolicy", Word(&["default", "retain"])).default("\"default\""),
    field("prefetchMaxInFlight", AT_LEAST_1).default("8"),
    field("serde", Object(&SERDE)).since(State::V0_5_3),
]);

static RESP: Shape = Shape(&[
    field("host", Text).required(),
    field("port", PORT).required(),
    field("numWorkers", AT_LEAST_1).default("8"),
    field("maxCapacityGB", Number).default("0"),
    field("authSecretRef", Object(&SECRET_REFERENCE)),
]);

static SECRET_REFERENCE: Shape = Shape(&[field("name", Text).required(), field("namespace", Text)]);

static RAW: Shape = Shape(&[field("type", Text).required(), field("config", AnyMap)]);

static SERDE: Shape = Shape(&[field("aesgcm", Object(&AESGCM))]);

static AESGCM: Shape = Shape(&[
    field("masterKeySecretRef", Object(&LOCAL_OBJECT_REFERENCE)).required(),
    field("keyProvider", Word(&["hkdf"])).default("\"hkdf\""),
    field("aesBits", IntegerWord(&[128, 256])).default("128"),
]);

static COORDINATOR_CONNECTION: Shape = Shape(&[
    field("ref", Object(&LOCAL_OBJECT_REFERENCE)),
    field("url", Text),
    field("advertiseIP", Text),
    field("heartbeatInterval", Number).default("5"),
    field("l2EventReporting", Bool).default("false"),
    field("l2EventFlushInterval", Number).default("1"),
]);

static INJECTION: Shape = Shape(&[
    field("payloadImage", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_OBJECT_REFERENCE)),
    field("targetContainer", Text),
]);

static CACHEBLEND_INJECTION: Shape = Shape(&[
    field("payloadImage", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_OBJECT_REFERENCE)),
    field("targetContainer", Text),
    field("cudagraph", Word(&["eager", "piecewise", "full_decode_only"])).default("\"eager\""),
]);

static BLEND: Shape = Shape(&[
    field("checkLayer", Integer(0, i32::MAX as i64)).default("1"),
    field("recompRatio", Number).default("0.15"),
    field("partialBucket", AT_LEAST_1).since(State::V0_5_4),
]);

static PD: Shape = Shape(&[
    field("nixlSideChannelPort", UNPRIVILEGED_PORT).default("5558"),
    field("nixlLoadFailurePolicy", Word(&["fail", "ignore"])).default("\"fail\""),
    field("enforceHandshakeCompat", Bool),
]);

/// The spec of an LMCacheEngine.
pub(super) static ENGINE: Shape = Shape(&[
    field("gpuVendor", Word(&["nvidia", "amd"])).default("\"nvidia\""),
    field("runtimeClassName", Text).since(State::Newest),
    field("image", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_OBJECT_REFERENCE)),
    field("server", Object(&SERVER)),
    field("l1", Object(&L1)).required(),
    field("eviction", Object(&EVICTION)),
    field("prometheus", Object(&PROMETHEUS)),
    field("l2Backend", Object(&L2_BACKEND)),
    field("coordinator", Object(&COORDINATOR_CONNECTION)),
    field("injection", Object(&INJECTION)).since(State::July),
    field("resourceOverrides", Object(&RESOURCE_REQUIREMENTS)),
    LOG_LEVEL,
    field("nodeSelector", TextMap),
    field("affinity", Object(&AFFINITY)),
    field("tolerations", Objects(&TOLERATION)),
    field("env", Objects(&ENV_VAR)),
    field("volumes", Objects(&VOLUME)),
    field("volumeMounts", Objects(&VOLUME_MOUNT)),
    field("initContainers", Objects(&CONTAINER)).since(State::V0_5_4),
    field("podAnnotations", TextMap),
    field("podLabels", TextMap),
    field("serviceAccountName", Text),
    field("priorityClassName", Text),
    field("hostNetwork", Bool).default("false").since(State::V0_5_1),
    HOST_IPC,
    field("isolatedIPC", Bool).since(State::V0_5_5),
    PRIVILEGED,
    field("extraArgs", Texts),
    field("pd", Object(&PD)).since(State::V0_5_4),
]);

/// The spec of a CacheBlendEngine.
pub(super) static CACHEBLEND: Shape = Shape(&[
    field("gpuVendor", Word(&["nvidia", "amd"])).default("\"nvidia\""),
    field("runtimeClassName", Text).since(State::Newest),
    field("image", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_OBJECT_REFERENCE)),
    field("server", Object(&SERVER)),
    field("l1", Object(&L1)).required(),
    field("eviction", Object(&EVICTION)),
    field("prometheus", Object(&PROMETHEUS)),
    field("l2Backend", Object(&L2_BACKEND)),
    field("coordinator", Object(&COORDINATOR_CONNECTION)),
    field("blend", Object(&BLEND)),
    field("injection", Object(&CACHEBLEND_INJECTION)),
    field("resourceOverrides", Object(&RESOURCE_REQUIREMENTS)),
    LOG_LEVEL,
    field("nodeSelector", TextMap),
    field("affinity", Object(&AFFINITY)),
    field("tolerations", Objects(&TOLERATION)),
    field("env", Objects(&ENV_VAR)),
    field("volumes", Objects(&VOLUME)),
    field("volumeMounts", Objects(&VOLUME_MOUNT)),
    field("podAnnotations", TextMap),
    field("podLabels", TextMap),
    field("serviceAccountName", Text),
    field("priorityClassName", Text),
    HOST_IPC,
    PRIVILEGED,
    field("extraArgs", Texts),
    field("pd", Object(&PD)).since(State::V0_5_5),
]);

/// The spec of an LMCacheCoordinator.
pub(super) static COORDINATOR: Shape = Shape(&[
    field("image", Object(&IMAGE)),
    field("imagePullSecrets", Objects(&LOCAL_OBJECT_REFERENCE)),
    field("replicas", Integer(0, i32::MAX as i64)).default("1"),
    field("host", Text).default("\"0.0.0.0\""),
    field("port", PORT).default("9300"),
    field("instanceTimeout", Number).default("30"),
    field("healthCheckInterval", Number).default("10"),
    field("evictionCheckInterval", Number).default("5"),
    field("evictionRatio", Number).default("0.2"),
    field("triggerWatermark", Number).default("1"),
    field("blendChunkSize", AT_LEAST_1),
    field("blendProbeStride", AT_LEAST_1),
    field("prometheus", Object(&PROMETHEUS)),
    field("resourceOverrides", Object(&RESOURCE_REQUIREMENTS)),
    LOG_LEVEL,
    field("nodeSelector", TextMap),
    field("affinity", Object(&AFFINITY)),
    field("tolerations", Objects(&TOLERATION)),
    field("env", Objects(&ENV_VAR)),
    field("volumes", Objects(&VOLUME)),
    field("volumeMounts", Objects(&VOLUME_MOUNT)),
    field("podAnnotations", TextMap),
    field("podLabels", TextMap),
    field("serviceAccountName", Text),
    field("priorityClassName", Text),
    field("extraArgs", Texts),
]);
