//! cosign with a throw-away key, without a transparency log: nothing leaves this machine.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use control_plane::{Registry, Tool};
use serde_json::Value;

use super::{digest, named, push, tampered};

/// The shapes that signatures are stored in: the one that Kubewarden reads, and cosign's present one.
const FORMATS: [&str; 2] = ["--new-bundle-format=false", "--new-bundle-format=true"];

struct Cosign<'a> {
    registry: &'a Registry,
    program: PathBuf,
}

impl Cosign<'_> {
    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("COSIGN_PASSWORD", "throw-away")
            .env("TUF_ROOT", self.registry.folder().join("tuf"));
        self.registry.run(&mut command)
    }

    fn sign(&self, key: &str, reference: &str, format: &str) -> Result<String> {
        let key = format!("{key}.key");
        let offline = ["--use-signing-config=false", "--tlog-upload=false"];
        self.run(&[
            "sign", "--yes", "--key", &key, offline[0], offline[1], format, reference,
        ])
    }

    fn verify(&self, key: &str, reference: &str) -> Result<Value> {
        let key = format!("{key}.pub");
        let verified = self.run(&[
            "verify",
            "--key",
            &key,
            "--insecure-ignore-tlog=true",
            "--output=json",
            reference,
        ])?;
        Ok(serde_json::from_str(&verified)?)
    }

    fn refuses(&self, key: &str, reference: &str, expected: &[&str]) {
        let error = format!("{:#}", self.verify(key, reference).unwrap_err());
        assert!(expected.iter().any(|text| error.contains(text)), "{error}");
    }
}

#[tokio::test]
#[ignore = "starts a registry: make e2e"]
async fn a_signature_holds_for_what_was_signed_and_by_whom() -> Result<()> {
    let registry = Registry::start().await?;
    let program = tokio::task::spawn_blocking(|| Tool::Cosign.find()).await??;
    let cosign = Cosign {
        registry: &registry,
        program,
    };
    for key in ["ours", "other"] {
        cosign.run(&["generate-key-pair", "--output-key-prefix", key])?;
    }
    for (number, format) in FORMATS.into_iter().enumerate() {
        let place = registry.at(&format!("format-{number}"));
        let tag = format!("{place}/pod-injection:v0.1.0");
        let pushed = push(&registry, &place, &[])?;
        let signed = &pushed["pod-injection"];
        cosign.refuses("ours", &tag, &["no signatures found"]);
        cosign.sign("ours", signed, format)?;
        for reference in [signed, &tag] {
            let verified = cosign.verify("ours", reference)?;
            let image = &verified[0]["critical"]["image"]["docker-manifest-digest"];
            assert_eq!(image, digest(signed), "{verified}");
        }
        // Somebody else's key.
        cosign.refuses(
            "other",
            &tag,
            &[
                "no matching signatures",
                "invalid signature",
                "failed to verify signature",
            ],
        );
        // Other policies are not signed by this.
        let guard = &pushed["injection-guard"];
        cosign.refuses("ours", guard, &["no signatures found"]);

        // To a mirror, by way of a disk, and at once. `cosign copy` leaves signatures of the present format behind where
        // the registry keeps them under a tag.
        let loaded = registry.at(&format!("loaded-{number}/pod-injection:v0.1.0"));
        let copied = registry.at(&format!("copied-{number}/pod-injection:v0.1.0"));
        let saved = format!("saved-{number}");
        cosign.run(&["save", "--dir", &saved, &tag])?;
        cosign.run(&["load", "--dir", &saved, &loaded])?;
        cosign.run(&["copy", &tag, &copied])?;
        for mirrored in [&loaded, &copied] {
            assert_eq!(
                registry.crane(&["digest", mirrored])?.trim(),
                digest(signed),
                "{mirrored}"
            );
        }
        cosign.verify("ours", &loaded)?;
        if number == 0 {
            cosign.verify("ours", &copied)?;
        }

        // Another module under the same tag.
        let folder = tampered(&registry, "pod-injection")?;
        let arguments = ["push", &place, "--policies", folder.to_str().unwrap(), "--move-tag"];
        let moved = named(&registry.publish(&arguments)?)?;
        cosign.refuses("ours", &tag, &["no signatures found"]);
        cosign.verify("ours", signed)?;
        // The signature of the first, laid beside the second.
        let beside = |reference: &str| {
            let suffix = if number == 0 { ".sig" } else { "" };
            format!("{place}/pod-injection:{}{suffix}", digest(reference).replace(':', "-"))
        };
        registry.crane(&["copy", &beside(signed), &beside(&moved["pod-injection"])])?;
        cosign.refuses(
            "ours",
            &tag,
            &[
                "invalid or missing digest in claim",
                "no matching signatures",
                "does not match any digest in statement",
            ],
        );
    }
    Ok(())
}
