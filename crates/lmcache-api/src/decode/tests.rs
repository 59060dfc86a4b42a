use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::walk;
use crate::schema::{self, Shape, Type};
use crate::{AnyObject, Kind, Object};

/// An object with every field of the table.
fn sample(shape: &Shape) -> Value {
    let fields = shape
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), sample_value(&field.kind)));
    Value::Object(fields.collect())
}

fn sample_value(kind: &Type) -> Value {
    match kind {
        Type::Bool => json!(true),
        Type::Text => json!("text"),
        Type::Word(words) => json!(words.last()),
        Type::Int32(min, _) => json!((*min).max(1)),
        Type::IntWord(words) => json!(words.last()),
        Type::Int64(min) => json!((*min).max(1)),
        Type::Number | Type::PositiveNumber => json!(0.5),
        Type::Object(shape) => sample(shape),
        Type::Objects(shape) => json!([sample(shape)]),
        Type::Texts => json!(["text"]),
        Type::TextMap => json!({"key": "text"}),
        Type::AnyMap => json!({"key": [1, null]}),
        Type::Foreign => json!({"key": {"deep": 1}}),
        Type::Foreigns => json!([{"key": {"deep": 1}}]),
    }
}

/// The table and the types name the same fields: nothing read is lost, nothing typed is unreachable.
#[test]
fn the_table_and_the_types_agree() {
    let shapes = [&schema::ENGINE, &schema::CACHEBLEND, &schema::COORDINATOR];
    for (kind, shape) in Kind::ALL.into_iter().zip(shapes) {
        let spec = sample(shape);
        let walk = walk(kind, &json!({"spec": spec}));
        assert!(
            walk.findings.is_empty(),
            "{kind}: {:?}",
            walk.findings.first().map(|finding| &finding.fault)
        );
        let (typed, debug) = match &walk.object {
            AnyObject::LMCacheEngine(object) => (serde_json::to_value(&object.spec), format!("{:#?}", object.spec)),
            AnyObject::CacheBlendEngine(object) => (serde_json::to_value(&object.spec), format!("{:#?}", object.spec)),
            AnyObject::LMCacheCoordinator(object) => {
                (serde_json::to_value(&object.spec), format!("{:#?}", object.spec))
            }
        };
        assert_eq!(typed.unwrap(), spec, "{kind}");
        // serde reads the same, names and all.
        let object = match kind {
            Kind::LMCacheEngine => AnyObject::LMCacheEngine(Object {
                spec: serde_json::from_value(spec).unwrap(),
                ..Object::default()
            }),
            Kind::CacheBlendEngine => AnyObject::CacheBlendEngine(Object {
                spec: serde_json::from_value(spec).unwrap(),
                ..Object::default()
            }),
            Kind::LMCacheCoordinator => AnyObject::LMCacheCoordinator(Object {
                spec: serde_json::from_value(spec).unwrap(),
                ..Object::default()
            }),
        };
        assert_eq!(object, walk.object, "{kind}");
        assert!(
            !debug.contains("None"),
            "{kind}: a typed field is not in the table: {debug}"
        );
    }
}

/// Every word of the table is one that the typed enum reads.
#[test]
fn the_words_of_the_table_are_those_of_the_types() {
    fn words(shape: &'static Shape, path: &str, out: &mut Vec<(String, &'static str)>) {
        for field in shape.fields {
            let path = format!("{path}/{}", field.name);
            match &field.kind {
                Type::Word(values) => out.extend(values.iter().map(|value| (path.clone(), *value))),
                Type::Object(shape) => words(shape, &path, out),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    words(&schema::CACHEBLEND, "/spec", &mut found);
    for (path, word) in found {
        let mut object = json!({"spec": sample(&schema::CACHEBLEND)});
        *object.pointer_mut(&path).unwrap() = json!(word);
        assert!(
            walk(Kind::CacheBlendEngine, &object).findings.is_empty(),
            "{path} {word}"
        );
    }
}
