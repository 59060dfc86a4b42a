//! Reading any JSON as a custom resource.

#[cfg(test)]
mod tests;
pub(crate) mod typed;

use serde_json::{Map, Number, Value};

use self::typed::Typed;
use crate::fault::{echo, push_key, quote};
use crate::schema::{self, Field, Limit, Shape, Type};
use crate::{AnyObject, FaultKind, FieldError, Kind, Object, ObjectMeta};

/// What [`decode`] made of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Everything that could be read.
    pub object: AnyObject,
    /// What could not be read, or breaks the CRD's schema: wrong types, unknown words, numbers out of range, missing
    /// required fields. In the order of the field table.
    pub faults: Vec<FieldError>,
}

/// Reads any JSON leniently. What breaks the schema is left out of the typed object and reported as a fault; `null`
/// counts as absent; unknown fields are ignored, as the API server prunes them. Never fails, never panics.
pub fn decode(kind: Kind, object: &Value) -> Decoded {
    let walk = walk(kind, object);
    let faults = walk
        .findings
        .into_iter()
        .filter(|finding| finding.shape)
        .map(|finding| finding.fault)
        .collect();
    Decoded {
        object: walk.object,
        faults,
    }
}

/// Everything the walk over the field table found.
pub(crate) struct Walk {
    pub object: AnyObject,
    pub findings: Vec<Finding>,
}

/// A fault, and whether it breaks the schema (the value was left out) or only a [`Limit`] (the value was kept).
pub(crate) struct Finding {
    pub fault: FieldError,
    pub shape: bool,
}

pub(crate) fn walk(kind: Kind, object: &Value) -> Walk {
    let shape = match kind {
        Kind::LMCacheEngine => &schema::ENGINE,
        Kind::CacheBlendEngine => &schema::CACHEBLEND,
        Kind::LMCacheCoordinator => &schema::COORDINATOR,
    };
    let mut walker = Walker {
        path: "spec".to_owned(),
        findings: Vec::new(),
    };
    let spec = match object.get("spec") {
        None | Some(Value::Null) => {
            walker.required("must be set");
            Map::new()
        }
        Some(Value::Object(map)) => walker.object(shape, map),
        Some(other) => {
            walker.wrong_type(other, "an object");
            Map::new()
        }
    };
    let spec = Value::Object(spec);
    let metadata = ObjectMeta::read(object);
    let object = match kind {
        Kind::LMCacheEngine => AnyObject::LMCacheEngine(self::object(metadata, &spec)),
        Kind::CacheBlendEngine => AnyObject::CacheBlendEngine(self::object(metadata, &spec)),
        Kind::LMCacheCoordinator => AnyObject::LMCacheCoordinator(self::object(metadata, &spec)),
    };
    Walk {
        object,
        findings: walker.findings,
    }
}

fn object<S: Typed + Default>(metadata: ObjectMeta, spec: &Value) -> Object<S> {
    Object {
        metadata,
        spec: S::typed(spec).unwrap_or_default(),
    }
}

struct Walker {
    path: String,
    findings: Vec<Finding>,
}

impl Walker {
    fn found(&mut self, kind: FaultKind, detail: String, shape: bool) {
        self.findings.push(Finding {
            fault: FieldError::new(self.path.clone(), kind, detail),
            shape,
        });
    }

    fn required(&mut self, expected: &str) {
        self.found(FaultKind::Required, expected.to_owned(), true);
    }

    fn wrong_type(&mut self, value: &Value, expected: &str) {
        self.found(
            FaultKind::TypeInvalid,
            format!("{}: must be {expected}", echo(value)),
            true,
        );
    }

    fn invalid(&mut self, value: &Value, expected: &str) {
        self.found(FaultKind::Invalid, format!("{}: {expected}", echo(value)), true);
    }

    /// Runs `read` with a longer path.
    fn within<T>(&mut self, extend: impl FnOnce(&mut String), read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        extend(&mut self.path);
        let result = read(self);
        self.path.truncate(length);
        result
    }

    fn object(&mut self, shape: &Shape, map: &Map<String, Value>) -> Map<String, Value> {
        let mut clean = Map::new();
        for field in shape.fields {
            let value = map.get(field.name).filter(|value| !value.is_null());
            let read = self.within(
                |path| {
                    path.push('.');
                    path.push_str(field.name);
                },
                |walker| walker.field(field, value),
            );
            if let Some(value) = read {
                clean.insert(field.name.to_owned(), value);
            }
        }
        clean
    }

    fn field(&mut self, field: &Field, value: Option<&Value>) -> Option<Value> {
        let Some(value) = value else {
            if field.required {
                self.required("must be set");
            } else if matches!(field.limit, Limit::NonEmpty) {
                self.found(FaultKind::Required, "must be a non-empty string".to_owned(), false);
            }
            return None;
        };
        let clean = self.value(&field.kind, value)?;
        self.limit(&field.limit, &clean);
        Some(clean)
    }

    fn value(&mut self, kind: &Type, value: &Value) -> Option<Value> {
        match (kind, value) {
            (Type::Bool, Value::Bool(_)) | (Type::Text, Value::String(_)) | (Type::Foreign, Value::Object(_)) => {
                Some(value.clone())
            }
            (Type::Word(words), Value::String(text)) => {
                if words.contains(&text.as_str()) {
                    return Some(value.clone());
                }
                let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
                self.found(FaultKind::NotSupported, unsupported(value, &words), true);
                None
            }
            (Type::Int32(min, max), Value::Number(number)) => {
                self.integer(value, number, i64::from(*min), i64::from(*max))
            }
            (Type::Int64(min), Value::Number(number)) => self.integer(value, number, *min, i64::MAX),
            (Type::IntWord(words), Value::Number(number)) => {
                let integer = self.integer(value, number, i64::from(i32::MIN), i64::from(i32::MAX))?;
                if integer.as_i64().is_some_and(|integer| words.contains(&integer)) {
                    return Some(integer);
                }
                let words: Vec<String> = words.iter().map(i64::to_string).collect();
                self.found(FaultKind::NotSupported, unsupported(value, &words), true);
                None
            }
            (Type::Number, Value::Number(_)) => Some(value.clone()),
            (Type::PositiveNumber, Value::Number(number)) => {
                if number.as_f64().is_some_and(|number| number > 0.0) {
                    return Some(value.clone());
                }
                self.invalid(value, "must be greater than 0");
                None
            }
            (Type::Object(shape), Value::Object(map)) => Some(Value::Object(self.object(shape, map))),
            (Type::Objects(shape), Value::Array(items)) => Some(self.list(items, |walker, item| match item {
                Value::Object(map) => Some(Value::Object(walker.object(shape, map))),
                other => walker.refuse(other, "an object"),
            })),
            (Type::Foreigns, Value::Array(items)) => Some(self.list(items, |walker, item| match item {
                Value::Object(_) => Some(item.clone()),
                other => walker.refuse(other, "an object"),
            })),
            (Type::Texts, Value::Array(items)) => Some(self.list(items, |walker, item| match item {
                Value::String(_) => Some(item.clone()),
                other => walker.refuse(other, "a string"),
            })),
            (Type::TextMap, Value::Object(map)) => Some(self.text_map(map)),
            (Type::AnyMap, Value::Object(map)) => {
                let entries = map.iter().filter(|(_, value)| !value.is_null());
                Some(Value::Object(
                    entries.map(|(key, value)| (key.clone(), value.clone())).collect(),
                ))
            }
            _ => {
                self.wrong_type(value, kind.expected());
                None
            }
        }
    }

    fn refuse(&mut self, value: &Value, expected: &str) -> Option<Value> {
        self.wrong_type(value, expected);
        None
    }

    /// A whole number in `min..=max`. `5.0` is whole: the API server stores it as `5`.
    fn integer(&mut self, value: &Value, number: &Number, min: i64, max: i64) -> Option<Value> {
        let float = number.as_f64().unwrap_or(f64::NAN);
        // 2^53: up to here every whole float is exact.
        let whole = number
            .as_i64()
            .or_else(|| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64));
        if whole.is_none() && float.fract() != 0.0 {
            return self.refuse(value, "an integer");
        }
        if let Some(integer) = whole.filter(|integer| (min..=max).contains(integer)) {
            return Some(Value::from(integer));
        }
        self.invalid(value, &range(float, min, max));
        None
    }

    fn list(&mut self, items: &[Value], mut read: impl FnMut(&mut Self, &Value) -> Option<Value>) -> Value {
        let mut clean = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            clean.extend(self.within(|path| path.push_str(&format!("[{index}]")), |walker| read(walker, item)));
        }
        Value::Array(clean)
    }

    fn text_map(&mut self, map: &Map<String, Value>) -> Value {
        let mut clean = Map::new();
        for (key, value) in map {
            match value {
                Value::Null => {}
                Value::String(_) => {
                    clean.insert(key.clone(), value.clone());
                }
                other => self.within(
                    |path| push_key(path, key),
                    |walker| walker.wrong_type(other, "a string"),
                ),
            }
        }
        Value::Object(clean)
    }

    fn limit(&mut self, limit: &Limit, value: &Value) {
        let number = value.as_f64().unwrap_or_default();
        let (holds, expected) = match limit {
            Limit::None => return,
            Limit::NonEmpty => {
                if value.as_str() == Some("") {
                    self.found(FaultKind::Required, "must be a non-empty string".to_owned(), false);
                }
                return;
            }
            Limit::Within(min, max) => {
                let holds = number >= f64::from(*min) && number <= f64::from(*max);
                (holds, range(number, i64::from(*min), i64::from(*max)))
            }
            Limit::Positive => (number > 0.0, "must be greater than 0".to_owned()),
            Limit::NotNegative => (number >= 0.0, "must be >= 0".to_owned()),
            Limit::Share => (number > 0.0 && number <= 1.0, "must be in (0, 1]".to_owned()),
            Limit::ShareOrZero => ((0.0..=1.0).contains(&number), "must be in [0, 1]".to_owned()),
        };
        if !holds {
            self.found(FaultKind::Invalid, format!("{}: {expected}", echo(value)), false);
        }
    }
}

impl Type {
    const fn expected(&self) -> &'static str {
        match self {
            Type::Bool => "true or false",
            Type::Text | Type::Word(_) => "a string",
            Type::Int32(..) | Type::IntWord(_) | Type::Int64(_) => "an integer",
            Type::Number | Type::PositiveNumber => "a number",
            Type::Object(_) | Type::TextMap | Type::AnyMap | Type::Foreign => "an object",
            Type::Objects(_) | Type::Texts | Type::Foreigns => "a list",
        }
    }
}

/// `"FIFO": supported values: "LRU", "noop"`.
fn unsupported(value: &Value, words: &[String]) -> String {
    format!("{}: supported values: {}", echo(value), words.join(", "))
}

/// What is expected of an integer: the bound that it breaks where the other one is only that of its type.
fn range(number: f64, min: i64, max: i64) -> String {
    let open_above = max == i64::from(i32::MAX) || max == i64::MAX;
    if open_above && number < min as f64 {
        format!("must be >= {min}")
    } else {
        format!("must be in [{min}, {max}]")
    }
}
