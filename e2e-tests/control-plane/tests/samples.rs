//! What users apply: the samples as they stand, every field of the kinds, and what the CRDs refuse.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use anyhow::Result;
use control_plane::cluster::{place, read, refusal, repository};
use serde_json::{Value, json};
use shared::{lost, plane};

const OURS: &str = "lmcache.lmcache.ai/v1alpha1";

fn files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(repository().join(folder)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.ends_with(".yaml"));
    names.sort();
    names.iter().map(|name| format!("{folder}/{name}")).collect()
}

/// The recordings of objects that were given to the Go operator's API server.
fn recordings() -> Vec<(String, Value)> {
    let folders = ["july", "newest"].map(|generation| format!("fixtures/go-operator/{generation}/cr"));
    let names = folders.iter().flat_map(|folder| files(folder));
    names
        .map(|name| (name.clone(), read(&name).unwrap().remove(0)))
        .collect()
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn every_sample_applies_and_keeps_its_fields() -> Result<()> {
    let admin = plane().await?.cluster(control_plane::Identity::Admin).await?;
    admin.namespace("samples").await?;
    let samples = files("deploy/samples");
    assert!(samples.len() >= 20, "{samples:?}");
    for sample in samples {
        for mut object in read(&sample)? {
            place(&mut object, "samples")?;
            let applied = admin.apply(&object).await?;
            if object["apiVersion"] == OURS {
                assert_eq!(lost("", &object, &applied), [""; 0], "{sample}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn what_the_go_operator_accepts_comes_back_whole() -> Result<()> {
    let admin = plane().await?.cluster(control_plane::Identity::Admin).await?;
    let mut judged = 0;
    for (name, recording) in recordings() {
        if recording["accepted"] != true {
            continue;
        }
        let mut object = recording["input"].clone();
        object["metadata"]["namespace"] = json!("default");
        let applied = admin
            .dry_run(&object)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:#}"));
        // These two are not in the Go operator's CRDs either.
        let known_lost = [
            "accepted-cacheblend-removed-injection-fields",
            "accepted-engine-coordinator-new-field-names",
        ];
        let lost = lost("", &without_nulls(&object), &applied);
        assert_eq!(
            lost.is_empty(),
            !known_lost.iter().any(|known| name.contains(known)),
            "{name}: {lost:?}"
        );
        judged += 1;
    }
    assert!(judged > 150, "only {judged} recordings");
    Ok(())
}

/// An object with every field of a list, `{path, type, ..}` with `[]` behind arrays; none has its default.
fn every(fields: &[Value], kubernetes: &Value) -> Value {
    let mut whole = Value::Null;
    for field in fields {
        let mut place = &mut whole;
        for name in field["path"].as_str().unwrap().split('.') {
            let (name, depth) = name.split_once('[').unwrap_or((name, ""));
            // The path of an element of an array that is passed through begins with the brackets.
            if !name.is_empty() {
                place = &mut place[name];
            }
            if !depth.is_empty() {
                if place.as_array().is_none_or(Vec::is_empty) {
                    *place = json!([null]);
                }
                place = &mut place[0];
            }
        }
        let passed_through = field["kubernetes"].as_str().map(|name| {
            let fields = kubernetes[name].as_array().unwrap();
            every(fields, kubernetes)
        });
        if place.is_null() {
            *place = passed_through.unwrap_or_else(|| value(field));
        }
    }
    whole
}

/// A value of a field that is not its default.
fn value(field: &Value) -> Value {
    let default = &field["default"];
    if let Some(words) = field["enum"].as_array() {
        let other = words.iter().find(|word| *word != default);
        return other.unwrap_or(&words[0]).clone();
    }
    match field["type"].as_str().unwrap() {
        "boolean" => json!(default != true),
        "integer" => json!(default.as_i64().or(field["minimum"].as_i64()).unwrap_or(1) + 1),
        "number" => json!(default.as_f64().unwrap_or_default() + 0.25),
        "string" => json!("text"),
        "intOrString" => json!("3"),
        "array" => match field["items"].as_str() {
            Some("string") => json!(["text"]),
            Some("integer") => json!([7]),
            // Its elements have fields of their own.
            _ => json!([]),
        },
        "object" => match field["values"].as_str() {
            Some("any") => json!({"key": {"deep": [1.5, "text", {"deeper": true}]}}),
            Some("string") => json!({"key": "text"}),
            Some("intOrString") => json!({"key": "3"}),
            _ => json!({}),
        },
        other => panic!("{other}: {field}"),
    }
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn every_field_of_the_newest_go_operator_comes_back() -> Result<()> {
    let admin = plane().await?.cluster(control_plane::Identity::Admin).await?;
    let listed = read("crates/lmcache-api/tests/data/go-operator-crds.json")?.remove(0);
    for (kind, at_least) in [
        ("LMCacheEngine", 490),
        ("CacheBlendEngine", 340),
        ("LMCacheCoordinator", 300),
    ] {
        let mut fields = listed[kind]["fields"].as_array().unwrap().clone();
        fields.retain(|field| field["path"].as_str().unwrap().starts_with("spec"));
        let mut object = every(&fields, &listed["kubernetes"]);
        object["apiVersion"] = OURS.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({"name": "whole", "namespace": "default"});
        let stored = admin.dry_run(&object).await?;
        assert_eq!(lost("", &object, &stored), [""; 0], "{kind}");
        let leaves = leaves(&object["spec"]);
        assert!(leaves >= at_least, "{kind}: only {leaves} values");
    }
    Ok(())
}

/// How many values there are that hold no others.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Object(fields) if !fields.is_empty() => fields.values().map(leaves).sum(),
        Value::Array(values) if !values.is_empty() => values.iter().map(leaves).sum(),
        _ => 1,
    }
}

/// A null says the same as no field; the API server drops it or puts the default in its place.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(values) => values.iter().map(without_nulls).collect(),
        value => value.clone(),
    }
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn what_the_go_operators_crds_refuse_is_refused_at_the_same_fields() -> Result<()> {
    let admin = plane().await?.cluster(control_plane::Identity::Admin).await?;
    let mut judged = 0;
    let mut faults = Vec::new();
    for (name, recording) in recordings() {
        let Some(admission) = recording["faults"]["admission"]
            .as_array()
            .filter(|faults| !faults.is_empty())
        else {
            continue;
        };
        let mut object = recording["input"].clone();
        object["metadata"]["namespace"] = json!("default");
        judged += 1;
        match admin.dry_run(&object).await {
            Ok(_) => faults.push(format!("{name}: accepted")),
            Err(error) => {
                let Some(status) = refusal(&error) else {
                    panic!("{name}: {error:#}")
                };
                for fault in admission {
                    let field = fault["field"].as_str().unwrap();
                    // Refused before any field was read; here at the field.
                    if field != "<nil>" && !status.message.contains(field) {
                        faults.push(format!("{name}: {field} is not in: {}", status.message));
                    }
                }
            }
        }
    }
    assert!(judged > 30, "only {judged} recordings");
    assert!(faults.is_empty(), "{faults:#?}");
    Ok(())
}
