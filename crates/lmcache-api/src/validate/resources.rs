//! Rules of `resourceOverrides`.

use serde_json::Value;

use super::Faults;
use crate::fault::{echo, push_key};
use crate::quantity::{NotAQuantity, Quantity};
use crate::{FaultKind, FieldError};

const PATH: &str = "spec.resourceOverrides";

/// Quantities that can be read, none negative, and no request above its limit.
pub(super) fn check(resources: Option<&Value>, faults: &mut Faults) {
    let Some(resources) = resources else { return };
    let limits = section(resources, "limits", faults);
    let requests = section(resources, "requests", faults);
    for (key, request, echoed) in &requests {
        let limit = limits.iter().find(|(name, ..)| name == key);
        if let Some((_, limit, limit_echoed)) = limit
            && request > limit
        {
            let expected = format!("must be at most the limit of {limit_echoed}");
            faults.push(FieldError::invalid(path_of("requests", key), echoed, expected));
        }
    }
}

/// The readable quantities of `limits` or `requests`, each with its text for messages.
fn section<'a>(resources: &'a Value, name: &str, faults: &mut Faults) -> Vec<(&'a String, Quantity, String)> {
    let map = match resources.get(name) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(map)) => map,
        Some(other) => {
            let detail = format!("{}: must be an object", echo(other));
            faults.push(FieldError::new(
                format!("{PATH}.{name}"),
                FaultKind::TypeInvalid,
                detail,
            ));
            return Vec::new();
        }
    };
    let mut quantities = Vec::new();
    for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        let echoed = echo(value);
        match read(value) {
            Ok(quantity) if quantity.is_negative() => {
                faults.push(FieldError::invalid(path_of(name, key), echoed, "must be >= 0"));
            }
            Ok(quantity) => quantities.push((key, quantity, echoed)),
            Err((kind, expected)) => {
                faults.push(FieldError::new(
                    path_of(name, key),
                    kind,
                    format!("{echoed}: {expected}"),
                ));
            }
        }
    }
    quantities
}

/// A quantity is a string or a whole number: the API server refuses an unquoted fraction.
fn read(value: &Value) -> Result<Quantity, (FaultKind, String)> {
    match value {
        Value::String(text) => text
            .parse()
            .map_err(|error: NotAQuantity| (FaultKind::Invalid, error.to_string())),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(units), _) => Ok(Quantity::from_units(units)),
            (None, Some(units)) if units.fract() == 0.0 => Ok(Quantity::from_units(units as i64)),
            _ => Err((
                FaultKind::TypeInvalid,
                "must be a whole number or a string: put it into quotes".to_owned(),
            )),
        },
        _ => Err((FaultKind::TypeInvalid, "must be a whole number or a string".to_owned())),
    }
}

fn path_of(section: &str, key: &str) -> String {
    let mut path = format!("{PATH}.{section}");
    push_key(&mut path, key);
    path
}
