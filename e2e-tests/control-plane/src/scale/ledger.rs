//! The requests of the controller that is measured, as the audit log grows.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Result;

use crate::audit::{Request, Tail};
use crate::{Audit, Identity};

/// The requests of the controller, and the creations of engines.
pub(super) struct Ledger {
    log: Tail,
    requests: Vec<Request>,
    engines: Vec<Request>,
}

impl Ledger {
    pub(super) fn new(log: Tail) -> Ledger {
        Ledger {
            log,
            requests: Vec::new(),
            engines: Vec::new(),
        }
    }

    /// Reads on. Says how many of the controller's new requests are writes.
    pub(super) fn update(&mut self) -> Result<usize> {
        let before = self.requests.len();
        for request in self.log.read()?.0 {
            if request.user == Identity::Controller.user() {
                self.requests.push(request);
            } else if request.verb == "create" && request.resource == "lmcacheengines" && request.code == 201 {
                self.engines.push(request);
            }
        }
        Ok(self
            .audit(before..self.requests.len())
            .writes(Identity::Controller.user())
            .len())
    }

    /// How many requests of the controller there are: the end of a range.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// A part of them.
    pub(super) fn audit(&self, range: Range<usize>) -> Audit {
        Audit(self.requests.get(range).unwrap_or_default().to_vec())
    }

    /// When the first engine was asked for and the last one was there, in microseconds since 1970.
    pub(super) fn created(&self) -> Option<(i64, i64)> {
        let first = self
            .engines
            .iter()
            .map(|request| request.received.as_microsecond())
            .min()?;
        let last = self
            .engines
            .iter()
            .map(|request| request.answered.as_microsecond())
            .max()?;
        Some((first, last))
    }

    /// When the last write of a range was done, in microseconds since 1970.
    pub(super) fn last_write(&self, range: Range<usize>) -> Option<i64> {
        let audit = self.audit(range);
        let writes = audit.writes(Identity::Controller.user());
        writes.iter().map(|request| request.answered.as_microsecond()).max()
    }

    /// When the last child was there and the last engine had its first status.
    pub(super) fn complete(&self, engines: usize) -> Option<i64> {
        complete(&self.requests, engines)
    }
}

/// Each engine has a DaemonSet, two Services, a ConfigMap, and a status.
fn complete(requests: &[Request], engines: usize) -> Option<i64> {
    let mut last = i64::MIN;
    for (resource, each) in [("daemonsets", 1), ("services", 2), ("configmaps", 1)] {
        // Server-side apply creates with PATCH and says so by the code.
        let created = requests
            .iter()
            .filter(|request| request.resource == resource && request.code == 201);
        let mut times: Vec<i64> = created.map(|request| request.answered.as_microsecond()).collect();
        times.sort_unstable();
        last = last.max(*times.get((each * engines).checked_sub(1)?)?);
    }
    let mut statuses = BTreeMap::new();
    for request in requests {
        if request.resource == "lmcacheengines/status" && request.code == 200 {
            let done = request.answered.as_microsecond();
            let first = statuses.entry(request.name.as_str()).or_insert(done);
            *first = done.min(*first);
        }
    }
    if statuses.len() < engines {
        return None;
    }
    Some(last.max(statuses.into_values().max()?))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn request(verb: &str, resource: &str, name: &str, code: u16, done: i64) -> Request {
        let time = Timestamp::from_microsecond(done).unwrap_or_default();
        Request {
            user: "me".to_owned(),
            verb: verb.to_owned(),
            group: String::new(),
            resource: resource.to_owned(),
            namespace: "a".to_owned(),
            name: name.to_owned(),
            code,
            started: false,
            received: time,
            answered: time,
        }
    }

    #[test]
    fn complete_with_the_last_of_children_and_first_statuses() {
        let mut requests = vec![
            request("create", "daemonsets", "", 201, 1),
            request("patch", "services", "x", 201, 9),
            request("patch", "services", "x", 200, 10),
            request("create", "configmaps", "", 201, 3),
            request("update", "lmcacheengines/status", "x", 409, 4),
            request("update", "lmcacheengines/status", "x", 200, 6),
            request("update", "lmcacheengines/status", "x", 200, 20),
        ];
        assert_eq!(complete(&requests, 1), None);
        requests.push(request("create", "services", "", 201, 5));
        assert_eq!(complete(&requests, 1), Some(9));
        assert_eq!(complete(&requests, 2), None);
    }
}
