use std::collections::BTreeSet;

use rstest::rstest;

use super::*;

fn call(method: &str, target: &str) -> Call {
    Call::read(method, target).unwrap()
}

#[rstest]
#[case::list("GET", "/apis/apps/v1/daemonsets?limit=500", "list apps daemonsets - -")]
#[case::list_in_namespace("GET", "/api/v1/namespaces/team-a/pods", "list  pods team-a -")]
#[case::watch("GET", "/api/v1/pods?labelSelector=a%3Db&watch=true", "watch  pods - -")]
#[case::no_watch("GET", "/api/v1/pods?watch=false", "list  pods - -")]
#[case::get("GET", "/api/v1/namespaces/team-a/secrets/login?", "get  secrets team-a login")]
#[case::apply(
    "PATCH",
    "/apis/apps/v1/namespaces/team-a/daemonsets/kv?fieldManager=x&force=true",
    "patch apps daemonsets team-a kv"
)]
#[case::status(
    "PATCH",
    "/apis/lmcache.lmcache.ai/v1alpha1/namespaces/team-a/lmcacheengines/kv/status",
    "patch lmcache.lmcache.ai lmcacheengines/status team-a kv"
)]
#[case::create(
    "POST",
    "/apis/events.k8s.io/v1/namespaces/team-a/events?",
    "create events.k8s.io events team-a -"
)]
#[case::update(
    "PUT",
    "/apis/coordination.k8s.io/v1/namespaces/n/leases/l",
    "update coordination.k8s.io leases n l"
)]
#[case::delete(
    "DELETE",
    "/api/v1/namespaces/team-a/services/kv-metrics",
    "delete  services team-a kv-metrics"
)]
#[case::delete_all(
    "DELETE",
    "/api/v1/namespaces/team-a/services",
    "deletecollection  services team-a -"
)]
#[case::namespace_itself("GET", "/api/v1/namespaces/team-a", "get  namespaces - team-a")]
#[case::status_of_a_namespace("PATCH", "/api/v1/namespaces/team-a/status", "patch  namespaces/status - team-a")]
fn requests_are_read_as_the_api_server_reads_them(#[case] method: &str, #[case] target: &str, #[case] expected: &str) {
    let call = call(method, target);
    let part = |part: &Option<String>| part.clone().unwrap_or("-".to_owned());
    let found = format!(
        "{} {} {} {} {}",
        call.verb,
        call.group,
        call.resource,
        part(&call.namespace),
        part(&call.name)
    );
    assert_eq!(found, expected);
}

#[rstest]
#[case::groups("GET", "/apis")]
#[case::resources("GET", "/apis/monitoring.coreos.com/v1")]
#[case::core("GET", "/api/v1?")]
#[case::version("GET", "/version")]
#[case::empty("GET", "")]
#[case::method("OPTIONS", "/api/v1/pods")]
fn what_is_about_no_objects_takes_no_rule(#[case] method: &str, #[case] target: &str) {
    assert_eq!(Call::read(method, target), None);
}

#[rstest]
#[case::apply("PATCH", "/apis/apps/v1/namespaces/team-a/daemonsets/kv?force=true", true)]
#[case::delete_of_a_child(
    "DELETE",
    "/apis/monitoring.coreos.com/v1/namespaces/team-a/servicemonitors/kv",
    true
)]
#[case::delete_of_servers("DELETE", "/apis/apps/v1/namespaces/team-a/daemonsets/kv", false)]
#[case::pods_read("GET", "/api/v1/pods?watch=1", true)]
#[case::pods_changed("PATCH", "/api/v1/namespaces/team-a/pods/chat", false)]
#[case::status(
    "PATCH",
    "/apis/lmcache.lmcache.ai/v1alpha1/namespaces/a/cacheblendengines/b/status",
    true
)]
#[case::specification("PATCH", "/apis/lmcache.lmcache.ai/v1alpha1/namespaces/a/cacheblendengines/b", false)]
#[case::finalizer("PATCH", "/apis/lmcache.lmcache.ai/v1alpha1/namespaces/a/lmcacheengines/b", true)]
#[case::engine_deleted("DELETE", "/apis/lmcache.lmcache.ai/v1alpha1/namespaces/a/lmcacheengines/b", false)]
#[case::namespaces("GET", "/api/v1/namespaces/team-a", false)]
#[case::nodes("GET", "/api/v1/nodes", false)]
#[case::lease(
    "PUT",
    "/apis/coordination.k8s.io/v1/namespaces/home/leases/lmcache-controller",
    true
)]
#[case::lease_made("POST", "/apis/coordination.k8s.io/v1/namespaces/home/leases", true)]
#[case::lease_elsewhere("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/lmcache-controller", false)]
#[case::lease_of_others("PUT", "/apis/coordination.k8s.io/v1/namespaces/home/leases/other", false)]
#[case::events_of_the_old_group("POST", "/api/v1/namespaces/team-a/events", false)]
fn calls_are_held_to_the_list(#[case] method: &str, #[case] target: &str, #[case] expected: bool) {
    assert_eq!(allows(&call(method, target), "home"), expected);
}

/// An apply of what is not there yet is a create.
#[test]
fn whatever_is_applied_can_be_created() {
    for grant in GRANTS.iter().filter(|grant| grant.verbs.contains(&"list")) {
        assert_eq!(
            grant.verbs.contains(&"patch"),
            grant.verbs.contains(&"create"),
            "{:?}",
            grant.resources
        );
    }
}

#[test]
fn every_grant_says_what_it_is_for_and_none_is_a_wildcard() {
    let mut seen = BTreeSet::new();
    for grant in GRANTS {
        assert!(grant.why.ends_with('.'), "{:?}", grant.resources);
        for word in [&[grant.group], grant.resources, grant.verbs].concat() {
            assert_ne!(word, "*");
        }
        for resource in grant.resources {
            for verb in grant.verbs {
                assert!(seen.insert((grant.group, *resource, *verb)), "{verb} {resource} twice");
            }
        }
    }
}

/// The same rules, whatever the namespace and the account; the binding names them.
#[test]
fn the_namespace_and_the_account_are_those_that_were_asked_for() {
    let args = |namespace: &str, service_account: &str| Args {
        users: false,
        adopt: false,
        namespace: namespace.to_owned(),
        service_account: service_account.to_owned(),
    };
    let ours = run(&args(NAMESPACE, CONTROLLER)).unwrap();
    let theirs = run(&args("kv", "robot")).unwrap();
    assert!(theirs.contains("namespace: kv\n") && theirs.contains("name: robot\n"));
    assert!(!theirs.contains(NAMESPACE));
    let back = theirs
        .replace("namespace: kv\n", &format!("namespace: {NAMESPACE}\n"))
        .replace("name: robot\n", &format!("name: {CONTROLLER}\n"));
    assert_eq!(back, ours);
}

#[rstest]
#[case::namespace(&["--namespace", "Team A"])]
#[case::account(&["--service-account", "a/b"])]
#[case::users_have_no_namespace(&["--users", "--namespace", "kv"])]
fn arguments_that_make_no_role_are_refused(#[case] arguments: &[&str]) {
    use clap::{Args as _, Command, FromArgMatches};

    let command = Args::augment_args(Command::new("rbac").no_binary_name(true));
    let read = command
        .try_get_matches_from(arguments)
        .and_then(|matches| Args::from_arg_matches(&matches));
    assert!(read.is_err());
}
