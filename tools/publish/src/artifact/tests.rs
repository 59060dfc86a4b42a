//! A module of eight bytes, annotated, as an artifact.

use serde_json::{Value, json};
use wasm_encoder::{CustomSection, Module};

use super::*;

/// A module with nothing but custom sections.
fn module(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut module = Module::new();
    for (name, data) in sections {
        module.section(&CustomSection {
            name: (*name).into(),
            data: (*data).into(),
        });
    }
    module.finish()
}

fn annotated(annotations: Value) -> Vec<u8> {
    let metadata = json!({
        "protocolVersion": "v1",
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
        "annotations": annotations,
        "mutating": true,
    });
    module(&[("io.kubewarden.metadata", metadata.to_string().as_bytes())])
}

fn demo() -> Vec<u8> {
    annotated(json!({
        "io.kubewarden.policy.title": "demo",
        "io.kubewarden.policy.version": "1.2.3",
        "io.kubewarden.policy.source": "https://example.com/demo",
        "io.kubewarden.policy.usage": "# Demo\n\nText.\n",
    }))
}

#[test]
fn the_manifest_is_the_one_of_kwctl() {
    let wasm = demo();
    let artifact = Artifact::new("demo", wasm.clone()).unwrap();
    let manifest: Value = serde_json::from_slice(&artifact.manifest.bytes).unwrap();
    assert_eq!(
        manifest,
        json!({
            "schemaVersion": 2,
            "config": {
                "mediaType": "application/vnd.wasm.config.v1+json",
                "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                "size": 2,
            },
            "layers": [{
                "mediaType": "application/vnd.wasm.content.layer.v1+wasm",
                "digest": sha256(&wasm),
                "size": wasm.len(),
            }],
            "annotations": {
                "io.kubewarden.policy.source": "https://example.com/demo",
                "io.kubewarden.policy.title": "demo",
                "io.kubewarden.policy.version": "1.2.3",
                "org.opencontainers.image.source": "https://example.com/demo",
            },
        })
    );
    assert_eq!(
        artifact.manifest.media_type,
        "application/vnd.oci.image.manifest.v1+json"
    );
    assert_eq!(artifact.tag(), "v1.2.3");
    // Canonical: keys in order, no white space.
    let text = String::from_utf8(artifact.manifest.bytes.clone()).unwrap();
    assert!(
        text.starts_with(r#"{"annotations":{"io.kubewarden.policy.source":"#),
        "{text}"
    );
    assert!(!text.contains(": ") && !text.contains('\n'), "{text}");
}

/// A new release of a dependency that writes manifests otherwise would change the digests of all policies.
#[test]
fn the_digest_is_the_same_everywhere_and_at_any_time() {
    let artifact = Artifact::new("demo", demo()).unwrap();
    assert_eq!(artifact, Artifact::new("demo", demo()).unwrap());
    assert_eq!(artifact.digest(), sha256(&artifact.manifest.bytes));
    assert_eq!(artifact.digest(), DIGEST);
    let mut other = demo();
    *other.last_mut().unwrap() = b' ';
    assert!(Artifact::new("demo", other).is_err(), "metadata that is no JSON");
    let mut longer = demo();
    longer.extend_from_slice(&module(&[("any", b"x")])[8..]);
    assert_ne!(Artifact::new("demo", longer).unwrap().digest(), DIGEST);
}

/// Computed without this code: by Python, from the same metadata.
const DIGEST: &str = "sha256:0c6320777e7e08ae915bb731b9b492e880ca5a7900fd9e7407864d3cea589c85";

#[test]
fn what_is_no_annotated_policy_is_refused_with_the_reason() {
    for (wasm, expected) in [
        (b"text".to_vec(), "not a WebAssembly module"),
        (module(&[("other", b"{}")]), "annotate it first"),
        (annotated(json!({})), "no annotation io.kubewarden.policy.version"),
        (
            annotated(json!({"io.kubewarden.policy.version": "latest"})),
            "'latest', expected a semantic version",
        ),
    ] {
        let error = format!("{:#}", Artifact::new("demo", wasm).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}
