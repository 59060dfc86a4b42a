//! Image references.

use crate::{AnyObject, ImageSpec};

/// Repository of an engine or coordinator that names none. The CRD fills it into every image block, payload images too.
pub const DEFAULT_REPOSITORY: &str = "lmcache/vllm-openai";

/// Tag of an image that names none.
pub const DEFAULT_TAG: &str = "latest";

/// Whether this is the engine's default image: as a payload it means that nobody chose one, since the CRD fills it in.
pub fn is_default_repository(repository: &str) -> bool {
    repository.strip_prefix("docker.io/").unwrap_or(repository) == DEFAULT_REPOSITORY
}

impl ImageSpec {
    /// What a container's `image` says: `repository:tag`. A repository that carries a digest (`repo@sha256:...`) is
    /// used alone; a tag may carry one (`v1@sha256:...`). `default_repo` stands in for an absent repository.
    pub fn reference(&self, default_repo: &str) -> String {
        let repository = self.repository.as_deref().unwrap_or(default_repo);
        match self.tag_beside(repository) {
            Some(tag) => format!("{repository}:{tag}"),
            None => repository.to_owned(),
        }
    }

    /// The tag that is in effect, with its digest if it carries one: of the repository when that carries a digest, else
    /// `tag`, else `latest`. `None` when only a digest says what runs.
    pub(crate) fn effective_tag(&self) -> Option<&str> {
        let repository = self.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY);
        match repository.split_once('@') {
            Some((name, _)) => Some(name.rsplit_once('/').map_or(name, |(_, last)| last).split_once(':')?.1),
            None => Some(self.tag.as_deref().unwrap_or(DEFAULT_TAG)),
        }
    }

    /// The tag to write behind `repository`: none when that carries a digest.
    fn tag_beside(&self, repository: &str) -> Option<&str> {
        (!repository.contains('@')).then(|| self.tag.as_deref().unwrap_or(DEFAULT_TAG))
    }

    /// Whether the image that runs can change without the object: no digest, and `latest`, `nightly`, a flavour of them
    /// such as `latest-cu129`, or no tag. A dated `nightly-2026-08-01` stays what it is.
    pub fn is_floating(&self) -> bool {
        let repository = self.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY);
        let tag = self.tag.as_deref().unwrap_or(DEFAULT_TAG);
        let flavour = tag.strip_prefix("latest").or_else(|| tag.strip_prefix("nightly"));
        let floats = |flavour: &str| match flavour.strip_prefix('-') {
            Some(rest) => !rest.starts_with(|c: char| c.is_ascii_digit()),
            None => flavour.is_empty(),
        };
        !repository.contains('@') && !tag.contains('@') && flavour.is_some_and(floats)
    }
}

/// The images that a custom resource runs, as `(path, repository, tag)`: its own (defaults filled in), and the payload
/// that is staged into Pods if there is one. The tag is `None` where the repository carries a digest.
pub fn image_refs(object: &AnyObject) -> Vec<(String, String, Option<String>)> {
    let (image, payload) = images(object);
    let own = image.cloned().unwrap_or_default();
    let mut refs = vec![("spec.image".to_owned(), own)];
    refs.extend(payload.map(|payload| ("spec.injection.payloadImage".to_owned(), payload.clone())));
    refs.into_iter()
        .map(|(path, image)| {
            let tag = image
                .tag_beside(image.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY))
                .map(str::to_owned);
            (
                path,
                image.repository.unwrap_or_else(|| DEFAULT_REPOSITORY.to_owned()),
                tag,
            )
        })
        .collect()
}

/// `spec.image` and `spec.injection.payloadImage` as they stand.
pub(crate) fn images(object: &AnyObject) -> (Option<&ImageSpec>, Option<&ImageSpec>) {
    match object {
        AnyObject::LMCacheCoordinator(coordinator) => (coordinator.spec.image.as_ref(), None),
        engine => {
            let spec = engine.engine();
            (
                spec.and_then(|spec| spec.image()),
                spec.and_then(|spec| spec.payload_image()),
            )
        }
    }
}

/// What is wrong with a repository, roughly: registry, name and digest, but no tag.
pub(crate) fn check_repository(repository: &str) -> Result<(), &'static str> {
    if repository.is_empty() {
        return Err("must not be empty; leave it out for the default");
    }
    let (name, digest) = repository
        .split_once('@')
        .map_or((repository, None), |(name, digest)| (name, Some(digest)));
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err("must end in a digest such as sha256:<64 hex digits> where it has an '@'");
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:[]".contains(&byte);
    if name.split('/').any(str::is_empty) || !name.bytes().all(allowed) {
        return Err("must be a repository such as registry.example.com/team/name");
    }
    // The first component is the registry if another one follows: it may have a port and capitals.
    let path = name.split_once('/').map_or(name, |(_, path)| path);
    let path = match digest {
        Some(_) => path.rsplit_once(':').map_or(path, |(path, _)| path),
        None => path,
    };
    if path.contains(':') {
        return Err("must not carry a tag; put it into the field tag");
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("must be in lower case behind the registry");
    }
    Ok(())
}

/// What is wrong with a tag, roughly: a tag, possibly with a digest.
pub(crate) fn check_tag(tag: &str) -> Result<(), &'static str> {
    if tag.is_empty() {
        return Err("must not be empty; leave it out for the default");
    }
    let (name, digest) = tag
        .split_once('@')
        .map_or((tag, None), |(name, digest)| (name, Some(digest)));
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err("must end in a digest such as sha256:<64 hex digits> where it has an '@'");
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let starts_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if starts_well && name.len() <= 128 && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err("must be a tag: letters, digits, '_', '.' and '-', at most 128 characters (a digest belongs behind an '@')")
    }
}

/// `sha256:` and hex digits, or another algorithm.
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return false;
    };
    let length = if algorithm == "sha256" {
        hex.len() == 64
    } else {
        hex.len() >= 32
    };
    let algorithm = !algorithm.is_empty()
        && algorithm
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    algorithm
        && length
        && hex
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
