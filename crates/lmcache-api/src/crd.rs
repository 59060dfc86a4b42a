//! The OpenAPI schemas of the CRDs.
//!
//! Structure and descriptions come from the types, everything else from the field table that the decoder walks. So the
//! schema that the API server enforces and the faults that a policy reports have one source.

use k8s_openapi::api::{apps::v1 as apps, core::v1 as core};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::schema::{Field, Shape, Type};
use crate::{CacheBlendEngine, Kind, LMCacheCoordinator, LMCacheEngine};

/// The CRD of a kind, as it is to be applied. Unlike the derived `crd()`, whose `status` and optional quantities may be
/// `null`, it drops nulls everywhere, as the Go operator's CRDs do. Descriptions have one line per paragraph.
pub fn definition(kind: Kind) -> CustomResourceDefinition {
    let mut crd = match kind {
        Kind::LMCacheEngine => LMCacheEngine::crd(),
        Kind::CacheBlendEngine => CacheBlendEngine::crd(),
        Kind::LMCacheCoordinator => LMCacheCoordinator::crd(),
    };
    let validations = crd
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut());
    validations
        .filter_map(|validation| validation.open_api_v3_schema.as_mut())
        .for_each(tidy);
    crd
}

fn tidy(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    // The names of our Rust types.
    schema.title = None;
    if let Some(description) = &mut schema.description {
        *description = unwrapped(description);
    }
    schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
        .for_each(tidy);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        tidy(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
}

/// The text without the line breaks of the source it stands in: whoever shows it breaks lines as it needs. Paragraphs
/// and lists stay.
fn unwrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let starts_a_line = line.is_empty() || line.starts_with([' ', '-', '*', '|']) || out.ends_with('\n');
        if !out.is_empty() {
            out.push(if starts_a_line { '\n' } else { ' ' });
        }
        out.push_str(line);
    }
    out
}

/// Completes the schema of a struct with what its table says.
pub(crate) fn table(shape: &'static Shape) -> impl Transform {
    move |schema: &mut Schema| complete(shape, schema)
}

fn complete(shape: &Shape, schema: &mut Schema) {
    let object = schema.ensure_object();
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    if required.is_empty() {
        object.remove("required");
    } else {
        object.insert("required".to_owned(), json!(required));
    }
    if shape.atomic {
        object.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    }
    // Absent blocks and empty blocks differ, and `null` counts as absent: nothing that schemars derives from Rust's
    // defaults belongs here.
    object.remove("default");
    let Some(Value::Object(properties)) = object.get_mut("properties") else {
        return;
    };
    for field in shape.fields {
        if let Some(Value::Object(property)) = properties.get_mut(field.name) {
            complete_field(field, property);
        }
    }
}

fn complete_field(field: &Field, property: &mut Map<String, Value>) {
    // What depends on the Rust type: options are `nullable`, integers have formats and bounds of their own.
    for keyword in ["nullable", "default", "format", "minimum", "maximum", "enum"] {
        property.remove(keyword);
    }
    property.insert("type".to_owned(), json!(field.kind.schema_type()));
    let keywords = match &field.kind {
        Type::Word(words) => json!({"enum": words}),
        Type::IntWord(words) => json!({"enum": words, "format": "int32"}),
        Type::Int32(min, max) => {
            let mut keywords = json!({"format": "int32"});
            if *min != i32::MIN {
                merge(&json!({"minimum": min}), &mut keywords);
            }
            if *max != i32::MAX {
                merge(&json!({"maximum": max}), &mut keywords);
            }
            keywords
        }
        Type::Int64(min) if *min == i64::MIN => json!({"format": "int64"}),
        Type::Int64(min) => json!({"format": "int64", "minimum": min}),
        Type::PositiveNumber => json!({"minimum": 0, "exclusiveMinimum": true}),
        Type::AnyMap => json!({"additionalProperties": {"x-kubernetes-preserve-unknown-fields": true}}),
        _ => json!({}),
    };
    let more: Value = serde_json::from_str(field.keywords).unwrap_or_default();
    for keywords in [keywords, more] {
        property.extend(keywords.as_object().cloned().unwrap_or_default());
    }
    if let Ok(default) = serde_json::from_str::<Value>(field.default) {
        property.insert("default".to_owned(), default);
    }
}

fn merge(from: &Value, into: &mut Value) {
    if let (Some(from), Some(into)) = (from.as_object(), into.as_object_mut()) {
        into.extend(from.clone());
    }
}

impl Type {
    const fn schema_type(&self) -> &'static str {
        match self {
            Type::Bool => "boolean",
            Type::Text | Type::Word(_) => "string",
            Type::Int32(..) | Type::IntWord(_) | Type::Int64(_) => "integer",
            Type::Number | Type::PositiveNumber => "number",
            Type::Object(_) | Type::TextMap | Type::AnyMap | Type::Foreign => "object",
            Type::Objects(_) | Type::Texts | Type::Foreigns => "array",
        }
    }
}

/// A pass-through field keeps its JSON, but its schema is that of the Kubernetes type: the API server prunes and checks
/// it as it does inside a Pod. Quantities are `x-kubernetes-int-or-string`, so `cpu: 4` is as good as `cpu: "4"`.
macro_rules! passed_through {
    ($($name:ident: $type:ty,)+) => {
        $(pub(crate) fn $name(generator: &mut SchemaGenerator) -> Schema {
            <$type>::json_schema(generator)
        })+
    };
}

passed_through! {
    affinity: core::Affinity,
    tolerations: Vec<core::Toleration>,
    env: Vec<core::EnvVar>,
    volumes: Vec<core::Volume>,
    volume_mounts: Vec<core::VolumeMount>,
    init_containers: Vec<core::Container>,
    resource_requirements: core::ResourceRequirements,
    pod_security_context: core::PodSecurityContext,
    security_context: core::SecurityContext,
    daemon_set_update_strategy: apps::DaemonSetUpdateStrategy,
    deployment_strategy: apps::DeploymentStrategy,
}
