//! Admission webhooks that are about Pods of model servers: the Go operator's, and those of our policies.
//!
//! Each is looked at by itself: a configuration may hold webhooks of several owners.

use serde::Serialize;
use serde_json::Value;

use super::installer::Installer;
use super::operators::Operator;
use super::snapshot::{Snapshot, annotation, items, number, text};

/// Names of the Go operator's webhooks; the last is that of early versions.
const GO_WEBHOOKS: [&str; 3] = ["mcacheblendpod.lmcache.ai", "mlmcachepod.lmcache.ai", "mpod.lmcache.ai"];
/// Where its webhook server answers for LMCacheEngines.
const GO_PATH: &str = "/mutate-lmcache--v1-pod";
/// And for CacheBlendEngines, as every webhook for Pods that was made with kubebuilder.
const KUBEBUILDER_PATH: &str = "/mutate--v1-pod";
/// What Kubewarden puts before the name of a ClusterAdmissionPolicy, from 1.37.2 on and before.
const KUBEWARDEN: [&str; 2] = ["kw.cap.", "clusterwide-"];
/// The policies of `deploy/policies` that wire Pods to LMCacheEngines.
const INJECTORS: [&str; 2] = ["lmcache-pod-injection", "lmcache-connection-injection"];
/// Likewise, to CacheBlendEngines.
const CACHEBLEND_INJECTORS: [&str; 2] = ["cacheblend-pod-injection", "cacheblend-injection"];
/// The other policies.
const GUARD: &str = "lmcache-guard";
const VALIDATION: &str = "lmcache-engine-validation";
const OTHERS: [&str; 3] = ["lmcache-payload-staging", GUARD, VALIDATION];
/// Those whose manifests have them in mode `monitor`, for they only tell.
const TELLERS: [&str; 4] = [
    "lmcache-wiring-audit",
    "cacheblend-wiring-audit",
    "lmcache-workload-preflight",
    "lmcache-workload-preflight-leaderworkerset",
];

/// Whose a webhook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The Go operator's.
    GoOperator,
    /// Kubewarden's, for a policy of ours.
    Ours,
}

/// A webhook of the Go operator or of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Whose it is.
    pub whose: Whose,
    /// `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`.
    pub kind: String,
    /// The configuration that it stands in. The API server calls mutating webhooks in the order of these names.
    pub configuration: String,
    /// Where it stands in there, from 0 on.
    pub index: usize,
    /// Of the Go operator's: the names of those in its configuration that are somebody else's.
    pub others: Vec<String>,
    /// Its name. Of ours, that of the policy.
    pub name: String,
    /// Of ours: the policy is in mode `monitor`, so it changes and refuses nothing, though its warnings reach people.
    pub monitors: bool,
    /// `Ignore` or `Fail`: what happens where it does not answer.
    pub failure_policy: String,
    /// The opt-in labels that bring a Pod to it; empty where it is asked about every Pod.
    pub labels: Vec<String>,
    /// Where it is served.
    pub server: String,
    /// The namespace of the Service that serves it; empty where that is a URL.
    #[serde(skip)]
    pub service_namespace: String,
    /// The name of that Service, likewise.
    #[serde(skip)]
    pub service: String,
    /// What installed its configuration.
    pub installed_by: Vec<Installer>,
    /// The Certificate of cert-manager that its authority comes from, `namespace/name`.
    pub certificate: Option<String>,
}

pub(super) fn webhooks(snapshot: &Snapshot, go: &[Operator]) -> Vec<Webhook> {
    let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
    let configurations = kinds.iter().flat_map(|kind| snapshot.of(kind));
    let mut found: Vec<Webhook> = configurations
        .flat_map(|configuration| {
            let webhooks = items(configuration, "/webhooks").enumerate();
            webhooks.filter_map(|(index, webhook)| read(snapshot, configuration, (index, webhook), go))
        })
        .collect();
    // As the API server calls them: mutating ones first.
    found.sort_by(|a, b| (&a.kind, &a.configuration).cmp(&(&b.kind, &b.configuration)));
    found
}

fn read(
    snapshot: &Snapshot,
    configuration: &Value,
    (index, webhook): (usize, &Value),
    go: &[Operator],
) -> Option<Webhook> {
    let own = text(configuration, "/metadata/name");
    let (whose, name) = match policy(own) {
        Some(policy) => (Whose::Ours, policy),
        None if is_go_operators(webhook, go) => (Whose::GoOperator, text(webhook, "/name")),
        None => return None,
    };
    let certificate = annotation(configuration, "cert-manager.io/inject-ca-from");
    let failure_policy = match text(webhook, "/failurePolicy") {
        "" => "Fail",
        policy => policy,
    };
    let stored = snapshot.get("ClusterAdmissionPolicy", "", name);
    let monitors = stored.is_some_and(|policy| text(policy, "/spec/mode") == "monitor");
    let others =
        items(configuration, "/webhooks").filter(|other| whose == Whose::GoOperator && !is_go_operators(other, go));
    Some(Webhook {
        monitors: monitors && whose == Whose::Ours,
        whose,
        kind: text(configuration, "/kind").to_owned(),
        configuration: own.to_owned(),
        index,
        others: others.map(|other| text(other, "/name").to_owned()).collect(),
        name: name.to_owned(),
        failure_policy: failure_policy.to_owned(),
        labels: labels(webhook),
        server: server(webhook),
        service_namespace: text(webhook, "/clientConfig/service/namespace").to_owned(),
        service: text(webhook, "/clientConfig/service/name").to_owned(),
        installed_by: Installer::of(configuration),
        certificate: Some(certificate.to_owned()).filter(|name| !name.is_empty()),
    })
}

/// The policy of ours that Kubewarden registered under this name.
fn policy(configuration: &str) -> Option<&str> {
    let name = KUBEWARDEN
        .iter()
        .find_map(|prefix| configuration.strip_prefix(prefix))?;
    let mut all = INJECTORS
        .iter()
        .chain(&CACHEBLEND_INJECTORS)
        .chain(&OTHERS)
        .chain(&TELLERS);
    all.any(|policy| *policy == name).then_some(name)
}

fn is_go_operators(webhook: &Value, go: &[Operator]) -> bool {
    let service = |field: &str| text(webhook, &format!("/clientConfig/service/{field}"));
    let path = match service("path") {
        "" => path_of(text(webhook, "/clientConfig/url")),
        path => path,
    };
    let is_served_there = path == KUBEBUILDER_PATH
        && service("name").ends_with("webhook-service")
        && go.iter().any(|operator| operator.namespace == service("namespace"));
    GO_WEBHOOKS.contains(&text(webhook, "/name")) || path == GO_PATH || is_served_there
}

/// The path of an https URL.
fn path_of(url: &str) -> &str {
    let rest = url.strip_prefix("https://").unwrap_or_default();
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default()
}

fn labels(webhook: &Value) -> Vec<String> {
    let labels = webhook
        .pointer("/objectSelector/matchLabels")
        .and_then(Value::as_object);
    let keys = labels.into_iter().flat_map(|labels| labels.keys().cloned());
    let expressions = items(webhook, "/objectSelector/matchExpressions");
    let keys = keys.chain(expressions.map(|expression| text(expression, "/key").to_owned()));
    keys.collect()
}

fn server(webhook: &Value) -> String {
    let service = |field: &str| text(webhook, &format!("/clientConfig/service/{field}"));
    if service("name").is_empty() {
        return text(webhook, "/clientConfig/url").to_owned();
    }
    let port = number(webhook, "/clientConfig/service/port").unwrap_or(443);
    format!(
        "Service {}/{}:{port}{}",
        service("namespace"),
        service("name"),
        service("path")
    )
}

impl Webhook {
    /// Whether it is a policy of ours that should do something and, in mode `monitor`, only logs it.
    pub(super) fn is_idle(&self) -> bool {
        self.monitors && !TELLERS.contains(&self.name.as_str())
    }
}

/// What stands in front of Pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// The Go operator's webhooks are registered.
    pub go: bool,
    /// Policies of ours wire Pods to LMCacheEngines.
    pub injects: bool,
    /// Likewise, to CacheBlendEngines.
    pub injects_cacheblend: bool,
    /// The guard is registered.
    pub guards: bool,
    /// engine-validation is registered.
    pub validates: bool,
}

impl Standing {
    pub fn of(webhooks: &[Webhook]) -> Self {
        let ours = |names: &[&str]| {
            let ours = webhooks.iter().filter(|webhook| webhook.whose == Whose::Ours);
            let mut ours = ours.filter(|webhook| !webhook.monitors);
            ours.any(|webhook| names.contains(&webhook.name.as_str()))
        };
        Standing {
            go: webhooks.iter().any(|webhook| webhook.whose == Whose::GoOperator),
            injects: ours(&INJECTORS),
            injects_cacheblend: ours(&CACHEBLEND_INJECTORS),
            guards: ours(&[GUARD]),
            validates: ours(&[VALIDATION]),
        }
    }
}
