//! A document of four packages, of which the module has two.

use super::*;

fn package(name: &str, version: &str, registry: bool) -> Value {
    let mut package = json!({
        "SPDXID": format!("SPDXRef-Package-{name}-{version}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NONE",
        "licenseConcluded": "MIT",
    });
    if registry {
        package["downloadLocation"] = json!("registry+https://github.com/rust-lang/crates.io-index");
        package["externalRefs"] = json!([{"referenceType": "purl"}]);
    }
    package
}

fn relation(from: &str, to: &str) -> Value {
    json!({"spdxElementId": from, "relatedSpdxElement": to, "relationshipType": "DEPENDS_ON"})
}

fn document(reversed: bool) -> Value {
    let mut packages = vec![
        package("demo", "0.1.0", false),
        package("serde", "1.0.1", true),
        package("serde", "0.9.0", true),
        package("kube", "4.2.0", true),
    ];
    let mut relations = vec![
        relation("SPDXRef-Package-demo-0.1.0", "SPDXRef-Package-serde-1.0.1"),
        relation("SPDXRef-Package-demo-0.1.0", "SPDXRef-Package-kube-4.2.0"),
        relation("SPDXRef-DOCUMENT", "SPDXRef-File-demo"),
    ];
    if reversed {
        packages.reverse();
        relations.reverse();
    }
    json!({
        "spdxVersion": "SPDX-2.3",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "lmcache",
        "documentNamespace": "https://spdx.org/spdxdocs/demo-0d5f",
        "creationInfo": {"created": "2026-01-01T00:00:00Z", "creators": ["Tool: cargo-sbom-v0.10.0"]},
        "files": [{"SPDXID": "SPDXRef-File-demo", "fileName": "./Cargo.lock"}],
        "packages": packages,
        "relationships": relations,
    })
}

fn module() -> Module {
    Module {
        name: "demo".to_owned(),
        sha256: "0a".repeat(32),
        repository: "https://example.com/repo".to_owned(),
    }
}

const TREE: &str = "demo v0.1.0 (/src/demo)\nserde v1.0.1 (proc-macro)\n\nserde v1.0.1 (*)\n";

#[test]
fn the_tree_of_cargo_is_read() {
    let expected = [("demo", "0.1.0"), ("serde", "1.0.1")].map(|(name, version)| (name.to_owned(), version.to_owned()));
    assert_eq!(crates(TREE).unwrap(), expected.into());
    let error = crates("demo v0.1.0\nerror: no such package\n").unwrap_err().to_string();
    assert!(error.contains("'error: no such package'"), "{error}");
}

#[test]
fn what_is_not_in_the_module_goes_and_the_module_is_named() {
    let crates = crates(TREE).unwrap();
    let cut_down = cut(document(false), &crates, &module(), Some("2026-02-02T00:00:00Z")).unwrap();
    assert_eq!(
        cut_down,
        json!({
            "spdxVersion": "SPDX-2.3",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": "demo",
            "documentNamespace": format!("https://example.com/repo/spdx/demo-{}", "0a".repeat(32)),
            "creationInfo": {"created": "2026-02-02T00:00:00Z", "creators": ["Tool: cargo-sbom-v0.10.0"]},
            "packages": [
                {
                    "SPDXID": "SPDXRef-Package-demo-0.1.0",
                    "name": "demo",
                    "versionInfo": "0.1.0",
                    "downloadLocation": "git+https://example.com/repo",
                    "licenseConcluded": "MIT",
                    "copyrightText": "NOASSERTION",
                    "filesAnalyzed": false,
                    "packageFileName": "demo.wasm",
                    "checksums": [{"algorithm": "SHA256", "checksumValue": "0a".repeat(32)}],
                },
                {
                    "SPDXID": "SPDXRef-Package-serde-1.0.1",
                    "name": "serde",
                    "versionInfo": "1.0.1",
                    "downloadLocation": "https://crates.io/api/v1/crates/serde/1.0.1/download",
                    "licenseConcluded": "MIT",
                    "copyrightText": "NOASSERTION",
                    "filesAnalyzed": false,
                    "externalRefs": [{"referenceType": "purl"}],
                },
            ],
            "relationships": [
                {
                    "spdxElementId": "SPDXRef-DOCUMENT",
                    "relatedSpdxElement": "SPDXRef-Package-demo-0.1.0",
                    "relationshipType": "DESCRIBES",
                },
                relation("SPDXRef-Package-demo-0.1.0", "SPDXRef-Package-serde-1.0.1"),
            ],
        })
    );
    let other = cut(document(true), &crates, &module(), Some("2026-02-02T00:00:00Z")).unwrap();
    assert_eq!(other.to_string(), cut_down.to_string());
}

#[test]
fn what_is_missing_is_named() {
    let mut tree = TREE.to_owned();
    tree.push_str("hmac v0.13.0\n");
    let error = cut(document(false), &crates(&tree).unwrap(), &module(), None).unwrap_err();
    assert!(error.to_string().contains("lacks hmac 0.13.0"), "{error}");

    let error = cut(
        json!({"bomFormat": "CycloneDX"}),
        &crates(TREE).unwrap(),
        &module(),
        None,
    )
    .unwrap_err();
    assert!(error.to_string().contains("expected \"SPDX-2.3\""), "{error}");

    let other = Module {
        name: "other".to_owned(),
        ..module()
    };
    let error = cut(document(false), &crates(TREE).unwrap(), &other, None).unwrap_err();
    assert!(error.to_string().contains("no package is named 'other'"), "{error}");
}
