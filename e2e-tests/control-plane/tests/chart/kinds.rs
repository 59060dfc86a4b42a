//! The kinds of others that the chart makes objects of.

use serde_json::{Map, Value, json};

/// Kinds of Kubewarden and of the Prometheus operator that know the fields of a `spec` by name and nothing about them:
/// server-side apply refuses a field that they do not know.
pub fn others() -> [Value; 4] {
    let crd = |(group, version): (&str, &str), kind: &str, plural: &str, scope: &str, fields: &[&str]| {
        let any = json!({"x-kubernetes-preserve-unknown-fields": true});
        let fields: Map<String, Value> = fields.iter().map(|field| ((*field).to_owned(), any.clone())).collect();
        let spec = json!({"type": "object", "properties": fields});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": any}});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": scope,
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        })
    };
    let kubewarden = ("policies.kubewarden.io", "v1");
    let prometheus = ("monitoring.coreos.com", "v1");
    [
        crd(
            kubewarden,
            "ClusterAdmissionPolicy",
            "clusteradmissionpolicies",
            "Cluster",
            &[
                "policyServer",
                "mode",
                "module",
                "settings",
                "rules",
                "failurePolicy",
                "mutating",
                "backgroundAudit",
                "matchPolicy",
                "matchConditions",
                "objectSelector",
                "sideEffects",
                "timeoutSeconds",
                "timeoutEvalSeconds",
                "message",
                "namespaceSelector",
                "contextAwareResources",
                "allowInsideAdmissionControllerNamespace",
            ],
        ),
        crd(
            kubewarden,
            "PolicyServer",
            "policyservers",
            "Cluster",
            &[
                "image",
                "replicas",
                "minAvailable",
                "maxUnavailable",
                "annotations",
                "labels",
                "env",
                "serviceAccountName",
                "imagePullSecret",
                "insecureSources",
                "sourceAuthorities",
                "verificationConfig",
                "sigstoreTrustConfig",
                "securityContexts",
                "affinity",
                "limits",
                "requests",
                "tolerations",
                "priorityClassName",
                "namespacedPoliciesCapabilities",
                "webhookPort",
                "readinessProbePort",
                "metricsPort",
            ],
        ),
        crd(
            prometheus,
            "PrometheusRule",
            "prometheusrules",
            "Namespaced",
            &["groups"],
        ),
        crd(
            prometheus,
            "ServiceMonitor",
            "servicemonitors",
            "Namespaced",
            &[
                "selector",
                "endpoints",
                "namespaceSelector",
                "jobLabel",
                "targetLabels",
                "podTargetLabels",
                "sampleLimit",
            ],
        ),
    ]
}
