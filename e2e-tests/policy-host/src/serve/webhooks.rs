//! The webhook configurations that Kubewarden's controller writes for ClusterAdmissionPolicies.

use anyhow::{Result, bail};
use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::Manifest;

/// How Kubewarden names what belongs to a ClusterAdmissionPolicy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// `kw.cap.<name>`, since Kubewarden 1.37.2.
    #[default]
    Current,
    /// `clusterwide-<name>`, before.
    Legacy,
}

impl Naming {
    /// What stands before the name of the policy.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Current => "kw.cap.",
            Self::Legacy => "clusterwide-",
        }
    }

    fn unique(self, name: &str) -> String {
        format!("{}{name}", self.prefix())
    }
}

/// Where the API server reaches the policies.
#[derive(Clone, Debug)]
pub struct Target {
    url: String,
    ca_bundle: Option<String>,
    naming: Naming,
    kubewarden_namespace: String,
}

impl Target {
    /// `url` is that of the server, without a path; `ca_bundle` is PEM, and without it the API server trusts the
    /// authorities of its own machine. The namespace is the one in which Kubewarden would run, which policies leave alone.
    ///
    /// # Errors
    /// The URL is none that the API server takes for a webhook.
    pub fn new(url: &str, ca_bundle: Option<&str>, naming: Naming, kubewarden_namespace: &str) -> Result<Self> {
        let url = url.trim_end_matches('/');
        let host = url.strip_prefix("https://").unwrap_or_default();
        if host.is_empty() || host.contains(['/', '?', '#', '@']) {
            bail!("the URL of the webhook must be https://HOST[:PORT], found '{url}'");
        }
        Ok(Self {
            url: url.to_owned(),
            ca_bundle: ca_bundle.map(|pem| base64::engine::general_purpose::STANDARD.encode(pem)),
            naming,
            kubewarden_namespace: kubewarden_namespace.to_owned(),
        })
    }
}

/// One configuration for each policy: the mutating ones first, then the others, each sorted by name. That is the order in
/// which the API server calls them (the validating ones side by side).
pub fn configurations(manifests: &[Manifest], target: &Target) -> Vec<Value> {
    let mut sorted: Vec<&Manifest> = manifests.iter().collect();
    sorted.sort_by_key(|manifest| (!manifest.spec.mutating, manifest.name.clone()));
    sorted
        .into_iter()
        .map(|manifest| configuration(manifest, target))
        .collect()
}

fn configuration(manifest: &Manifest, target: &Target) -> Value {
    let spec = &manifest.spec;
    let name = target.naming.unique(&manifest.name);
    let kind = if spec.mutating {
        "MutatingWebhookConfiguration"
    } else {
        "ValidatingWebhookConfiguration"
    };
    let mut client = Map::new();
    client.insert("url".to_owned(), json!(format!("{}/validate/{name}", target.url)));
    let mut webhook = Map::new();
    webhook.insert("name".to_owned(), json!(format!("{name}.kubewarden.admission")));
    if let Some(ca_bundle) = &target.ca_bundle {
        client.insert("caBundle".to_owned(), json!(ca_bundle));
    }
    webhook.insert("clientConfig".to_owned(), Value::Object(client));
    webhook.insert("rules".to_owned(), json!(spec.rules));
    // What the manifest leaves out is left to the API server's defaults.
    let optional = [
        ("failurePolicy", spec.failure_policy.as_ref().map(|value| json!(value))),
        ("matchPolicy", spec.match_policy.as_ref().map(|value| json!(value))),
        ("namespaceSelector", namespace_selector(manifest, target)),
        ("objectSelector", spec.object_selector.clone()),
    ];
    for (field, value) in optional {
        if let Some(value) = value {
            webhook.insert(field.to_owned(), value);
        }
    }
    webhook.insert(
        "sideEffects".to_owned(),
        json!(spec.side_effects.as_deref().unwrap_or("None")),
    );
    webhook.insert("timeoutSeconds".to_owned(), json!(spec.timeout_seconds));
    if let Some(conditions) = &spec.match_conditions {
        webhook.insert("matchConditions".to_owned(), conditions.clone());
    }
    webhook.insert("admissionReviewVersions".to_owned(), json!(["v1"]));
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": {
                "app.kubernetes.io/part-of": "kubewarden",
                "kubewardenPolicyScope": "cluster",
            },
            "annotations": {
                "kubewardenPolicyName": manifest.name,
                "kubewardenPolicyNamespace": "",
            },
        },
        "webhooks": [webhook],
    })
}

/// The controller keeps policies out of Kubewarden's own namespace, and of the manifest's selector it takes over the
/// expressions alone.
fn namespace_selector(manifest: &Manifest, target: &Target) -> Option<Value> {
    let given = manifest.spec.namespace_selector.as_ref();
    if manifest.spec.allow_inside_admission_controller_namespace {
        return given.map(|selector| Value::Object(selector.clone()));
    }
    let mut expressions = vec![json!({
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [target.kubewarden_namespace],
    })];
    let own = given
        .and_then(|selector| selector.get("matchExpressions"))
        .and_then(Value::as_array);
    expressions.extend(own.into_iter().flatten().cloned());
    Some(json!({"matchExpressions": expressions}))
}

/// What of a manifest does not reach the webhook configuration, in one sentence each.
pub fn dropped(manifests: &[Manifest]) -> Vec<String> {
    manifests
        .iter()
        .filter(|manifest| {
            let spec = &manifest.spec;
            let selector = spec.namespace_selector.as_ref();
            !spec.allow_inside_admission_controller_namespace
                && selector.is_some_and(|selector| selector.contains_key("matchLabels"))
        })
        .map(|manifest| {
            format!(
                "{}: ClusterAdmissionPolicy {}: Kubewarden drops spec.namespaceSelector.matchLabels; write it as \
                 matchExpressions",
                manifest.file.display(),
                manifest.name
            )
        })
        .collect()
}
