//! The audit log of the API server: who asked for what.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
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
    /// When the request came in.
    pub received: Timestamp,
    /// When it was answered; the beginning of the answer where `started`.
    pub answered: Timestamp,
}

impl Request {
    /// Whether it would change something, Leases and Events left aside.
    pub fn is_write(&self) -> bool {
        let reads = ["get", "list", "watch"];
        !reads.contains(&self.verb.as_str()) && !matches!(self.resource.as_str(), "leases" | "events")
    }
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
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
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
        Tail::new(path).read()
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
        self.of(user).filter(|request| request.is_write()).collect()
    }
}

/// What is added to a log, read piece by piece.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    read: u64,
}

impl Tail {
    /// From the beginning of a log.
    pub fn new(path: &Path) -> Tail {
        let path = path.to_owned();
        Tail { path, read: 0 }
    }

    /// The requests since the last call. A last line that is not complete yet is left for the next.
    ///
    /// # Errors
    /// The file cannot be read, or a line is no audit event.
    pub fn read(&mut self) -> Result<Audit> {
        let mut text = String::new();
        let mut read = || -> std::io::Result<()> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.read))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            text = String::from_utf8_lossy(&bytes).into_owned();
            Ok(())
        };
        read().with_context(|| format!("cannot read {}", self.path.display()))?;
        let mut requests = Vec::new();
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            self.read += u64::try_from(line.len())?;
            let line: Line = serde_json::from_str(line).with_context(|| format!("no audit event: {line}"))?;
            requests.extend(request(line));
        }
        Ok(Audit(requests))
    }
}

/// `None` for requests that are about no object: /readyz, discovery.
fn request(line: Line) -> Option<Request> {
    let object = line.object_ref?;
    let mut resource = object.resource;
    if !object.subresource.is_empty() {
        resource = format!("{resource}/{}", object.subresource);
    }
    Some(Request {
        user: line.user.username,
        verb: line.verb,
        group: object.api_group,
        resource,
        namespace: object.namespace,
        name: object.name,
        code: line.response_status.map_or(0, |status| status.code),
        started: line.stage == "ResponseStarted",
        received: line.request_received_timestamp,
        answered: line.stage_timestamp,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TIME: &str = "2026-11-30T03:55:55.123456Z";

    #[test]
    fn counts_requests_and_begun_watches() -> Result<()> {
        let event = |stage: &str, verb: &str, resource: &str, sub: &str| {
            serde_json::json!({
                "stage": stage, "verb": verb, "user": {"username": "me"}, "responseStatus": {"code": 200},
                "requestReceivedTimestamp": TIME, "stageTimestamp": TIME,
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
            serde_json::json!({
                "stage": "ResponseComplete", "verb": "get", "user": {"username": "me"},
                "requestReceivedTimestamp": TIME, "stageTimestamp": TIME,
            }),
        ];
        let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        text.push_str("{\"stage\":");
        let path = std::env::temp_dir().join(format!("control-plane-audit-{}", std::process::id()));
        fs::write(&path, &text)?;
        let mut tail = Tail::new(&path);
        let audit = tail.read();
        // The line that was not complete is, now.
        text.truncate(text.len() - "{\"stage\":".len());
        text.push_str(&format!("{}\n", event("ResponseComplete", "list", "services", "")));
        fs::write(&path, &text)?;
        let later = tail.read();
        fs::remove_file(&path)?;
        let (audit, later) = (audit?, later?);
        assert_eq!(
            later.counts("me").into_iter().collect::<Vec<_>>(),
            [(("list", "services"), 1)]
        );
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
