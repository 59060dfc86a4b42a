//! What the API server does with an object of a CRD, as far as its schema goes: prune, default, check.

use serde_json::{Map, Value};

/// Removes fields that the schema does not know, and tells their paths.
pub fn prune(path: &str, schema: &Value, value: &mut Value, pruned: &mut Vec<String>) {
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    match value {
        Value::Object(object) => {
            let mut unknown = Vec::new();
            for (name, child) in object.iter_mut() {
                let path = below(path, name);
                match of_field(schema, name) {
                    Some(schema) => prune(&path, schema, child, pruned),
                    None => {
                        unknown.push(name.clone());
                        pruned.push(path);
                    }
                }
            }
            for name in unknown {
                object.remove(&name);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune(&format!("{path}[{index}]"), &schema["items"], item, pruned);
            }
        }
        _ => {}
    }
}

/// Fills in defaults wherever the object that holds the field is present. A `null` counts as absent.
pub fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|name, child| !child.is_null() || of_field(schema, name).is_none());
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(preset) = field.get("default").filter(|_| !object.contains_key(name)) {
                    object.insert(name.clone(), preset.clone());
                }
            }
            for (name, child) in object.iter_mut() {
                if let Some(schema) = of_field(schema, name) {
                    default(schema, child);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(&schema["items"], item)),
        _ => {}
    }
}

/// Everything that the schema refuses, as `path: keyword`. Patterns are not looked at.
pub fn faults(path: &str, schema: &Value, value: &Value, out: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        return out.push(format!("{path}: no schema"));
    };
    for (keyword, limit) in keywords {
        if !holds(keyword, limit, schema, value) {
            out.push(format!("{path}: {keyword}"));
        }
    }
    match value {
        Value::Object(object) => {
            for (name, child) in object {
                match of_field(schema, name) {
                    Some(schema) => faults(&below(path, name), schema, child, out),
                    None if schema["x-kubernetes-preserve-unknown-fields"] == true => {}
                    None => out.push(format!("{}: unknown", below(path, name))),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                faults(&format!("{path}[{index}]"), &schema["items"], item, out);
            }
        }
        _ => {}
    }
}

fn holds(keyword: &str, limit: &Value, schema: &Value, value: &Value) -> bool {
    let number = value.as_f64();
    let bound = limit.as_f64();
    let length = value.as_str().map(|text| text.chars().count() as f64);
    match keyword {
        "type" => is_a(limit.as_str().unwrap(), value),
        "enum" => limit.as_array().unwrap().contains(value),
        "minimum" if schema["exclusiveMinimum"] == true => number.is_none_or(|number| number > bound.unwrap()),
        "minimum" => number.is_none_or(|number| number >= bound.unwrap()),
        "maximum" => number.is_none_or(|number| number <= bound.unwrap()),
        "minLength" => length.is_none_or(|length| length >= bound.unwrap()),
        "maxLength" => length.is_none_or(|length| length <= bound.unwrap()),
        "format" if limit == "int32" => value.as_i64().is_none_or(|number| i32::try_from(number).is_ok()),
        "required" => value.as_object().is_none_or(|object| {
            let names = limit.as_array().unwrap().iter();
            names
                .map(|name| name.as_str().unwrap())
                .all(|name| object.contains_key(name))
        }),
        "x-kubernetes-int-or-string" => value.is_i64() || value.is_u64() || value.is_string(),
        "x-kubernetes-list-type" if limit == "map" => unique(value, &schema["x-kubernetes-list-map-keys"]),
        "x-kubernetes-list-type" if limit == "set" => unique(value, &Value::Null),
        "format"
        | "pattern"
        | "exclusiveMinimum"
        | "default"
        | "description"
        | "properties"
        | "items"
        | "additionalProperties" => true,
        "x-kubernetes-list-type"
        | "x-kubernetes-list-map-keys"
        | "x-kubernetes-map-type"
        | "x-kubernetes-preserve-unknown-fields" => true,
        other => panic!("the schema has {other}, which this test does not know"),
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("no type of a schema: {other}"),
    }
}

fn unique(list: &Value, keys: &Value) -> bool {
    let identity = |item: &Value| -> Value {
        let keys = keys.as_array().into_iter().flatten();
        let members: Map<String, Value> = keys
            .map(|key| (key.as_str().unwrap().to_owned(), item[key.as_str().unwrap()].clone()))
            .collect();
        if members.is_empty() {
            item.clone()
        } else {
            members.into()
        }
    };
    let mut seen: Vec<Value> = Vec::new();
    for item in list.as_array().into_iter().flatten().map(identity) {
        if seen.contains(&item) {
            return false;
        }
        seen.push(item);
    }
    true
}

fn of_field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema["properties"]
        .get(name)
        .or_else(|| schema.get("additionalProperties"))
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
