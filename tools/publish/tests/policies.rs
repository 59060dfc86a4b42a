//! The policies of this repository, as `make build` made them. Run `make build` first when you call `cargo test` yourself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::fs;
use std::path::{Path, PathBuf};

use publish::{Artifact, Digests, layout, pin, sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn artifacts() -> Vec<Artifact> {
    let folder = std::env::var_os("POLICIES_DIR").map_or_else(|| root().join("target/policies"), PathBuf::from);
    let mut artifacts = Vec::new();
    for entry in fs::read_dir(root().join("policies")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let wasm = fs::read(folder.join(format!("{name}.wasm")));
        let wasm = wasm.unwrap_or_else(|error| panic!("{name}: {error}: run `make build` first"));
        artifacts.push(Artifact::new(&name, wasm).unwrap());
    }
    artifacts
}

#[test]
fn the_same_modules_have_the_same_digests() {
    let (first, second) = (artifacts(), artifacts());
    assert_eq!(first.len(), 7);
    assert_eq!(Digests::of(&first).to_yaml(), Digests::of(&second).to_yaml());
    for (first, second) in first.iter().zip(&second) {
        assert!(layout::files(first) == layout::files(second), "{}", first.name);
        assert_eq!(first.digest(), sha256(&second.manifest.bytes));
    }
}

/// One tag publishes all, so that all have one version.
#[test]
fn every_policy_has_the_version_of_the_workspace() {
    for artifact in artifacts() {
        assert_eq!(artifact.version, env!("CARGO_PKG_VERSION"), "{}", artifact.name);
    }
}

#[test]
fn every_manifest_in_deploy_can_be_pinned() {
    let digests = Digests::of(&artifacts());
    let mut pinned = 0;
    for folder in ["", "by-annotation", "separate", "optional"] {
        for entry in fs::read_dir(root().join("deploy/policies").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let text = fs::read_to_string(&path).unwrap();
                let (after, count) =
                    pin::pin(&text, &digests, None).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
                assert_eq!(
                    count,
                    text.matches("kind: ClusterAdmissionPolicy\n").count(),
                    "{}",
                    path.display()
                );
                assert_eq!(after.matches("@sha256:").count(), count, "{}", path.display());
                assert_eq!(after.lines().count(), text.lines().count());
                pinned += count;
            }
        }
    }
    assert!(pinned > 10, "{pinned}");
}
