//! The Deployment of a coordinator.

use lmcache_api::{AnyObject, IpcMode, LMCacheCoordinatorSpec, Object};
use lmcache_server::{CoordinatorOffers, Place, process};
use serde_json::{Value, json};

use super::labels::Owner;
use super::{env, fields};

/// The Deployment.
pub(super) fn build(owner: Owner<'_>, object: &Object<LMCacheCoordinatorSpec>, offers: &CoordinatorOffers) -> Value {
    let spec = &object.spec;
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": owner.metadata(""),
        "spec": {
            "replicas": spec.replicas.unwrap_or(1),
            "selector": {"matchLabels": owner.selector()},
            "strategy": spec.update_strategy,
            "template": {
                "metadata": {
                    "labels": owner.pod_labels(spec.pod_labels.as_ref()),
                    "annotations": fields::map(spec.pod_annotations.as_ref()),
                },
                "spec": {
                    "serviceAccountName": fields::text(spec.service_account_name.as_deref()),
                    "priorityClassName": fields::text(spec.priority_class_name.as_deref()),
                    "nodeSelector": fields::map(spec.node_selector.as_ref()),
                    "affinity": spec.affinity,
                    "tolerations": fields::given(spec.tolerations.as_ref()),
                    "imagePullSecrets": fields::pull_secrets(spec.image_pull_secrets.as_ref()),
                    "securityContext": spec.pod_security_context,
                    "terminationGracePeriodSeconds": spec.termination_grace_period_seconds,
                    "containers": [container(object, offers)],
                    "volumes": fields::given(spec.volumes.as_ref()),
                },
            },
        },
    })
}

fn container(object: &Object<LMCacheCoordinatorSpec>, offers: &CoordinatorOffers) -> Value {
    let spec = &object.spec;
    // Neither is about coordinators.
    let place = Place {
        ipc_default: IpcMode::HostIPC,
        coordinator_url: None,
    };
    let process = process(&AnyObject::LMCacheCoordinator(object.clone()), &place);
    json!({
        "name": "coordinator",
        "image": fields::image(spec.image.as_ref()),
        "imagePullPolicy": fields::pull_policy(spec.image.as_ref()),
        "command": process.command,
        "args": process.args,
        "env": env::last_of_each(process.env),
        // Metrics are served on this one too.
        "ports": [{"name": "http", "containerPort": offers.http_port, "protocol": "TCP"}],
        "resources": spec.resource_overrides.clone().filter(|resources| resources != &json!({})),
        "securityContext": spec.container_security_context,
        "startupProbe": startup_probe(offers),
        "livenessProbe": probe(offers, 10),
        "readinessProbe": probe(offers, 5),
        "volumeMounts": fields::given(spec.volume_mounts.as_ref()),
    })
}

fn probe(offers: &CoordinatorOffers, period_seconds: u32) -> Value {
    json!({
        "httpGet": {"path": offers.health_path, "port": offers.http_port},
        "periodSeconds": period_seconds,
        "failureThreshold": 3,
    })
}

fn startup_probe(offers: &CoordinatorOffers) -> Value {
    json!({
        "httpGet": {"path": offers.health_path, "port": offers.http_port},
        "initialDelaySeconds": 5,
        "periodSeconds": 5,
        "failureThreshold": 30,
    })
}
