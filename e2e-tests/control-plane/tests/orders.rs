//! Whichever order the API server calls the policies in, and whoever else changes the Pod before, between or after
//! them, the Pod is the same in the end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "orders/setup.rs"]
mod setup;
mod shared;

use anyhow::{Result, ensure};
use control_plane::proxy_webhook::NAME;
use control_plane::{Cluster, wait_until};
use serde_json::{Value, json};
use setup::{MUTATING, Namespace, STAMPS, Setup, asking, brief, called, created, join, leave, stamps, turn, wanted};
use shared::LIMIT;
use shared::workloads::{connection, wiring};

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn each_order_gives_what_pod_injection_gives() -> Result<()> {
    let (_turn, setup, admin) = turn().await?;
    let wanted = wanted(&admin).await?;
    for (ns, pods) in created(&admin, &setup.namespaces, "alone").await? {
        for (pod, wanted) in pods.iter().zip(&wanted) {
            assert_eq!(brief(&ns, pod), *wanted, "{ns}/{}", pod["metadata"]["name"]);
        }
        let order = &setup.namespaces.iter().find(|(name, _)| *name == ns).unwrap().1;
        // The policies that are not for a Pod are not called.
        let matching = |ending: &str| -> Vec<String> {
            let is = |name: &&String| name.contains("cacheblend") == (ending == "blend") || ending == "both";
            order.iter().filter(is).cloned().collect()
        };
        for kind in ["lmcache", "blend", "both"] {
            let called = called(setup, &ns, &format!("alone-{kind}"))?;
            assert_eq!(called, matching(kind), "{ns}/{kind}");
        }
        let payload = |name: &str, engine: &str| {
            json!([
                [{"name": name, "mountPath": format!("/{name}"), "readOnly": true}],
                [{"name": name, "emptyDir": {}}],
                [{"name": format!("{name}-stage"), "image": format!("registry.example.com/{engine}/payload:v0.5.6")}],
            ])
        };
        let lmcache = wiring(&pods[0]);
        assert_eq!(
            lmcache["args"],
            json!([
                "--model",
                "org/model-8b",
                "--kv-transfer-config",
                connection(&ns, "kv", 5555)
            ])
        );
        assert_eq!(
            lmcache["env"],
            json!([{"name": "PYTHONHASHSEED", "value": "0"}, {"name": "PYTHONPATH", "value": "/lmcache-payload"}])
        );
        let staged = |wiring: &Value| ["volumeMounts", "volumes", "initContainers"].map(|key| wiring[key].clone());
        assert_eq!(json!(staged(&lmcache)), payload("lmcache-payload", "kv"));
        assert_eq!(pods[0]["spec"]["imagePullSecrets"], json!([{"name": "kv-pull"}]));
        assert_eq!(stamps(&pods[0]), STAMPS[..2]);
        for blend in &pods[1..3] {
            let wiring = wiring(blend);
            let args = wiring["args"].as_array().unwrap();
            assert_eq!(args[5]["kv_connector"], "CBKVConnector");
            assert_eq!(args.len(), 13, "{args:?}");
            assert_eq!(wiring["env"], json!([{"name": "PYTHONPATH", "value": "/cb-plugin"}]));
            assert_eq!(json!(staged(&wiring)), payload("cb-plugin", "blend"));
            assert_eq!(blend["spec"]["imagePullSecrets"], json!([{"name": "blend-pull"}]));
            assert_eq!(stamps(blend), STAMPS[2..]);
        }
        let reason = |pod: &Value, system: &str| {
            pod["metadata"]["annotations"][format!("lmcache.ai/{system}-skip-reason")].clone()
        };
        assert_eq!(reason(&pods[2], "lmcache"), "cacheblend-takes-precedence");
        assert_eq!(reason(&pods[3], "cacheblend"), "engine-annotation-missing");
        assert_eq!(stamps(&pods[3]), STAMPS[..2]);
        for pod in &pods {
            assert_eq!(pod["spec"]["hostIPC"], true);
        }
    }
    Ok(())
}

/// Checks Pods that the proxy was put into: it comes first and is as it was put there, and all else is as without it.
async fn check(admin: &Cluster, namespaces: &[Namespace], prefix: &str, wanted: &[Value]) -> Result<()> {
    for (ns, mut pods) in created(admin, namespaces, prefix).await? {
        // A Pod that is none of our business.
        let other = admin.dry_run(&asking(&ns, &format!("{prefix}-other"))).await?;
        for (pod, wanted) in pods.iter_mut().zip(wanted) {
            let mut expected = other["spec"]["containers"][0].clone();
            if let Some(name) = pod["metadata"]["annotations"].get(NAME) {
                expected["name"] = name.clone();
            }
            let proxy = pod["spec"]["containers"].as_array_mut().unwrap().remove(0);
            assert_eq!(proxy, expected, "{ns}/{}", pod["metadata"]["name"]);
            assert_eq!(brief(&ns, pod), *wanted, "{ns}/{}", pod["metadata"]["name"]);
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_proxy_that_is_put_first_is_never_the_target() -> Result<()> {
    let (_turn, setup, admin) = turn().await?;
    leave(&admin, setup).await?;
    let wanted = wanted(&admin).await?;
    let all: Vec<&str> = setup.namespaces.iter().map(|(ns, _)| ns.as_str()).collect();
    for position in 0..=3 {
        let places = match position {
            0 => vec![("a-mesh".to_owned(), all.clone())],
            3 => vec![("zz-mesh".to_owned(), all.clone())],
            // Behind the policy of that number and before the next one; there are only two in the last namespaces.
            between => all[..all.len() - 2 * (between - 1)]
                .iter()
                .map(|ns| (format!("kw.cap.{ns}-{}x", between - 1), vec![*ns]))
                .collect(),
        };
        join(&admin, setup, &places, "Never").await?;
        let prefix = format!("at-{position}");
        let joined: Vec<&str> = places.iter().flat_map(|(_, all)| all.clone()).collect();
        let mut namespaces = setup.namespaces.clone();
        namespaces.retain(|(ns, _)| joined.contains(&ns.as_str()));
        check(&admin, &namespaces, &prefix, &wanted).await?;
        for (ns, policies) in &namespaces {
            let before = policies[..position.min(policies.len())].join(" ");
            for (kind, possible) in [("lmcache", &STAMPS[..2]), ("blend", &STAMPS[2..])] {
                let mut expected = possible.to_vec();
                expected.retain(|stamp| match *stamp {
                    "lmcache-injected" => before.contains("connection-") || before.contains("lmcache-pod-"),
                    "lmcache-payload-staged" => before.contains("payload-") || before.contains("lmcache-pod-"),
                    _ => before.contains("cacheblend-"),
                });
                let asked = setup.mesh.asked(ns, &format!("{prefix}-{kind}"));
                let seen: Vec<_> = asked.iter().map(stamps).collect();
                assert_eq!(seen, [expected], "{ns} {kind} {position}");
            }
        }
        leave(&admin, setup).await?;
    }
    Ok(())
}

/// Changes the `reinvocationPolicy` of all our webhooks from one value to another.
async fn reinvoke(admin: &Cluster, setup: &Setup, from: &str, to: &str) -> Result<()> {
    for policy in setup.namespaces.iter().flat_map(|(_, policies)| policies) {
        let name = format!("kw.cap.{policy}");
        let mut webhooks = admin.get(MUTATING, "", &name).await?["webhooks"].take();
        assert_eq!(webhooks[0]["reinvocationPolicy"], from, "{policy}");
        webhooks[0]["reinvocationPolicy"] = to.into();
        admin.patch(MUTATING, "", &name, &json!({"webhooks": webhooks})).await?;
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn nothing_breaks_where_the_api_server_calls_again() -> Result<()> {
    let (_turn, setup, admin) = turn().await?;
    leave(&admin, setup).await?;
    let wanted = wanted(&admin).await?;
    let all: Vec<&str> = setup.namespaces.iter().map(|(ns, _)| ns.as_str()).collect();

    // The mesh asks to be called again when policies behind it changed the Pod: it gets to see the wired Pod.
    join(&admin, setup, &[("a-mesh".to_owned(), all.clone())], "IfNeeded").await?;
    check(&admin, &setup.namespaces, "mesh-again", &wanted).await?;
    for ns in &all {
        let asked = setup.mesh.asked(ns, "mesh-again-lmcache");
        let seen: Vec<_> = asked.iter().map(stamps).collect();
        assert_eq!(seen, [vec![], STAMPS[..2].to_vec()], "{ns}");
    }
    leave(&admin, setup).await?;

    // Kubewarden never asks for it. Who sets it by hand gets nothing twice.
    join(&admin, setup, &[("zz-mesh".to_owned(), all.clone())], "Never").await?;
    reinvoke(&admin, setup, "Never", "IfNeeded").await?;
    let twice = |names: &[String]| -> Vec<String> { [names, names].concat() };
    let mut tries = 0;
    wait_until("the policies are called again", LIMIT, async || {
        tries += 1;
        for (ns, policies) in &setup.namespaces {
            let name = format!("again-{tries}-both");
            admin.dry_run(&asking(ns, &name)).await?;
            let called = called(setup, ns, &name)?;
            ensure!(called == twice(policies), "{called:?}");
        }
        Ok(())
    })
    .await?;
    check(&admin, &setup.namespaces, "policies-again", &wanted).await?;
    for (ns, policies) in &setup.namespaces {
        assert_eq!(called(setup, ns, "policies-again-both")?, twice(policies));
    }
    leave(&admin, setup).await?;
    reinvoke(&admin, setup, "IfNeeded", "Never").await
}
