//! What is to be done about webhooks and policies.

use policy_kit::keys::{CACHEBLEND, LMCACHE};

use super::brought_back;
use super::finding::{Finding, codes};
use super::operators::{Operator, Unseen};
use super::removal::removal;
use super::serving::Serving;
use super::webhooks::{Standing, Webhook, Whose};

/// What is to be done about them. `wanted` says for which of the two systems workloads ask, LMCache first.
pub(super) fn findings(webhooks: &[Webhook], go: &[Operator], unseen: &Unseen, wanted: [bool; 2]) -> Vec<Finding> {
    let standing = Standing::of(webhooks);
    let theirs: Vec<&Webhook> = webhooks
        .iter()
        .filter(|webhook| webhook.whose == Whose::GoOperator)
        .collect();
    let serving = |webhook: &Webhook| Serving::of(webhook, go, unseen);
    let best = theirs.iter().map(|webhook| serving(webhook)).max();
    let mut findings = Vec::new();
    if let Some(best) = best {
        findings.extend(
            theirs
                .iter()
                .filter_map(|webhook| closed(webhook, serving(webhook), &theirs)),
        );
        findings.push(beside(standing, &theirs, best, wanted));
        if standing.guards {
            findings.push(Finding::first(
                codes::GUARD_TOO_EARLY,
                "lmcache-guard is registered beside the Go operator's webhooks, which stamp some Pods that they do not wire: \
                 such Pods are refused",
                "delete lmcache-guard until those webhooks are gone: kubectl delete clusteradmissionpolicy lmcache-guard",
            ));
        }
        let mut configurations = theirs.clone();
        configurations.dedup_by(|a, b| (&a.kind, &a.configuration) == (&b.kind, &b.configuration));
        findings.extend(configurations.into_iter().filter_map(|webhook| {
            brought_back::finding(
                &format!("{} {}", webhook.kind, webhook.configuration),
                &webhook.installed_by,
                "take the Go operator's webhooks out of there first: they would be made again",
            )
        }));
    }
    // A webhook whose server does not answer, and that is ignored, wires nothing.
    let may_wire = best.is_some_and(|best| best != Serving::No);
    findings.extend(unwired(standing, may_wire, wanted));
    findings.extend(monitoring(webhooks));
    findings
}

/// The Go operator's webhooks, alone or beside our policies.
fn beside(standing: Standing, theirs: &[&Webhook], serving: Serving, wanted: [bool; 2]) -> Finding {
    let names: Vec<&str> = theirs.iter().map(|webhook| webhook.name.as_str()).collect();
    let names = names.join(", ");
    let removal = removal(theirs);
    if standing.injects || standing.injects_cacheblend {
        let is_whole = (standing.injects || !wanted[0]) && (standing.injects_cacheblend || !wanted[1]);
        let rest = match (is_whole, serving) {
            (false, _) => ", once policies of ours wire Pods of both systems",
            (true, Serving::Yes) => ", while the Go operator still runs",
            (true, Serving::Unknown) => ", and before whatever may answer for them stops",
            (true, Serving::No) => "",
        };
        return Finding::first(
            codes::BOTH_WEBHOOKS,
            format!(
                "the Go operator's webhooks ({names}) are registered beside our policies: neither undoes what the other did, \
                 but what ours leave alone for a reason, those wire after all"
            ),
            format!("delete them now{rest}{removal}"),
        );
    }
    let todo = match serving {
        Serving::No => "then delete these",
        Serving::Yes | Serving::Unknown => "then delete these, and only then stop the Go operator",
    };
    let found = match serving {
        Serving::Yes => format!("the Go operator's webhooks ({names}) wire Pods, and no policy of ours does"),
        Serving::Unknown => format!(
            "the Go operator's webhooks ({names}) are registered (it is not known whether anybody answers), and no policy of \
             ours wires"
        ),
        Serving::No => {
            format!("the Go operator's webhooks ({names}) are registered and not answered, and no policy of ours wires")
        }
    };
    Finding::first(
        codes::GO_WEBHOOKS,
        found,
        format!("install our injecting policies first, {todo}{removal}"),
    )
}

/// A webhook that refuses Pods while nobody answers.
fn closed(webhook: &Webhook, serving: Serving, theirs: &[&Webhook]) -> Option<Finding> {
    if webhook.failure_policy != "Fail" {
        return None;
    }
    let which = if webhook.labels.is_empty() {
        "every Pod of the cluster".to_owned()
    } else {
        format!("every Pod with {}", webhook.labels.join(", "))
    };
    let is_beside = |other: &&&Webhook| (&other.kind, &other.configuration) == (&webhook.kind, &webhook.configuration);
    let of_it: Vec<&Webhook> = theirs.iter().filter(is_beside).copied().collect();
    let removal = removal(&of_it);
    let name = &webhook.name;
    Some(match serving {
        Serving::Yes => Finding::first(
            codes::WEBHOOK_FAILS_CLOSED,
            format!("webhook {name} has failurePolicy Fail: from the moment the Go operator stops, {which} is refused"),
            format!("never stop the Go operator before this is gone{removal}"),
        ),
        Serving::Unknown => Finding::first(
            codes::WEBHOOK_FAILS_CLOSED,
            format!(
                "webhook {name} has failurePolicy Fail, and it is not known whether anybody answers at {}: no Go operator was \
                 recognised that would. Where nobody does, {which} is refused",
                webhook.server
            ),
            format!(
                "{}; if nobody does, delete it at once, else before that stops{removal}",
                look(webhook)
            ),
        ),
        Serving::No => Finding::first(
            codes::PODS_REFUSED,
            format!("webhook {name} has failurePolicy Fail, and no Go operator answers: {which} is refused now"),
            format!("delete it at once, or start the Go operator again{removal}"),
        ),
    })
}

/// How to find out who answers.
fn look(webhook: &Webhook) -> String {
    let namespace = &webhook.service_namespace;
    if namespace.is_empty() {
        return "find out who answers there".to_owned();
    }
    let service = &webhook.service;
    format!("see who answers: kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={service}")
}

/// Policies that only log, and should do more. Preflight and audits monitor for good: their manifests say so.
fn monitoring(webhooks: &[Webhook]) -> Option<Finding> {
    let monitors = webhooks.iter().filter(|webhook| webhook.is_idle());
    let names: Vec<&str> = monitors.map(|webhook| webhook.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        Finding::note(
            codes::POLICY_MONITORS,
            format!(
                "policies in mode monitor, which do nothing but log what they would do: {}",
                names.join(", ")
            ),
            "they count as not installed here; set spec.mode: protect, which Kubewarden does not let you take back",
        )
    })
}

/// Workloads that ask for what nobody does.
fn unwired(standing: Standing, may_wire: bool, wanted: [bool; 2]) -> Option<Finding> {
    let has = [standing.injects || may_wire, standing.injects_cacheblend || may_wire];
    let missing: Vec<&str> = [LMCACHE.inject, CACHEBLEND.inject]
        .into_iter()
        .zip(wanted.into_iter().zip(has))
        .filter_map(|(label, (wanted, has))| (wanted && !has).then_some(label))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let which = missing.join(" or ");
    Some(Finding::first(
        codes::PODS_UNWIRED,
        format!("nothing wires Pods with {which}: new Pods start without their cache"),
        "install lmcache-pod-injection and cacheblend-pod-injection",
    ))
}
