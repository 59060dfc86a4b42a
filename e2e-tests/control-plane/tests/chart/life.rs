//! A release from its installation to its end, with the controller and the policies as it says at work, and engines that
//! outlive it.

use anyhow::{Context, Result, ensure};
use control_plane::{Controller, Identity, Policy, PolicyServer, wait_until};
use serde_json::{Value, json};

use crate::setup::{Setup, installing, setup};
use crate::shared::workloads::{opted_in, pod};
use crate::shared::{LIMIT, engine};

const NAMESPACE: &str = "lmcache-system";
const KINDS: [&str; 3] = [
    "lmcacheengines.lmcache.lmcache.ai",
    "cacheblendengines.lmcache.lmcache.ai",
    "lmcachecoordinators.lmcache.lmcache.ai",
];

/// The arguments of the installed controller after `run`.
fn arguments(setup: &Setup) -> Result<Vec<String>> {
    let deployment = setup.get("deployment", NAMESPACE, "lmcache-controller")?;
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    let args: Vec<String> = serde_json::from_value(args.clone())?;
    ensure!(args.first().is_some_and(|first| first == "run"), "{args:?}");
    Ok(args[1..].to_vec())
}

/// The policies as they are stored.
pub fn stored(setup: &Setup) -> Result<Vec<Policy>> {
    let list = setup.kubectl(&["get", "clusteradmissionpolicies", "-o", "json"], None)?;
    let list: Value = serde_json::from_str(&list)?;
    let policies = list["items"].as_array().context("no items")?.iter();
    Ok(policies.map(|policy| Policy(policy.clone())).collect())
}

fn mode(policies: &[Policy]) -> Vec<&str> {
    let mut modes: Vec<&str> = policies
        .iter()
        .map(|policy| policy.0["spec"]["settings"]["ipcDefault"].as_str().unwrap())
        .collect();
    modes.dedup();
    modes
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_release_is_installed_changed_and_removed_and_engines_stay() -> Result<()> {
    let (setup, _alone) = installing().await?;
    let chart = setup.chart.to_str().unwrap();
    let admin = setup.plane.cluster(Identity::Admin).await?;
    let install = [
        "install",
        "lmcache",
        chart,
        "--namespace",
        NAMESPACE,
        "--create-namespace",
        "--wait",
        "--timeout=120s",
    ];
    // A server that is not there, or that reads as somebody else.
    for (value, text) in [
        ("policyServer.name=defualt", "the cluster has no such PolicyServer"),
        (
            "policyServer.serviceAccountName=reader",
            "runs as the service account policy-server",
        ),
    ] {
        let complaint = setup.helm_refuses(&[&install[..], &["--set", value]].concat())?;
        assert!(complaint.contains(text), "{text} is not in: {complaint}");
    }
    let notes = setup.helm(&[&install[..], &["--set", "ipcDefault=HostShm"]].concat())?;
    for text in [
        "kubectl -n lmcache-system rollout status deployment/lmcache-controller",
        "The guard fails closed",
        "lmcache.ai/lmcache-inject",
    ] {
        assert!(notes.contains(text), "{text} is not in: {notes}");
    }

    // Helm keeps chart and objects in a Secret, which may have 1 MiB.
    let release = setup.get("secret", NAMESPACE, "sh.helm.release.v1.lmcache.v1")?;
    let size = release["data"]["release"].as_str().context("no release")?.len() * 3 / 4;
    assert!(size < 800_000, "{size} bytes");

    // The installed arguments, with the rights that were installed.
    let args = arguments(setup)?;
    assert_eq!(
        args,
        [
            "--leader-elect",
            "--ipc-default=HostShm",
            "--cluster-domain=cluster.local"
        ]
    );
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let controller = Controller::start(&setup.plane, "chart", &args).await?;
    setup.apply(&[engine("team-a", "kv", "chart")])?;
    wait_until("the engine runs as the values say", LIMIT, async || {
        let connection = setup.get("configmap", "team-a", "kv-connection")?;
        ensure!(
            connection["metadata"]["annotations"]["lmcache.ai/ipc-mode"] == "HostShm",
            "{connection}"
        );
        setup.get("daemonset", "team-a", "kv").map(drop)
    })
    .await?;

    // The policies that were installed, with the rights that were installed.
    let policies = stored(setup)?;
    assert_eq!((policies.len(), mode(&policies)), (7, vec!["HostShm"]));
    let server = PolicyServer::start(&setup.plane, "chart-policies", &policies, &[]).await?;
    server.install()?;
    let wired = wait_until("a Pod is wired as the values say", LIMIT, async || {
        let pod = admin.dry_run(&pod("team-a", "chat", opted_in("chart", "kv"))).await?;
        ensure!(
            pod["metadata"]["annotations"]["lmcache.ai/lmcache-injected"] == "true",
            "{}",
            pod["metadata"]
        );
        Ok(pod)
    })
    .await?;
    let paths = wired["spec"]["volumes"]
        .as_array()
        .context("no volumes")?
        .iter()
        .map(|volume| &volume["hostPath"]["path"]);
    assert!(
        paths.collect::<Vec<_>>().contains(&&json!("/dev/shm")),
        "{}",
        wired["spec"]
    );
    assert!(wired["spec"]["hostIPC"].is_null());
    server.uninstall()?;
    drop(server);

    // One value is changed, and the number of replicas.
    let upgrade = [
        "upgrade",
        "lmcache",
        chart,
        "--namespace",
        NAMESPACE,
        "--reuse-values",
        "--wait",
        "--timeout=120s",
    ];
    let values = [
        "--set",
        "ipcDefault=Isolated,controller.replicas=2,controller.podDisruptionBudget.enabled=true",
    ];
    setup.helm(&[&upgrade[..], &values].concat())?;
    assert!(arguments(setup)?.contains(&"--ipc-default=Isolated".to_owned()));
    assert_eq!(mode(&stored(setup)?), ["Isolated"]);
    let budget = setup.get("poddisruptionbudget", NAMESPACE, "lmcache-controller")?;
    wait_until("both replicas are there, and one may go", LIMIT, async || {
        let deployment = setup.get("deployment", NAMESPACE, "lmcache-controller")?;
        ensure!(deployment["status"]["readyReplicas"] == 2, "{}", deployment["status"]);
        let status = setup.get("poddisruptionbudget", NAMESPACE, "lmcache-controller")?["status"].clone();
        ensure!(status["disruptionsAllowed"] == 1, "{status}");
        Ok(())
    })
    .await?;
    assert_eq!(budget["spec"]["maxUnavailable"], 1);

    // What cannot be: a second release, and policies that move.
    let second = ["install", "other", chart, "--namespace", "team-b"];
    let complaint = setup.helm_refuses(&second)?;
    assert!(
        complaint.contains("a release of the chart already, lmcache in namespace lmcache-system"),
        "{complaint}"
    );
    let moved = [&upgrade[..], &["--set", "policyServer.dedicated.enabled=true"]].concat();
    let complaint = setup.helm_refuses(&moved)?;
    assert!(
        complaint.contains("runs on the PolicyServer default and cannot be moved to lmcache"),
        "{complaint}"
    );
    assert!(setup.find("policyserver", "", "lmcache")?.is_none());

    // The end. Nothing of it is left but the kinds; engine and servers are the same.
    let before = setup.get("lmcacheengine", "team-a", "kv")?;
    let servers = setup.get("daemonset", "team-a", "kv")?;
    drop(controller);
    setup.helm(&[
        "uninstall",
        "lmcache",
        "--namespace",
        NAMESPACE,
        "--wait",
        "--timeout=120s",
    ])?;
    for (kind, namespace, name) in [
        ("deployment", NAMESPACE, "lmcache-controller"),
        ("serviceaccount", NAMESPACE, "lmcache-controller"),
        ("poddisruptionbudget", NAMESPACE, "lmcache-controller"),
        ("clusterrole", "", "lmcache-controller"),
        ("clusterrole", "", "lmcacheengine-viewer"),
        ("clusterrolebinding", "", "lmcache-kubewarden-policies"),
        ("clusteradmissionpolicy", "", "lmcache-guard"),
    ] {
        assert!(setup.find(kind, namespace, name)?.is_none(), "{kind} {name} is left");
    }
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let same = |kind: &str, name: &str, before: &Value| -> Result<()> {
        let now = setup.get(kind, "team-a", name)?;
        ensure!(
            uid(&now) == uid(before) && now["metadata"]["deletionTimestamp"].is_null(),
            "{kind} {name}: {now}"
        );
        Ok(())
    };
    same("lmcacheengine", "kv", &before)?;
    same("daemonset", "kv", &servers)?;
    let kinds = KINDS.map(|kind| setup.get("customresourcedefinition", "", kind).map(|kind| uid(&kind)));
    let kinds: Vec<Value> = kinds.into_iter().collect::<Result<_>>()?;

    // Installed again it adopts them.
    setup.helm(&install)?;
    for (kind, before) in KINDS.iter().zip(&kinds) {
        let now = setup.get("customresourcedefinition", "", kind)?;
        assert_eq!(uid(&now), *before, "{kind}");
        assert_eq!(now["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
    same("lmcacheengine", "kv", &before)?;
    setup.helm(&["uninstall", "lmcache", "--namespace", NAMESPACE, "--wait"])?;

    // Under another name it has to be told that it may.
    let renamed = [
        "install",
        "cache",
        chart,
        "--namespace",
        "team-b",
        "--wait",
        "--timeout=120s",
    ];
    let complaint = setup.helm_refuses(&renamed)?;
    assert!(complaint.contains("invalid ownership metadata"), "{complaint}");
    setup.helm(&[&renamed[..], &["--take-ownership"]].concat())?;
    same("lmcacheengine", "kv", &before)?;
    same("daemonset", "kv", &servers)?;
    setup.helm(&["uninstall", "cache", "--namespace", "team-b", "--wait"])?;
    setup.kubectl(&["delete", "-n", "team-a", "lmcacheengine", "kv"], None)?;
    setup.kubectl(&[&["delete", "customresourcedefinition"][..], &KINDS].concat(), None)?;
    Ok(())
}

/// A cluster without Kubewarden or without the Prometheus operator says so before anything is stored.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn what_the_cluster_lacks_is_named() -> Result<()> {
    let programs = tokio::task::spawn_blocking(control_plane::Programs::find).await??;
    let bare = control_plane::ControlPlane::start(programs).await?;
    let setup = setup().await?;
    let kubeconfig = bare.kubeconfig(Identity::Admin);
    let refuses = |args: &[&str]| -> Result<String> {
        let base = [
            "install",
            "lmcache",
            setup.chart.to_str().unwrap(),
            "-n",
            NAMESPACE,
            "--create-namespace",
        ];
        let args = [&base[..], &["--kubeconfig", kubeconfig.to_str().unwrap()], args].concat();
        setup.helm_refuses(&args)
    };
    let complaint = refuses(&[])?;
    assert!(
        complaint.contains("does not know the kind ClusterAdmissionPolicy: install Kubewarden first"),
        "{complaint}"
    );
    for (value, kind) in [
        ("monitoring.serviceMonitor.enabled", "ServiceMonitor"),
        ("monitoring.prometheusRule.enabled", "PrometheusRule"),
    ] {
        let complaint = refuses(&["--set", &format!("policies.enabled=false,{value}=true")])?;
        assert!(
            complaint.contains(&format!(
                "{value} is true and the cluster does not know the kind {kind}"
            )),
            "{complaint}"
        );
    }
    // Without what it lacks the controller alone does.
    let chart = setup.chart.to_str().unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let alone = [
        "install",
        "lmcache",
        chart,
        "-n",
        NAMESPACE,
        "--create-namespace",
        "--kubeconfig",
        kubeconfig,
    ];
    let notes = setup.helm(&[&alone[..], &["--set", "policies.enabled=false"]].concat())?;
    assert!(notes.contains("No policies were installed"), "{notes}");
    Ok(())
}
