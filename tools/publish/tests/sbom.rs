//! The SBOMs that `make sbom` writes, against what Cargo and the modules say is in them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use publish::sbom::{Crate, crates};
use publish::sha256;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.current_dir(root()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", command.get_program().display());
    String::from_utf8(output.stdout).unwrap()
}

fn policies() -> Vec<String> {
    let names = fs::read_dir(root().join("policies")).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Crates in the paths of panic messages, which the linker left in the module: `deps/index.../serde-1.0.0/src/lib.rs`.
fn in_messages(wasm: &[u8]) -> BTreeSet<Crate> {
    let text: String = wasm
        .iter()
        .map(|byte| {
            if byte.is_ascii_graphic() {
                char::from(*byte)
            } else {
                ' '
            }
        })
        .collect();
    let mut found = BTreeSet::new();
    for rest in text.split("deps/index.crates.io-").skip(1) {
        let folder = rest.split('/').nth(1).unwrap();
        let start = folder
            .match_indices('-')
            .find(|(at, _)| folder[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
        let (at, _) = start.unwrap_or_else(|| panic!("no version in {folder}"));
        found.insert((folder[..at].to_owned(), folder[at + 1..].to_owned()));
    }
    found
}

#[test]
fn every_crate_of_a_module_is_in_its_sbom() {
    if Command::new("cargo-sbom").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("REQUIRE_SBOM").is_none(),
            "cargo-sbom is missing: `make sbom` installs it"
        );
        eprintln!("sbom: skipped, cargo-sbom is not installed (`make sbom` does it)");
        return;
    }
    let folder = std::env::var_os("POLICIES_DIR").map_or_else(|| root().join("target/policies"), PathBuf::from);
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sbom");
    run(Command::new("tools/sbom")
        .arg(&output)
        .args(policies())
        .env("POLICIES_DIR", &folder)
        .env("PUBLISH", env!("CARGO_BIN_EXE_publish")));
    let mut messages = 0;
    for policy in policies() {
        let sbom = fs::read_to_string(output.join(format!("{policy}.spdx.json"))).unwrap();
        let sbom: Value = serde_json::from_str(&sbom).unwrap();
        assert_eq!(sbom["spdxVersion"], "SPDX-2.3");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let packages = sbom["packages"].as_array().unwrap();
        let named: BTreeSet<Crate> = packages
            .iter()
            .map(|package| (text(&package["name"]), text(&package["versionInfo"])))
            .collect();

        let mut tree = Command::new(env!("CARGO"));
        tree.args([
            "tree",
            "--locked",
            "-p",
            &policy,
            "--target",
            "wasm32-wasip1",
            "-e",
            "normal",
        ])
        .args(["--prefix", "none", "--format", "{p}"]);
        let expected = crates(&run(&mut tree)).unwrap();
        assert_eq!(named, expected, "{policy}");

        let wasm = fs::read(folder.join(format!("{policy}.wasm"))).unwrap();
        let seen = in_messages(&wasm);
        assert!(named.is_superset(&seen), "{policy}: {:?}", seen.difference(&named));
        messages += seen.len();
        let own = packages.iter().find(|package| package["name"] == *policy).unwrap();
        assert_eq!(
            format!("sha256:{}", text(&own["checksums"][0]["checksumValue"])),
            sha256(&wasm)
        );
        for package in packages {
            assert_ne!(package["licenseConcluded"], "NOASSERTION", "{policy}: {package}");
        }
    }
    assert!(messages > 0, "no module names a crate: are they built by `make build`?");
}
