//! The audit log of the API server: who asked for what.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// A request that was answered. Watches appear when they begin and when they end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// As RBAC knows it.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// The plural, with the subresource behind a `/`.
    pub resource: String,
    /// Empty for objects that are in none.
    pub namespace: String,
    /// Empty for lists and creations.
    pub name: String,
    /// The HTTP status.
    pub code: u16,
    /// Whether this is the beginning of a long answer, a watch.
    pub started: bool,
}

/// The requests so far.
#[derive(Clone, Debug, Default)]
pub struct Audit(pub Vec<Request>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    user: User,
    object_ref: Option<Object>,
    response_status: Option<Status>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Object {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    api_group: String,
}

#[derive(Deserialize)]
struct Status {
    code: u16,
}

impl Audit {
    /// Reads a log. A last line that is not complete yet is left out.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no audit event.
    pub fn read(path: &Path) -> Result<Audit> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut requests = Vec::new();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let line: Line = serde_json::from_str(line).with_context(|| format!("no audit event: {line}"))?;
            // Requests that are about no object: /readyz, discovery.
            let Some(object) = line.object_ref else { continue };
            let mut resource = object.resource;
            if !object.subresource.is_empty() {
                resource = format!("{resource}/{}", object.subresource);
            }
            requests.push(Request {
                user: line.user.username,
                verb: line.verb,
                group: object.api_group,
                resource,
                namespace: object.namespace,
                name: object.name,
                code: line.response_status.map_or(0, |status| status.code),
                started: line.stage == "ResponseStarted",
            });
        }
        Ok(Audit(requests))
    }

    /// Those of a user, each request once.
    pub fn of(&self, user: &str) -> impl Iterator<Item = &Request> {
        // A watch that runs on has only begun; that is what counts.
        self.0
            .iter()
            .filter(move |request| request.user == user && (request.verb == "watch") == request.started)
    }

    /// How often a user asked, by verb and resource.
    pub fn counts(&self, user: &str) -> BTreeMap<(&str, &str), usize> {
        let mut counts = BTreeMap::new();
        for request in self.of(user) {
            *counts
                .entry((request.verb.as_str(), request.resource.as_str()))
                .or_default() += 1;
        }
        counts
    }

    /// The requests of a user that would have changed something, without Leases and Events.
    pub fn writes(&self, user: &str) -> Vec<&Request> {
        let reads = ["get", "list", "watch"];
        let about = |request: &&Request| {
            !reads.contains(&request.verb.as_str()) && !matches!(request.resource.as_str(), "leases" | "events")
        };
        self.of(user).filter(about).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_requests_and_begun_watches() -> Result<()> {
        let event = |stage: &str, verb: &str, resource: &str, sub: &str| {
            serde_json::json!({
                "stage": stage, "verb": verb, "user": {"username": "me"}, "responseStatus": {"code": 200},
                "objectRef": {"resource": resource, "subresource": sub, "namespace": "a", "apiGroup": "apps"},
            })
        };
        let lines = [
            event("ResponseStarted", "watch", "daemonsets", ""),
            event("ResponseComplete", "watch", "daemonsets", ""),
            event("ResponseComplete", "list", "daemonsets", ""),
            event("ResponseComplete", "patch", "daemonsets", "status"),
            event("ResponseComplete", "patch", "daemonsets", "status"),
            event("ResponseComplete", "create", "leases", ""),
            serde_json::json!({"stage": "ResponseComplete", "verb": "get", "user": {"username": "me"}}),
        ];
        let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        text.push_str("{\"stage\":");
        let path = std::env::temp_dir().join(format!("control-plane-audit-{}", std::process::id()));
        fs::write(&path, text)?;
        let audit = Audit::read(&path);
        fs::remove_file(&path)?;
        let audit = audit?;
        let counts: Vec<_> = audit.counts("me").into_iter().collect();
        let expected = [
            (("create", "leases"), 1),
            (("list", "daemonsets"), 1),
            (("patch", "daemonsets/status"), 2),
            (("watch", "daemonsets"), 1),
        ];
        assert_eq!(counts, expected);
        assert_eq!(audit.writes("me").len(), 2);
        assert!(audit.writes("other").is_empty());
        Ok(())
    }
}
