//! An artifact as an OCI image layout: the files of a folder that `crane`, `skopeo`, `oras` and `regctl` push as it is.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::artifact::{Artifact, Blob};

/// The files of the layout by their paths in its folder.
pub fn files(artifact: &Artifact) -> Vec<(PathBuf, Vec<u8>)> {
    let manifest = &artifact.manifest;
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": manifest.media_type,
            "digest": manifest.digest,
            "size": manifest.bytes.len(),
            "annotations": {"org.opencontainers.image.ref.name": artifact.tag()},
        }],
    });
    let mut files = vec![
        (
            PathBuf::from("oci-layout"),
            json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes(),
        ),
        (PathBuf::from("index.json"), index.to_string().into_bytes()),
    ];
    for blob in [manifest, &artifact.config, &artifact.layer] {
        files.push((path(blob), blob.bytes.clone()));
    }
    files
}

fn path(blob: &Blob) -> PathBuf {
    let (algorithm, hash) = blob.digest.split_once(':').unwrap_or(("sha256", &blob.digest));
    Path::new("blobs").join(algorithm).join(hash)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use wasm_encoder::{CustomSection, Module};

    use super::*;
    use crate::artifact::sha256;

    #[test]
    fn every_blob_is_named_by_its_hash_and_nothing_is_missing() {
        let metadata = br#"{"rules":[],"mutating":false,"annotations":{"io.kubewarden.policy.version":"0.1.0"}}"#;
        let section = CustomSection {
            name: "io.kubewarden.metadata".into(),
            data: metadata.as_slice().into(),
        };
        let wasm = Module::new().section(&section).clone().finish();
        let artifact = Artifact::new("demo", wasm.clone()).unwrap();
        let files = files(&artifact);
        let find = |path: &str| {
            let found = files.iter().find(|(name, _)| name == Path::new(path));
            &found.unwrap_or_else(|| panic!("no {path}")).1
        };
        let read = |path: &str| serde_json::from_slice::<Value>(find(path)).unwrap();
        assert_eq!(read("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}));
        let index = read("index.json");
        let entry = &index["manifests"][0];
        assert_eq!(entry["digest"], artifact.digest());
        assert_eq!(entry["annotations"]["org.opencontainers.image.ref.name"], "v0.1.0");

        let at = |digest: &Value| format!("blobs/{}", digest.as_str().unwrap().replace(':', "/"));
        let manifest = read(&at(&entry["digest"]));
        assert_eq!(find(&at(&entry["digest"])).len(), entry["size"]);
        assert_eq!(*find(&at(&manifest["layers"][0]["digest"])), wasm);
        assert_eq!(find(&at(&manifest["config"]["digest"])), b"{}");
        let blobs: Vec<_> = files.iter().filter(|(path, _)| path.starts_with("blobs")).collect();
        assert_eq!((blobs.len(), files.len()), (3, 5));
        for (path, bytes) in blobs {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert_eq!(sha256(bytes), format!("sha256:{name}"));
        }
    }
}
