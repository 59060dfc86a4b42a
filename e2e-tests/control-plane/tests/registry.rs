//! What `make package` and `make push` publish, against a real registry, crane and cosign.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "registry/front.rs"]
mod front;
#[path = "registry/signatures.rs"]
mod signatures;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use control_plane::Registry;
use control_plane::registry::policies;
use serde_json::{Value, json};

use front::Front;

/// The policies by name, as `make build` made them.
fn built() -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(policies()?)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            found.insert(name, path);
        }
    }
    ensure!(found.len() == 7, "{found:?}");
    Ok(found)
}

/// Pushes all policies; returns each one's reference by digest.
fn push(registry: &Registry, place: &str, more: &[&str]) -> Result<BTreeMap<String, String>> {
    let folder = policies()?;
    let mut arguments = vec!["push", place, "--policies", folder.to_str().unwrap()];
    arguments.extend(more);
    named(&registry.publish(&arguments)?)
}

/// Lines `host/path/<policy>@sha256:...` by policy.
fn named(lines: &str) -> Result<BTreeMap<String, String>> {
    let name = |line: &str| {
        line.rsplit_once('@')?
            .0
            .rsplit_once('/')
            .map(|(_, name)| name.to_owned())
    };
    let named = lines.lines().map(|line| Some((name(line)?, line.to_owned())));
    named
        .collect::<Option<_>>()
        .with_context(|| format!("no references: {lines}"))
}

fn digest(reference: &str) -> &str {
    reference.rsplit_once('@').unwrap().1
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What kwctl copies to the manifest, from the file that people edit.
fn expected_annotations(policy: &str) -> Value {
    let path = root().join(format!("metadata/{policy}/metadata.yml"));
    let metadata: Value = yaml_serde::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut annotations = metadata["annotations"].clone();
    annotations["org.opencontainers.image.source"] = annotations["io.kubewarden.policy.source"].clone();
    // The tool that annotated.
    annotations["io.kubewarden.kwctl"] = json!(concat!("policy-host ", env!("CARGO_PKG_VERSION")));
    annotations
}

/// Pulls a policy as an OCI layout; returns the module in it.
fn pull(registry: &Registry, reference: &str, name: &str) -> Result<PathBuf> {
    let folder = registry.folder().join("pulled").join(name);
    fs::create_dir_all(folder.parent().unwrap())?;
    registry.crane(&["pull", "--format=oci", reference, folder.to_str().unwrap()])?;
    let manifest: Value = serde_json::from_str(&registry.crane(&["manifest", reference])?)?;
    let layer = manifest["layers"][0]["digest"].as_str().unwrap().replace(':', "/");
    Ok(folder.join("blobs").join(layer))
}

#[tokio::test]
#[ignore = "starts a registry: make e2e"]
async fn what_is_pushed_is_what_kwctl_pushes_and_runs() -> Result<()> {
    let registry = Registry::start().await?;
    let pushed = push(&registry, &registry.at("acme/policies"), &[])?;
    let built = built()?;
    assert!(pushed.keys().eq(built.keys()), "{pushed:?}");
    for (name, reference) in &pushed {
        assert!(reference.starts_with(&registry.at(&format!("acme/policies/{name}@sha256:"))));
        let manifest: Value = serde_json::from_str(&registry.crane(&["manifest", reference])?)?;
        assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v1+json");
        assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
        assert_eq!(
            manifest["layers"][0]["mediaType"],
            "application/vnd.wasm.content.layer.v1+wasm"
        );
        assert_eq!(manifest["annotations"], expected_annotations(name), "{name}");
        let tag = registry.at(&format!("acme/policies/{name}:v0.1.0"));
        assert_eq!(registry.crane(&["digest", &tag])?.trim(), digest(reference));
        let config = format!(
            "{}@{}",
            tag.trim_end_matches(":v0.1.0"),
            manifest["config"]["digest"].as_str().unwrap()
        );
        assert_eq!(registry.crane(&["blob", &config])?, "{}");
        assert!(
            fs::read(pull(&registry, reference, name)?)? == fs::read(&built[name])?,
            "{name}"
        );
    }

    // The pulled module decides as the fixture says.
    let wired = "fixtures/pod-injection/wired-and-staged";
    let module = pull(&registry, &pushed["pod-injection"], "again")?;
    let answer = registry.policy_host(&[
        "run",
        "--request-path",
        &format!("{wired}/request.json"),
        "--allow-context-aware",
        "--replay-host-capabilities-interactions",
        &format!("{wired}/session.yml"),
        module.to_str().unwrap(),
    ])?;
    let answer: Value = serde_json::from_str(&answer)?;
    let patch: Value = serde_json::from_slice(&STANDARD.decode(answer["patch"].as_str().context("no patch")?)?)?;
    let stamp = json!({"op": "add", "path": "/metadata/annotations/lmcache.ai~1lmcache-injected", "value": "true"});
    assert!(patch.as_array().unwrap().contains(&stamp), "{patch}");
    Ok(())
}

#[tokio::test]
#[ignore = "starts a registry: make e2e"]
async fn the_layouts_have_the_digests_of_the_push_whoever_pushes_them() -> Result<()> {
    let registry = Registry::start().await?;
    let folder = policies()?;
    let output = registry.folder().join("oci");
    let text = output.to_str().unwrap();
    registry.publish(&["package", "--policies", folder.to_str().unwrap(), "-o", text])?;
    let digests: Value = yaml_serde::from_str(&fs::read_to_string(output.join("digests.yaml"))?)?;
    let pushed = push(&registry, &registry.at("ours"), &["--tag", "latest-build"])?;
    for (name, reference) in &pushed {
        assert_eq!(digests["policies"]["digests"][name], digest(reference));
        let theirs = registry.at(&format!("theirs/{name}:v1"));
        let layout = output.join(name);
        registry.crane(&["push", layout.to_str().unwrap(), &theirs])?;
        assert_eq!(registry.crane(&["digest", &theirs])?.trim(), digest(reference));
        let tagged = registry.at(&format!("ours/{name}:latest-build"));
        assert_eq!(registry.crane(&["digest", &tagged])?.trim(), digest(reference));
    }
    assert_eq!(digests["policies"]["digests"].as_object().unwrap().len(), pushed.len());

    // Manifests are pinned from the same file.
    let manifests = root().join("deploy/policies");
    let pinned = registry.folder().join("pinned");
    let source = output.join("digests.yaml");
    registry.publish(&[
        "pin",
        manifests.to_str().unwrap(),
        "--digests",
        source.to_str().unwrap(),
        "--registry",
        &registry.at("ours"),
        "-o",
        pinned.to_str().unwrap(),
    ])?;
    let text = fs::read_to_string(pinned.join("lmcache-pod-injection.yaml"))?;
    let policy: Value = yaml_serde::from_str(&text)?;
    assert_eq!(
        policy["spec"]["module"],
        format!("registry://{}", pushed["pod-injection"])
    );
    assert!(pinned.join("separate/payload-staging.yaml").is_file());
    // What is left of other manifests would be applied with them.
    let one = manifests.join("lmcache-guard.yaml");
    let args = ["pin", one.to_str().unwrap(), "--digests", source.to_str().unwrap()];
    let refused = registry.publish(&[&args[..], &["-o", pinned.to_str().unwrap()]].concat());
    let complaint = format!("{:#}", refused.unwrap_err());
    for text in [
        "manifests that are none of these",
        "lmcache-pod-injection.yaml",
        "separate/payload-staging.yaml",
    ] {
        assert!(complaint.contains(text), "{text} is not in: {complaint}");
    }
    Ok(())
}

/// A copy of one policy whose module differs by a byte. What reads it reads the metadata alone, at the end.
fn tampered(registry: &Registry, name: &str) -> Result<PathBuf> {
    let folder = registry.folder().join("tampered");
    fs::create_dir_all(&folder)?;
    let mut wasm = fs::read(&built()?[name])?;
    let middle = wasm.len() / 3;
    wasm[middle] ^= 1;
    fs::write(folder.join(format!("{name}.wasm")), wasm)?;
    Ok(folder)
}

#[tokio::test]
#[ignore = "starts a registry: make e2e"]
async fn a_tag_stays_unless_it_is_moved_and_a_digest_stays_for_good() -> Result<()> {
    let registry = Registry::start().await?;
    let place = registry.at("acme");
    let first = push(&registry, &place, &[])?;
    // Again: nothing to do.
    assert_eq!(push(&registry, &place, &[])?, first);
    let other = tampered(&registry, "pod-injection")?;
    let other = ["push", &place, "--policies", other.to_str().unwrap(), "--move-tag"];
    let error = format!("{:#}", registry.publish(&other[..4]).unwrap_err());
    assert!(
        error.contains("the tag is taken by sha256:") && error.contains("--move-tag"),
        "{error}"
    );
    let tag = registry.at("acme/pod-injection:v0.1.0");
    assert_eq!(
        registry.crane(&["digest", &tag])?.trim(),
        digest(&first["pod-injection"])
    );

    let moved = named(&registry.publish(&other)?)?;
    assert_ne!(moved["pod-injection"], first["pod-injection"]);
    assert_eq!(
        registry.crane(&["digest", &tag])?.trim(),
        digest(&moved["pod-injection"])
    );
    let module = pull(&registry, &first["pod-injection"], "first")?;
    assert!(fs::read(module)? == fs::read(&built()?["pod-injection"])?);
    Ok(())
}

/// As on the internet: TLS by an authority that is trusted, and a login.
#[tokio::test]
#[ignore = "starts a registry: make e2e"]
async fn tls_and_a_login_from_the_environment_or_docker() -> Result<()> {
    let registry = Registry::start().await?;
    let front = Front::start(&registry, "bot", "not to be seen")?;
    let folder = policies()?;
    let place = format!("{}/acme", front.address());
    let push = |variables: &[(&str, &str)], more: &[&str]| {
        let mut arguments = vec!["push", &place, "--policies", folder.to_str().unwrap()];
        arguments.extend(more);
        registry.publish_with(&arguments, variables)
    };
    let authority = front.authority().to_str().unwrap();
    let user = [("REGISTRY_USERNAME", "bot"), ("REGISTRY_PASSWORD", "not to be seen")];
    let trusted = ("SSL_CERT_FILE", authority);

    // Nobody vouches for the certificate, and nothing goes out in plain text by itself.
    let error = format!("{:#}", push(&user, &[]).unwrap_err());
    assert!(
        error.contains("does not answer over TLS") && !error.contains("not to be seen"),
        "{error}"
    );
    // Nobody, and somebody else.
    let wrong = [("REGISTRY_USERNAME", "bot"), ("REGISTRY_PASSWORD", "a guess"), trusted];
    for variables in [&[trusted][..], &wrong] {
        let error = format!("{:#}", push(variables, &[]).unwrap_err());
        assert!(error.contains("401") || error.contains("Not authorized"), "{error}");
        assert!(!error.contains("a guess"), "{error}");
    }

    let pushed = named(&push(&[user[0], user[1], trusted], &[])?)?;
    assert_eq!(pushed.len(), 7);
    let stored = registry.at(&format!("acme/pod-injection@{}", digest(&pushed["pod-injection"])));
    registry.crane(&["manifest", &stored])?;

    let docker = registry.folder().join("docker");
    fs::create_dir_all(&docker)?;
    let auth = STANDARD.encode("bot:not to be seen");
    let config = json!({"auths": {front.address(): {"auth": auth}}});
    fs::write(docker.join("config.json"), config.to_string())?;
    let again = push(&[trusted], &["--tag", "by-docker"])?;
    assert_eq!(named(&again)?, pushed);
    Ok(())
}

#[tokio::test]
#[ignore = "builds actionlint: make e2e"]
async fn workflows_pass_their_linter() -> Result<()> {
    let actionlint = tokio::task::spawn_blocking(|| control_plane::Tool::Actionlint.find()).await??;
    let output = Command::new(actionlint).arg("-no-color").current_dir(root()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
