//! `render --legacy`, and the objects that engines refer to.

use lmcache_controller::legacy::State;
use lmcache_controller::render::{Options, render};
use serde_json::{Value, json};

use crate::command::{lines, run};
use crate::support::{children, coordinator, engine, options, report, root, with};

fn connected() -> Value {
    engine(
        json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "login"}}},
        "coordinator": {"ref": {"name": "fleet"}}}),
    )
}

fn login(more: Value) -> Value {
    let mut secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "serving"}});
    secret
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    secret
}

fn fleet() -> Value {
    let mut fleet = coordinator(json!({"port": 9400}));
    fleet["metadata"]["name"] = json!("fleet");
    fleet
}

fn documents(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}

/// In the same spelling as ours, so that the two can be compared line by line.
#[test]
fn the_go_operators_objects() {
    let engine = with(connected(), json!({"isolatedIPC": true}));
    let text = documents(&[
        engine.clone(),
        login(json!({"stringData": {"password": "pw"}})),
        fleet(),
    ]);
    let july = run(&["-f", "-", "--legacy=july"], &text);
    assert_eq!(july.status.code(), Some(0));
    let printed = String::from_utf8(july.stdout).unwrap();
    // The coordinator comes first, by name.
    let (_, kv) = printed
        .split_once("---\napiVersion: v1\ndata:\n  password: cHc=\nkind: Secret\n")
        .unwrap();
    assert!(
        kv.contains("hostIPC: true\n") && kv.contains("- http://fleet.serving.svc:9400\n"),
        "{kv}"
    );
    assert!(!kv.contains("--isolated-ipc"), "{kv}");
    let warnings = lines(&july.stderr);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].ends_with("spec.isolatedIPC: not known to the Go operator (july)"),
        "{warnings:?}"
    );

    for args in [["-f", "-", "--legacy"], ["-f", "-", "--legacy=newest"]] {
        let newest = String::from_utf8(run(&args, &text).stdout).unwrap();
        assert!(newest.contains("- --isolated-ipc\n"), "{newest}");
    }
    let refused = run(
        &["-f", "-", "--legacy"],
        &with(engine, json!({"l1": {"sizeGB": 0}})).to_string(),
    );
    assert_eq!((refused.status.code(), refused.stdout.is_empty()), (Some(1), true));
    assert!(
        lines(&refused.stderr)
            .iter()
            .any(|line| line.contains(": spec.l1.sizeGB: "))
    );
    // A release, and one that another stands for.
    for (release, switch, shared) in [("0.5.4", false, true), ("0.5.2", false, false), ("0.5.6", true, false)] {
        let printed = run(&["-f", "-", &format!("--legacy={release}")], &text).stdout;
        let printed = String::from_utf8(printed).unwrap();
        assert_eq!(printed.contains("- --isolated-ipc\n"), switch, "{release}: {printed}");
        assert_eq!(
            printed.contains("mountPath: /dev/shm\n"),
            shared,
            "{release}: {printed}"
        );
    }
    let unknown = run(&["-f", "-", "--legacy=august"], "");
    assert_eq!(unknown.status.code(), Some(2));
    let said = lines(&unknown.stderr).join(" ");
    assert!(said.contains("a release from 0.5.0 to 0.5.6"), "{said}");
}

/// Nothing is made up for it; what it had made before is printed all the same.
#[test]
fn the_go_operator_stops_where_something_is_missing() {
    let legacy = |objects: &[Value]| {
        let output = run(&["-f", "-", "--legacy=july"], &documents(objects));
        assert_eq!(output.status.code(), Some(1));
        let printed = String::from_utf8(output.stdout).unwrap();
        let kinds = printed.lines().filter_map(|line| line.strip_prefix("kind: "));
        let kinds: Vec<String> = kinds.map(str::to_owned).collect();
        (kinds, lines(&output.stderr))
    };
    let engine = connected();
    let prefix = "Error: -: LMCacheEngine serving/kv: ";
    let (kinds, errors) = legacy(std::slice::from_ref(&engine));
    assert_eq!(kinds, [""; 0]);
    assert_eq!(
        errors,
        [format!(
            "{prefix}spec.l2Backend.resp.authSecretRef: Secret serving/login is not in the given files (one with any \
             password will do); the Go operator stops there"
        )]
    );
    let (kinds, errors) = legacy(&[engine.clone(), login(json!({"data": {"password": ""}})), fleet()]);
    assert_eq!(kinds, ["Deployment", "Service"]);
    assert!(
        errors[0].contains("Secret serving/login has no password; "),
        "{errors:?}"
    );
    let (kinds, errors) = legacy(&[engine, login(json!({"data": {"password": "cHc="}}))]);
    assert_eq!(kinds, ["Secret"]);
    assert!(
        errors[0].starts_with(&format!(
            "{prefix}spec.coordinator.ref.name: LMCacheCoordinator serving/fleet is not"
        )),
        "{errors:?}"
    );
}

/// Two kinds of one name share their children with the Go operator, and are refused by us.
#[test]
fn the_go_operator_knows_no_clash_of_kinds() {
    let files = |name: &str, object: Value| (name.to_owned(), object.to_string());
    let mut namesake = coordinator(json!({}));
    let both = [files("a", engine(json!({}))), files("b", namesake.clone())];
    assert_eq!(report(&[engine(json!({})), namesake.clone()]).faults.len(), 1);
    let legacy = Options {
        legacy: Some(State::Newest),
        ..options()
    };
    let theirs = render(&both, &legacy);
    assert_eq!((theirs.faults.len(), theirs.objects.len()), (0, 6));
    namesake["spec"]["port"] = json!(9400);
    let twice = [both[1].clone(), files("c", namesake)];
    assert_eq!(render(&twice, &legacy).faults.len(), 1);
}

/// Every recording, as files: what is printed has the recorded kinds, and there is an error where one was recorded.
#[test]
fn recordings_as_files() {
    let mut compared = 0;
    for state in [State::July, State::Newest] {
        let folder = root().join("fixtures/go-operator").join(state.as_str()).join("cr");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let recording: Value = yaml_serde::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let input = &recording["input"];
            let cluster = recording["cluster"].as_array().cloned().unwrap_or_default();
            let files: Vec<_> = std::iter::once(input)
                .chain(&cluster)
                .map(|object| ("f".to_owned(), object.to_string()))
                .collect();
            let report = render(
                &files,
                &Options {
                    legacy: Some(state),
                    ..options()
                },
            );
            let of_input =
                |child: &&Value| child["metadata"]["labels"]["app.kubernetes.io/instance"] == input["metadata"]["name"];
            let kinds = |children: &[Value]| -> Vec<String> {
                let children = children.iter().filter(of_input);
                children.map(|child| child["kind"].to_string()).collect()
            };
            let recorded = recording["children"].as_array().cloned().unwrap_or_default();
            assert_eq!(kinds(&report.objects), kinds(&recorded), "{}", path.display());
            let faulty = recording["faults"].is_object();
            assert_eq!(
                report.faults.is_empty(),
                !faulty,
                "{}: {:?}",
                path.display(),
                report.faults
            );
            compared += 1;
        }
    }
    assert!(compared > 280, "{compared}");
}

/// Ours: the copy of a login is printed where its source is given, and what is wrong with that is said.
#[test]
fn the_copy_of_a_login() {
    let engine = with(connected(), json!({"coordinator": null}));
    let without = children(&engine);
    assert!(without.iter().all(|child| child["kind"] != "Secret"));
    let with_login = report(&[engine.clone(), login(json!({"stringData": {"password": "pw"}}))]);
    assert_eq!(with_login.objects[0]["metadata"]["name"], "kv-resp-auth");
    assert_eq!(with_login.objects[0]["data"], json!({"password": "cHc="}));
    assert_eq!(with_login.objects[1..], without[..]);

    for (source, said) in [
        (
            login(json!({"data": {"username": "dQ=="}})),
            "has no key \"password\", or an empty one; ",
        ),
        (
            login(json!({"metadata": {"name": "login", "namespace": "stores"}, "data": {"password": "cHc="}})),
            "does not allow copies into the engine's namespace; ",
        ),
    ] {
        let mut engine = engine.clone();
        engine["spec"]["l2Backend"]["resp"]["authSecretRef"]["namespace"] = source["metadata"]["namespace"].clone();
        let report = report(&[engine, source]);
        assert_eq!((&report.faults, &report.objects), (&Vec::new(), &without));
        let warning = report.warnings.iter().find(|warning| warning.contains(said));
        assert!(
            warning.is_some_and(|warning| !warning.contains("cHc=")),
            "{:?}",
            report.warnings
        );
    }
}
