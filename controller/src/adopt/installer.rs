//! What installed an object, and may delete it or bring it back.

use serde::Serialize;
use serde_json::Value;

use super::snapshot::{annotation, items, label, text};

/// A tool that says on its objects that they are its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installer {
    /// `Helm`, `Argo CD`, `Flux` or `OLM`.
    pub tool: &'static str,
    /// The release, application and so on, with its namespace where that is known.
    pub name: String,
}

impl Installer {
    /// Who installed an object, as far as it says so. A Helm release that Flux or Argo CD drives names both.
    pub fn of(object: &Value) -> Vec<Installer> {
        let mut found = Vec::new();
        let mut add = |tool, namespace: &str, name: &str| {
            if !name.is_empty() {
                let name = if namespace.is_empty() {
                    name.to_owned()
                } else {
                    format!("{namespace}/{name}")
                };
                found.push(Installer { tool, name });
            }
        };
        let release = annotation(object, "meta.helm.sh/release-name");
        add("Helm", annotation(object, "meta.helm.sh/release-namespace"), release);
        // `application:group/kind:namespace/name`
        let tracking = annotation(object, "argocd.argoproj.io/tracking-id");
        add("Argo CD", "", tracking.split(':').next().unwrap_or_default());
        add("Argo CD", "", label(object, "argocd.argoproj.io/instance"));
        for kind in ["kustomize", "helm"] {
            let key = |end| format!("{kind}.toolkit.fluxcd.io/{end}");
            add("Flux", label(object, &key("namespace")), label(object, &key("name")));
        }
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        let is_olm = |key: &&String| key.starts_with("operators.coreos.com/") || *key == "olm.owner";
        if let Some(key) = labels.and_then(|labels| labels.keys().find(is_olm)) {
            add("OLM", "", key.trim_start_matches("operators.coreos.com/"));
        }
        found.dedup();
        found
    }

    /// Whether it puts its objects back by itself.
    pub fn reconciles(&self) -> bool {
        self.tool != "Helm"
    }
}

/// Names of installers in a row; empty where there are none.
pub(super) fn named(installers: &[Installer]) -> String {
    let names: Vec<String> = installers
        .iter()
        .map(|installer| format!("{} {}", installer.tool, installer.name))
        .collect();
    names.join(", ")
}

/// What keeps an object when its installer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeps {
    /// Nothing.
    No,
    /// An annotation that somebody else than the installer set. `helm uninstall` does not see it: it reads the manifest that
    /// the release stored, not the object.
    NotInTheRelease,
    /// An annotation that the installer reads.
    Yes,
}

const HELM_POLICY: &str = "helm.sh/resource-policy";

impl Keeps {
    /// Whether an object stays when this installer is removed.
    pub fn of(object: &Value, installer: &Installer) -> Keeps {
        let argo = annotation(object, "argocd.argoproj.io/sync-options");
        match installer.tool {
            "Helm" if annotation(object, HELM_POLICY).trim().eq_ignore_ascii_case("keep") => {
                if is_set_by_helm(object) {
                    Keeps::Yes
                } else {
                    Keeps::NotInTheRelease
                }
            }
            // One keeps it when the application is deleted, the other when the source does not have it any more.
            "Argo CD"
                if ["Delete=false", "Prune=false"]
                    .iter()
                    .all(|option| has_option(argo, option)) =>
            {
                Keeps::Yes
            }
            "Flux" if annotation(object, "kustomize.toolkit.fluxcd.io/prune") == "disabled" => Keeps::Yes,
            _ => Keeps::No,
        }
    }
}

fn has_option(options: &str, wanted: &str) -> bool {
    options.split(',').any(|option| option.trim() == wanted)
}

/// Whether the annotation is one that Helm wrote: then it stands in the release's manifest.
fn is_set_by_helm(object: &Value) -> bool {
    items(object, "/metadata/managedFields").any(|entry| {
        let key = format!("f:{HELM_POLICY}");
        let annotations = entry.pointer("/fieldsV1/f:metadata/f:annotations");
        text(entry, "/manager").starts_with("helm") && annotations.is_some_and(|keys| keys.get(&key).is_some())
    })
}
