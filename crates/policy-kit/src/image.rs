//! Image references of containers.

/// The repository of an image reference: without tag and digest.
pub(crate) fn repository(image: &str) -> &str {
    split(image).0
}

/// Repository and tag of an image reference. A digest says nothing about a release.
pub(crate) fn split(image: &str) -> (&str, Option<&str>) {
    let image = image.split('@').next().unwrap_or_default();
    let name_start = image.rfind('/').map_or(0, |slash| slash + 1);
    match image.get(name_start..).and_then(|name| name.find(':')) {
        Some(colon) => {
            let colon = name_start + colon;
            (image.get(..colon).unwrap_or_default(), image.get(colon + 1..))
        }
        None => (image, None),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn repository_and_tag() {
        for (image, repository, tag) in [
            ("x/y", "x/y", None),
            ("x/y:v1", "x/y", Some("v1")),
            ("x/y:v1@sha256:ab", "x/y", Some("v1")),
            ("x/y@sha256:ab", "x/y", None),
            ("host:5000/y", "host:5000/y", None),
            ("host:5000/y:v1", "host:5000/y", Some("v1")),
            ("", "", None),
        ] {
            assert_eq!(split(image), (repository, tag), "{image}");
        }
    }
}
