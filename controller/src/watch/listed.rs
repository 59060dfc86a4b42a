//! Children as lists and watches deliver them.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::live::{Child, ChildFacts, ChildKind, Facts};

/// A child of the kind that stands at this place in [`ChildKind::ALL`].
///
/// Kubernetes leaves `kind` and `apiVersion` out of the items of its own lists, though not out of watch events. Here they are
/// put back, so that an object reads the same however it came.
#[derive(Clone, Debug)]
pub(super) struct Listed<const KIND: usize>(pub Child);

impl<'de, const KIND: usize> Deserialize<'de> for Listed<KIND> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let (Some(kind), Value::Object(members)) = (ChildKind::ALL.get(KIND), &mut object)
            && !members.contains_key("kind")
        {
            let (group, version, name, _) = ChildFacts::resource(kind);
            let api_version = if group.is_empty() {
                version.to_owned()
            } else {
                format!("{group}/{version}")
            };
            // In the order of watch events.
            members.shift_insert(0, "kind".to_owned(), name.into());
            members.shift_insert(1, "apiVersion".to_owned(), api_version.into());
        }
        Ok(Listed(Child::read(object)))
    }
}

impl<const KIND: usize> Resource for Listed<KIND> {
    type DynamicType = ChildKind;
    type Scope = <Child as Resource>::Scope;

    fn kind(of: &ChildKind) -> Cow<'_, str> {
        Child::kind(of)
    }

    fn group(of: &ChildKind) -> Cow<'_, str> {
        Child::group(of)
    }

    fn version(of: &ChildKind) -> Cow<'_, str> {
        Child::version(of)
    }

    fn plural(of: &ChildKind) -> Cow<'_, str> {
        Child::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_stand_at_their_places() {
        for kind in ChildKind::ALL {
            assert_eq!(ChildKind::ALL[kind as usize], kind);
        }
    }

    #[test]
    fn an_item_of_a_list_reads_as_an_event_does() {
        const DAEMON_SET: usize = ChildKind::DaemonSet as usize;
        let rest = json!({"metadata": {"name": "a"}, "spec": {}, "status": {"numberReady": 2}});
        let mut event = json!({"kind": "DaemonSet", "apiVersion": "apps/v1"});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let event: Listed<DAEMON_SET> = serde_json::from_value(event).unwrap();
        let item: Listed<DAEMON_SET> = serde_json::from_value(rest).unwrap();
        assert_eq!(item.0.facts.kind, Some(ChildKind::DaemonSet));
        assert_eq!(item.0.facts.workload.as_ref().unwrap().ready, 2);
        assert_eq!(item.0.value().to_string(), event.0.value().to_string());
        let core: Listed<{ ChildKind::Service as usize }> = serde_json::from_value(json!({"metadata": {}})).unwrap();
        assert_eq!(core.0.value()["apiVersion"], "v1");
    }
}
