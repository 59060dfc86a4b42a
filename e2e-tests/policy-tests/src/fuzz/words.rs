//! Texts and numbers on which the policies have something to decide.

use serde_json::{Value, json};

/// Prefix of the labels and annotations that the policies know.
pub const PREFIX: &str = "lmcache.ai/";

/// Labels by which a Pod opts in.
pub const OPT_IN_LABELS: [&str; 2] = ["lmcache.ai/lmcache-inject", "lmcache.ai/cacheblend-inject"];

/// Annotations that the policies read or write.
pub const ANNOTATIONS: [&str; 17] = [
    "lmcache.ai/lmcache-engine",
    "lmcache.ai/cacheblend-engine",
    "lmcache.ai/lmcache-container",
    "lmcache.ai/cacheblend-container",
    "lmcache.ai/lmcache-injected",
    "lmcache.ai/cacheblend-injected",
    "lmcache.ai/lmcache-payload-staged",
    "lmcache.ai/lmcache-skip-reason",
    "lmcache.ai/cacheblend-skip-reason",
    "lmcache.ai/lmcache-payload-skip-reason",
    "lmcache.ai/lmcache-image-pull-secrets",
    "lmcache.ai/cacheblend-image-pull-secrets",
    "lmcache.ai/pd-role",
    "lmcache.ai/on-missing-engine",
    "lmcache.ai/client-release",
    "lmcache.ai/vllm-release",
    "lmcache.ai/unknown",
];

/// Values of those annotations and labels.
pub const VALUES: [&str; 26] = [
    "true",
    "false",
    "",
    " ",
    "True",
    "cache-a",
    "blend-a",
    "team-b/cache-a",
    "/",
    "a/b/c",
    "Not A Name",
    "vllm",
    "sidecar",
    "prefiller",
    "decoder",
    "Deny",
    "Admit",
    "0.5.6",
    "0.4.1",
    "0.24.0",
    "0.12.0",
    "v0.33.0-cu130",
    "regcred, other,,",
    "kv-transfer-config-present",
    "payload-not-staged",
    "engine-not-found",
];

/// Words of a command line.
pub const ARGUMENTS: [&str; 60] = [
    "--",
    "serve",
    "org/model-8b",
    "--model",
    "-x",
    "-",
    "",
    "--kv-transfer-config",
    "--kv_transfer_config",
    "--kv-t",
    "--kv-transfer-config={}",
    "--kv-transfer-config.kv_role",
    "{\"kv_connector\":\"LMCacheMPConnector\"}",
    "{\"kv_connector\":\"CBKVConnector\",\"kv_role\":\"kv_both\"}",
    "{\"kv_connector\":\"Other\"}",
    "{\"kv_connector\":\"MultiConnector\",\"kv_connector_extra_config\":{\"connectors\":[{\"kv_connector\":\"CBKVConnector\"}]}}",
    "not json",
    "--block-size",
    "--block-size=100",
    "--block_size",
    "--bl",
    "64",
    "16",
    "0",
    "-1",
    "1",
    "2",
    "-tp",
    "-tp=2",
    "-pp",
    "--pipeline-parallel-size",
    "--pipeline_parallel_size=4",
    "--pi",
    "--tensor-parallel-size",
    "--attention-backend",
    "CUSTOM",
    "FLASH_ATTN",
    "--attention-backend=FLASHINFER",
    "--attention-config",
    "--enforce-eager",
    "--no-enforce-eager",
    "--enforce-eager=False",
    "--enf",
    "--enable-chunked-prefill",
    "--no-enable-chunked-prefill",
    "--disable-chunked-prefill",
    "--enable-ch",
    "--async-scheduling",
    "--no-async-scheduling",
    "--as",
    "--compilation-config",
    "-cc",
    "-O",
    "-O3",
    "-O{\"mode\":3}",
    "--compilation-config.cudagraph_mode",
    "--compilation_config={\"cudagraph_mode\":\"PIECEWISE\"}",
    "{\"cudagraph_mode\":\"FULL\"}",
    "--no-",
    "--disable-hybrid-kv-cache-manager",
];

/// Names that the policies give to what they add, and others that are in their way.
pub const NAMES: [&str; 12] = [
    "lmcache-payload",
    "cb-plugin",
    "lmcache-dev-shm",
    "lmcache-payload-stage",
    "cb-plugin-stage",
    "vllm",
    "istio-proxy",
    "sidecar",
    "cache-a",
    "blend-a",
    "dshm",
    "",
];

/// Paths of mounts.
pub const PATHS: [&str; 9] = [
    "/dev/shm",
    "/dev/shm/",
    "/dev//shm",
    "/lmcache-payload",
    "/lmcache-payload/",
    "/cb-plugin",
    "/cb-plugin/sub",
    "/",
    "",
];

/// Variables that the policies set or read.
pub const VARIABLES: [&str; 7] = [
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "VLLM_NIXL_SIDE_CHANNEL_HOST",
    "VLLM_NIXL_SIDE_CHANNEL_PORT",
    "SHARED_DIR",
    "OTHER",
    "",
];

/// Values of those variables.
pub const VARIABLE_VALUES: [&str; 8] = [
    "",
    "0",
    "42",
    "/opt",
    "/opt:/lmcache-payload",
    "/cb-plugin/:/x",
    "$(PYTHONPATH)",
    ":",
];

/// Images whose tags say something.
pub const IMAGES: [&str; 14] = [
    "vllm/vllm-openai:v0.24.0",
    "vllm/vllm-openai:v0.12.0",
    "vllm/vllm-openai:v0.13.0",
    "vllm/vllm-openai:v0.18.1",
    "docker.io/vllm/vllm-openai:v0.33.0",
    "lmcache/vllm-openai:v0.5.6",
    "lmcache/vllm-openai",
    "vllm/vllm-openai@sha256:00",
    "lmsysorg/sglang:v0.5",
    "registry:5000/a/b",
    "acme/x:",
    ":",
    "",
    "ghcr.io/acme/payload:0.5.6",
];

/// Commands of a container.
pub const COMMANDS: [&[&str]; 10] = [
    &[],
    &["vllm", "serve"],
    &["vllm", "serve", "--"],
    &["/usr/bin/vllm", "serve", "org/model-8b"],
    &["vllm", "bench"],
    &["python3", "-m", "vllm.entrypoints.openai.api_server"],
    &["python3", "-m", "sglang.launch_server"],
    &["sh", "-c"],
    &["bash", "-lc", "vllm serve x"],
    &[""],
];

/// What a host says when a look-up fails.
pub const HOST_ERRORS: [&str; 9] = [
    "Cannot find v1/ConfigMap named 'x' inside of namespace 'None'",
    "Cannot find resource lmcache.lmcache.ai/v1alpha1/LMCacheEngine",
    "error finding resource lmcache.lmcache.ai/v1alpha1 / LMCacheEngine: ApiError: 404 page not found",
    "Policy has not been granted access to Kubernetes v1/ConfigMap resources. The violation has been reported.",
    "ApiError: configmaps \"x\" is forbidden: User cannot get: 403 Forbidden",
    "kube::Client was not initialized properly",
    "tcp connect error: 10.96.0.1:40443: Connection refused",
    "Zeit\u{fc}berschreitung \u{7f13}\u{5b58}\r\n\tline",
    "",
];

/// What a host answers instead of an object.
pub const GARBAGE: [&str; 12] = [
    "",
    "null",
    "[]",
    "{",
    "\"text\"",
    "1e999",
    "{}",
    "{\"spec\":null,\"metadata\":null}",
    "<html>",
    "{\"metadata\":{\"uid\":1},\"data\":[],\"spec\":\"x\"}",
    "{\"kind\":\"Status\",\"code\":404}",
    "\u{0}\u{1}",
];

/// Numbers at limits.
pub fn numbers() -> [Value; 16] {
    [
        json!(0),
        json!(1),
        json!(-1),
        json!(63),
        json!(64),
        json!(256),
        json!(65535),
        json!(65536),
        json!(1.5),
        json!(-0.0),
        json!(1e300),
        json!(5e-324),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(4_294_967_296_u64),
    ]
}

/// Texts of all kinds.
pub const TEXTS: [&str; 18] = [
    "",
    " ",
    "\u{e9}",
    "\u{7f13}\u{5b58}",
    "\u{1f680}",
    "\u{0}",
    "\n",
    "\r\n",
    "\"",
    "\\",
    "/",
    "~1",
    "$(X)",
    "{}",
    "[]",
    "null",
    "-----",
    "a.b.c",
];
