//! What is to be done about what reconciles engines today.

use super::brought_back;
use super::finding::{Finding, codes};
use super::operators::{GO_LEASE, Operator, Unseen};

/// What is to be done about them.
pub(super) fn findings(go: &[Operator], unseen: &Unseen, ours: &[Operator]) -> Vec<Finding> {
    let running: Vec<&Operator> = go.iter().filter(|operator| operator.runs()).collect();
    let ours_run = ours.iter().find(|operator| operator.runs());
    let code = if ours_run.is_some() {
        codes::TWO_CONTROLLERS
    } else {
        codes::GO_OPERATOR_RUNS
    };
    let mut findings = Vec::new();
    if let Some(first) = running.first() {
        let places: Vec<String> = running.iter().map(|operator| place(operator)).collect();
        let places = places.join(", ");
        let stop = stop(first);
        let (found, todo) = match ours_run {
            Some(ours) => (
                format!(
                    "the Go operator ({places}) and lmcache-controller ({}) both run: they undo each other's writes",
                    ours.place()
                ),
                format!("stop the one that is to go, the Go operator: {stop}"),
            ),
            None => (
                format!("the Go operator runs: Deployment {places}"),
                if first.replicas > 0 {
                    format!("stop it before lmcache-controller starts, and after its webhooks are deleted: {stop}")
                } else {
                    format!("do not start lmcache-controller before: {stop}")
                },
            ),
        };
        findings.push(Finding::first(code, found, todo));
    }
    findings.extend(strays(unseen, code));
    for unseen in &unseen.leaders {
        findings.push(Finding::first(
            code,
            format!(
                "a Go operator runs that no Deployment was recognised of: its Lease {} was renewed at {} by {:?}",
                unseen.lease, unseen.leader.renewed, unseen.leader.holder
            ),
            "find it by that name, which begins with the name of its Pod, and stop it before lmcache-controller starts",
        ));
    }
    for operator in go {
        let alive = operator.leader.as_ref().filter(|leader| leader.is_fresh);
        if operator.runs() {
            findings.extend(brought_back::finding(
                &format!("Deployment {}", operator.place()),
                &operator.installed_by,
                "take it out of there, or set its replicas to 0 there: it would be scaled up again",
            ));
        }
        if let Some(leader) = alive.filter(|_| operator.replicas == 0 && operator.pods == 0) {
            findings.push(Finding::note(
                codes::GO_OPERATOR_RUNS,
                format!(
                    "Deployment {} has no Pods, but its Lease {GO_LEASE} was renewed at {} by {:?}",
                    operator.place(),
                    leader.renewed,
                    leader.holder
                ),
                "it has just been stopped, or another one runs outside of that Deployment: look again in a minute",
            ));
        }
    }
    findings
}

/// Pods of a Go operator that no recognised Deployment makes: the Deployment is deleted, and they are not gone, or something
/// else makes them.
fn strays(unseen: &Unseen, code: &'static str) -> Option<Finding> {
    let first = unseen.pods.first()?;
    let places: Vec<&str> = unseen.pods.iter().map(|pod| pod.place.as_str()).collect();
    let name = first.place.rsplit('/').next().unwrap_or_default();
    Some(Finding::first(
        code,
        format!(
            "a Go operator runs that no Deployment was recognised of: Pod {}",
            places.join(", ")
        ),
        format!(
            "find what makes it, stop that, and wait until it is gone before lmcache-controller starts: kubectl -n {namespace} get \
             pod {name} -o jsonpath='{{.metadata.ownerReferences}}' && kubectl -n {namespace} wait --for=delete pod/{name} \
             --timeout=2m",
            namespace = first.namespace
        ),
    ))
}

/// Where it is, and why it counts where it has no replicas.
fn place(operator: &Operator) -> String {
    if operator.replicas > 0 || operator.ending.is_empty() {
        return operator.place();
    }
    format!(
        "{}, scaled to 0, whose Pods write until they are gone: {}",
        operator.place(),
        operator.ending.join(", ")
    )
}

fn stop(operator: &Operator) -> String {
    let (namespace, name) = (&operator.namespace, &operator.name);
    if operator.replicas > 0 {
        return format!("kubectl -n {namespace} scale deployment {name} --replicas=0");
    }
    if operator.ending.is_empty() {
        return format!("wait until Deployment {namespace}/{name} has no Pods, and its Lease is not renewed any more");
    }
    let pods: Vec<String> = operator.ending.iter().map(|pod| format!("pod/{pod}")).collect();
    format!(
        "kubectl -n {namespace} wait --for=delete {} --timeout=2m",
        pods.join(" ")
    )
}
