//! What nobody can store: the cases of engine-validation and the recordings of the Go operator, against the CRDs and the
//! policy as users have them. And what everybody can: the samples.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::{place, read, repository};
use control_plane::{Cluster, Identity};
use kube::client::Body;
use serde::Deserialize;
use serde_json::{Value, json};
use shared::plane;
use shared::policies::policies;

const POLICY: &str = "admission webhook \"kw.cap.lmcache-engine-validation.kubewarden.admission\" denied the request: ";

/// Access to a namespace, with all policies in force.
async fn validated(namespace: &str) -> Result<Cluster> {
    let plane = plane().await?;
    policies(plane).await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(namespace).await?;
    Ok(admin)
}

/// The plural of our kinds.
fn plural(object: &Value) -> String {
    format!("{}s", object["kind"].as_str().unwrap().to_lowercase())
}

/// Whether an object would be stored: code and message of the answer. It is sent as it is, however odd.
async fn would_be(admin: &Cluster, namespace: &str, object: &Value) -> Result<(u16, String)> {
    let plural = plural(object);
    let path = format!("/apis/lmcache.lmcache.ai/v1alpha1/namespaces/{namespace}/{plural}?dryRun=All");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(Body::from(object.to_string().into_bytes()))?;
    let answer = admin.client().send(request).await?;
    let code = answer.status().as_u16();
    let answer: Value = serde_json::from_slice(&answer.into_body().collect_bytes().await?)?;
    Ok((code, answer["message"].as_str().unwrap_or_default().to_owned()))
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn every_sample_passes_the_policies() -> Result<()> {
    let admin = validated("samples").await?;
    let mut applied = 0;
    for entry in fs::read_dir(repository().join("deploy/samples"))? {
        let name = entry?.file_name().into_string().unwrap();
        if name.ends_with(".yaml") {
            for mut object in read(&format!("deploy/samples/{name}"))? {
                place(&mut object, "samples")?;
                admin.apply(&object).await?;
                applied += 1;
            }
        }
    }
    assert!(applied >= 20, "only {applied} objects");
    Ok(())
}

/// `expected.yaml` of a case.
#[derive(Deserialize)]
struct Expected {
    allowed: bool,
    #[serde(default)]
    message: Vec<String>,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    faults: Vec<String>,
}

/// A case that the policy refuses when the object is created, with the settings of `deploy/policies`.
struct Case {
    name: String,
    object: Value,
    expected: Expected,
    cluster: Vec<Value>,
}

fn cases() -> Result<Vec<Case>> {
    let folder = "fixtures/engine-validation";
    let mut cases = Vec::new();
    for entry in fs::read_dir(repository().join(folder))? {
        let name = entry?.file_name().into_string().unwrap();
        let file = |file: &str| format!("{folder}/{name}/{file}");
        let is_there = |path: &str| repository().join(Path::new(path)).exists();
        if !is_there(&file("request.json")) || is_there(&file("settings.yaml")) || is_there(&file("host.yaml")) {
            continue;
        }
        let expected: Expected = serde_json::from_value(read(&file("expected.yaml"))?.remove(0))?;
        let mut request = read(&file("request.json"))?.remove(0);
        if expected.allowed || request["operation"] != "CREATE" {
            continue;
        }
        let cluster = if is_there(&file("cluster.yaml")) {
            read(&file("cluster.yaml"))?
        } else {
            Vec::new()
        };
        cases.push(Case {
            object: request["object"].take(),
            name,
            expected,
            cluster,
        });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// The paths at the beginnings of the lines of a refusal by the policy.
fn paths(message: &str) -> Vec<&str> {
    let paths = message.lines().map(|line| line.split(": ").next().unwrap());
    paths.collect()
}

/// What is wrong with the answer to a case, if anything.
fn judge(case: &Case, code: u16, message: &str) -> Result<()> {
    ensure!(code == case.expected.code, "{code}: {message}");
    let Some(own) = message.strip_prefix(POLICY) else {
        // The schema of the CRD, or the API server itself where it is about the name. It tells what it sees.
        let kind = case.object["kind"].as_str().unwrap_or_default();
        ensure!(
            message.starts_with(&format!("{kind}.lmcache.lmcache.ai ")),
            "neither policy nor CRD: {message}"
        );
        let named = |path: &&String| message.contains(&format!("{path}: "));
        ensure!(case.expected.faults.iter().any(|path| named(&path)), "{message}");
        return Ok(());
    };
    if !case.expected.faults.is_empty() {
        ensure!(paths(own) == case.expected.faults, "{own}");
    }
    let mut rest = own;
    for text in &case.expected.message {
        let found = rest.split_once(text.as_str());
        rest = found.with_context(|| format!("'{text}' is not in: {own}"))?.1;
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn what_the_policy_refuses_is_refused_with_its_words() -> Result<()> {
    // The namespace that the cases name.
    let ns = "serving";
    let admin = validated(ns).await?;
    let (mut by_policy, mut by_crd) = (0, 0);
    let mut wrong = Vec::new();
    for case in cases()? {
        for object in &case.cluster {
            admin.apply(object).await?;
        }
        let (code, message) = would_be(&admin, ns, &case.object).await?;
        if message.starts_with(POLICY) {
            by_policy += 1;
        } else {
            by_crd += 1;
        }
        if let Err(error) = judge(&case, code, &message) {
            wrong.push(format!("{}: {error:#}", case.name));
        }
        for object in &case.cluster {
            let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap();
            admin.delete(text("/kind"), ns, text("/metadata/name")).await?;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        by_policy >= 230 && by_crd >= 50,
        "{by_policy} by the policy, {by_crd} by the CRDs"
    );
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn what_the_go_operators_validation_refuses_is_refused_at_the_same_fields() -> Result<()> {
    let ns = "recorded";
    let admin = validated(ns).await?;
    let mut judged = 0;
    let mut wrong = Vec::new();
    for generation in ["july", "newest"] {
        let folder = format!("fixtures/go-operator/{generation}/cr");
        for entry in fs::read_dir(repository().join(&folder))? {
            let file = format!("{folder}/{}", entry?.file_name().display());
            let recording = read(&file)?.remove(0);
            let faults = |of: &str| recording["faults"][of].as_array().cloned().unwrap_or_default();
            if faults("spec").is_empty() || !faults("admission").is_empty() {
                continue;
            }
            let mut object = recording["input"].clone();
            object["metadata"]["namespace"] = json!(ns);
            let (code, message) = would_be(&admin, ns, &object).await?;
            judged += 1;
            let own = message.strip_prefix(POLICY).unwrap_or_default();
            let paths = paths(own);
            for fault in faults("spec") {
                let field = fault["field"].as_str().unwrap();
                if code != 422 || !paths.contains(&field) {
                    wrong.push(format!("{file}: {code}: {field} is not in: {message}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(judged >= 30, "only {judged} recordings");
    Ok(())
}
