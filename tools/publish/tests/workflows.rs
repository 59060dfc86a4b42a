//! The workflows, read as data: what they call exists, what they may is what they need, and names are the same everywhere.
//! `make e2e` gives them to their linter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn workflow(name: &str) -> Value {
    yaml_serde::from_str(&read(&format!(".github/workflows/{name}.yml"))).unwrap()
}

fn jobs(workflow: &Value) -> &serde_json::Map<String, Value> {
    workflow["jobs"].as_object().unwrap()
}

fn steps(job: &Value) -> Vec<&Value> {
    job["steps"]
        .as_array()
        .map(|steps| steps.iter().collect())
        .unwrap_or_default()
}

/// The scripts of a job.
fn scripts(job: &Value) -> Vec<&str> {
    steps(job).iter().filter_map(|step| step["run"].as_str()).collect()
}

const NAMES: [&str; 2] = ["ci", "release"];

#[test]
fn every_make_target_that_is_called_exists() {
    let makefile = read("Makefile");
    let exists = |target: &str| makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
    let mut called = 0;
    let mut scripts_of_all = vec![read(".ci/run").replace("step make", "make")];
    for name in NAMES {
        let workflow = workflow(name);
        scripts_of_all.extend(jobs(&workflow).values().flat_map(scripts).map(str::to_owned));
    }
    for line in scripts_of_all.iter().flat_map(|script| script.lines()) {
        let Some(arguments) = line.trim().strip_prefix("make ") else {
            continue;
        };
        // Targets come first; variables follow.
        for target in arguments.split_whitespace().take_while(|word| !word.contains('=')) {
            assert!(exists(target), "no target {target}: {line}");
            called += 1;
        }
    }
    assert!(called >= 12, "{called}");
    assert!(!exists("no-such-target"));
}

/// What is outside of this repository's hands never becomes a part of a script, only the value of a variable.
#[test]
fn no_expression_is_written_into_a_script() {
    for name in NAMES {
        let workflow = workflow(name);
        assert_eq!(workflow["defaults"]["run"]["shell"], "bash", "{name}: with pipefail");
        for (job, script) in jobs(&workflow)
            .iter()
            .flat_map(|(name, job)| scripts(job).into_iter().map(move |script| (name, script)))
        {
            assert!(!script.contains("${{"), "{name}: {job}: {script}");
        }
    }
}

#[test]
fn every_job_has_the_rights_that_it_needs_and_no_others() {
    for name in NAMES {
        assert_eq!(workflow(name)["permissions"], json!({}), "{name}");
    }
    for job in jobs(&workflow("ci")).values() {
        assert_eq!(job["permissions"], json!({"contents": "read"}));
    }
    let release = workflow("release");
    let (read, write) = ("read", "write");
    let expected: BTreeMap<&str, Value> = [
        ("version", json!({"contents": read})),
        ("test", json!({"contents": read})),
        ("build", json!({"contents": read})),
        ("policies", json!({"contents": read, "packages": write})),
        ("image", json!({"contents": read, "packages": write})),
        ("image-index", json!({"packages": write})),
        ("chart", json!({"contents": read, "packages": write})),
        ("sign", json!({"packages": write, "id-token": write})),
        ("release", json!({"contents": write})),
    ]
    .into();
    let found: BTreeMap<&str, Value> = jobs(&release)
        .iter()
        .map(|(name, job)| (name.as_str(), job["permissions"].clone()))
        .collect();
    assert_eq!(found, expected);
    // The one that Sigstore knows as this workflow builds nothing and checks nothing out.
    let signer = &release["jobs"]["sign"];
    let uses: Vec<&str> = steps(signer).iter().filter_map(|step| step["uses"].as_str()).collect();
    assert!(
        uses.iter().all(|name| !name.starts_with("actions/checkout")),
        "{uses:?}"
    );
    for script in scripts(signer) {
        for word in ["make ", "cargo ", "docker ", "npm ", "go "] {
            assert!(!script.contains(word), "{script}");
        }
    }
}

#[test]
fn secrets_are_variables_of_the_steps_that_log_in() {
    for name in NAMES {
        let text = read(&format!(".github/workflows/{name}.yml"));
        let workflow = workflow(name);
        let mut variables = 0;
        for step in jobs(&workflow).values().flat_map(steps) {
            let env = step["env"].as_object().into_iter().flatten();
            variables += env.filter(|(_, value)| value.to_string().contains("secrets.")).count();
            if step["uses"]
                .as_str()
                .is_some_and(|uses| uses.starts_with("actions/checkout@"))
            {
                assert_eq!(step["with"]["persist-credentials"], false, "{step}");
            }
        }
        assert_eq!(text.matches("secrets.").count(), variables, "{name}");
        assert!(!text.contains("pull_request_target"), "{name}");
    }
}

#[test]
fn every_action_has_a_version() {
    for name in NAMES {
        for step in jobs(&workflow(name)).values().flat_map(steps) {
            let Some(uses) = step["uses"].as_str() else { continue };
            let (_, version) = uses.split_once('@').unwrap_or_else(|| panic!("{uses}: no version"));
            let tag = version
                .strip_prefix('v')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            let commit = version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(tag || commit, "{uses}");
        }
    }
}

#[test]
fn names_and_versions_are_those_of_the_tree() {
    let cargo = read("Cargo.toml");
    for name in NAMES {
        let rust = workflow(name)["env"]["RUST"].as_str().unwrap().to_owned();
        assert!(
            cargo.contains(&format!("rust-version = \"{rust}\"\n")),
            "{name}: {rust}"
        );
    }
    let release = workflow("release");
    let env = |key: &str| release["env"][key].as_str().unwrap();
    for policy in ["pod-injection", "injection-guard"] {
        let metadata = read(&format!("metadata/{policy}/metadata.yml"));
        assert!(
            metadata.contains(&format!("ociUrl: {}/{policy}\n", env("POLICIES"))),
            "{policy}"
        );
    }
    let deployment = read("deploy/controller/deployment.yaml");
    assert!(deployment.contains(&format!("image: {}:v{}\n", env("IMAGE"), env!("CARGO_PKG_VERSION"))));
    // What signs is what the tests verify with.
    let cosign = read("e2e-tests/control-plane/go/cosign/go.mod");
    let signer = steps(&release["jobs"]["sign"])
        .into_iter()
        .find_map(|step| step["with"]["cosign-release"].as_str())
        .unwrap();
    assert!(
        cosign.contains(&format!("github.com/sigstore/cosign/v3 {signer}\n")),
        "{signer}"
    );
}

/// What a verification configuration may hold: kwctl and policy-server refuse anything else.
fn signatures(config: &Value) -> Vec<&Value> {
    let keys: Vec<&String> = config.as_object().unwrap().keys().collect();
    assert!(
        keys.iter()
            .all(|key| ["apiVersion", "allOf", "anyOf"].contains(&key.as_str())),
        "{keys:?}"
    );
    assert_eq!(config["apiVersion"], "v1");
    let any = config.get("anyOf").and_then(|any| any["signatures"].as_array());
    let found: Vec<&Value> = config["allOf"].as_array().or(any).unwrap().iter().collect();
    for signature in &found {
        let required: &[&str] = match signature["kind"].as_str().unwrap() {
            "pubKey" => &["key"],
            "genericIssuer" => &["issuer", "subject"],
            "githubAction" => &["owner"],
            other => panic!("kind {other}"),
        };
        for key in required {
            assert!(signature.get(key).is_some(), "{signature}: {key}");
        }
        let known = ["kind", "owner", "repo", "key", "issuer", "subject", "annotations"];
        assert!(
            signature
                .as_object()
                .unwrap()
                .keys()
                .all(|key| known.contains(&key.as_str())),
            "{signature}"
        );
    }
    found
}

#[test]
fn the_verification_configurations_ask_for_what_the_release_workflow_signs() {
    let config =
        |name: &str| yaml_serde::from_str::<Value>(&read(&format!("deploy/verification/{name}.yaml"))).unwrap();
    // The identity in a certificate is the repository, the workflow's file, and the ref that it ran for.
    let identity = format!(
        "{}/.github/workflows/release.yml@refs/tags/",
        env!("CARGO_PKG_REPOSITORY")
    );
    for name in ["keyless", "shared"] {
        let config = config(name);
        let ours = signatures(&config)[0];
        assert_eq!(ours["issuer"], "https://token.actions.githubusercontent.com");
        assert_eq!(ours["subject"], json!({"urlPrefix": identity}), "{name}");
    }
    let trigger = &workflow("release")["on"];
    assert_eq!(*trigger, json!({"push": {"tags": ["v*"]}}));
    let repository = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
    assert_eq!(
        workflow("release")["jobs"]["version"]["if"],
        format!("github.repository == '{repository}'")
    );
    let key = config("public-key");
    let key = signatures(&key)[0]["key"].as_str().unwrap();
    assert!(
        key.starts_with("-----BEGIN PUBLIC KEY-----\n") && key.ends_with("-----END PUBLIC KEY-----\n"),
        "{key}"
    );
}
