//! Which images the platform allows.

use super::Settings;
use lmcache_api::{FaultKind, FieldError, Kind, decode, image_refs};
use serde_json::Value;

/// The faults of images that the settings forbid.
pub(super) fn faults(kind: Kind, object: &Value, settings: &Settings) -> Vec<FieldError> {
    if settings.allowed_repositories.is_none() && !settings.require_pinned_images {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for image in image_refs(&decode(kind, object).object) {
        let repository = &image.repository;
        if let Some(allowed) = &settings.allowed_repositories
            && !allowed.iter().any(|entry| allows(entry, repository))
        {
            faults.push(FieldError {
                path: image.repository_path,
                kind: FaultKind::Forbidden,
                detail: format!(
                    "\"{repository}\" is not allowed here; allowed repositories: {}",
                    allowed.join(", ")
                ),
            });
        }
        if settings.require_pinned_images && image.floating {
            faults.push(FieldError {
                path: image.tag_path,
                kind: FaultKind::Forbidden,
                detail: format!(
                    "\"{}\" of {repository} can move to another image; give a version tag or a digest",
                    image.tag.as_deref().unwrap_or_default()
                ),
            });
        }
    }
    faults
}

/// Does an entry of `allowedRepositories` cover a repository? `ghcr.io/acme/*` covers everything below it. Docker's own
/// registry may be left out on either side, as in image references.
fn allows(entry: &str, repository: &str) -> bool {
    let (entry, repository) = (plain(entry), plain(repository));
    match entry.strip_suffix("/*") {
        Some(prefix) => repository
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with('/') && rest.len() > 1),
        None => entry == repository || entry == "*",
    }
}

fn plain(name: &str) -> &str {
    name.strip_prefix("docker.io/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::allows;

    #[test]
    fn exact_names_and_prefixes() {
        for (entry, repository, expected) in [
            ("ghcr.io/acme/kv", "ghcr.io/acme/kv", true),
            ("ghcr.io/acme/kv", "ghcr.io/acme/kv2", false),
            ("ghcr.io/acme/*", "ghcr.io/acme/kv", true),
            ("ghcr.io/acme/*", "ghcr.io/acme/a/b", true),
            ("ghcr.io/acme/*", "ghcr.io/acmes/kv", false),
            ("ghcr.io/acme/*", "ghcr.io/acme/", false),
            ("lmcache/vllm-openai", "docker.io/lmcache/vllm-openai", true),
            ("docker.io/lmcache/*", "lmcache/vllm-openai", true),
            ("*", "anything", true),
        ] {
            assert_eq!(allows(entry, repository), expected, "{entry} {repository}");
        }
    }
}
