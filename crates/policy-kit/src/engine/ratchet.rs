//! Which faults an object had before it was changed.
//!
//! As Kubernetes does with its own kinds: a value that was left as it was is not held against the change, one that was
//! changed has to be right. Where the value stands in a list does not count, and neither does what the message says about
//! other fields. What the platform forbids is about more than one field (a tag with its repository), so there the message
//! decides.

use lmcache_api::{FaultKind, FieldError};
use serde_json::Value;

/// The faults of `object` that `old`, with its faults `before`, did not have. One old fault excuses one new fault.
pub(super) fn new_faults(
    faults: Vec<FieldError>,
    object: &Value,
    mut before: Vec<FieldError>,
    old: &Value,
) -> Vec<FieldError> {
    let mut is_new = |fault: &FieldError| match before.iter().position(|other| same(fault, object, other, old)) {
        Some(place) => {
            before.swap_remove(place);
            false
        }
        None => true,
    };
    faults.into_iter().filter(|fault| is_new(fault)).collect()
}

/// Is this fault of `object` that fault of `old`?
fn same(fault: &FieldError, object: &Value, other: &FieldError, old: &Value) -> bool {
    let value = at(object, &fault.path);
    // A field that nobody set says nothing: its fault is about what stands elsewhere.
    let left_alone = fault.kind != FaultKind::Forbidden
        && (fault.kind == FaultKind::Required || !value.is_null())
        && value == at(old, &other.path);
    other.kind == fault.kind
        && (other.detail == fault.detail || left_alone)
        && steps(&other.path)
            .map(Step::anywhere)
            .eq(steps(&fault.path).map(Step::anywhere))
}

/// One step of a field path: `.name`, `[2]` or `[key.with/signs]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'a> {
    Member(&'a str),
    Index(usize),
}

impl<'a> Step<'a> {
    /// The step without the place in a list.
    fn anywhere(self) -> Option<&'a str> {
        match self {
            Self::Member(name) => Some(name),
            Self::Index(_) => None,
        }
    }
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    let mut rest = path;
    std::iter::from_fn(move || {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if rest.is_empty() {
            return None;
        }
        if let Some((key, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            rest = behind;
            return Some(key.parse().map_or(Step::Member(key), Step::Index));
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(Step::Member(name))
    })
}

/// The value at a field path; `null` where there is none.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    steps(path)
        .try_fold(object, |value, step| match step {
            Step::Member(name) => value.get(name),
            Step::Index(index) => value.get(index),
        })
        .unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({"spec": {"volumes": [{"name": "a"}, {"name": "b"}], "limits": {"nvidia.com/gpu": 1}}});
        assert_eq!(at(&object, "spec.volumes[1].name"), "b");
        assert_eq!(at(&object, "spec.limits[nvidia.com/gpu]"), 1);
        for absent in [
            "spec.volumes[2].name",
            "spec.x.y",
            "spec.volumes[",
            "spec..volumes.name",
        ] {
            assert_eq!(at(&object, absent), &Value::Null, "{absent}");
        }
    }
}
