//! Look-ups that are made once for a whole request.

use super::{Cluster, Lookup, Query};
use std::cell::RefCell;

/// Remembers the answers of a cluster, failures among them. Two templates of one workload mostly name the same engine, and
/// two checks of one Pod ask about it.
///
/// It lives as long as one request. Between requests nothing may be remembered: the next one must see what has changed.
pub(crate) struct AskOnce<'a> {
    cluster: &'a dyn Cluster,
    answers: RefCell<Vec<(Asked, Lookup)>>,
}

/// What was asked for. The version follows from the kind in all questions of ours.
#[derive(PartialEq, Eq)]
struct Asked {
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl<'a> AskOnce<'a> {
    pub fn new(cluster: &'a dyn Cluster) -> Self {
        Self {
            cluster,
            answers: RefCell::default(),
        }
    }
}

impl Cluster for AskOnce<'_> {
    fn get(&self, query: &Query<'_>) -> Lookup {
        let asked = Asked {
            kind: query.kind.to_owned(),
            namespace: query.namespace.map(str::to_owned),
            name: query.name.to_owned(),
        };
        let known = self
            .answers
            .borrow()
            .iter()
            .find(|(known, _)| *known == asked)
            .map(|(_, answer)| answer.clone());
        known.unwrap_or_else(|| {
            let answer = self.cluster.get(query);
            self.answers.borrow_mut().push((asked, answer.clone()));
            answer
        })
    }
}
