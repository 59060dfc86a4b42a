//! The CRDs: whose they are, and what would delete them. With a CRD go all objects of its kind, and with those their servers.

use lmcache_api::{GROUP, Kind};
use serde::Serialize;
use serde_json::Value;

use super::brought_back;
use super::finding::{Finding, codes};
use super::installer::{Installer, Keeps};
use super::snapshot::{Snapshot, items};

/// A field that this project's CRDs have, and no Go operator's.
const OF_OURS: &str = "/schema/openAPIV3Schema/properties/spec/properties/";

/// A CRD of the group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Crd {
    /// Its name.
    pub name: String,
    /// Whether it is this project's: it knows the fields that only ours have.
    pub is_ours: bool,
    /// What installed it, and whether it stays when that is removed.
    pub installed_by: Vec<Owner>,
}

/// What installed a CRD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// The tool and the name.
    #[serde(flatten)]
    pub installer: Installer,
    /// What keeps the CRD when it goes.
    pub keeps: Keeps,
}

/// The name of the CRD of a kind.
pub(super) fn name(kind: Kind) -> String {
    format!("{}.{GROUP}", kind.plural())
}

pub(super) fn crds(snapshot: &Snapshot) -> Vec<Crd> {
    let found = Kind::ALL.into_iter().filter_map(|kind| {
        let crd = snapshot.get("CustomResourceDefinition", "", &name(kind))?;
        let owners = Installer::of(crd).into_iter().map(|installer| Owner {
            keeps: Keeps::of(crd, &installer),
            installer,
        });
        Some(Crd {
            name: name(kind),
            is_ours: is_ours(crd, kind),
            installed_by: owners.collect(),
        })
    });
    found.collect()
}

fn is_ours(crd: &Value, kind: Kind) -> bool {
    let field = match kind {
        Kind::LMCacheEngine | Kind::CacheBlendEngine => "updateStrategy",
        Kind::LMCacheCoordinator => "release",
    };
    let mut versions = items(crd, "/spec/versions");
    versions.any(|version| version.pointer(&format!("{OF_OURS}{field}")).is_some())
}

/// What is to be done about them. `go` is what installed the Go operator, and `has_objects` whether anything would be lost.
pub(super) fn findings(crds: &[Crd], go: &[Installer], has_objects: bool) -> Vec<Finding> {
    if crds.is_empty() {
        let todo = "nothing can be migrated; to begin, see docs/install.md";
        return vec![Finding::note(
            codes::NO_CRDS,
            "there are no CRDs of lmcache.lmcache.ai",
            todo,
        )];
    }
    let mut findings = Vec::new();
    let mut owners: Vec<&Owner> = crds.iter().flat_map(|crd| &crd.installed_by).collect();
    owners.sort_by_key(|owner| (owner.installer.tool, &owner.installer.name, owner.keeps != Keeps::No));
    owners.dedup_by(|a, b| a.installer == b.installer);
    for owner in owners {
        // Who may own them after all is no reason to wait: that is a note, below.
        let certain = Some(owner).filter(|owner| owner.installer.is_certain);
        findings.extend(certain.and_then(|owner| at_risk(owner, crds, has_objects)));
        findings.extend(returning(&owner.installer, crds, go));
    }
    let theirs: Vec<&str> = crds
        .iter()
        .filter(|crd| !crd.is_ours)
        .map(|crd| crd.name.as_str())
        .collect();
    if !theirs.is_empty() {
        findings.push(Finding::note(
            codes::CRDS_OF_THE_GO_OPERATOR,
            format!("CRDs of the Go operator: {}", theirs.join(", ")),
            "ours come with lmcache-controller (deploy/crds); until then fields that only ours have are dropped",
        ));
    }
    findings
}

/// CRDs that their owner would set back to the Go operator's: those that are, and those that belong to what has it. Others
/// that are ours already may well come from where they belong.
fn returning(owner: &Installer, crds: &[Crd], go: &[Installer]) -> Option<Finding> {
    let returning = crds.iter().filter(|crd| {
        let mut owners = crd.installed_by.iter();
        owners.any(|other| other.installer == *owner) && (!crd.is_ours || go.contains(owner))
    });
    let names: Vec<&str> = returning.map(|crd| crd.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let what = match names.as_slice() {
        [name] => format!("CRD {name}"),
        names => format!("CRDs {}", names.join(", ")),
    };
    let keep = if owner.is_certain {
        ""
    } else {
        "annotate them with argocd.argoproj.io/sync-options: Delete=false,Prune=false in their source, sync, and "
    };
    let todo = format!(
        "{keep}before step 6 take them out of there, or let it apply ours: else it sets them back to the Go operator's"
    );
    brought_back::finding(&what, std::slice::from_ref(owner), &todo)
}

fn at_risk(owner: &Owner, crds: &[Crd], has_objects: bool) -> Option<Finding> {
    let Installer { tool, name, .. } = &owner.installer;
    let names: Vec<&str> = crds
        .iter()
        .filter(|crd| {
            let mut owners = crd.installed_by.iter();
            owners.any(|other| other.installer == owner.installer && other.keeps != Keeps::Yes)
        })
        .map(|crd| crd.name.as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    let (namespace, release) = name.split_once('/').unwrap_or(("NAMESPACE", name));
    let why = match (*tool, owner.keeps) {
        (_, Keeps::NotInTheRelease) => {
            ". The annotation helm.sh/resource-policy: keep was set by hand: `helm uninstall` reads the manifest that the \
             release stored, and does not see it"
        }
        _ => "",
    };
    let todo = match *tool {
        "Helm" => format!(
            "do not run `helm uninstall {release}` before `helm get manifest {release} -n {namespace}` shows \
             helm.sh/resource-policy: keep on them: upgrade the release to a chart version or a --post-renderer that sets it"
        ),
        "Argo CD" => {
            "annotate them with argocd.argoproj.io/sync-options: Delete=false,Prune=false in their source, and sync, \
                      before the application is deleted"
                .to_owned()
        }
        "Flux HelmRelease" => {
            "do not delete the HelmRelease, and do not take it out of its source, before `helm get manifest` of its release shows \
             helm.sh/resource-policy: keep on them: let a chart version or spec.postRenderers set it, and reconcile"
                .to_owned()
        }
        "Flux Kustomization" => {
            "annotate them with kustomize.toolkit.fluxcd.io/prune: disabled in their source, and reconcile, before the \
                   Kustomization is deleted"
                .to_owned()
        }
        _ => format!("do not remove {tool} {name} before it has let go of them"),
    };
    let found = format!(
        "{} go when {tool} {name} is removed, and with them every engine and coordinator{why}",
        names.join(", ")
    );
    Some(if has_objects {
        Finding::first(codes::CRDS_AT_RISK, found, todo)
    } else {
        Finding::note(codes::CRDS_AT_RISK, found, todo)
    })
}
