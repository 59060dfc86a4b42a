//! Pods that no longer agree with their engine, and Pods that no policy saw.
//!
//! Meant for the audit scanner, which replays stored Pods. What a Pod is wired to is decided when it is created, while
//! engines change, so a difference is nobody's fault: it is reported.

use super::claims::Claims;
use super::evidence::{Carrier, Known, Wanted};
use super::verdict::{Finding, Verdict};
use super::{Subject, difference, shared_memory, stamps};
use crate::pod::connection::{self, Connection, Defaults, Dereferenced, isolated};
use crate::pod::ipc::{SHM_PATH, SHM_VOLUME, is_host_shm};
use crate::pod::{EngineReference, OptIn, Skip, SkipReason, System, names_a_payload, nixl};
use crate::text::quoted;
use lmcache_api::{DEFAULT_REPOSITORY, IpcMode, image_parts};
use pod_edit::{container, pod as pods, volume};
use serde_json::{Value, json};

const RECREATE: &str =
    "What a Pod is wired to is decided when it is created: to bring it up to date, recreate the Pod.";
const NAME_AN_ENGINE: &str =
    "Name an engine in that annotation of the template, or remove stamps and reasons from it, and recreate the Pod.";
const CREATE_THE_ENGINE: &str = "Create the engine, or change the annotation in the template and recreate the Pod.";
const OTHER_KIND: &str =
    "Use the keys of the other kind, or name another engine, in the template, and recreate the Pod.";
const RENAME: &str = "The volume is the template's own: rename it there, and recreate the Pod.";

/// Has the Pod ended, or is it about to?
pub(super) fn is_over(pod: &Value) -> bool {
    let phase = pod.pointer("/status/phase").and_then(Value::as_str);
    let deleted = pod
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null());
    deleted || matches!(phase, Some("Succeeded" | "Failed"))
}

/// Reports what is not, or no longer, as one system would have it.
pub(super) fn check(subject: &Subject<'_>, claims: &Claims, verdict: &mut Verdict) {
    if !claims.stamped() {
        if claims.asked && !claims.explained {
            let keys = claims.system.keys;
            let text = "asks for injection, but the Pod carries neither a stamp nor a reason: no policy saw it";
            let finding = match subject.settings.opt_in {
                OptIn::Label => Finding::label(keys.inject, text),
                OptIn::Annotation => Finding::annotation(keys.engine, text),
            };
            report(vec![finding], "not-injected", RECREATE, verdict);
        }
        return;
    }
    let name = match (subject.engine(claims), claims.all_stale()) {
        (Ok(name), _) => name,
        (Err(_), Some(stale)) => return stamps::accept_stale(stale, verdict),
        (Err(finding), None) => return report(vec![finding], "engine-reference-invalid", NAME_AN_ENGINE, verdict),
    };
    if verdict.engine.is_empty() {
        verdict.engine = name.to_string();
    }
    let Err(skip) = against(subject, claims, &name, verdict) else {
        return;
    };
    let advice = match skip.reason {
        SkipReason::LookupUnavailable => {
            let stamp = claims.stamp();
            let text = format!("{}: the wiring behind {stamp} was not compared", skip.problem);
            verdict.warnings.push(text);
            verdict.because(skip.reason.as_str());
            verdict.host_error = skip.host_error;
            return;
        }
        SkipReason::EngineKindMismatch => OTHER_KIND,
        _ => CREATE_THE_ENGINE,
    };
    let finding = Finding::annotation(claims.system.keys.engine, skip.problem);
    report(vec![finding], skip.reason.as_str(), advice, verdict);
}

/// Compares a stamped Pod with its engine.
///
/// # Errors
/// Why there is nothing to compare it with.
fn against(subject: &Subject<'_>, claims: &Claims, name: &EngineReference, verdict: &mut Verdict) -> Result<(), Skip> {
    let (pod, system) = (subject.pod, claims.system);
    let wanted = Wanted::of(pod, system, name);
    if let Some(stale) = claims.all_stale()
        && wanted.judge(pod, claims, Known::Gone).warnings == stale
    {
        stamps::accept_stale(stale, verdict);
        return Ok(());
    }
    let engine = connection::engine(subject.cluster, name, system)?;
    let stored = connection::dereference(subject.cluster, name, system, engine)?;
    stored.check()?;
    let defaults = Defaults {
        ipc_mode: subject.settings.ipc_default,
        cluster_domain: &subject.settings.cluster_domain,
    };
    let role = nixl::role(pod, stored.spec()).ok().flatten();
    let connection = stored.connection(role, &defaults, &mut Vec::new())?;
    let live: Value = serde_json::from_str(&connection.json).unwrap_or_default();

    let judgement = wanted.judge(pod, claims, Known::Live(&live));
    verdict.warnings.extend(judgement.warnings);
    report(judgement.findings, "stamp-not-backed", RECREATE, verdict);
    if let Some(carrier) = &judgement.carrier {
        let mut findings = Vec::new();
        if !wanted.own_connection {
            findings.extend(connected_otherwise(carrier, &live, name));
        }
        if !carrier.takes_over && !carrier.foreign {
            findings.extend(shares_otherwise(pod, carrier, &connection, name));
        }
        if !carrier.takes_over {
            findings.extend(staged_otherwise(pod, claims, &stored, name));
        }
        report(findings, "wiring-outdated", RECREATE, verdict);
        let taken = taken_volume(pod, carrier, &connection, name);
        report(taken.into_iter().collect(), "volume-name-taken", RENAME, verdict);
        shared_memory::check(subject, carrier, connection.ipc_mode, verdict);
        verdict.reports = true;
    }
    Ok(())
}

fn report(findings: Vec<Finding>, reason: &'static str, advice: &'static str, verdict: &mut Verdict) {
    if findings.is_empty() {
        return;
    }
    verdict.findings.extend(findings);
    verdict.advise(advice);
    verdict.reports = true;
    verdict.because(reason);
}

fn connected_otherwise(carrier: &Carrier<'_>, live: &Value, name: &EngineReference) -> Option<Finding> {
    let differences = difference::between(&carrier.config, live);
    let path = format!("spec.containers[{}].args", carrier.index);
    let text = format!("not the connection of engine {name} ({})", differences.join(", "));
    (!differences.is_empty()).then(|| Finding::new(path, text))
}

/// Does the Pod share memory in another way than the engine's servers do? Host IPC is enough for every way.
fn shares_otherwise(
    pod: &Value,
    carrier: &Carrier<'_>,
    connection: &Connection,
    name: &EngineReference,
) -> Option<Finding> {
    if pods::host_ipc(pod) {
        return None;
    }
    match connection.ipc_mode {
        // An isolated engine says so in its connection, which is compared anyhow.
        IpcMode::Isolated => None,
        IpcMode::HostIPC => Some(Finding::new(
            "spec.hostIPC",
            format!("is not true, but engine {name} shares the IPC namespace of its host (HostIPC)"),
        )),
        IpcMode::HostShm => {
            let mount = volume::mount_at(carrier.container, SHM_PATH);
            let shared = match mount {
                Some(mount) if mount.get("name").and_then(Value::as_str) == Some(SHM_VOLUME) => is_host_shm(pod, mount),
                // The user's own volume: what it hides is the setting `sharedMemory`'s.
                Some(_) => true,
                None => false,
            };
            let path = format!("spec.containers[{}].volumeMounts", carrier.index);
            let text = format!("nothing shows {SHM_PATH} of the host, which engine {name} shares (HostShm)");
            let missing = !shared && !is_taken(pod, carrier);
            missing.then(|| Finding::new(path, text))
        }
    }
}

/// Does the template have a volume of its own under the name of ours, so that the policies could not add it? Ours shows
/// memory of the host, or, as the connection then says, belongs to an isolated engine.
fn is_taken(pod: &Value, carrier: &Carrier<'_>) -> bool {
    volume::volume_by_name(pod, SHM_VOLUME).is_some()
        && !is_host_shm(pod, &json!({"name": SHM_VOLUME}))
        && !isolated(&carrier.config)
}

/// Recreating the Pod does not help where its template keeps memory from being shared.
fn taken_volume(
    pod: &Value,
    carrier: &Carrier<'_>,
    connection: &Connection,
    name: &EngineReference,
) -> Option<Finding> {
    let shares = !carrier.takes_over && !carrier.foreign && !pods::host_ipc(pod);
    let kept = shares && connection.ipc_mode == IpcMode::HostShm && is_taken(pod, carrier);
    // Where another volume is mounted there, ours was not needed.
    let mount = volume::mount_at(carrier.container, SHM_PATH).and_then(|mount| mount.get("name"));
    let wanted = mount.is_none_or(|mount| mount == SHM_VOLUME);
    (kept && wanted).then(|| {
        let text = format!(
            "the Pod has a volume {SHM_VOLUME} of its own, so it does not share {SHM_PATH} of the host with engine {name} (HostShm)"
        );
        Finding::new("spec.volumes", text)
    })
}

/// Is another payload staged than the engine has now? A ConfigMap without its engine says nothing about payloads.
fn staged_otherwise(
    pod: &Value,
    claims: &Claims,
    stored: &Dereferenced<'_>,
    name: &EngineReference,
) -> Option<Finding> {
    let System { staging, .. } = claims.system;
    let wanted = stored
        .spec()?
        .payload_image()
        .filter(|payload| names_a_payload(payload));
    let wanted = wanted.map(|payload| payload.reference(DEFAULT_REPOSITORY));
    let inits = container::init_containers(pod);
    let place = inits
        .iter()
        .position(|init| container::name(init) == Some(staging.init_container));
    let claims_payload = claims.staged || claims.system.blends();
    let Some(place) = place else {
        // Where the Pod claims a payload, that it has none was said already.
        let wanted = wanted.filter(|_| !claims_payload)?;
        let text = format!("no payload is staged, engine {name} now has {}", quoted(&wanted));
        return Some(Finding::new("spec.initContainers", text));
    };
    let image = inits
        .get(place)
        .and_then(|init| init.get("image"))
        .and_then(Value::as_str);
    let image = image.unwrap_or_default();
    let text = match wanted {
        Some(wanted) if same_payload(image, &wanted) => return None,
        Some(wanted) => format!("is {}, engine {name} now has {}", quoted(image), quoted(&wanted)),
        None if claims_payload => format!("is {}, engine {name} now has none", quoted(image)),
        None => return None,
    };
    Some(Finding::new(format!("spec.initContainers[{place}].image"), text))
}

/// Are these one payload? Mirrors rewrite registry and path, and other webhooks pin tags: what both say must agree.
fn same_payload(image: &str, wanted: &str) -> bool {
    let digest = |image: &'_ str| image.split_once('@').map(|(_, digest)| digest.to_owned());
    let agree = match (digest(image), digest(wanted)) {
        (Some(a), Some(b)) => a == b,
        _ => {
            let (a, b) = (image_parts(image).1, image_parts(wanted).1);
            a.is_none() || b.is_none() || a == b
        }
    };
    let name = |image| image_parts(image).0.rsplit('/').next().unwrap_or_default();
    agree && name(image).ends_with(name(wanted))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn one_payload_under_many_names() {
        let wanted = "registry.example.com/kv/payload:0.5.6";
        for same in [
            wanted,
            "mirror.example.net/registry.example.com/kv/payload:0.5.6",
            "mirror.example.net:5000/kv-payload:0.5.6",
            "registry.example.com/kv/payload:0.5.6@sha256:1",
            "registry.example.com/kv/payload@sha256:1",
        ] {
            assert!(same_payload(same, wanted), "{same}");
        }
        for other in [
            "registry.example.com/kv/payload:0.5.7",
            "registry.example.com/kv/payload:0.5.7@sha256:1",
            "registry.example.com/kv/other:0.5.6",
            "",
        ] {
            assert!(!same_payload(other, wanted), "{other}");
        }
        assert!(same_payload("m/payload@sha256:1", "r/payload@sha256:1"));
        assert!(!same_payload("r/payload:1@sha256:2", "r/payload:1@sha256:1"));
    }
}
