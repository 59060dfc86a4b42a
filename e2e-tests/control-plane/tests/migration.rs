//! The way of docs/migrate-from-go-operator.md from one end to the other, step by step, with what `adopt --check` says before
//! and after each: servers and clients run on, and new Pods are wired once.
//!
//! The Go operator itself is no part of this repository. Its objects are those that it left in a real cluster
//! (`fixtures/go-operator/july/stored`), and [`GoWebhooks`] replays what its webhooks were recorded to do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "migration/check.rs"]
mod check;
#[path = "migration/pods.rs"]
mod pods;
mod shared;
#[path = "migration/world.rs"]
mod world;
#[path = "migration/wrong.rs"]
mod wrong;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use control_plane::cluster::{condition, read};
use control_plane::go_webhooks::{Answer, CONFIGURATION, Recording};
use control_plane::{Cluster, ControlPlane, Controller, GoWebhooks, Identity, Policy, PolicyServer, wait_until};
use serde_json::json;

use check::{expected_of_engines, expected_of_workloads, next, only_reads};
use pods::{both_wire, new_pods, recording, restarted_again, template_pod, wired_by_us};
use shared::LIMIT;
use shared::policies::post;
use shared::stored::{Seeded, id, managers};
use shared::workloads::{restarted, rolled_out};
use world::{NS, OPERATOR, OPERATOR_NS, WORKLOADS, deployment};

const RECONCILED: [&str; 3] = ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"];

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_whole_way() -> Result<()> {
    let plane = world::bare().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    world::go_operator(&admin).await?;
    let seeded = world::engines(&plane, &admin).await?;
    let mut chat = deployment(WORKLOADS[0].0, WORKLOADS[0].1)?;
    chat["spec"]["replicas"] = json!(0);
    admin.apply(&chat).await?;
    may_look(&plane, &admin).await?;
    wrong::a_webhook_that_fails_closed(&plane, &admin).await?;

    let webhooks = as_it_was(&plane, &admin).await?;
    let running = world::pods(&admin).await?;
    assert!(running.len() > 15, "{running:#?}");
    let customs = customs(&admin).await?;

    // Step 1.
    let first = next(&plane, 1, &["go-operator-runs", "go-webhooks", "crds-at-risk"]).await?;
    expected_of_engines(&first, &seeded);
    expected_of_workloads(&first);
    keep_the_crds(&plane, &admin).await?;
    next(&plane, 2, &["go-operator-runs", "go-webhooks"]).await?;

    // Step 2.
    admin.apply_file("deploy/policies/rbac.yaml", "").await?;
    let looking = serve(&plane, "looking", &["engine-validation", "workload-preflight"]).await?;
    told_who_applies(&admin).await?;
    next(&plane, 3, &["go-operator-runs", "go-webhooks"]).await?;

    // Step 3: both wire.
    let wiring = serve(&plane, "wiring", &["lmcache-pod-injection", "cacheblend-pod-injection"]).await?;
    both_wire(&admin, &webhooks).await?;
    next(&plane, 4, &["go-operator-runs", "both-webhooks"]).await?;

    // Step 4.
    admin.delete("MutatingWebhookConfiguration", "", CONFIGURATION).await?;
    wait_until("the Go operator's webhooks are not asked any more", LIMIT, async || {
        let pod = admin.dry_run(&template_pod("own", "gone")?).await?;
        ensure!(pod["spec"]["hostIPC"].is_null(), "still wired");
        Ok(())
    })
    .await?;
    next(&plane, 5, &["go-operator-runs"]).await?;

    // Step 5.
    world::scale(&admin, 0).await?;
    webhooks.stop();
    let stopped = next(&plane, 6, &[]).await?;
    assert_eq!(stopped.report["engines"].as_array().unwrap().len(), customs.len());
    new_pods(&admin, "between").await?;

    // Step 6.
    let controller = our_controller(&plane, &admin, &seeded).await?;
    assert_eq!(
        world::pods(&admin).await?,
        extended(&running, &admin).await?,
        "a Pod was restarted"
    );
    assert_eq!(self::customs(&admin).await?, customs);
    let taken = next(&plane, 7, &[]).await?;
    assert!(
        taken.codes("change").contains(&"workloads-change"),
        "{:#}",
        taken.report["findings"]
    );

    // Step 7.
    for (name, _) in WORKLOADS {
        wired_by_us(name, &restarted(&admin, NS, name).await?)?;
    }
    for name in ["own-both", "chat-both"] {
        restarted(&admin, NS, name).await?;
    }
    let settled = next(&plane, 8, &[]).await?;
    for (name, _) in WORKLOADS {
        assert_eq!(settled.differences(name), [""; 0], "{name}");
    }

    // Step 8.
    let guarding = serve(&plane, "guarding", &["lmcache-wiring-audit", "lmcache-guard"]).await?;
    next(&plane, 9, &[]).await?;
    wired_by_us("chat", &restarted_again(&admin, "chat").await?)?;

    // Step 9.
    admin.delete("Deployment", OPERATOR_NS, OPERATOR).await?;
    let last = next(&plane, 0, &[]).await?;
    assert_eq!(last.code, 0);
    assert_eq!(last.codes("first"), [""; 0]);
    assert_eq!(self::customs(&admin).await?, customs);
    only_reads(&plane)?;
    drop((controller, looking, wiring, guarding));
    Ok(())
}

/// Without its role it says what is missing; with it, it looks.
async fn may_look(plane: &ControlPlane, admin: &Cluster) -> Result<()> {
    let output = Controller::command(plane, Identity::Viewer, &["adopt", "--check"])?;
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr)?;
    assert!(
        error.contains("list lmcacheengines.lmcache.lmcache.ai") && error.contains("list deployments.apps"),
        "{error}"
    );
    admin.apply_file("deploy/adopt/rbac.yaml", "").await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "lmcache-adopt-check"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "lmcache-adopt-check"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": Identity::Viewer.user()}],
    });
    admin.apply(&binding).await?;
    wait_until("the role is known", LIMIT, async || check::check(plane).map(drop)).await
}

/// The Go operator's webhooks, and workloads whose Pods they wired.
async fn as_it_was(plane: &ControlPlane, admin: &Cluster) -> Result<GoWebhooks> {
    let webhooks = GoWebhooks::start(plane)?;
    admin.apply(&webhooks.configuration(NS, "Ignore")).await?;
    wait_until("the Go operator's webhooks are asked", LIMIT, async || {
        let pod = admin.dry_run(&template_pod("chat", "asked")?).await?;
        ensure!(pod["spec"]["hostIPC"] == true, "not yet");
        Ok(())
    })
    .await?;
    for (name, recording) in WORKLOADS {
        admin.apply(&deployment(name, recording)?).await?;
        let pod = rolled_out(admin, NS, name).await?.remove(0);
        let recorded = Recording::read(recording)?.after;
        for key in ["args", "env"] {
            assert_eq!(
                pod["spec"]["containers"][0][key], recorded["spec"]["containers"][0][key],
                "{name}"
            );
        }
        assert_eq!(pod["spec"]["hostIPC"], recorded["spec"]["hostIPC"], "{name}");
        assert!(webhooks.answers(recording).contains(&Answer::Replayed), "{name}");
    }
    Ok(webhooks)
}

/// Kinds, names and uids of all custom resources.
async fn customs(admin: &Cluster) -> Result<BTreeSet<String>> {
    let mut customs = BTreeSet::new();
    for kind in RECONCILED {
        for custom in admin.list(kind, "", "").await? {
            let (kind, namespace, name) = id(&custom);
            customs.insert(format!("{kind} {namespace}/{name} {}", custom["metadata"]["uid"]));
        }
    }
    Ok(customs)
}

/// An annotation by hand is not what `helm uninstall` looks at, and the check knows.
async fn keep_the_crds(plane: &ControlPlane, admin: &Cluster) -> Result<()> {
    let keep = json!({"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}});
    for plural in ["lmcacheengines", "cacheblendengines", "lmcachecoordinators"] {
        let name = format!("{plural}.lmcache.lmcache.ai");
        admin.patch("CustomResourceDefinition", "", &name, &keep).await?;
    }
    let by_hand = next(plane, 1, &["go-operator-runs", "go-webhooks", "crds-at-risk"]).await?;
    assert_eq!(
        by_hand.report["crds"][0]["installedBy"][0]["keeps"],
        "not-in-the-release"
    );
    world::release(admin, Some("keep")).await
}

/// Policies of `deploy/policies` by their files, in force.
async fn serve(plane: &ControlPlane, name: &str, files: &[&str]) -> Result<PolicyServer> {
    let mut policies = Vec::new();
    for file in files {
        let objects = read(&format!("deploy/policies/{file}.yaml"))?;
        policies.extend(objects.into_iter().map(Policy));
    }
    let server = PolicyServer::start(plane, name, &policies, &[]).await?;
    server.install()?;
    Ok(server)
}

/// Whoever applies a workload hears what ours will not do, while the Go operator still wires.
async fn told_who_applies(admin: &Cluster) -> Result<()> {
    let path = format!("/apis/apps/v1/namespaces/{NS}/deployments?dryRun=All");
    let mut own = deployment("own", recording("own"))?;
    own["metadata"]["name"] = json!("own-told");
    wait_until("workload-preflight warns", LIMIT, async || {
        let (code, warnings) = post(admin, &path, &own).await?;
        ensure!(code == 201 && warnings.len() == 1, "{code}: {warnings:?}");
        ensure!(warnings[0].contains("Pods will not be wired"), "{warnings:?}");
        Ok(())
    })
    .await
}

/// The Pods that ran before, and those that tests made since.
async fn extended(running: &BTreeMap<String, String>, admin: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut all = running.clone();
    for name in ["chat-both", "own-both", "chat-between", "own-between", "blend-between"] {
        for pod in shared::workloads::pods(admin, NS, name).await? {
            let (_, namespace, pod_name) = id(&pod);
            all.insert(
                format!("{namespace}/{pod_name}"),
                pod["metadata"]["uid"].as_str().unwrap().to_owned(),
            );
        }
    }
    Ok(all)
}

/// Our CRDs, rights and controller; every object is taken over as it is.
async fn our_controller(plane: &ControlPlane, admin: &Cluster, seeded: &Seeded) -> Result<Controller> {
    admin.install().await?;
    admin.apply_file("deploy/controller/deployment.yaml", "").await?;
    // kwok plays the Pods of that Deployment; this is what would run in them.
    let controller = Controller::start(plane, "controller-0", &[]).await?;
    wait_until("every object has been reconciled", LIMIT, async || {
        for kind in RECONCILED {
            for custom in admin.list(kind, "", "").await? {
                let name = &custom["metadata"]["name"];
                ensure!(
                    condition(&custom, "Reconciled").is_some(),
                    "{name}: {}",
                    custom["status"]
                );
            }
        }
        Ok(())
    })
    .await?;
    for (case, before) in seeded.children.iter().filter(|(case, _)| case != "coordinator-full") {
        let (kind, namespace, name) = id(before);
        let what = format!("{case}: {kind} {name}");
        let after = admin.get(&kind, &namespace, &name).await.context(what.clone())?;
        assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "{what}");
        assert_eq!(after["spec"]["template"], before["spec"]["template"], "{what}");
        if matches!(kind.as_str(), "DaemonSet" | "Deployment") {
            assert_eq!(
                after["metadata"]["generation"], before["metadata"]["generation"],
                "{what}"
            );
        }
        let is_ours = managers(&after).contains(&("lmcache-controller", "Apply"));
        assert_eq!(is_ours, case != "foreign", "{what}");
    }
    Ok(controller)
}
