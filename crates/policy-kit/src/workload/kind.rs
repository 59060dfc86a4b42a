//! The kinds of workloads and where they keep their Pod templates.

use crate::request::Request;
use serde_json::Value;

/// A kind whose objects make Pods and are applied by people.
///
/// ReplicaSets are not among them: their templates come from Deployments, which were judged before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
    LeaderWorkerSet,
}

/// A Pod template of a workload. Its members `metadata` and `spec` are those of the Pods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Template<'a> {
    /// Where it stands in the workload, with dots.
    pub path: &'static str,
    /// Its short name, where the workload has two; empty where there is one.
    pub name: &'static str,
    pub body: &'a Value,
}

/// The member at a path with dots.
pub(super) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, key| value.get(key))
}

impl Kind {
    /// The kind of the object under admission.
    pub fn of(request: &Request<'_>) -> Option<Self> {
        Self::named(&request.kind.group, &request.kind.kind)
    }

    /// The kind of this group and name.
    pub fn named(group: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            ("apps", "Deployment") => Some(Self::Deployment),
            ("apps", "StatefulSet") => Some(Self::StatefulSet),
            ("apps", "DaemonSet") => Some(Self::DaemonSet),
            ("batch", "Job") => Some(Self::Job),
            ("batch", "CronJob") => Some(Self::CronJob),
            ("leaderworkerset.x-k8s.io", "LeaderWorkerSet") => Some(Self::LeaderWorkerSet),
            _ => None,
        }
    }

    /// The name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            Self::LeaderWorkerSet => "LeaderWorkerSet",
        }
    }

    /// The templates that an object of this kind has.
    pub fn templates(self, object: &Value) -> Vec<Template<'_>> {
        let paths: &[&'static str] = match self {
            Self::Deployment | Self::StatefulSet | Self::DaemonSet | Self::Job => &["spec.template"],
            Self::CronJob => &["spec.jobTemplate.spec.template"],
            // Without a template of its own, the leader is made from the worker's.
            Self::LeaderWorkerSet => &[
                "spec.leaderWorkerTemplate.leaderTemplate",
                "spec.leaderWorkerTemplate.workerTemplate",
            ],
        };
        let mut templates: Vec<Template<'_>> = paths
            .iter()
            .filter_map(|path| {
                let body = at(object, path).filter(|body| body.is_object())?;
                Some(Template { path, name: "", body })
            })
            .collect();
        if templates.len() > 1 {
            for template in &mut templates {
                template.name = template.path.rsplit('.').next().unwrap_or_default();
            }
        }
        templates
    }

    /// The places beside the templates where people put metadata that is meant for Pods.
    pub fn other_metadata(self) -> &'static [&'static str] {
        match self {
            Self::CronJob => &["metadata", "spec.jobTemplate.metadata"],
            _ => &["metadata"],
        }
    }
}

/// Was this object made from another one that has been judged? Then nobody is there to read a warning, and it would be
/// the same again for every Job of a CronJob. (A Pod controls the workers' StatefulSet of a LeaderWorkerSet.)
pub(super) fn is_made_from_judged(object: &Value) -> bool {
    let owners = at(object, "metadata.ownerReferences").and_then(Value::as_array);
    let text = |owner: &Value, key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    owners.into_iter().flatten().any(|owner| {
        let (api_version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        owner.get("controller").and_then(Value::as_bool) == Some(true)
            && (Kind::named(group, &kind).is_some() || (group.is_empty() && kind == "Pod"))
    })
}
