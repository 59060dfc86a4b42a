//! What the NetworkPolicies let through, as Kubernetes reads them. Nothing enforces them here: there is no network.

use anyhow::Result;
use serde_json::{Value, json};

use crate::setup::{RENDER, documents, setup};

/// Whether a Pod that an `ingress` is for can be reached on a TCP port by a peer that matches these selectors and no others;
/// `None` is somebody whom no selector matches.
fn admits(policy: &Value, port: u64, peer: Option<&Value>) -> bool {
    let rules = policy["spec"]["ingress"].as_array().unwrap();
    rules.iter().any(|rule| {
        let peers = rule["from"].as_array();
        let from = peers.is_none_or(|peers| peer.is_some_and(|peer| peers.contains(peer)));
        let ports = rule["ports"].as_array().unwrap();
        from && ports.iter().filter(|entry| entry["protocol"] == "TCP").any(|entry| {
            let first = entry["port"].as_u64().unwrap();
            (first..=entry["endPort"].as_u64().unwrap_or(first)).contains(&port)
        })
    })
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_http_ports_are_for_prometheus_and_coordinators_and_the_others_for_all() -> Result<()> {
    let setup = setup().await?;
    let values = json!({"networkPolicy": {"engines": {
        "enabled": true, "namespaces": ["team-a", "team-b"], "httpPorts": [9000, 8080, 8081, 65535],
        "from": [{"ipBlock": {"cidr": "10.1.0.0/16"}}],
    }}});
    let file = setup.plane.folder().join("network.json");
    std::fs::write(&file, values.to_string())?;
    let rendered = setup.render(&["--values", file.to_str().unwrap()])?;
    let policies: Vec<Value> = documents(&rendered)
        .into_iter()
        .filter(|object| object["kind"] == "NetworkPolicy")
        .collect();
    let namespaces: Vec<&Value> = policies.iter().map(|policy| &policy["metadata"]["namespace"]).collect();
    assert_eq!(namespaces, ["team-a", "team-b"]);
    let prometheus = json!({"ipBlock": {"cidr": "10.1.0.0/16"}});
    let labels = json!({
        "app.kubernetes.io/name": "lmcache-coordinator", "app.kubernetes.io/managed-by": "lmcache-operator",
    });
    let coordinator = json!({"podSelector": {"matchLabels": labels}});
    for policy in &policies {
        for port in 1..=65535 {
            let is_http = [8080, 8081, 9000, 65535].contains(&port);
            assert_eq!(admits(policy, port, None), !is_http, "{port}");
        }
        for peer in [&prometheus, &coordinator] {
            assert!(admits(policy, 8080, Some(peer)) && admits(policy, 65535, Some(peer)));
        }
        assert!(!admits(policy, 8080, Some(&json!({"podSelector": {}}))));
        // The labels that the controller gives the servers of an engine, and those of nobody else.
        let selected = &policy["spec"]["podSelector"]["matchLabels"];
        let engine = json!({"app.kubernetes.io/name": "lmcache", "app.kubernetes.io/managed-by": "lmcache-operator"});
        assert_eq!(*selected, engine);
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]));
    }

    let rendered = setup.render(&["--set", "networkPolicy.controller.enabled=true"])?;
    let objects = documents(&rendered);
    let policy = objects.iter().find(|object| object["kind"] == "NetworkPolicy").unwrap();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    assert_eq!(policy["metadata"]["namespace"], RENDER);
    assert_eq!(policy["spec"]["podSelector"], deployment["spec"]["selector"]);
    let ports = &deployment["spec"]["template"]["spec"]["containers"][0]["ports"];
    let rule = &policy["spec"]["ingress"][0];
    assert_eq!(rule["ports"], json!([{"protocol": "TCP", "port": ports[0]["name"]}]));
    assert_eq!(rule["from"].as_array().unwrap().len(), 1);
    // Nobody at all, where nobody is named.
    let values = [
        "--set",
        "networkPolicy.controller.enabled=true",
        "--set-json",
        "networkPolicy.controller.from=[]",
    ];
    let objects = documents(&setup.render(&values)?);
    let policy = objects.iter().find(|object| object["kind"] == "NetworkPolicy").unwrap();
    assert!(
        policy["spec"]["ingress"].as_array().is_none_or(Vec::is_empty),
        "{policy}"
    );
    Ok(())
}
