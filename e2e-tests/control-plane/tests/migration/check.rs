//! `adopt --check`, run as the person who migrates.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::read;
use control_plane::{ControlPlane, Controller, Identity, wait_until};
use serde_json::{Value, json};

use crate::shared::LIMIT;
use crate::shared::stored::Seeded;

/// What it said.
pub struct Check {
    pub code: i32,
    pub report: Value,
}

impl Check {
    /// Codes of findings of a level, in their order, each once.
    pub fn codes(&self, level: &str) -> Vec<&str> {
        let findings = self.report["findings"].as_array().unwrap().iter();
        let of_level = findings.filter(|finding| finding["level"] == level);
        let mut codes: Vec<&str> = of_level.map(|finding| finding["code"].as_str().unwrap()).collect();
        codes.dedup();
        codes
    }

    /// The number of the next step; 0 where none is left.
    pub fn next(&self) -> u64 {
        self.report["next"]["step"].as_u64().unwrap_or_default()
    }

    /// An engine or coordinator.
    pub fn engine(&self, name: &str) -> &Value {
        let engines = self.report["engines"].as_array().unwrap();
        engines.iter().find(|engine| engine["name"] == name).unwrap()
    }

    /// What is otherwise in the next Pods of a Deployment.
    pub fn differences(&self, name: &str) -> Vec<&str> {
        let workloads = self.report["workloads"].as_array().unwrap();
        let workload = workloads.iter().find(|workload| workload["name"] == name);
        let workload = workload.unwrap_or_else(|| panic!("no {name} in {workloads:#?}"));
        let differences = workload["differences"].as_array().unwrap().iter();
        differences.map(|text| text.as_str().unwrap()).collect()
    }
}

/// Runs it with the rights of its role and no others.
pub fn check(plane: &ControlPlane) -> Result<Check> {
    let output = Controller::command(plane, Identity::Viewer, &["adopt", "--check", "--output=json"])?;
    let code = output.status.code().context("it was killed")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(code != 2, "it could not look: {error}");
    Ok(Check {
        code,
        report: serde_json::from_slice(&output.stdout)?,
    })
}

/// Waits until it names this step as the next one, and no other findings than these as what has to be done first.
pub async fn next(plane: &ControlPlane, step: u64, first: &[&str]) -> Result<Check> {
    wait_until(
        &format!("step {step} is next, and first {first:?}"),
        LIMIT,
        async || {
            let check = check(plane)?;
            ensure!(
                check.next() == step && check.codes("first") == first,
                "step {}: {:#}",
                check.next(),
                check.report["findings"]
            );
            let in_the_way = i32::from(!first.is_empty());
            ensure!(check.code == in_the_way, "exit code {}", check.code);
            Ok(check)
        },
    )
    .await
}

/// No server is replaced, whatever the Go operator left.
pub fn expected_of_engines(check: &Check, seeded: &Seeded) {
    for (case, (_, _, name)) in &seeded.customs {
        let servers = match case.as_str() {
            "foreign" => "foreign",
            "coordinator" => "same",
            "invalid" | "missing-coordinator" => "held",
            _ => "kept",
        };
        assert_eq!(check.engine(name)["servers"], servers, "{case}");
    }
    for name in ["kv-pool", "kv-staged", "blend-pool"] {
        let engine = check.engine(name);
        assert_eq!(engine["servers"], "kept", "{engine:#}");
        assert_eq!(engine["ready"], json!([2, 2]), "{engine:#}");
    }
    assert!(!check.codes("change").contains(&"servers-replaced"));
}

/// What the next rollout changes about Pods that the Go operator's webhooks wired.
pub fn expected_of_workloads(check: &Check) {
    assert_eq!(check.differences("chat"), [""; 0]);
    assert_eq!(
        check.differences("staged"),
        [
            "init container lmcache-payload-stage: gets resources and securityContext",
            "annotation lmcache.ai/lmcache-payload-staged is added",
        ]
    );
    assert_eq!(
        check.differences("own"),
        [
            "is not wired to LMCache any more (kv-transfer-config-present)",
            "hostIPC is not set any more",
            "container vllm: variable PYTHONHASHSEED goes",
        ]
    );
    assert!(
        check
            .differences("served")
            .contains(&"is wired to LMCache, which it is not now (command-override)")
    );
    assert_eq!(
        check.differences("blend"),
        ["init container cb-plugin-stage: gets resources and securityContext"]
    );
}

/// It asked for nothing but what its role allows, was refused nothing since it has it, and uses all of it.
pub fn only_reads(plane: &ControlPlane) -> Result<()> {
    let audit = plane.audit()?;
    let mut used = BTreeSet::new();
    for request in audit.of(Identity::Viewer.user()) {
        assert!(matches!(request.verb.as_str(), "get" | "list"), "{request:?}");
        if request.code != 403 {
            used.insert((request.group.clone(), request.resource.clone(), request.verb.clone()));
        }
    }
    let mut granted = BTreeSet::new();
    for rule in read("deploy/adopt/rbac.yaml")?[0]["rules"].as_array().unwrap() {
        let all = |key: &str| {
            rule[key]
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.as_str().unwrap().to_owned())
        };
        for group in all("apiGroups") {
            for resource in all("resources") {
                granted.extend(all("verbs").map(|verb| (group.clone(), resource.clone(), verb)));
            }
        }
    }
    assert_eq!(used, granted);
    Ok(())
}
