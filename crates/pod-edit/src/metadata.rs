//! Labels and annotations.

use serde_json::Value;

use crate::EditError;
use crate::json::{object_member_mut, object_mut};

/// The text of an annotation of the Pod.
pub fn annotation<'a>(pod: &'a Value, key: &str) -> Option<&'a str> {
    pod.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Whether the Pod has an annotation, whatever its value.
pub fn has_annotation(pod: &Value, key: &str) -> bool {
    let annotations = pod.get("metadata").and_then(|metadata| metadata.get("annotations"));
    annotations.and_then(|annotations| annotations.get(key)).is_some()
}

/// The text of a label of the Pod.
pub fn label<'a>(pod: &'a Value, key: &str) -> Option<&'a str> {
    pod.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// Sets one annotation; creates the map when it is absent or `null`. Other keys keep their order and their bytes.
pub(crate) fn set_annotation(pod: &mut Value, key: &str, value: &str) -> Result<bool, EditError> {
    if annotation(pod, key) == Some(value) {
        return Ok(false);
    }
    let metadata = object_member_mut(object_mut(pod, "pod")?, "metadata", "metadata")?;
    let annotations = object_member_mut(metadata, "annotations", "metadata.annotations")?;
    annotations.insert(key.to_owned(), value.into());
    Ok(true)
}

/// Removes one annotation. The map stays, even when it is empty then: it is the user's.
pub(crate) fn remove_annotation(pod: &mut Value, key: &str) -> Result<bool, EditError> {
    let metadata = match pod.get_mut("metadata") {
        None | Some(Value::Null) => return Ok(false),
        Some(metadata) => object_mut(metadata, "metadata")?,
    };
    let annotations = match metadata.get_mut("annotations") {
        None | Some(Value::Null) => return Ok(false),
        Some(annotations) => object_mut(annotations, "metadata.annotations")?,
    };
    // `remove` would put the last key into the place of this one.
    Ok(annotations.shift_remove(key).is_some())
}
