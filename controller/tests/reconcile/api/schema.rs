//! How the API server merges: which lists have keys, which values are one whole.

use serde_json::{Map, Value};

/// How a value is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A map, or a struct: member by member.
    Members,
    /// A list whose items are told apart by these members.
    Items(&'static [&'static str]),
    /// One value.
    Whole,
}

/// Where in an object a value is: the kind of the object, the field that holds the value and the one around it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    kind: &'a str,
    parent: &'a str,
    field: &'a str,
}

impl<'a> Place<'a> {
    pub fn root(kind: &'a str) -> Self {
        Place {
            kind,
            parent: "",
            field: "",
        }
    }

    pub fn member(self, name: &'a str) -> Self {
        Place {
            kind: self.kind,
            parent: self.field,
            field: name,
        }
    }

    /// An item of the list that is here.
    pub fn item(self) -> Self {
        Place {
            kind: self.kind,
            parent: self.field,
            field: "",
        }
    }

    pub fn shape(self, value: &Value) -> Shape {
        match value {
            Value::Object(_) if self.is_whole() => Shape::Whole,
            Value::Object(_) => Shape::Members,
            Value::Array(_) => self.keys().map_or(Shape::Whole, Shape::Items),
            _ => Shape::Whole,
        }
    }

    fn is_whole(self) -> bool {
        let is_reference = self.field.is_empty() && matches!(self.parent, "ownerReferences" | "imagePullSecrets");
        is_reference
            || matches!(
                self.field,
                "selector"
                    | "labelSelector"
                    | "nodeSelector"
                    | "secretKeyRef"
                    | "configMapKeyRef"
                    | "fieldRef"
                    | "resourceFieldRef"
                    | "requiredDuringSchedulingIgnoredDuringExecution"
            )
    }

    fn keys(self) -> Option<&'static [&'static str]> {
        match (self.field, self.kind) {
            ("ownerReferences", _) => Some(&["uid"]),
            // Lists of a CustomResourceDefinition have keys only where it says so.
            (_, "ServiceMonitor" | "LMCacheEngine" | "CacheBlendEngine" | "LMCacheCoordinator") => None,
            ("ports", "Service") => Some(&["port", "protocol"]),
            ("ports", _) => Some(&["containerPort", "protocol"]),
            ("containers" | "initContainers" | "env" | "volumes" | "imagePullSecrets", _) => Some(&["name"]),
            ("claims", _) if self.parent == "resources" => Some(&["name"]),
            ("volumeMounts", _) => Some(&["mountPath"]),
            ("topologySpreadConstraints", _) => Some(&["topologyKey", "whenUnsatisfiable"]),
            ("hostAliases", _) => Some(&["ip"]),
            _ => None,
        }
    }
}

/// The key of an item, with Kubernetes' default of the protocol.
pub fn key_of(keys: &[&str], item: &Value) -> Map<String, Value> {
    let member = |name: &&str| {
        let default = (*name == "protocol").then(|| Value::from("TCP"));
        let value = item.get(*name).cloned().or(default)?;
        Some(((*name).to_owned(), value))
    };
    keys.iter().filter_map(member).collect()
}
