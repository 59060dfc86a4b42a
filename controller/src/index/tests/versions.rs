//! Lists, late events, and answers to our own writes.

use super::*;

const NOBODY: [&str; 0] = [];
const A: &str = "LMCacheEngine a";
const B: &str = "LMCacheEngine b";
const KIND: ChildKind = ChildKind::DaemonSet;

fn child_version(index: &Index, name: &str) -> Option<String> {
    let child = index.find_child(&ChildName::new(KIND, name), NS)?;
    Some(child.resource_version().to_owned())
}

#[test]
fn until_a_list_is_complete_nothing_is_gone() {
    let mut index = index_of_engines();
    for pod in [
        server("p", 3, "a", "n"),
        server("q", 4, "b", "n"),
        server("r", 5, "b", "n"),
    ] {
        index.server_pod(Event::Apply(pod));
    }
    let servers = |index: &Index, name| index.inputs(&key(Kind::LMCacheEngine, name)).unwrap().servers.len();
    assert_eq!(names(&index.server_pod(Event::Init)), NOBODY);
    assert_eq!(
        names(&index.server_pod(Event::InitApply(server("p", 3, "a", "n")))),
        NOBODY
    );
    assert_eq!(
        names(&index.server_pod(Event::InitApply(server("q", 9, "b", "m")))),
        [B]
    );
    assert_eq!(servers(&index, "b"), 2);
    // The list broke off and begins again.
    index.server_pod(Event::Init);
    index.server_pod(Event::InitApply(server("r", 5, "b", "n")));
    assert_eq!(names(&index.server_pod(Event::InitDone)), [A, B]);
    assert_eq!((servers(&index, "a"), servers(&index, "b")), (0, 1));
    assert_eq!(index.counts().server_pods, 1);
}

#[test]
fn everything_has_to_be_listed_once() {
    let mut index = Index::new();
    for kind in Kind::ALL {
        index.custom(kind, Event::Init);
        index.custom(kind, Event::InitDone);
    }
    for kind in ChildKind::ALL
        .into_iter()
        .filter(|kind| *kind != ChildKind::ServiceMonitor)
    {
        index.child(kind, Event::InitDone);
    }
    index.server_pod(Event::InitDone);
    index.client_pod(ClientWatch::LMCache, Event::InitDone);
    assert!(!index.is_synced());
    index.client_pod(ClientWatch::CacheBlend, Event::InitDone);
    assert!(index.is_synced());
    index.custom(Kind::LMCacheEngine, Event::Init);
    assert!(
        index.is_synced(),
        "what was known is still there while it is listed again"
    );
}

#[test]
fn a_list_counts_even_if_its_versions_are_lower() {
    let mut index = index_of_engines();
    index.child(KIND, Event::Apply(daemon_set("a", 900, 1)));
    for event in list([daemon_set("a", 50, 2)]) {
        index.child(KIND, event);
    }
    assert_eq!(child_version(&index, "a").as_deref(), Some("50"));
    assert_eq!(names(&index.child(KIND, Event::Apply(daemon_set("a", 51, 1)))), [A]);
}

#[test]
fn versions_that_are_no_numbers_are_not_compared() {
    let mut index = index_of_engines();
    let odd = |version: &str| {
        let mut value = daemon_set("a", 1, 1).value();
        value["metadata"]["resourceVersion"] = json!(version);
        Child::read(value)
    };
    assert_eq!(names(&index.child(KIND, Event::Apply(odd("b-2")))), [A]);
    assert_eq!(names(&index.child(KIND, Event::Apply(odd("a-1")))), [A]);
    assert_eq!(names(&index.child(KIND, Event::Apply(odd("a-1")))), NOBODY);
}

#[test]
fn the_deletion_of_a_predecessor_is_not_that_of_its_successor() {
    let mut index = index_of_engines();
    let with_uid = |version: u64, uid: &str| {
        let mut value = daemon_set("a", version, 1).value();
        value["metadata"]["uid"] = json!(uid);
        Child::read(value)
    };
    index.child(KIND, Event::Apply(with_uid(5, "old")));
    // The old one was deleted with version 7, and created again by us before that was heard of.
    index.wrote_child(with_uid(8, "new"));
    assert_eq!(names(&index.child(KIND, Event::Apply(with_uid(6, "old")))), NOBODY);
    assert_eq!(names(&index.child(KIND, Event::Delete(with_uid(7, "old")))), NOBODY);
    assert_eq!(child_version(&index, "a").as_deref(), Some("8"));
    assert_eq!(names(&index.child(KIND, Event::Apply(with_uid(8, "new")))), NOBODY);
    assert_eq!(names(&index.child(KIND, Event::Delete(with_uid(9, "new")))), [A]);
    assert_eq!(child_version(&index, "a"), None);
}

#[test]
fn a_write_is_seen_at_once_and_its_echo_wakes_nobody() {
    let mut index = index_of_engines();
    index.wrote_child(daemon_set("a", 5, 1));
    assert_eq!(child_version(&index, "a").as_deref(), Some("5"));
    assert_eq!(names(&index.child(KIND, Event::Apply(daemon_set("a", 4, 1)))), NOBODY);
    assert_eq!(names(&index.child(KIND, Event::Apply(daemon_set("a", 5, 1)))), NOBODY);
    assert_eq!(names(&index.child(KIND, Event::Apply(daemon_set("a", 6, 1)))), [A]);
    index.wrote_child(daemon_set("a", 5, 1));
    assert_eq!(child_version(&index, "a").as_deref(), Some("6"), "the watch was faster");
    index.deleted_child(KIND, NS, "a");
    assert_eq!(child_version(&index, "a"), None);
    assert_eq!(names(&index.child(KIND, Event::Delete(daemon_set("a", 7, 1)))), NOBODY);
}

#[test]
fn what_others_changed_before_our_write_is_not_missed() {
    let mut index = index_of_engines();
    index.child(KIND, Event::Apply(daemon_set("a", 5, 1)));
    // Version 6: a Pod became ready. Version 7: our write, whose answer shows both.
    index.wrote_child(daemon_set("a", 7, 2));
    assert_eq!(names(&index.child(KIND, Event::Apply(daemon_set("a", 6, 2)))), [A]);
    assert_eq!(child_version(&index, "a").as_deref(), Some("7"));
    assert_eq!(
        names(&index.child(KIND, Event::Apply(daemon_set("a", 7, 2)))),
        NOBODY,
        "seen by then"
    );
}

#[test]
fn an_answer_about_what_is_deleted_again_brings_nothing_back() {
    let mut index = index_of_engines();
    index.child(KIND, Event::Apply(daemon_set("a", 5, 1)));
    index.child(KIND, Event::Delete(daemon_set("a", 6, 1)));
    index.wrote_child(daemon_set("a", 5, 1));
    assert_eq!(child_version(&index, "a"), None);
}

#[test]
fn what_is_written_during_a_list_is_newer_than_it() {
    let mut index = index_of_engines();
    index.child(KIND, Event::Apply(daemon_set("a", 5, 1)));
    index.child(KIND, Event::Init);
    index.wrote_child(daemon_set("a", 9, 1));
    index.child(KIND, Event::InitApply(daemon_set("a", 5, 1)));
    index.child(KIND, Event::InitDone);
    assert_eq!(child_version(&index, "a").as_deref(), Some("9"));
}

#[test]
fn the_answer_to_a_status_write_is_taken_only_if_nothing_else_is_new() {
    let with_status = |version: u64, generation: u64, phase: &str| {
        let mut value = engine("a", version).value();
        value["metadata"]["generation"] = json!(generation);
        value["status"] = json!({"phase": phase});
        Custom::read(value)
    };
    let kind = Kind::LMCacheEngine;
    let mut index = Index::new();
    index.custom(kind, Event::Apply(with_status(1, 1, "Pending")));
    index.wrote_custom(with_status(2, 1, "Running"));
    assert_eq!(
        index.get(&key(kind, "a")).unwrap().value()["status"]["phase"],
        "Running"
    );
    assert_eq!(
        names(&index.custom(kind, Event::Apply(with_status(2, 1, "Running")))),
        NOBODY
    );
    // Version 3: the user changed the specification. Version 4: our status.
    index.wrote_custom(with_status(4, 2, "Degraded"));
    assert_eq!(
        names(&index.custom(kind, Event::Apply(with_status(3, 2, "Running")))),
        [A]
    );
    assert_eq!(
        names(&index.custom(kind, Event::Apply(with_status(4, 2, "Degraded")))),
        [A]
    );
}

#[test]
fn what_changed_nothing_is_remembered_as_long_as_the_child_is_there() {
    let mut index = index_of_engines();
    let name = ChildName::new(KIND, "a");
    let uid = "uid-of-a";
    index.remember(&name, NS, uid, 7);
    assert!(!index.is_remembered(&name, NS, uid, 7), "no such child");
    index.child(KIND, Event::Apply(daemon_set("a", 5, 1)));
    index.remember(&name, NS, uid, 7);
    assert!(index.is_remembered(&name, NS, uid, 7));
    assert!(!index.is_remembered(&name, NS, uid, 8));
    assert!(!index.is_remembered(&name, NS, "another", 7));
    assert!(!index.is_remembered(&name, "elsewhere", uid, 7));
    index.child(KIND, Event::Apply(daemon_set("a", 6, 1)));
    assert!(index.is_remembered(&name, NS, uid, 7));
    for event in list([]) {
        index.child(KIND, event);
    }
    index.child(KIND, Event::Apply(daemon_set("a", 8, 1)));
    assert!(!index.is_remembered(&name, NS, uid, 7), "it was gone");
}
