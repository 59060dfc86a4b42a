//! Generated Pods and clusters for the property tests.

#![allow(dead_code)] // each test binary uses its own part

use policy_kit::cluster::{Cluster, Lookup, Query};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// A cluster made of one answer for each kind; counts the questions.
#[derive(Debug, Clone)]
pub struct Answers {
    pub engine: Lookup,
    pub config_map: Lookup,
    pub blend: Lookup,
    pub blend_config_map: Lookup,
    pub namespace: Lookup,
    pub asked: Cell<usize>,
}

impl Cluster for Answers {
    fn get(&self, query: &Query<'_>) -> Lookup {
        self.asked.set(self.asked.get() + 1);
        match query.kind {
            "ConfigMap" if query.name.starts_with("blend") => self.blend_config_map.clone(),
            "ConfigMap" => self.config_map.clone(),
            "CacheBlendEngine" => self.blend.clone(),
            "Namespace" => self.namespace.clone(),
            _ => self.engine.clone(),
        }
    }
}

/// Any JSON, a few levels deep.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,8}".prop_map(Value::from),
        select(vec![
            "--kv-transfer-config",
            "true",
            "spec",
            "containers",
            "",
            "lmcache"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((select(keys()), inner), 0..6).prop_map(|pairs| Value::Object(
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn keys() -> Vec<&'static str> {
    vec![
        "metadata",
        "spec",
        "containers",
        "name",
        "args",
        "command",
        "env",
        "envFrom",
        "annotations",
        "labels",
        "volumes",
        "volumeMounts",
        "mountPath",
        "l1",
        "sizeGB",
        "server",
        "port",
        "data",
        "ownerReferences",
        "uid",
        "future",
        "kv-transfer-config.json",
        "lmcache.ai/lmcache-inject",
        "lmcache.ai/lmcache-engine",
        "injection",
        "payloadImage",
    ]
}

fn tokens() -> impl Strategy<Value = Vec<Value>> {
    let token = select(vec![
        "serve",
        "org/model-8b",
        "--model",
        "--port=9000",
        "--kv-transfer-config",
        "{\"kv_connector\":\"Other\"}",
        "{\"kv_connector\":\"LMCacheMPConnector\",\"kv_role\":\"kv_both\"}",
        "--kv_transfer_config={}",
        "--block-size",
        "64",
        "100",
        "--",
        "-tp",
        "2",
        "-x",
        "--kv-transfer-config.kv_role",
        "kv_both",
        "--enforce-eager",
        "--enforce-eager=False",
        "--no-enforce-eager",
        "-pp=2",
        "-pp",
        "--enable-chunked-prefill",
        "--async-scheduling",
        "--attention-backend=FLASH_ATTN",
        "-cc.mode",
        "--compilation-config={}",
        "{\"kv_connector\":\"CBKVConnector\",\"kv_role\":\"kv_both\"}",
        "--kv-t",
        "not json",
        "",
        "-c",
    ]);
    proptest::collection::vec(
        prop_oneof![30 => token.prop_map(Value::from), 1 => Just(json!(7)), 1 => Just(Value::Null)],
        0..9,
    )
}

fn list_or_less(items: impl Strategy<Value = Vec<Value>>) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        6 => items.prop_map(|items| Some(Value::from(items))),
        2 => Just(None),
        1 => Just(Some(Value::Null)),
        1 => Just(Some(json!([]))),
    ]
}

fn environment() -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec(
        select(vec![
            json!({"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}),
            json!({"name": "URL", "value": "http://$(NODE_IP)"}),
            json!({"name": "PYTHONHASHSEED", "value": "42"}),
            json!({"name": "PYTHONHASHSEED", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "s"}}}),
            json!({"name": "PYTHONPATH", "value": "/opt"}),
            json!({"name": "PYTHONPATH", "value": ""}),
            json!({"name": "PYTHONPATH", "value": "/lmcache-payload"}),
            json!({"name": "PYTHONHASHSEED", "value": "0"}),
            json!({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
            json!({"name": "PYTHONPATH", "valueFrom": {"secretKeyRef": {"name": "s", "key": "s"}}}),
            json!({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "1"}),
            json!({"name": "EMPTY"}),
        ]),
        0..5,
    )
}

fn mounts() -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec(
        select(vec![
            json!({"name": "dshm", "mountPath": "/dev/shm"}),
            json!({"name": "dshm", "mountPath": "/dev/shm/"}),
            json!({"name": "lmcache-dev-shm", "mountPath": "/scratch"}),
            json!({"name": "data", "mountPath": "/data", "future": {"a": [1.5, null]}}),
            json!({"name": "data", "mountPath": "/lmcache-payload"}),
            json!({"name": "lmcache-payload", "mountPath": "/lmcache-payload", "readOnly": true}),
            json!({"name": "cb-plugin", "mountPath": "/cb-plugin/"}),
        ]),
        0..3,
    )
}

prop_compose! {
    fn container()(
        name in select(vec!["vllm", "istio-proxy", "sidecar", "", "lmcache-payload-stage"]),
        image in select(vec!["vllm/vllm-openai:v0.24.0", "vllm/vllm-openai:v0.12.0", "acme/x", "lmsysorg/sglang:v1", ""]),
        command in prop_oneof![
            6 => Just(None),
            1 => Just(Some(json!(["vllm", "serve"]))),
            1 => Just(Some(json!(["python3", "-m", "vllm.entrypoints.openai.api_server"]))),
            1 => Just(Some(json!(["sh", "-c"]))),
            1 => Just(Some(json!(["vllm", "serve", "--"]))),
            1 => Just(Some(Value::Null)),
        ],
        args in list_or_less(tokens()),
        env in list_or_less(environment()),
        mounts in list_or_less(mounts()),
        env_from in any::<bool>(),
        gpu in any::<bool>(),
        odd in prop_oneof![20 => Just(None), 1 => (select(vec!["args", "env", "volumeMounts", "name", "securityContext", "envFrom"]), any_json()).prop_map(Some)],
    ) -> Value {
        let mut container = Map::new();
        container.insert("name".into(), json!(name));
        container.insert("image".into(), json!(image));
        container.insert("futureField".into(), json!({"nested": [null, 1.0, {}]}));
        for (key, value) in [("command", command), ("args", args), ("env", env), ("volumeMounts", mounts)] {
            if let Some(value) = value { container.insert(key.into(), value); }
        }
        if env_from { container.insert("envFrom".into(), json!([{"secretRef": {"name": "hf"}}])); }
        if gpu { container.insert("resources".into(), json!({"limits": {"nvidia.com/gpu": "1"}})); }
        if let Some((key, value)) = odd { container.insert(key.to_owned(), value); }
        Value::Object(container)
    }
}

prop_compose! {
    /// A Pod that mostly asked for an engine, with everything around it that a policy must leave alone.
    pub fn pod()(
        containers in proptest::collection::vec(container(), 0..4),
        annotations in subsequence(annotation_pairs(), 0..annotation_pairs().len()),
        engine in prop_oneof![8 => Just(Some("kv-pool")), 1 => Just(Some("other/kv-pool")), 1 => Just(Some("No Name")), 1 => Just(None)],
        label in prop_oneof![8 => Just(Some("true")), 1 => Just(Some("false")), 1 => Just(None)],
        blends in prop_oneof![
            6 => Just((None, None)),
            4 => Just((Some("true"), Some("blend"))),
            1 => Just((Some("true"), None)),
            1 => Just((None, Some("blend"))),
            1 => Just((Some("true"), Some("other/blend"))),
        ],
        init_containers in proptest::collection::vec(select(vec![
            json!({"name": "warm", "image": "i", "restartPolicy": "Always"}),
            json!({"name": "lmcache-payload-stage", "image": "ghcr.io/acme/payload:0.5.6", "env": [{"name": "SHARED_DIR", "value": "/lmcache-payload"}],
                "volumeMounts": [{"name": "lmcache-payload", "mountPath": "/lmcache-payload"}]}),
            json!({"name": "lmcache-payload-stage", "image": "evil"}),
            json!({"name": "cb-plugin-stage", "image": "evil"}),
        ]), 0..2),
        secrets in list_or_less(proptest::collection::vec(select(vec![json!({"name": "pull"}), json!({"name": "mine"})]), 0..3)),
        annotations_are_odd in prop_oneof![20 => Just(false), 1 => Just(true)],
        host_ipc in prop_oneof![3 => Just(None), 1 => Just(Some(json!(true))), 1 => Just(Some(json!(false))), 1 => Just(Some(Value::Null))],
        links in prop_oneof![3 => Just(None), 1 => Just(Some(json!(true))), 1 => Just(Some(json!(false)))],
        volumes in list_or_less(proptest::collection::vec(select(vec![
            json!({"name": "dshm", "emptyDir": {"medium": "Memory"}}),
            json!({"name": "dshm", "hostPath": {"path": "/dev/shm"}}),
            json!({"name": "lmcache-dev-shm", "emptyDir": {}}),
            json!({"name": "data", "future": {"x": null}}),
            json!({"name": "lmcache-payload", "emptyDir": {}}),
            json!({"name": "lmcache-payload", "hostPath": {"path": "/"}}),
            json!({"name": "cb-plugin", "emptyDir": {}}),
        ]), 0..4)),
        extra in any_json(),
    ) -> Value {
        let mut own: Map<String, Value> = annotations.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
        if let Some(engine) = engine { own.insert("lmcache.ai/lmcache-engine".into(), json!(engine)); }
        let mut metadata = json!({"name": "chat-0", "namespace": "team-a", "creationTimestamp": null, "annotations": own});
        if let Some(label) = label { metadata["labels"] = json!({"app": "chat", "lmcache.ai/lmcache-inject": label}); }
        if let (Some(label), true) = (blends.0, metadata.get("labels").is_some()) { metadata["labels"]["lmcache.ai/cacheblend-inject"] = json!(label); }
        if let (Some(label), None) = (blends.0, metadata.get("labels")) { metadata["labels"] = json!({"lmcache.ai/cacheblend-inject": label}); }
        if let Some(engine) = blends.1 { metadata["annotations"]["lmcache.ai/cacheblend-engine"] = json!(engine); }
        if annotations_are_odd { metadata["annotations"] = json!("none"); }
        let mut spec = json!({"containers": containers, "initContainers": init_containers, "futureField": extra, "tolerations": null});
        for (key, value) in [("hostIPC", host_ipc), ("enableServiceLinks", links), ("volumes", volumes), ("imagePullSecrets", secrets)] {
            if let Some(value) = value { spec[key] = value; }
        }
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {}})
    }
}

fn annotation_pairs() -> Vec<(&'static str, &'static str)> {
    vec![
        ("team.example/cost", "42"),
        ("lmcache.ai/lmcache-injected", "true"),
        ("lmcache.ai/lmcache-skip-reason", "engine-not-found"),
        ("lmcache.ai/lmcache-container", "vllm"),
        ("lmcache.ai/pd-role", "decoder"),
        ("lmcache.ai/lmcache-payload-staged", "true"),
        ("lmcache.ai/lmcache-payload-skip-reason", "mount-path-taken"),
        ("lmcache.ai/lmcache-image-pull-secrets", "a, b,,Not Valid"),
        ("lmcache.ai/cacheblend-injected", "true"),
        ("lmcache.ai/cacheblend-skip-reason", "engine-not-found"),
        ("lmcache.ai/cacheblend-container", "vllm"),
        ("lmcache.ai/on-missing-engine", "Admit"),
        ("lmcache.ai/vllm-release", "0.24.0"),
    ]
}

/// Settings that all policies have which change Pods, in every combination.
pub fn settings() -> impl Strategy<Value = Value> {
    let choice = |words: &[&'static str]| select(words.iter().map(|&word| json!(word)).collect::<Vec<_>>());
    (
        choice(&["Wire", "Skip"]),
        choice(&["Skip", "Warn", "Off"]),
        choice(&["Skip", "Warn", "Off"]),
        choice(&["HostIPC", "HostShm", "Isolated"]),
        choice(&["Admit", "Deny"]),
        choice(&["Admit", "Deny"]),
        choice(&["Label", "Label", "Annotation"]),
        prop_oneof![Just(json!([])), Just(json!(["other"]))],
    )
        .prop_map(|(command, security, compatibility, ipc, missing, unavailable, opt_in, namespaces)| {
            json!({
                "commandOverride": command, "podSecurity": security, "compatibility": compatibility, "ipcDefault": ipc,
                "onMissingEngine": missing, "onUnavailable": unavailable, "optIn": opt_in,
                "allowedEngineNamespaces": namespaces,
            })
        })
}

/// The engines of the generated clusters.
pub fn engine() -> impl Strategy<Value = Value> {
    (
        select(vec![
            json!({}),
            json!({"hostIPC": false}),
            json!({"hostIPC": false, "isolatedIPC": false}),
            json!({"isolatedIPC": true}),
        ]),
        select(vec![
            json!({}),
            json!({"pd": {}}),
            json!({"server": {"port": 6000, "chunkSize": 512}}),
            json!({"injection": {"payloadImage": {"repository": "ghcr.io/acme/payload", "tag": "0.5.6"}}}),
            json!({"injection": {"payloadImage": {}}}),
            json!({"injection": {"targetContainer": "vllm"}}),
            json!({"pd": {}, "image": {"tag": "v0.5.5"}, "injection": {"imagePullSecrets": [{"name": "pull"}, {}],
                "payloadImage": {"repository": "ghcr.io/acme/payload", "tag": "0.5.6", "pullPolicy": "Always"}}}),
        ]),
    )
        .prop_map(|(ipc, more)| {
            let mut spec = json!({"l1": {"sizeGB": 60}});
            for part in [ipc, more] {
                for (key, value) in part.as_object().unwrap() {
                    spec[key] = value.clone();
                }
            }
            json!({"metadata": {"name": "kv-pool", "namespace": "team-a", "uid": "u1"}, "spec": spec})
        })
}

/// The CacheBlend engines.
fn blend() -> impl Strategy<Value = Value> {
    (
        select(vec![json!({}), json!({"hostIPC": false}), json!({"hostIPC": true})]),
        select(vec![
            json!({}),
            json!({"pd": {}}),
            json!({"injection": {}}),
            json!({"server": {"chunkSize": 100}}),
            json!({"injection": {"payloadImage": {"repository": "ghcr.io/acme/blend"}, "cudagraph": "piecewise"}}),
            json!({"injection": {"payloadImage": {"repository": "ghcr.io/acme/blend"}, "cudagraph": "full_decode_only"}}),
        ]),
    )
        .prop_map(|(ipc, more)| {
            let mut spec = json!({"l1": {"sizeGB": 60}, "injection": {"payloadImage": {"repository": "ghcr.io/acme/blend", "tag": "1.0"}}});
            for part in [ipc, more] {
                for (key, value) in part.as_object().unwrap() {
                    spec[key] = value.clone();
                }
            }
            json!({"metadata": {"name": "blend", "namespace": "team-a", "uid": "u2"}, "spec": spec})
        })
}

fn lookup(found: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Lookup> {
    prop_oneof![
        6 => found.prop_map(Lookup::Found),
        2 => Just(Lookup::NotFound),
        1 => Just(Lookup::NotServed),
        1 => Just(Lookup::Unavailable("Callback evaluation failure: no".to_owned())),
        1 => any_json().prop_map(Lookup::Found),
    ]
    .boxed()
}

prop_compose! {
    /// A cluster that mostly has the engine, and fails in every way a cluster can.
    pub fn cluster()(
        engine in lookup(engine()),
        config_map in lookup(select(vec![
            json!({"metadata": {"ownerReferences": [{"controller": true, "kind": "LMCacheEngine", "uid": "u1",
                "apiVersion": "lmcache.lmcache.ai/v1alpha1"}]},
                "data": {"kv-transfer-config.json": "{\"kv_connector\": \"LMCacheMPConnector\"}"}}),
            json!({"metadata": {"labels": {"app.kubernetes.io/name": "lmcache", "app.kubernetes.io/instance": "kv-pool",
                "app.kubernetes.io/managed-by": "lmcache-operator"}}, "data": {"kv-transfer-config.json": "{\"kv_connector\": \"LMCacheMPConnector\"}"}}),
            json!({"data": {"kv-transfer-config.json": "{\"kv_connector\": \"CBKVConnector\"}"}}),
        ])),
        blend in lookup(blend()),
        blend_config_map in lookup(select(vec![
            json!({"metadata": {"ownerReferences": [{"controller": true, "kind": "CacheBlendEngine", "uid": "u2",
                "apiVersion": "lmcache.lmcache.ai/v1alpha1"}], "annotations": {"lmcache.ai/ipc-mode": "Isolated"}},
                "data": {"kv-transfer-config.json": "{\"kv_connector\": \"CBKVConnector\"}"}}),
            json!({"data": {"kv-transfer-config.json": "{\"kv_connector\": \"LMCacheMPConnector\"}"}}),
        ])),
        namespace in lookup(select(vec![
            json!({"metadata": {}}),
            json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}),
        ])),
    ) -> Answers {
        Answers { engine, config_map, blend, blend_config_map, namespace, asked: Cell::new(0) }
    }
}
