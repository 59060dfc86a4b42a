use rstest::rstest;
use serde_json::{Value, json};

use super::support::{codes, found, go_operator, go_webhooks, lease, ours, report};
use crate::adopt::{Level, codes as code};

const INJECTORS: [&str; 2] = ["lmcache-pod-injection", "cacheblend-pod-injection"];

fn asking() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat", "namespace": "team-a"},
        "spec": {"template": {
            "metadata": {
                "labels": {"lmcache.ai/lmcache-inject": "true"}, "annotations": {"lmcache.ai/lmcache-engine": "kv"},
            },
            "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.24.0"}]},
        }},
    })
}

/// What has to be done first, by what is registered and whether the Go operator answers.
#[rstest]
#[case::as_it_was("Ignore", 1, &[], &[code::GO_WEBHOOKS])]
#[case::both("Ignore", 1, &INJECTORS, &[code::BOTH_WEBHOOKS])]
#[case::closed("Fail", 1, &INJECTORS, &[code::WEBHOOK_FAILS_CLOSED, code::WEBHOOK_FAILS_CLOSED, code::BOTH_WEBHOOKS])]
#[case::refused("Fail", 0, &INJECTORS, &[code::PODS_REFUSED, code::PODS_REFUSED, code::BOTH_WEBHOOKS])]
#[case::refused_and_unwired("Fail", 0, &[], &[code::PODS_REFUSED, code::PODS_REFUSED, code::GO_WEBHOOKS, code::PODS_UNWIRED])]
#[case::unwired("Ignore", 0, &[], &[code::GO_WEBHOOKS, code::PODS_UNWIRED])]
#[case::half("Ignore", 0, &["cacheblend-pod-injection"], &[code::BOTH_WEBHOOKS, code::PODS_UNWIRED])]
#[case::single("Ignore", 0, &["lmcache-connection-injection", "lmcache-payload-staging"], &[code::BOTH_WEBHOOKS])]
#[case::guarded("Ignore", 1, &["lmcache-pod-injection", "cacheblend-pod-injection", "lmcache-guard"],
    &[code::BOTH_WEBHOOKS, code::GUARD_TOO_EARLY])]
fn what_is_registered(
    #[case] failure_policy: &str,
    #[case] replicas: u64,
    #[case] policies: &[&str],
    #[case] expected: &[&str],
) {
    let mut objects = vec![go_operator(replicas), go_webhooks(failure_policy), asking()];
    objects.extend(ours(policies));
    let report = report(objects);
    let mut firsts = codes(&report, Level::First);
    firsts.retain(|code| *code != code::GO_OPERATOR_RUNS);
    assert_eq!(firsts, expected, "{:#?}", report.findings);
}

/// In mode `monitor` a policy is registered, and does nothing.
#[test]
fn policies_that_monitor_count_for_nothing() {
    let monitors = |name: &str| json!({"apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy", "metadata": {"name": name}, "spec": {"mode": "monitor"}});
    let mut objects = vec![
        go_operator(1),
        go_webhooks("Ignore"),
        asking(),
        monitors("lmcache-guard"),
    ];
    objects.extend(INJECTORS.iter().map(|name| monitors(name)));
    objects.extend(ours(&[
        "lmcache-pod-injection",
        "cacheblend-pod-injection",
        "lmcache-guard",
    ]));
    let beside = report(objects.clone());
    assert_eq!(
        codes(&beside, Level::First),
        [code::GO_OPERATOR_RUNS, code::GO_WEBHOOKS]
    );
    let finding = found(&beside, code::POLICY_MONITORS);
    assert!(
        finding.found.contains("lmcache-pod-injection") && finding.found.contains("lmcache-guard"),
        "{finding:?}"
    );
    // Those that only tell do so in that mode, and are no finding.
    let tellers = ["lmcache-wiring-audit", "lmcache-workload-preflight"];
    let mut whole = ours(&INJECTORS);
    whole.extend(ours(&tellers));
    whole.extend(tellers.map(monitors));
    assert_eq!(codes(&report(whole), Level::Note), [code::NO_CRDS]);
    let alone = report(objects.drain(2..));
    assert_eq!(codes(&alone, Level::First), [code::PODS_UNWIRED]);
}

#[test]
fn after_them_ours_have_to_wire_what_is_asked_for() {
    assert_eq!(codes(&report([asking()]), Level::First), [code::PODS_UNWIRED]);
    let mut objects = ours(&INJECTORS[1..]);
    objects.push(asking());
    assert_eq!(codes(&report(objects.clone()), Level::First), [code::PODS_UNWIRED]);
    objects.extend(ours(&INJECTORS[..1]));
    assert!(report(objects).clear);
    // Nobody asks.
    assert!(report([]).clear);
}

#[test]
fn a_webhook_that_is_asked_about_every_pod_is_told_as_such() {
    let mut webhooks = go_webhooks("Fail");
    webhooks["webhooks"][1]
        .as_object_mut()
        .unwrap()
        .remove("objectSelector");
    let report = report([go_operator(1), webhooks]);
    let texts: Vec<&str> = report.of(Level::First).map(|finding| finding.found.as_str()).collect();
    assert!(
        texts
            .iter()
            .any(|text| text.contains("every Pod of the cluster is refused")),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .any(|text| text.contains("every Pod with lmcache.ai/cacheblend-inject is refused")),
        "{texts:?}"
    );
}

#[test]
fn webhooks_are_recognised_under_other_names() {
    let mut early = go_webhooks("Ignore");
    early["webhooks"][0]["name"] = json!("mpod.lmcache.ai");
    let mut renamed = go_webhooks("Ignore");
    renamed["metadata"]["name"] = json!("cache-webhooks");
    for (number, name) in [(0, "a.example.com"), (1, "b.example.com")] {
        renamed["webhooks"][number]["name"] = json!(name);
    }
    let mut by_url = go_webhooks("Ignore");
    for (number, path) in [(0, "mutate--v1-pod"), (1, "mutate-lmcache--v1-pod")] {
        by_url["webhooks"][number]["clientConfig"] = json!({"url": format!("https://127.0.0.1:9443/{path}")});
    }
    for (what, webhooks) in [("early", early), ("renamed", renamed), ("by URL", by_url)] {
        let report = report([go_operator(1), webhooks]);
        assert_eq!(report.webhooks.len(), 2, "{what}");
        let finding = found(&report, code::GO_WEBHOOKS);
        assert!(
            finding.todo.contains("kubectl delete mutatingwebhookconfiguration "),
            "{what}: {finding:?}"
        );
    }
    // Not everything that kubebuilder made is the Go operator's.
    let mut other = go_webhooks("Fail");
    other["webhooks"].as_array_mut().unwrap().truncate(1);
    other["webhooks"][0]["name"] = json!("mpod.example.com");
    other["webhooks"][0]["clientConfig"]["service"]["namespace"] = json!("other-system");
    let other = report([go_operator(0), other]);
    assert!(other.webhooks.is_empty() && other.clear, "{:#?}", other.findings);
}

#[test]
fn ours_are_recognised_under_kubewardens_older_names_and_nobody_elses() {
    let mut objects = ours(&["lmcache-guard", "safe-labels"]);
    objects[0]["metadata"]["name"] = json!("clusterwide-lmcache-guard");
    let report = report(objects);
    let names: Vec<&str> = report.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    assert_eq!(names, ["lmcache-guard"]);
}

#[test]
fn the_names_are_those_of_the_manifests() {
    use super::support::{documents, root};
    let mut names = Vec::new();
    for folder in ["", "separate/", "by-annotation/", "optional/"] {
        for entry in std::fs::read_dir(root().join("deploy/policies").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let manifests = documents(&path).into_iter();
            let policies = manifests.filter(|object| object["kind"] == "ClusterAdmissionPolicy");
            names.extend(policies.map(|policy| policy["metadata"]["name"].as_str().unwrap().to_owned()));
        }
    }
    names.sort();
    names.dedup();
    assert!(names.len() >= 11, "{names:?}");
    let registered: Vec<&str> = names.iter().map(String::as_str).collect();
    let report = report(ours(&registered));
    let mut known: Vec<&str> = report.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    known.sort_unstable();
    assert_eq!(known, names);
}

/// Whether anybody answers is known where the Deployment or a Pod of it is recognised, and nowhere else.
#[test]
fn only_what_is_known_is_said_of_who_answers() {
    let mut elsewhere = go_operator(1);
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    let leader = lease("other-system", "f517be84.lmcache.ai", 5);
    for (what, others) in [
        ("none", vec![]),
        ("elsewhere", vec![elsewhere]),
        ("a leader", vec![leader]),
    ] {
        let report = report([&others[..], &[go_webhooks("Fail"), asking()]].concat());
        let firsts = codes(&report, Level::First);
        assert!(!firsts.contains(&code::PODS_REFUSED), "{what}: {:#?}", report.findings);
        // Somebody may.
        assert!(!firsts.contains(&code::PODS_UNWIRED), "{what}: {:#?}", report.findings);
        let closed = found(&report, code::WEBHOOK_FAILS_CLOSED);
        assert!(closed.found.contains("lmcache-operator-system"), "{what}: {closed:?}");
        assert!(closed.found.contains("not known whether"), "{what}: {closed:?}");
        assert!(
            closed
                .todo
                .contains("kubectl -n lmcache-operator-system get endpointslices"),
            "{what}: {closed:?}"
        );
        let beside = found(&report, code::GO_WEBHOOKS);
        assert!(!beside.found.contains("wire Pods, and"), "{what}: {beside:?}");
    }
}

/// Where a URL leads is not known either: there every Go operator counts.
#[test]
fn behind_a_url_every_go_operator_counts() {
    let mut by_url = go_webhooks("Fail");
    for webhook in by_url["webhooks"].as_array_mut().unwrap() {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
        webhook["clientConfig"] = json!({"url": format!("https://webhooks.example.com{path}")});
    }
    for (operators, expected) in [
        (vec![go_operator(1)], code::WEBHOOK_FAILS_CLOSED),
        (vec![go_operator(0)], code::PODS_REFUSED),
        (vec![], code::WEBHOOK_FAILS_CLOSED),
        // Somebody else leads, and may answer.
        (
            vec![go_operator(0), lease("elsewhere", "f517be84.lmcache.ai", 5)],
            code::WEBHOOK_FAILS_CLOSED,
        ),
    ] {
        let report = report([&operators[..], &[by_url.clone()]].concat());
        let closed = found(&report, expected);
        let is_known = operators.len() == 1;
        assert_eq!(closed.found.contains("not known whether"), !is_known, "{closed:?}");
        assert_eq!(
            closed.todo.contains("find out who answers there"),
            !is_known,
            "{closed:?}"
        );
    }
}

/// Each configuration is somebody's, not the first alone.
#[test]
fn every_configuration_that_comes_back_is_named() {
    let mut first = go_webhooks("Ignore");
    first["webhooks"].as_array_mut().unwrap().truncate(1);
    let mut second = go_webhooks("Ignore");
    second["webhooks"].as_array_mut().unwrap().remove(0);
    second["metadata"]["name"] = json!("second");
    second["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "cache:x:y"});
    let report = report([go_operator(1), first, second]);
    let finding = found(&report, code::BROUGHT_BACK);
    assert!(
        finding.found.contains("Argo CD cache") && finding.found.contains("MutatingWebhookConfiguration second"),
        "{finding:?}"
    );
}
