//! What holds of every status.

use lmcache_api::{FieldError, Kind};

use super::support::*;
use crate::live::{ChildKind, WorkloadStatus};
use crate::plan::{Monitors, Reason, Sought, Verdict};
use crate::status::{CONDITIONS, news, patch};

/// Every combination of what a pass can come to.
pub fn passes() -> Vec<Pass> {
    let workloads = [
        None,
        Some(numbers(0, 0)),
        Some(numbers(2, 0)),
        Some(numbers(2, 1)),
        Some(numbers(2, 2)),
        Some(numbers(1, 2)),
        Some(WorkloadStatus {
            updated: 1,
            ..numbers(2, 2)
        }),
        Some(WorkloadStatus {
            generation: 3,
            ..numbers(2, 2)
        }),
    ];
    let verdicts = [
        Verdict::Valid,
        Verdict::Invalid(vec![FieldError::required("spec.l1", "must be set")]),
        Verdict::Rivalled(rival()),
    ];
    let servers = [
        vec![],
        vec![server("b", "n2"), server("a", "n1")],
        vec![restarted("b", "n2", 2), waiting("a", "n1", "CrashLoopBackOff")],
    ];
    let mut problems = vec![None];
    problems.extend(Reason::ALL.map(Some));
    let mut passes = Vec::new();
    for workload in &workloads {
        for verdict in &verdicts {
            for servers in &servers {
                for (index, reason) in problems.iter().enumerate() {
                    for base in [engine_with(login_spec(), numbers(0, 0)), coordinator(numbers(0, 0))] {
                        let mut pass = base
                            .with_verdict(verdict.clone())
                            .with_servers(servers.clone())
                            .with_problems(reason.map(|reason| problem(ChildKind::DaemonSet, reason)));
                        match workload {
                            Some(status) => pass.report.workload.as_mut().unwrap().status = status.clone(),
                            None => pass.report.workload = None,
                        }
                        if pass.inputs.custom.facts.kind == Some(Kind::LMCacheEngine) {
                            let clients = [wired("c", "n1"), wired("d", "n3"), skipped("e", "other")];
                            pass = pass.with_clients(clients).with_login(match index % 3 {
                                0 => login("2026-05-01T11:00:00Z"),
                                1 => Sought::Unknown,
                                _ => Sought::Missing,
                            });
                        }
                        if index % 2 == 0 {
                            pass.report.legacy_template = Some(vec!["spec.hostIPC".to_owned()]);
                            pass.inputs.monitors = Monitors::Unknown;
                        }
                        passes.push(pass);
                    }
                }
            }
        }
    }
    passes
}

/// A pass that finds what the last one found writes nothing and tells nothing.
#[test]
fn a_settled_object_is_left_alone() {
    for pass in passes() {
        let status = pass.status();
        let again = pass.clone().after(&status).status_at(LATER);
        assert_eq!(patch(&status, &again), None, "{status:#}\n{again:#}");
        assert_eq!(news(&status, &again), []);
        // Equal inputs give equal bytes.
        assert_eq!(status.to_string(), pass.status().to_string());
    }
}

/// The API server would refuse anything else, and then nothing at all would be told.
#[test]
fn every_status_fits_the_schema() {
    let is_word = |text: &str| text.starts_with(char::is_alphabetic) && text.chars().all(char::is_alphanumeric);
    for pass in passes() {
        let status = pass.status();
        assert!(["Pending", "Running", "Degraded", "Failed"].contains(&status["phase"].as_str().unwrap()));
        for condition in status["conditions"].as_array().unwrap() {
            let text = |name: &str| condition[name].as_str().unwrap();
            let known = CONDITIONS.iter().find(|known| known.name == text("type")).unwrap();
            let listed =
                |reason: &&crate::status::ReasonDoc| reason.reason == text("reason") && reason.status == text("status");
            let sums_up = known.name == "Ready" && text("status") == "False";
            assert!(
                sums_up || known.reasons.iter().any(|reason| listed(&reason)),
                "{condition}"
            );
            assert!(is_word(text("reason")), "{condition}");
            assert!(
                !text("message").is_empty() && text("message").len() < 32_768,
                "{condition}"
            );
            assert_eq!(text("lastTransitionTime"), NOW);
        }
        // No value of a Secret is in anything that is said; Events repeat the messages.
        assert!(!status.to_string().contains("aHVudGVyMg"));
        let engine_only = |known: &&crate::status::ConditionDoc| known.is_of_engines_only;
        if pass.inputs.custom.facts.kind == Some(Kind::LMCacheCoordinator) {
            for known in CONDITIONS.iter().filter(engine_only) {
                assert_eq!(said(&status, known.name), "");
            }
        }
    }
}

/// kstatus, `kubectl wait` and Argo CD go by `Ready` alone.
#[test]
fn ready_is_the_sum_of_the_parts() {
    for pass in passes() {
        let status = pass.status();
        let holds = |type_: &str| said(&status, type_).starts_with("True");
        let reconciled = holds("Reconciled") || said(&status, "Reconciled").ends_with("ServiceMonitorNotInstalled");
        let expected = holds("ConfigValid") && reconciled && holds("AllInstancesReady");
        assert_eq!(holds("Ready"), expected, "{status:#}");
        if holds("Ready") {
            assert_eq!(status["phase"], "Running");
        }
    }
}
