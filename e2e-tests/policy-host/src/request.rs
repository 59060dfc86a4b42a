//! Reading what a user hands in: an AdmissionRequest, an AdmissionReview, or just a manifest.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value, json};

use crate::document::{self, kind_of};

/// The uid of requests that are made from a manifest: fixed, so that output can be compared.
pub const MANIFEST_UID: &str = "9f6a7f4e-0000-4000-8000-000000000001";

/// The members of an AdmissionRequest that a host hands on, in the order in which it writes them.
const MEMBERS: [&str; 15] = [
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "object",
    "oldObject",
    "dryRun",
    "options",
];

/// A request as the host passes it to a policy: camelCase, members without a value left out. For raw policies any JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionRequest {
    value: Value,
    raw: bool,
}

impl AdmissionRequest {
    /// Checks a bare AdmissionRequest. Unknown members and nulls are left out, as Kubewarden does.
    ///
    /// # Errors
    /// Names the member that is missing or has the wrong type; `uid`, `kind`, `resource`, `operation` and `userInfo`
    /// are required.
    pub fn from_value(value: Value) -> Result<Self> {
        let Value::Object(mut given) = value else {
            bail!("an AdmissionRequest must be a map, found {}", kind_of(&value));
        };
        string(&given, "uid")?;
        triple(&given, "kind", ["group", "version", "kind"])?;
        triple(&given, "resource", ["group", "version", "resource"])?;
        string(&given, "operation")?;
        required(&given, "userInfo")?;
        for member in ["userInfo", "options"] {
            if let Some(found) = given.get(member).filter(|found| !found.is_object() && !found.is_null()) {
                bail!("AdmissionRequest.{member} must be a map, found {}", kind_of(found));
            }
        }
        for member in ["name", "namespace", "subResource"] {
            if let Some(found) = given.get(member).filter(|found| !found.is_string() && !found.is_null()) {
                bail!("AdmissionRequest.{member} must be a string, found {}", kind_of(found));
            }
        }
        let mut members = Map::new();
        for name in MEMBERS {
            if let Some(value) = given.remove(name).filter(|value| !value.is_null()) {
                members.insert(name.to_owned(), value);
            }
        }
        Ok(Self {
            value: Value::Object(members),
            raw: false,
        })
    }

    /// Any JSON, for policies of type `raw`.
    pub fn raw(value: Value) -> Self {
        Self { value, raw: true }
    }

    /// An AdmissionReview (its `request` is taken), an AdmissionRequest, or a manifest, told apart by `kind`.
    ///
    /// # Errors
    /// As [`from_value`](Self::from_value); also when an AdmissionReview has no `request`.
    pub fn from_document(document: Value) -> Result<Self> {
        match document.get("kind") {
            Some(Value::String(kind)) if kind == "AdmissionReview" => match document {
                Value::Object(mut review) => match review.remove("request").filter(|request| !request.is_null()) {
                    Some(request) => Self::from_value(request),
                    None => bail!("the AdmissionReview has no member `request`"),
                },
                _ => bail!("invalid AdmissionReview"),
            },
            Some(Value::String(_)) if document.get("apiVersion").is_some_and(Value::is_string) => {
                Self::create_of(document)
            }
            _ => Self::from_value(document),
        }
    }

    /// The CREATE request that an API server would make of a manifest: user `kubernetes-admin`, namespace from the
    /// metadata or `default`, plural guessed from the kind.
    ///
    /// # Errors
    /// When `apiVersion` or `kind` is missing.
    pub fn create_of(object: Value) -> Result<Self> {
        let member = |name: &str| object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (Some(api_version), Some(kind)) = (member("apiVersion"), member("kind")) else {
            bail!("a manifest needs `apiVersion` and `kind`");
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = json!({"group": group, "version": version, "kind": kind});
        let gvr = json!({"group": group, "version": version, "resource": plural(kind)});
        let metadata = |name: &str| object.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
        let namespace = (!is_cluster_scoped(kind)).then(|| metadata("namespace").unwrap_or("default"));
        Self::from_value(json!({
            "uid": MANIFEST_UID,
            "kind": gvk,
            "resource": gvr,
            "requestKind": gvk,
            "requestResource": gvr,
            "name": metadata("name"),
            "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
            "object": object,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        }))
    }

    /// Reads the first document of a file (`-` is standard input) with [`from_document`](Self::from_document).
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_document(first(path)?).map_err(|e| anyhow!("{}: {e}", path.display()))
    }

    /// Reads the first document of a file as the request of a raw policy.
    ///
    /// # Errors
    /// Names the file when it cannot be read.
    pub fn raw_from_file(path: impl AsRef<Path>) -> Result<Self> {
        first(path.as_ref()).map(Self::raw)
    }

    /// What the guest is given.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Whether this is the request of a raw policy.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// The uid, which the response repeats; empty when a raw request has none.
    pub fn uid(&self) -> &str {
        self.value.get("uid").and_then(Value::as_str).unwrap_or_default()
    }

    /// What patches are computed against: the object, for raw policies the whole request.
    pub fn object(&self) -> Option<&Value> {
        if self.raw {
            Some(&self.value)
        } else {
            self.value.get("object")
        }
    }
}

fn first(path: &Path) -> Result<Value> {
    document::read_all(path)?
        .into_iter()
        .next()
        .ok_or_else(|| anyhow!("{}: holds no document", path.display()))
}

fn required<'a>(map: &'a Map<String, Value>, member: &str) -> Result<&'a Value> {
    map.get(member)
        .filter(|value| !value.is_null())
        .ok_or_else(|| anyhow!("AdmissionRequest.{member} is missing"))
}

fn string(map: &Map<String, Value>, member: &str) -> Result<()> {
    match required(map, member)? {
        Value::String(_) => Ok(()),
        found => bail!("AdmissionRequest.{member} must be a string, found {}", kind_of(found)),
    }
}

fn triple(map: &Map<String, Value>, member: &str, keys: [&str; 3]) -> Result<()> {
    let value = required(map, member)?;
    for key in keys {
        match value.get(key) {
            Some(Value::String(_)) => {}
            Some(found) => bail!(
                "AdmissionRequest.{member}.{key} must be a string, found {}",
                kind_of(found)
            ),
            None => bail!("AdmissionRequest.{member}.{key} is missing"),
        }
    }
    Ok(())
}

/// Kinds of the core APIs without a namespace. Other kinds are taken as namespaced: there is no cluster to ask.
pub(crate) fn is_cluster_scoped(kind: &str) -> bool {
    matches!(
        kind,
        "Namespace"
            | "Node"
            | "PersistentVolume"
            | "ClusterRole"
            | "ClusterRoleBinding"
            | "CustomResourceDefinition"
            | "StorageClass"
            | "PriorityClass"
            | "RuntimeClass"
            | "IngressClass"
            | "DeviceClass"
            | "ResourceSlice"
            | "APIService"
            | "CSIDriver"
            | "CSINode"
            | "VolumeAttachment"
            | "CertificateSigningRequest"
            | "MutatingWebhookConfiguration"
            | "ValidatingWebhookConfiguration"
            | "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
            | "ClusterAdmissionPolicy"
            | "ClusterAdmissionPolicyGroup"
            | "PolicyServer"
    )
}

/// The resource name of a kind by the rules of English, which is what Kubernetes' own kinds follow.
pub(crate) fn plural(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    if kind == "endpoints" {
        return kind;
    }
    if let Some(stem) = kind.strip_suffix('y')
        && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
    {
        return format!("{stem}ies");
    }
    if ["s", "x", "ch", "sh"].iter().any(|end| kind.ends_with(end)) {
        return format!("{kind}es");
    }
    format!("{kind}s")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn request() -> Value {
        json!({
            "uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "userInfo": {"username": "x"},
            "object": {"a": null},
        })
    }

    #[rstest]
    #[case("uid")]
    #[case("kind")]
    #[case("resource")]
    #[case("operation")]
    #[case("userInfo")]
    fn names_the_missing_member(#[case] member: &str) {
        let mut value = request();
        value.as_object_mut().unwrap().remove(member);
        let error = AdmissionRequest::from_document(value).unwrap_err().to_string();
        assert_eq!(error, format!("AdmissionRequest.{member} is missing"));
    }

    #[rstest]
    #[case("uid", json!(3), "AdmissionRequest.uid must be a string, found a number")]
    #[case("kind", json!({"group": "", "version": "v1"}), "AdmissionRequest.kind.kind is missing")]
    #[case("resource", json!("pods"), "AdmissionRequest.resource.group is missing")]
    #[case("userInfo", json!([]), "AdmissionRequest.userInfo must be a map, found a list")]
    #[case("namespace", json!(1), "AdmissionRequest.namespace must be a string, found a number")]
    fn names_the_member_of_wrong_type(#[case] member: &str, #[case] value: Value, #[case] expected: &str) {
        let mut document = request();
        document[member] = value;
        assert_eq!(
            AdmissionRequest::from_document(document).unwrap_err().to_string(),
            expected
        );
    }

    #[test]
    fn leaves_out_nulls_and_unknown_members_but_never_touches_the_object() {
        let mut value = request();
        value["oldObject"] = Value::Null;
        value["name"] = Value::Null;
        value["surprise"] = json!(1);
        let request = AdmissionRequest::from_document(value).unwrap();
        assert_eq!(request.value(), &self::request());
    }

    #[test]
    fn unwraps_reviews() {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request()});
        assert_eq!(AdmissionRequest::from_document(review).unwrap().uid(), "u");
        let error = AdmissionRequest::from_document(json!({"kind": "AdmissionReview"})).unwrap_err();
        assert_eq!(error.to_string(), "the AdmissionReview has no member `request`");
    }

    #[rstest]
    #[case("v1", "Pod", "", "pods")]
    #[case("apps/v1", "Deployment", "apps", "deployments")]
    #[case("networking.k8s.io/v1", "Ingress", "networking.k8s.io", "ingresses")]
    #[case("networking.k8s.io/v1", "NetworkPolicy", "networking.k8s.io", "networkpolicies")]
    #[case("v1", "Endpoints", "", "endpoints")]
    #[case(
        "lmcache.lmcache.ai/v1alpha1",
        "LMCacheEngine",
        "lmcache.lmcache.ai",
        "lmcacheengines"
    )]
    #[case(
        "lmcache.lmcache.ai/v1alpha1",
        "CacheBlendEngine",
        "lmcache.lmcache.ai",
        "cacheblendengines"
    )]
    #[case(
        "lmcache.lmcache.ai/v1alpha1",
        "LMCacheCoordinator",
        "lmcache.lmcache.ai",
        "lmcachecoordinators"
    )]
    fn wraps_manifests(#[case] api_version: &str, #[case] kind: &str, #[case] group: &str, #[case] resource: &str) {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "n"}});
        let request = AdmissionRequest::from_document(object.clone()).unwrap();
        let value = request.value();
        assert_eq!(value["resource"]["group"], group);
        assert_eq!(value["resource"]["resource"], resource);
        assert_eq!(value["kind"]["kind"], kind);
        assert_eq!((&value["name"], &value["namespace"]), (&json!("n"), &json!("default")));
        assert_eq!((&value["operation"], request.uid()), (&json!("CREATE"), MANIFEST_UID));
        assert_eq!(request.object(), Some(&object));
    }

    #[test]
    fn a_cluster_scoped_manifest_has_no_namespace() {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
        let request = AdmissionRequest::from_document(object).unwrap();
        assert_eq!(request.value().get("namespace"), None);
    }
}
