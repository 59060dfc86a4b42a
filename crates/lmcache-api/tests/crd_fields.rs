//! The generated CRDs against the field list of the Go operator's.
#![cfg(feature = "crd")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test helpers"
)]

use std::collections::{BTreeMap, BTreeSet};

use lmcache_api::Kind;
use serde_json::{Map, Value, json};

/// Our own status of engines.
const ADDED_STATUS: &[&str] = &[
    "status.clients",
    "status.clients.drifted",
    "status.clients.skipped",
    "status.clients.uncovered",
    "status.clients.wired",
];

/// Our own fields, relative to `spec`. What is below a passed-through one comes from Kubernetes.
const ADDED: &[&str] = &[
    "connection",
    "connection.extraConfig",
    "containerSecurityContext",
    "l2Backend.resp.waitSeconds",
    "podSecurityContext",
    "server.release",
    "terminationGracePeriodSeconds",
    "updateStrategy",
];

fn go_operator() -> Value {
    serde_json::from_str(include_str!("data/go-operator-crds.json")).unwrap()
}

fn crd(kind: Kind) -> Value {
    serde_json::to_value(lmcache_api::crd::definition(kind)).unwrap()
}

fn schema(kind: Kind) -> Value {
    crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// A schema node as a line of the list, and the nodes below it by path.
fn flatten(path: &str, node: &Value, required: bool, out: &mut BTreeMap<String, Map<String, Value>>) {
    let object = node.as_object().unwrap_or_else(|| panic!("{path}: no object: {node}"));
    let mut line = Map::new();
    let copied = [
        ("default", "default"),
        ("enum", "enum"),
        ("minimum", "minimum"),
        ("maximum", "maximum"),
        ("exclusiveMinimum", "exclusiveMinimum"),
        ("minLength", "minLength"),
        ("maxLength", "maxLength"),
        ("pattern", "pattern"),
        ("format", "format"),
        ("x-kubernetes-list-type", "listType"),
        ("x-kubernetes-list-map-keys", "listMapKeys"),
        ("x-kubernetes-map-type", "mapType"),
    ];
    for (keyword, name) in copied {
        if let Some(value) = object.get(keyword) {
            line.insert(name.to_owned(), value.clone());
        }
    }
    line.insert("type".to_owned(), json!(type_of(node)));
    if required {
        line.insert("required".to_owned(), json!(true));
    }
    if let Some(items) = object.get("items") {
        line.insert("items".to_owned(), json!(type_of(items)));
        if let Some(map_type) = items.get("x-kubernetes-map-type") {
            line.insert("itemsMapType".to_owned(), map_type.clone());
        }
        below(&format!("{path}[]"), items, out);
    }
    if let Some(values) = object.get("additionalProperties") {
        line.insert("values".to_owned(), json!(type_of(values)));
        if values.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true)) {
            line.insert("valuesPreserveUnknownFields".to_owned(), json!(true));
        }
        below(&format!("{path}{{}}"), values, out);
    }
    out.insert(path.to_owned(), line);
    below(path, node, out);
}

fn below(path: &str, node: &Value, out: &mut BTreeMap<String, Map<String, Value>>) {
    let required: Vec<&str> = node["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, child) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        flatten(&path, child, required.contains(&name.as_str()), out);
    }
}

fn type_of(node: &Value) -> &str {
    if node.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        return "intOrString";
    }
    node["type"].as_str().unwrap_or("any")
}

fn lines(kind: Kind) -> BTreeMap<String, Map<String, Value>> {
    let mut out = BTreeMap::new();
    let schema = schema(kind);
    below("", &schema, &mut out);
    out
}

/// The list's lines of a kind by path, and the passed-through fields with the name of their Kubernetes type.
fn expected(kind: Kind) -> (BTreeMap<String, Map<String, Value>>, BTreeMap<String, String>) {
    let mut fields = BTreeMap::new();
    let mut passed_through = BTreeMap::new();
    for line in go_operator()[kind.as_str()]["fields"].as_array().unwrap() {
        let mut line = line.as_object().unwrap().clone();
        let path = line.remove("path").unwrap().as_str().unwrap().to_owned();
        match line.get("kubernetes").and_then(Value::as_str) {
            Some(name) => {
                passed_through.insert(path, name.to_owned());
            }
            None => {
                fields.insert(path, line);
            }
        }
    }
    (fields, passed_through)
}

/// Numbers compare by value: `1` and `1.0` are one default.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        _ => left == right,
    }
}

#[test]
fn every_field_is_as_in_the_go_operators_crds() {
    for kind in Kind::ALL {
        let ours = lines(kind);
        let (fields, passed_through) = expected(kind);
        let mut differences = Vec::new();
        for (path, mut line) in fields.clone() {
            if path == "spec.hostIPC" {
                line.remove("default")
                    .expect("the Go operator has a default that we leave out");
            }
            let Some(found) = ours.get(&path) else {
                differences.push(format!("{path}: missing"));
                continue;
            };
            let keys: BTreeSet<&String> = line.keys().chain(found.keys()).collect();
            for key in keys {
                let (expected, found) = (line.get(key), found.get(key));
                if !expected
                    .zip(found)
                    .is_some_and(|(expected, found)| same(expected, found))
                {
                    differences.push(format!("{path}: {key} is {found:?}, the Go operator has {expected:?}"));
                }
            }
        }
        let coordinator_release = (kind == Kind::LMCacheCoordinator).then_some("release");
        for path in ours.keys() {
            let foreign = passed_through.keys().any(|top| below_or_at(path, top));
            let added = ADDED
                .iter()
                .copied()
                .chain(coordinator_release)
                .any(|top| below_or_at(path, &format!("spec.{top}")))
                || (kind != Kind::LMCacheCoordinator && ADDED_STATUS.contains(&path.as_str()));
            if !fields.contains_key(path) && !foreign && !added {
                differences.push(format!("{path}: not in the Go operator's CRD and no known addition"));
            }
        }
        assert!(differences.is_empty(), "{kind}:\n{}", differences.join("\n"));
    }
}

fn below_or_at(path: &str, top: &str) -> bool {
    path.strip_prefix(top)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '{']))
}

#[test]
fn every_added_field_is_there() {
    for kind in Kind::ALL {
        let ours = lines(kind);
        let engine = kind != Kind::LMCacheCoordinator;
        for path in ADDED {
            let only_engines = path.contains('.') || *path == "connection";
            assert_eq!(
                ours.contains_key(&format!("spec.{path}")),
                engine || !only_engines,
                "{kind} spec.{path}"
            );
        }
        for path in ADDED_STATUS {
            assert_eq!(ours.contains_key(*path), engine, "{kind} {path}");
        }
        assert_eq!(ours.contains_key("spec.release"), !engine, "{kind}");
        assert!(same(&ours["spec.terminationGracePeriodSeconds"]["minimum"], &json!(0)));
        assert!(
            ours.contains_key("spec.updateStrategy.rollingUpdate.maxUnavailable"),
            "{kind}"
        );
        assert!(ours.contains_key("spec.podSecurityContext.fsGroup"), "{kind}");
        assert!(ours.contains_key("spec.containerSecurityContext.runAsUser"), "{kind}");
    }
}

#[test]
fn passed_through_fields_keep_every_subfield_of_kubernetes() {
    let list = go_operator();
    for kind in Kind::ALL {
        let ours = lines(kind);
        for (top, name) in expected(kind).1 {
            let mut count = 0;
            for line in list["kubernetes"][&name].as_array().unwrap() {
                let relative = line["path"].as_str().unwrap();
                let separator = if relative.starts_with(['[', '{']) { "" } else { "." };
                let path = format!("{top}{separator}{relative}");
                let found = ours.get(&path).unwrap_or_else(|| panic!("{kind} {path}: missing"));
                assert_eq!(found["type"], line["type"], "{kind} {path}");
                if let Some(values) = line.get("values") {
                    assert_eq!(found.get("values"), Some(values), "{kind} {path}");
                }
                if line.get("required") == Some(&json!(true)) {
                    assert_eq!(found.get("required"), Some(&json!(true)), "{kind} {path}");
                }
                count += 1;
            }
            assert!(count > 3, "{kind} {top}: the list has only {count} subfields");
        }
    }
}

/// But for the column of clients, which stands before the age.
#[test]
fn names_columns_and_subresources_are_the_go_operators() {
    let list = go_operator();
    for kind in Kind::ALL {
        let crd = crd(kind);
        let expected = &list[kind.as_str()];
        assert_eq!(crd["metadata"]["name"], format!("{}.lmcache.lmcache.ai", kind.plural()));
        assert_eq!(crd["spec"]["group"], "lmcache.lmcache.ai");
        assert_eq!(crd["spec"]["scope"], expected["scope"]);
        assert_eq!(crd["spec"]["names"]["kind"], kind.as_str());
        assert_eq!(crd["spec"]["names"]["plural"], expected["plural"]);
        assert_eq!(crd["spec"]["names"]["plural"], kind.plural());
        assert_eq!(crd["spec"]["names"]["singular"], kind.as_str().to_lowercase());
        assert_eq!(crd["spec"]["names"]["shortNames"], expected["shortNames"]);
        let versions = crd["spec"]["versions"].as_array().unwrap();
        assert_eq!(versions.len(), 1);
        assert_eq!(versions[0]["name"], "v1alpha1");
        assert_eq!(
            (&versions[0]["served"], &versions[0]["storage"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(versions[0]["subresources"], json!({"status": {}}));
        let mut columns = expected["printerColumns"].as_array().unwrap().clone();
        if kind != Kind::LMCacheCoordinator {
            let clients = json!({"name": "Clients", "type": "integer", "jsonPath": ".status.clients.wired"});
            columns.insert(columns.len() - 1, clients);
        }
        assert_eq!(versions[0]["additionalPrinterColumns"], Value::Array(columns));
    }
}

/// What a structural schema may not hold, and what would make the API server store `null` or refuse integers.
#[test]
fn the_schemas_are_structural() {
    for kind in Kind::ALL {
        let text = serde_json::to_string(&schema(kind)).unwrap();
        for word in [
            "\"nullable\"",
            "\"anyOf\"",
            "\"$ref\"",
            "\"uint32\"",
            "\"double\"",
            "\"float\"",
            "\"const\"",
        ] {
            assert!(!text.contains(word), "{kind} has {word}");
        }
        assert!(!serde_json::to_string(&crd(kind)).unwrap().contains("\"shortNames\":[]"));
    }
}

#[test]
fn every_field_of_ours_is_described() {
    for kind in Kind::ALL {
        let mut undescribed = Vec::new();
        let schema = schema(kind);
        for part in ["spec", "status"] {
            undescribed_fields(part, &schema["properties"][part], &mut undescribed);
        }
        assert!(undescribed.is_empty(), "{kind}: {undescribed:?}");
    }
}

fn undescribed_fields(path: &str, node: &Value, out: &mut Vec<String>) {
    for (name, child) in node["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if child.get("description").is_none() {
            out.push(path.clone());
        }
        undescribed_fields(&path, child, out);
        undescribed_fields(&format!("{path}[]"), &child["items"], out);
    }
}

/// Whoever shows a description breaks its lines; those of the source would be in the way.
#[test]
fn descriptions_of_ours_have_no_line_breaks_of_the_source() {
    for kind in Kind::ALL {
        let schema = schema(kind);
        let mut broken = Vec::new();
        for part in ["spec", "status"] {
            described(part, &schema["properties"][part], &mut |path, text| {
                if text.trim() != text || text.contains('\n') {
                    broken.push(path.to_owned());
                }
            });
        }
        assert!(broken.is_empty(), "{kind}: {broken:?}");
    }
}

/// Tells the descriptions of our own fields, not those below a passed-through one.
fn described(path: &str, node: &Value, tell: &mut impl FnMut(&str, &str)) {
    let text = node["description"].as_str().unwrap_or_default();
    tell(path, text);
    if text.contains("core/v1") || text.contains("apps/v1") {
        return;
    }
    for (name, child) in node["properties"].as_object().into_iter().flatten() {
        described(&format!("{path}.{name}"), child, tell);
    }
    if let Some(items) = node.get("items") {
        described(&format!("{path}[]"), items, tell);
    }
}

/// `kubectl apply` keeps the whole object in an annotation, which may hold 256 KiB.
#[test]
fn the_crds_can_be_applied_client_side() {
    for kind in Kind::ALL {
        let bytes = serde_json::to_string(&crd(kind)).unwrap().len();
        assert!(bytes < 250_000, "{kind} has {bytes} bytes");
    }
}
