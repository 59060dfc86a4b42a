//! What the chart refuses, with a text that says what to do.

use anyhow::Result;

use crate::setup::{RENDER, setup};

/// Values, and what the complaint names.
const REFUSED: &[(&str, &[&str])] = &[
    // By the schema.
    (
        "ipcdefault=HostIPC",
        &["additional properties 'ipcdefault' not allowed"],
    ),
    (
        "controller.image.repo=x",
        &["/controller/image", "additional properties 'repo' not allowed"],
    ),
    (
        "policies.guard.enable=false",
        &["/policies/guard", "additional properties 'enable' not allowed"],
    ),
    (
        "policies.digests.podInjection=x",
        &["/policies/digests", "additional properties 'podInjection' not allowed"],
    ),
    (
        "ipcDefault=hostipc",
        &["/ipcDefault", "'HostIPC', 'HostShm', 'Isolated'"],
    ),
    (
        "clusterDomain=Cluster Local",
        &["/clusterDomain", "does not match pattern"],
    ),
    ("crds.install=yes", &["/crds/install", "want boolean"]),
    ("controller.replicas=-1", &["/controller/replicas", "minimum"]),
    ("controller.concurrency=0", &["/controller/concurrency", "minimum"]),
    (
        "controller.image.digest=sha256:abc",
        &["/controller/image/digest", "does not match pattern"],
    ),
    (
        "policies.digests.pod-injection=latest",
        &["/policies/digests/pod-injection", "does not match pattern"],
    ),
    (
        "policies.registry=registry://example.com/kv",
        &["/policies/registry", "does not match pattern"],
    ),
    ("policies.timeoutSeconds=31", &["/policies/timeoutSeconds", "maximum"]),
    (
        "policies.settings.optIn=label",
        &["/policies/settings/optIn", "'Label', 'Annotation'"],
    ),
    (
        "policies.settings.podSecurity=true",
        &["/policies/settings/podSecurity", "'Skip', 'Warn', 'Off'"],
    ),
    (
        "policies.podInjection.variant=Both",
        &["/policies/podInjection/variant", "'Combined', 'Separate'"],
    ),
    (
        "policies.engineValidation.mode=off",
        &["/policies/engineValidation/mode", "'protect', 'monitor'"],
    ),
    (
        "networkPolicy.engines.httpPorts={80}",
        &["/networkPolicy/engines/httpPorts/0", "minimum"],
    ),
    (
        "networkPolicy.engines.namespaces={Team}",
        &["/networkPolicy/engines/namespaces/0", "does not match pattern"],
    ),
    (
        "policyServer.dedicated.replicas=0",
        &["/policyServer/dedicated/replicas", "minimum"],
    ),
    // By the templates.
    (
        "policyServer.dedicated.enabled=true,policyServer.dedicated.replicas=1",
        &["policyServer.dedicated.minAvailable is 1", "could be drained"],
    ),
    (
        "digestsOf=0.0.9",
        &[
            "those of version 0.0.9",
            "this chart is version",
            "digests.yaml of that release",
        ],
    ),
    (
        "controller.replicas=2,controller.leaderElection=false",
        &[
            "controller.replicas is 2 and controller.leaderElection is false",
            "Set leaderElection to true",
        ],
    ),
    (
        "networkPolicy.engines.enabled=true",
        &[
            "networkPolicy.engines.namespaces is empty",
            "list those that have engines",
        ],
    ),
    (
        "policyServer.dedicated.enabled=true,policies.enabled=false",
        &["policyServer.dedicated.enabled is true and policies.enabled is false"],
    ),
    (
        "monitoring.serviceMonitor.enabled=true,controller.enabled=false",
        &["monitoring.serviceMonitor.enabled is true and controller.enabled is false"],
    ),
    (
        "monitoring.prometheusRule.enabled=true,controller.enabled=false",
        &["monitoring.prometheusRule.enabled is true and controller.enabled is false"],
    ),
];

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn wrong_values_are_refused_by_name() -> Result<()> {
    let setup = setup().await?;
    let chart = setup.chart.to_str().unwrap();
    for (values, texts) in REFUSED {
        let complaint = setup.helm_refuses(&["template", "lmcache", chart, "--namespace", RENDER, "--set", values])?;
        for text in *texts {
            assert!(complaint.contains(text), "{values}: {text} is not in: {complaint}");
        }
    }
    Ok(())
}
