//! What a CRD of the Go operator says of a field, and what the API server makes of a spec by it.

use lmcache_api::quantity::Quantity as Amount;
use lmcache_api::{FaultKind, FieldError, fault};
use serde_json::{Map, Number, Value};

use super::State;

#[cfg(test)]
mod tests;

/// An object's fields.
pub(super) struct Shape(pub &'static [Field]);

/// A field.
pub(super) struct Field {
    /// Name in JSON.
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// What the API server stores in the custom resource when the field is absent, as JSON; empty for nothing.
    pub default: &'static str,
    /// What the API server stores in a Pod template when the field is absent, as JSON; empty for what `default` says.
    pub in_pod: &'static str,
    /// Whether Go's type is a pointer: then a zero value (`""`, `0`, `false`, `{}`) is sent, else it is left out.
    pub pointer: bool,
    /// The first state whose CRD has the field.
    pub since: State,
    /// Whether our CRD has no default where the Go operator's has one.
    pub ours_is_empty: bool,
}

/// What a field may hold.
pub(super) enum Kind {
    Bool,
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An integer in this range.
    Integer(i64, i64),
    /// One of these integers.
    IntegerWord(&'static [i64]),
    Number,
    /// A number greater than zero.
    PositiveNumber,
    /// An amount such as `500m`.
    Quantity,
    /// A port number or name.
    IntOrString,
    Object(&'static Shape),
    Objects(&'static Shape),
    Texts,
    Integers,
    TextMap,
    /// A map of amounts.
    Quantities,
    /// Keys with any JSON as value.
    AnyMap,
}

pub(super) const fn field(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        required: false,
        default: "",
        in_pod: "",
        pointer: false,
        since: State::V0_5_0,
        ours_is_empty: false,
    }
}

impl Field {
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = json;
        self
    }

    pub const fn in_pod(mut self, json: &'static str) -> Self {
        self.in_pod = json;
        self
    }

    pub const fn pointer(mut self) -> Self {
        self.pointer = true;
        self
    }

    /// CRDs of earlier states do not have the field.
    pub const fn since(mut self, state: State) -> Self {
        self.since = state;
        self
    }

    /// Our CRD stores nothing where the field is absent: whatever is there was said by somebody.
    pub const fn ours_is_empty(mut self) -> Self {
        self.ours_is_empty = true;
        self
    }

    /// Whether `value` is what our CRD stores where nobody said anything.
    pub fn is_filled_in(&self, value: &Value) -> bool {
        !self.ours_is_empty && literal(self.default).is_some_and(|default| default == *value)
    }
}

pub(super) const INT32: Kind = Kind::Integer(i32::MIN as i64, i32::MAX as i64);
pub(super) const INT64: Kind = Kind::Integer(i64::MIN, i64::MAX);

/// An object none of whose members is in the CRD.
pub(super) static PRUNED: Shape = Shape(&[]);

/// A value that is JSON in a table.
pub(super) fn literal(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok()
}

/// A spec as the API server has it.
pub(super) struct Stored {
    pub spec: Value,
    /// Why it would be refused, sorted by path.
    pub faults: Vec<FieldError>,
    /// Whether it fits into Go's types, so that the operator could say something of it.
    pub readable: bool,
}

/// The spec as it is stored, and why the API server would refuse it instead.
///
/// Unknown fields are pruned, nulls dropped, defaults filled into every object that is present. A value that is refused stays
/// what it is. Without a spec there is nothing to default.
pub(super) fn store(state: State, shape: &Shape, object: &Value) -> Stored {
    let mut api_server = ApiServer {
        state,
        path: "spec".to_owned(),
        faults: Vec::new(),
        readable: true,
    };
    let spec = match object.get("spec") {
        None | Some(Value::Null) => {
            api_server.required();
            Value::Object(Map::new())
        }
        Some(Value::Object(members)) => Value::Object(api_server.object(shape, members)),
        Some(other) => api_server.wrong_type(other, "an object"),
    };
    let ApiServer {
        mut faults, readable, ..
    } = api_server;
    faults.sort();
    Stored { spec, faults, readable }
}

struct ApiServer {
    state: State,
    path: String,
    faults: Vec<FieldError>,
    readable: bool,
}

impl ApiServer {
    fn found(&mut self, kind: FaultKind, detail: String) {
        self.faults.push(FieldError::new(self.path.clone(), kind, detail));
    }

    fn required(&mut self) {
        self.found(FaultKind::Required, "must be set".to_owned());
    }

    fn wrong_type(&mut self, value: &Value, expected: &str) -> Value {
        self.readable = false;
        self.found(
            FaultKind::TypeInvalid,
            format!("{}: must be {expected}", fault::echo(value)),
        );
        value.clone()
    }

    fn invalid(&mut self, value: &Value, expected: &str) {
        self.found(FaultKind::Invalid, format!("{}: {expected}", fault::echo(value)));
    }

    /// Runs `read` with a longer path.
    fn within<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(step);
        let result = read(self);
        self.path.truncate(length);
        result
    }

    fn object(&mut self, shape: &Shape, members: &Map<String, Value>) -> Map<String, Value> {
        let (state, mut stored) = (self.state, Map::new());
        for field in shape.0.iter().filter(|field| field.since <= state) {
            let given = members.get(field.name).filter(|value| !value.is_null());
            self.within(&format!(".{}", field.name), |api_server| {
                match given.cloned().or_else(|| literal(field.default)) {
                    Some(value) => {
                        stored.insert(field.name.to_owned(), api_server.value(&field.kind, &value));
                    }
                    None if field.required => api_server.required(),
                    None => {}
                }
            });
        }
        stored
    }

    fn value(&mut self, kind: &Kind, value: &Value) -> Value {
        match (kind, value) {
            (Kind::Bool, Value::Bool(_))
            | (Kind::Text | Kind::IntOrString, Value::String(_))
            | (Kind::Number, Value::Number(_)) => {}
            // Of another type, it is not one of the words either: two faults.
            (Kind::Word(words), word) => {
                if !word.is_string() {
                    self.wrong_type(value, "a string");
                }
                if !words.iter().any(|known| word == known) {
                    let words: Vec<String> = words.iter().map(|word| fault::quote(word)).collect();
                    self.not_supported(value, &words);
                }
            }
            (Kind::Integer(min, max), Value::Number(number)) => return self.integer(value, number, *min, *max),
            (Kind::IntegerWord(words), word) => {
                let integer = match word {
                    Value::Number(number) => self.integer(value, number, i64::MIN, i64::MAX),
                    other => self.wrong_type(other, kind.expected()),
                };
                if !words.iter().any(|word| integer.as_i64() == Some(*word)) {
                    let words: Vec<String> = words.iter().map(i64::to_string).collect();
                    self.not_supported(value, &words);
                }
                return integer;
            }
            (Kind::PositiveNumber, Value::Number(number)) => {
                if number.as_f64().is_none_or(|number| number <= 0.0) {
                    self.invalid(value, "must be greater than 0");
                }
            }
            (Kind::Quantity, Value::String(text)) => {
                if text.parse::<Amount>().is_err() {
                    self.readable = false;
                    self.invalid(value, "must be a quantity");
                }
            }
            (Kind::Quantity | Kind::IntOrString, Value::Number(number)) if whole(number).is_some() => {
                return whole(number).map_or(Value::Null, Value::from);
            }
            (Kind::Quantity | Kind::IntOrString, _) => self.neither_integer_nor_text(value),
            (Kind::Object(shape), Value::Object(members)) => return Value::Object(self.object(shape, members)),
            (Kind::Objects(shape), Value::Array(items)) => return self.list(&Kind::Object(shape), items),
            (Kind::Texts, Value::Array(items)) => return self.list(&Kind::Text, items),
            (Kind::Integers, Value::Array(items)) => return self.list(&INT32, items),
            (Kind::TextMap, Value::Object(entries)) => return self.map(Some(&Kind::Text), entries),
            (Kind::Quantities, Value::Object(entries)) => return self.map(Some(&Kind::Quantity), entries),
            (Kind::AnyMap, Value::Object(entries)) => return self.map(None, entries),
            (expected, other) => return self.wrong_type(other, expected.expected()),
        }
        value.clone()
    }

    fn not_supported(&mut self, value: &Value, words: &[String]) {
        let detail = format!("{}: supported values: {}", fault::echo(value), words.join(", "));
        self.found(FaultKind::NotSupported, detail);
    }

    /// A fraction is no integer, and can be out of bounds as well: two faults.
    fn integer(&mut self, value: &Value, number: &Number, min: i64, max: i64) -> Value {
        let integer = whole(number);
        let inside = match integer {
            Some(integer) => (min..=max).contains(&integer),
            None => number
                .as_f64()
                .is_some_and(|number| (min as f64..=max as f64).contains(&number)),
        };
        if !inside {
            self.invalid(value, &format!("must be in [{min}, {max}]"));
        }
        match integer {
            Some(integer) => {
                // Every integer of the spec that is not as wide is an int32.
                self.readable &= max == i64::MAX || i32::try_from(integer).is_ok();
                Value::from(integer)
            }
            None => self.wrong_type(value, "an integer"),
        }
    }

    /// Three faults for one, the first of them without a path: so the API server reports that no branch of the schema fits.
    fn neither_integer_nor_text(&mut self, value: &Value) {
        let path = std::mem::replace(&mut self.path, "<nil>".to_owned());
        self.found(
            FaultKind::Invalid,
            format!("\"\": {path} must be an integer or a string"),
        );
        self.path = path;
        self.wrong_type(value, "an integer");
        self.wrong_type(value, "an integer or a string");
    }

    /// Nulls in lists stay, and are faults.
    fn list(&mut self, kind: &Kind, items: &[Value]) -> Value {
        let items = items.iter().enumerate();
        let stored =
            items.map(|(index, item)| self.within(&format!("[{index}]"), |api_server| api_server.value(kind, item)));
        Value::Array(stored.collect())
    }

    fn map(&mut self, kind: Option<&Kind>, entries: &Map<String, Value>) -> Value {
        let mut stored = Map::new();
        for (key, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
            let value = match kind {
                Some(kind) => self.within(&format!(".{key}"), |api_server| api_server.value(kind, value)),
                None => value.clone(),
            };
            stored.insert(key.clone(), value);
        }
        Value::Object(stored)
    }
}

/// The integer that a number is: `5.0` is stored as `5`.
fn whole(number: &Number) -> Option<i64> {
    let float = number.as_f64().unwrap_or(f64::NAN);
    // Up to 2^53 every whole float is exact.
    number
        .as_i64()
        .or_else(|| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64))
}

impl Kind {
    const fn expected(&self) -> &'static str {
        match self {
            Kind::Bool => "true or false",
            Kind::Text | Kind::Word(_) => "a string",
            Kind::Integer(..) | Kind::IntegerWord(_) => "an integer",
            Kind::Number | Kind::PositiveNumber => "a number",
            Kind::Quantity | Kind::IntOrString => "an integer or a string",
            Kind::Object(_) | Kind::TextMap | Kind::Quantities | Kind::AnyMap => "an object",
            Kind::Objects(_) | Kind::Texts | Kind::Integers => "a list",
        }
    }
}
