//! Is a change of a workload any business of ours?

use super::kind::{Kind, at};
use crate::keys::PREFIX;
use serde_json::{Map, Value};

/// Does `new` make other Pods than `old`, or has one of our keys changed in the metadata around the templates? Scaling,
/// a schedule, a status and other people's annotations are none of our business.
pub(super) fn concerns_pods(kind: Kind, old: &Value, new: &Value) -> bool {
    kind.templates(old) != kind.templates(new)
        || kind.other_metadata().iter().any(|place| {
            ["labels", "annotations"].iter().any(|member| {
                let map = |object| at(object, place).and_then(|metadata: &Value| metadata.get(member)?.as_object());
                differ(map(old), map(new))
            })
        })
}

/// Do two maps differ in keys of ours? Their order does not count.
fn differ(old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) -> bool {
    let lacks = |this: Option<&Map<String, Value>>, other: Option<&Map<String, Value>>| {
        this.into_iter()
            .flatten()
            .filter(|(key, _)| key.starts_with(PREFIX))
            .any(|(key, value)| other.and_then(|other| other.get(key)) != Some(value))
    };
    lacks(old, new) || lacks(new, old)
}
