//! What installed an object, and may delete it or bring it back.

use policy_kit::keys::{INSTANCE_LABEL, OPERATOR_LABELS};
use serde::Serialize;
use serde_json::Value;

use super::snapshot::{annotation, items, label, text};

const HELM: &str = "Helm";
const ARGO_CD: &str = "Argo CD";
const KUSTOMIZATION: &str = "Flux Kustomization";
/// It installs and uninstalls by Helm.
const HELM_RELEASE: &str = "Flux HelmRelease";
/// The release that an object stands in the manifest of.
const RELEASE: &str = "meta.helm.sh/release-name";
/// The field managers by which Argo CD applies: server-side, and client-side.
const ARGO_CD_MANAGERS: [&str; 2] = ["argocd-controller", "argocd-application-controller"];

/// A tool that says on its objects that they are its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Installer {
    /// `Helm`, `Argo CD`, `Flux Kustomization`, `Flux HelmRelease` or `OLM`.
    pub tool: &'static str,
    /// The release, application and so on, with its namespace where that is known; empty where it is not named.
    pub name: String,
    /// Whether nothing else can be meant by what the object says.
    pub is_certain: bool,
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
                found.push(Installer {
                    tool,
                    name,
                    is_certain: true,
                });
            }
        };
        let release = annotation(object, RELEASE);
        add(HELM, annotation(object, "meta.helm.sh/release-namespace"), release);
        // `application:group/kind:namespace/name`
        let tracking = annotation(object, "argocd.argoproj.io/tracking-id");
        add(ARGO_CD, "", tracking.split(':').next().unwrap_or_default());
        add(ARGO_CD, "", label(object, "argocd.argoproj.io/instance"));
        for (tool, group) in [(KUSTOMIZATION, "kustomize"), (HELM_RELEASE, "helm")] {
            let key = |end| format!("{group}.toolkit.fluxcd.io/{end}");
            add(tool, label(object, &key("namespace")), label(object, &key("name")));
        }
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        let is_olm = |key: &&String| key.starts_with("operators.coreos.com/") || *key == "olm.owner";
        if let Some(key) = labels.and_then(|labels| labels.keys().find(is_olm)) {
            add("OLM", "", key.trim_start_matches("operators.coreos.com/"));
        }
        found.dedup();
        if !found.iter().any(|installer| installer.tool == ARGO_CD) {
            found.extend(argo_cd(object));
        }
        found
    }

    /// Whether it puts its objects back by itself.
    pub fn reconciles(&self) -> bool {
        self.tool != HELM
    }

    /// The tool and the name.
    pub fn title(&self) -> String {
        format!("{} {}", self.tool, self.name).trim_end().to_owned()
    }
}

/// An application of Argo CD that tracks by label, the default before 3.0.
///
/// Helm's charts, kustomizations and controllers set that label as well. Who wrote the object tells them apart: Argo CD is a
/// field manager of everything that it applies. Where it is none, the label may still be its own, since others that took
/// the fields over leave it. Where it is one and there is no label, it tracks by another label, or did so once.
fn argo_cd(object: &Value) -> Option<Installer> {
    let name = label(object, INSTANCE_LABEL);
    let mut managers = items(object, "/metadata/managedFields").map(|entry| text(entry, "/manager"));
    let applied = managers.any(|manager| ARGO_CD_MANAGERS.contains(&manager));
    let [_, (managed_by, operator)] = OPERATOR_LABELS;
    let is_explained = !annotation(object, RELEASE).is_empty() || label(object, managed_by) == operator;
    (applied || !name.is_empty() && !is_explained).then(|| Installer {
        tool: ARGO_CD,
        name: name.to_owned(),
        is_certain: applied && !name.is_empty(),
    })
}

/// Names of installers in a row; empty where there are none.
pub(super) fn named(installers: &[Installer]) -> String {
    let name = |installer: &Installer| {
        let perhaps = if installer.is_certain { "" } else { "perhaps " };
        format!("{perhaps}{}", installer.title())
    };
    let names: Vec<String> = installers.iter().map(name).collect();
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
            // From the chart's folder crds/: in no manifest, so never deleted.
            HELM_RELEASE if annotation(object, RELEASE).is_empty() => Keeps::Yes,
            HELM | HELM_RELEASE if annotation(object, HELM_POLICY).trim().eq_ignore_ascii_case("keep") => {
                if is_set_by_helm(object) {
                    Keeps::Yes
                } else {
                    Keeps::NotInTheRelease
                }
            }
            // One keeps it when the application is deleted, the other when the source does not have it any more.
            ARGO_CD
                if ["Delete=false", "Prune=false"]
                    .iter()
                    .all(|option| has_option(argo, option)) =>
            {
                Keeps::Yes
            }
            KUSTOMIZATION if annotation(object, "kustomize.toolkit.fluxcd.io/prune") == "disabled" => Keeps::Yes,
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
