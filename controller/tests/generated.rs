//! `deploy/crds`, `deploy/rbac` and `docs/reference.md` hold what the command prints, and the hand-written manifests fit to it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

fn file(path: &str) -> String {
    std::fs::read_to_string(deploy().join(path)).unwrap_or_else(|error| panic!("deploy/{path}: {error}"))
}

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lmcache-controller"))
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    assert!(output.stderr.is_empty(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn documents(text: &str) -> Vec<Value> {
    yaml_serde::Deserializer::from_str(text)
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect()
}

fn named<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let mut found = documents.iter().filter(|document| document["kind"] == kind);
    let object = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "more than one {kind}");
    object
}

#[rstest]
#[case::engines("crds/lmcacheengines.yaml", &["crds", "LMCacheEngine"])]
#[case::cacheblend("crds/cacheblendengines.yaml", &["crds", "CacheBlendEngine"])]
#[case::coordinators("crds/lmcachecoordinators.yaml", &["crds", "LMCacheCoordinator"])]
#[case::controller("rbac/controller.yaml", &["rbac"])]
#[case::users("rbac/users.yaml", &["rbac", "--users"])]
#[case::reference("../docs/reference.md", &["reference"])]
#[case::adopt("adopt/rbac.yaml", &["rbac", "--adopt"])]
fn files_are_what_the_command_prints(#[case] path: &str, #[case] arguments: &[&str]) {
    assert!(
        file(path) == printed(arguments),
        "{path} is not what `lmcache-controller {}` prints: run `make generate`",
        arguments.join(" ")
    );
}

#[test]
fn without_a_kind_all_crds_are_printed() {
    let names: Vec<Value> = documents(&printed(&["crds"]))
        .iter()
        .map(|crd| {
            assert_eq!(crd["apiVersion"], "apiextensions.k8s.io/v1");
            assert_eq!(crd["kind"], "CustomResourceDefinition");
            crd["metadata"]["name"].clone()
        })
        .collect();
    assert_eq!(
        names,
        [
            "lmcacheengines.lmcache.lmcache.ai",
            "cacheblendengines.lmcache.lmcache.ai",
            "lmcachecoordinators.lmcache.lmcache.ai"
        ]
    );
}

/// `kubectl explain lmcacheengine.status.conditions` says what each of them means.
#[rstest]
#[case("lmcacheengines", &["ClientsCovered", "L2ReconnectNeeded"])]
#[case("cacheblendengines", &["ClientsCovered", "L2ReconnectNeeded"])]
#[case("lmcachecoordinators", &[])]
fn conditions_are_explained(#[case] name: &str, #[case] more: &[&str]) {
    let crd = &documents(&file(&format!("crds/{name}.yaml")))[0];
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let conditions = &schema["properties"]["status"]["properties"]["conditions"];
    assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    let text = conditions["description"].as_str().unwrap();
    let always = ["Available", "AllInstancesReady", "ConfigValid", "Reconciled", "Ready"];
    for condition in [&always[..], more].concat() {
        assert!(text.contains(&format!("`{condition}`")), "{condition}: {text}");
    }
}

/// `kubectl` keeps the applied object in an annotation, and the API server refuses annotations above 256 KiB.
#[rstest]
fn crds_fit_into_what_client_side_apply_keeps(
    #[values("lmcacheengines", "cacheblendengines", "lmcachecoordinators")] name: &str,
) {
    let crd = &documents(&file(&format!("crds/{name}.yaml")))[0];
    let bytes = serde_json::to_string(crd).unwrap().len();
    assert!(bytes < 250_000, "{name} has {bytes} bytes");
}

/// Every file of a folder belongs to its kustomization, and nothing else does.
#[rstest]
fn kustomizations_name_all_files(#[values("crds", "rbac", "controller")] folder: &str) {
    let kustomization = &documents(&file(&format!("{folder}/kustomization.yaml")))[0];
    let mut named: Vec<&str> = kustomization["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    named.sort_unstable();
    let mut present: Vec<String> = std::fs::read_dir(deploy().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml") && name != "kustomization.yaml")
        .collect();
    present.sort_unstable();
    assert_eq!(named, present);
}

#[test]
fn the_controller_runs_as_the_account_that_the_roles_are_bound_to() {
    let rbac = documents(&file("rbac/controller.yaml"));
    let account = &documents(&file("controller/service-account.yaml"))[0]["metadata"];
    let deployment = &documents(&file("controller/deployment.yaml"))[0];
    let namespace = &documents(&file("controller/namespace.yaml"))[0]["metadata"]["name"];
    let subject = json!({"kind": "ServiceAccount", "name": account["name"], "namespace": namespace});
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        let binding = named(&rbac, binding);
        assert_eq!(binding["subjects"], json!([subject]));
        assert_eq!(binding["roleRef"]["kind"], role);
        assert_eq!(binding["roleRef"]["name"], named(&rbac, role)["metadata"]["name"]);
    }
    for kind in ["Role", "RoleBinding"] {
        assert_eq!(&named(&rbac, kind)["metadata"]["namespace"], namespace);
    }
    assert_eq!(&account["namespace"], namespace);
    assert_eq!(&deployment["metadata"]["namespace"], namespace);
    assert_eq!(
        deployment["spec"]["template"]["spec"]["serviceAccountName"],
        account["name"]
    );
}

/// Kubernetes merges the rules of a role by label into its own role of the same rank.
#[test]
fn weakness_19_every_kind_has_a_role_for_each_of_the_built_in_ones() {
    let roles = documents(&file("rbac/users.yaml"));
    assert_eq!(roles.len(), 9);
    for (level, aggregated_to, writes) in [
        ("admin", "admin", true),
        ("editor", "edit", true),
        ("viewer", "view", false),
    ] {
        for (kind, plural) in [
            ("lmcacheengine", "lmcacheengines"),
            ("cacheblendengine", "cacheblendengines"),
            ("lmcachecoordinator", "lmcachecoordinators"),
        ] {
            let name = format!("{kind}-{level}");
            let role = roles.iter().find(|role| role["metadata"]["name"] == *name);
            let role = role.unwrap_or_else(|| panic!("no {name}"));
            let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregated_to}");
            let labels = role["metadata"]["labels"].as_object().unwrap();
            let aggregates: Vec<&String> = labels.keys().filter(|key| key.contains("/aggregate-to-")).collect();
            assert_eq!(aggregates, [&label]);
            assert_eq!(labels[&label], "true");
            assert_eq!(role["rules"][0]["resources"], json!([plural]));
            for verb in ["create", "update", "patch", "delete"] {
                let verbs = role["rules"][0]["verbs"].as_array().unwrap();
                assert_eq!(verbs.contains(&json!(verb)), writes, "{name}: {verb}");
            }
            assert_eq!(
                role["rules"][1]["verbs"],
                json!(["get"]),
                "{name}: the status is read alone"
            );
        }
    }
}

/// What Pod Security's level `restricted` asks for, which the namespace enforces, and a file system that is not written.
#[test]
fn the_controller_is_confined() {
    let pod = &documents(&file("controller/deployment.yaml"))[0]["spec"]["template"];
    let namespace = &documents(&file("controller/namespace.yaml"))[0];
    assert_eq!(
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
        "restricted"
    );
    assert_eq!(pod["spec"]["securityContext"]["runAsNonRoot"], true);
    assert_eq!(
        pod["spec"]["securityContext"]["seccompProfile"]["type"],
        "RuntimeDefault"
    );
    for container in pod["spec"]["containers"].as_array().unwrap() {
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(context["readOnlyRootFilesystem"], true);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
        assert!(container["resources"]["limits"]["memory"].is_string());
    }
}

/// The Deployment uses options and ports that the process has, and a Service that leads to them.
#[test]
fn the_deployment_knows_its_program() {
    let deployment = &documents(&file("controller/deployment.yaml"))[0];
    let template = &deployment["spec"]["template"];
    let container = &template["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap();
    let help = printed(&["run", "--help"]);
    let env = container["env"].as_array().unwrap();
    assert_eq!(args[0], "run");
    for arg in &args[1..] {
        let (option, _) = arg
            .as_str()
            .unwrap()
            .split_once('=')
            .unwrap_or((arg.as_str().unwrap(), ""));
        assert!(help.contains(&format!(" {option}")), "{option} is none of its options");
    }
    for variable in env {
        let name = variable["name"].as_str().unwrap();
        assert!(
            help.contains(&format!("[env: {name}=")),
            "{name} is none of its variables"
        );
    }
    // Parsed for good, with an option that ends it.
    let given: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap()).collect();
    printed(&[&given[..], &["--help"]].concat());

    let ports: Vec<String> = container["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| format!("[default: :{}]", port["containerPort"]))
        .collect();
    assert!(ports.iter().all(|port| help.contains(port.as_str())), "{ports:?}");
    let service = &documents(&file("controller/service.yaml"))[0]["spec"];
    assert_eq!(service["ports"][0]["targetPort"], container["ports"][0]["name"]);
    for (key, value) in service["selector"].as_object().unwrap() {
        assert_eq!(&template["metadata"]["labels"][key], value);
    }
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], service["selector"]);
}

/// One command installs everything that Kubernetes alone can take: every folder that has a kustomization, but for what needs
/// Kubewarden or the Prometheus Operator.
#[test]
fn the_top_kustomization_has_all_parts() {
    let top = &documents(&file("kustomization.yaml"))[0];
    let mut named: Vec<&str> = top["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part.as_str().unwrap())
        .collect();
    named.sort_unstable();
    let mut present: Vec<String> = std::fs::read_dir(deploy())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("kustomization.yaml").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| !["policies", "monitoring"].contains(&name.as_str()))
        .collect();
    present.sort_unstable();
    assert_eq!(named, present);
}
