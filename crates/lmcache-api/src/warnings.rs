//! What is legal but probably not meant.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::decode::walk;
use crate::go_json::decimal_text;
use crate::image::images;
use crate::names::settings_variables;
use crate::quantity::Quantity;
use crate::{AnyObject, EngineSpec, GpuVendor, ImageSpec, Kind, Release, server_release};

/// Longest warning in bytes: the host cuts longer ones.
const MAX_BYTES: usize = 256;

/// Labels by which a controller selects the Pods it made; `podLabels` cannot change them.
const SELECTOR_LABELS: [&str; 3] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
];

/// Warnings about an object that [`crate::validate`] may well accept: one ASCII sentence each, at most 256 bytes, in a
/// stable order. Any JSON will do.
pub fn warnings(kind: Kind, object: &Value) -> Vec<String> {
    let object = walk(kind, object).object;
    let mut found = Vec::new();
    name_makes_variables(&object, &mut found);
    floating_images(&object, &mut found);
    match &object {
        AnyObject::LMCacheEngine(engine) => {
            let spec = &engine.spec;
            engine_warnings(
                spec,
                spec.node_selector.as_ref(),
                spec.resource_overrides.as_ref(),
                &mut found,
            );
            ignored_labels(spec.pod_labels.as_ref(), &mut found);
        }
        AnyObject::CacheBlendEngine(engine) => {
            let spec = &engine.spec;
            engine_warnings(
                spec,
                spec.node_selector.as_ref(),
                spec.resource_overrides.as_ref(),
                &mut found,
            );
            ignored_labels(spec.pod_labels.as_ref(), &mut found);
        }
        AnyObject::LMCacheCoordinator(coordinator) => {
            ignored_labels(coordinator.spec.pod_labels.as_ref(), &mut found);
        }
    }
    found.into_iter().map(one_line).collect()
}

/// Kubernetes gives every Pod of the namespace variables named after each Service: a Service `vllm` makes
/// `VLLM_PORT=tcp://...`, at which vLLM refuses to start.
fn name_makes_variables(object: &AnyObject, found: &mut Vec<String>) {
    let metadata = object.metadata();
    let Some(name) = metadata.name.as_deref().or(metadata.generate_name.as_deref()) else {
        return;
    };
    // A coordinator's name usually begins with `lmcache-`; its variables collide with nothing that is read.
    if object.kind() == Kind::LMCacheCoordinator && name.contains('-') {
        return;
    }
    if let Some(variables) = settings_variables(name) {
        found.push(format!(
            "metadata.name {name} makes Kubernetes put {variables}* variables of its Service into every Pod of the \
             namespace, which may stop vLLM or LMCache from starting; choose another name or set \
             enableServiceLinks: false on Pods"
        ));
    }
}

fn floating_images(object: &AnyObject, found: &mut Vec<String>) {
    let (image, payload) = images(object);
    let unset = ImageSpec::default();
    for (path, image) in [
        ("spec.image", Some(image.unwrap_or(&unset))),
        ("spec.injection.payloadImage", payload),
    ] {
        if let Some(image) = image.filter(|image| image.is_floating()) {
            found.push(format!(
                "{path} is {}, which may be another release on every node and after every \
                 restart; pin a release or a digest",
                image.reference(crate::DEFAULT_REPOSITORY)
            ));
        }
    }
}

fn engine_warnings(
    spec: &dyn EngineSpec,
    node_selector: Option<&BTreeMap<String, String>>,
    resources: Option<&Value>,
    found: &mut Vec<String>,
) {
    wide_node_selector(spec.gpu_vendor(), node_selector, found);
    small_memory_limit(spec, resources, found);
    if let Some(chunk) = spec.server().and_then(|server| server.chunk_size)
        && chunk % 16 != 0
    {
        found.push(format!(
            "spec.server.chunkSize {chunk} is no multiple of 16, vLLM's usual block size, and Pods whose block size \
             does not divide it are not wired"
        ));
    }
    let payload = spec
        .payload_image()
        .and_then(ImageSpec::effective_tag)
        .and_then(Release::from_tag);
    if let (Some(payload), Some(server)) = (payload, server_release(spec))
        && payload != server
    {
        found.push(format!(
            "spec.injection.payloadImage is release {payload} but the server is {server}; client and server of \
             different releases may not understand each other"
        ));
    }
}

fn wide_node_selector(vendor: GpuVendor, selector: Option<&BTreeMap<String, String>>, found: &mut Vec<String>) {
    let names_gpus = |key: &String| ["gpu", "nvidia", "accelerator"].iter().any(|word| key.contains(word));
    match (vendor, selector) {
        (GpuVendor::Nvidia, Some(selector)) if !selector.keys().any(names_gpus) => found.push(
            "spec.nodeSelector has no key about GPUs, so servers also start on nodes without any; add one such as \
             nvidia.com/gpu.present"
                .to_owned(),
        ),
        (GpuVendor::Amd, selector) if selector.is_none_or(BTreeMap::is_empty) => found.push(
            "spec.nodeSelector is not set and has no default on amd, so servers start on every node; select the \
             GPU nodes"
                .to_owned(),
        ),
        _ => {}
    }
}

fn small_memory_limit(spec: &dyn EngineSpec, resources: Option<&Value>, found: &mut Vec<String>) {
    let limit = resources.and_then(|resources| resources.get("limits")?.get("memory"));
    let limit = match limit {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return,
    };
    let Some(size) = spec.l1().and_then(|l1| l1.size_gb) else {
        return;
    };
    if limit.parse::<Quantity>().is_ok_and(|limit| limit.as_f64() < size * 1e9) {
        found.push(format!(
            "spec.resourceOverrides.limits.memory {limit} is below spec.l1.sizeGB {} (GB, 1e9 bytes each), so the \
             server will be killed when its cache fills up",
            decimal_text(size)
        ));
    }
}

fn ignored_labels(labels: Option<&BTreeMap<String, String>>, found: &mut Vec<String>) {
    let keys = labels.into_iter().flatten().map(|(key, _)| key);
    for key in keys.filter(|key| SELECTOR_LABELS.contains(&key.as_str())) {
        found.push(format!(
            "spec.podLabels[{key}] is ignored because the key belongs to the selector; remove it"
        ));
    }
}

/// A warning as it travels in an HTTP header: ASCII without control characters, at most 256 bytes.
pub fn one_line(text: String) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' })
        .collect();
    if line.len() > MAX_BYTES {
        line.truncate(MAX_BYTES - 3);
        line.push_str("...");
    }
    line
}
