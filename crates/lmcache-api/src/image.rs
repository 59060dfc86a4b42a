//! Image references.

use crate::{AnyObject, ImageSpec};

/// Repository of an engine or coordinator that names none. The CRD fills it into every image block, payload images too.
pub const DEFAULT_REPOSITORY: &str = "lmcache/vllm-openai";

/// Tag of an image that names none.
pub const DEFAULT_TAG: &str = "latest";

/// Whether this is the engine's default image, in whatever spelling: as a payload it means that nobody chose one, since the
/// CRD fills it in, and by digest it is still a server that would never end as an init container.
pub fn is_default_repository(repository: &str) -> bool {
    let name = repository.split_once('@').map_or(repository, |(name, _)| name);
    let on_hub = ["docker.io/", "index.docker.io/"]
        .iter()
        .find_map(|registry| name.strip_prefix(registry));
    on_hub.unwrap_or(name) == DEFAULT_REPOSITORY
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
    pub fn effective_tag(&self) -> Option<&str> {
        let repository = self.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY);
        match repository.split_once('@') {
            Some((name, _)) => Some(name.rsplit_once('/').map_or(name, |(_, last)| last).split_once(':')?.1),
            None => Some(self.tag.as_deref().unwrap_or(DEFAULT_TAG)),
        }
    }

    /// Whether this is LMCache's own image, in whatever registry.
    pub fn is_lmcache(&self) -> bool {
        let repository = self.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY);
        let (name, _) = image_parts(repository);
        name.strip_suffix(DEFAULT_REPOSITORY)
            .is_some_and(|registry| registry.is_empty() || registry.ends_with('/'))
    }

    /// What is wrong with the repository or the tag, roughly, as far as they are set: what no node can pull.
    ///
    /// # Errors
    /// What they must be.
    pub fn check(&self) -> Result<(), &'static str> {
        self.repository.as_deref().map_or(Ok(()), check_repository)?;
        self.tag.as_deref().map_or(Ok(()), check_tag)
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
        !repository.contains('@') && !tag.contains('@') && floats(tag)
    }
}

/// Whether a tag is one that moves: `latest`, `nightly`, or a flavour of them.
fn floats(tag: &str) -> bool {
    let flavour = tag.strip_prefix("latest").or_else(|| tag.strip_prefix("nightly"));
    flavour.is_some_and(|flavour| match flavour.strip_prefix('-') {
        Some(rest) => !rest.starts_with(|c: char| c.is_ascii_digit()),
        None => flavour.is_empty(),
    })
}

/// An image that a custom resource makes nodes run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRef {
    /// Path of the field that names the repository.
    pub repository_path: String,
    /// Path of the field that names the tag.
    pub tag_path: String,
    /// Repository, without tag and digest.
    pub repository: String,
    /// Tag in effect; `None` where a digest alone says what runs.
    pub tag: Option<String>,
    /// Whether another image can come to stand behind the same reference.
    pub floating: bool,
}

/// The images that a custom resource runs: its own (defaults filled in), the payload that is staged into Pods, and those of
/// the user's init containers.
pub fn image_refs(object: &AnyObject) -> Vec<ImageRef> {
    let (image, payload) = images(object);
    let own = image.cloned().unwrap_or_default();
    let mut refs = vec![of_spec("spec.image", &own)];
    refs.extend(payload.map(|payload| of_spec("spec.injection.payloadImage", payload)));
    let init_containers = match object {
        AnyObject::LMCacheEngine(engine) => engine.spec.init_containers.as_deref().unwrap_or_default(),
        AnyObject::CacheBlendEngine(_) | AnyObject::LMCacheCoordinator(_) => &[],
    };
    for (index, container) in init_containers.iter().enumerate() {
        if let Some(reference) = container.get("image").and_then(serde_json::Value::as_str) {
            refs.push(of_reference(&format!("spec.initContainers[{index}].image"), reference));
        }
    }
    refs
}

fn of_spec(path: &str, image: &ImageSpec) -> ImageRef {
    let repository = image.repository.as_deref().unwrap_or(DEFAULT_REPOSITORY);
    ImageRef {
        repository_path: format!("{path}.repository"),
        tag_path: format!("{path}.tag"),
        repository: image_parts(repository).0.to_owned(),
        tag: image.tag_beside(repository).map(str::to_owned),
        floating: image.is_floating(),
    }
}

fn of_reference(path: &str, reference: &str) -> ImageRef {
    let (repository, tag) = image_parts(reference);
    let digest = reference.contains('@');
    let tag = tag.or((!digest).then_some(DEFAULT_TAG));
    ImageRef {
        repository_path: path.to_owned(),
        tag_path: path.to_owned(),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        floating: !digest && tag.is_some_and(floats),
    }
}

/// Repository and tag of an image reference as containers have it. A digest is left out: it says nothing about either.
pub fn image_parts(reference: &str) -> (&str, Option<&str>) {
    let image = reference.split('@').next().unwrap_or_default();
    let name_start = image.rfind('/').map_or(0, |slash| slash + 1);
    match image.get(name_start..).and_then(|name| name.find(':')) {
        Some(colon) => {
            let colon = name_start + colon;
            (image.get(..colon).unwrap_or_default(), image.get(colon + 1..))
        }
        None => (image, None),
    }
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
