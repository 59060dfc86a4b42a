//! What the objects of several files say about one another.

use lmcache_api::{AnyObject, FaultKind, FieldError, Kind, LMCacheCoordinatorSpec, Object, chunk_size};
use lmcache_server::Running;
use serde_json::Value;

use super::Subject;
use crate::build::coordinator_url;
use crate::legacy;

/// Tokens per chunk of a coordinator's index that names none.
const DEFAULT_BLEND_CHUNK_SIZE: i32 = 256;

/// All objects.
pub(super) struct Fleet<'a> {
    pub subjects: &'a [Subject],
    /// The Secrets among the files.
    pub secrets: &'a [Value],
}

/// The coordinator that an engine refers to.
pub(super) struct Resolved {
    /// Where it is reached.
    pub url: String,
    /// What is doubtful about it.
    pub warnings: Vec<String>,
}

impl Fleet<'_> {
    /// An earlier object that would share the children of the one at `index`; the Go operator knows no clash of two kinds.
    pub fn clash(&self, index: usize, legacy: bool) -> Option<FieldError> {
        let own = self.subjects.get(index).filter(|own| !own.place().1.is_empty())?;
        let earlier = self.subjects.iter().take(index);
        let same_kind = |other: &Subject| other.document.kind == own.document.kind;
        let other = earlier
            .into_iter()
            .find(|other| other.place() == own.place() && (!legacy || same_kind(other)))?;
        let (namespace, name) = own.place();
        let detail = if same_kind(other) {
            format!(
                "\"{name}\": the same object is in {} too; leave one out",
                other.document.file
            )
        } else {
            format!(
                "\"{name}\": {} {namespace}/{name} in {} would share its children's names; choose another name",
                other.document.kind, other.document.file
            )
        };
        Some(FieldError::new("metadata.name", FaultKind::Duplicate, detail))
    }

    /// The coordinator that `spec.coordinator.ref` of an engine names; `None` if it names none, or a URL decides.
    ///
    /// One that is not among the files is taken for one on the default port: that is what it will be in nearly every case,
    /// while an engine without its connection would be rendered as it will never run.
    pub fn coordinator(&self, subject: &Subject) -> Option<Resolved> {
        let engine = subject.object.engine()?;
        let connection = engine.coordinator().filter(|connection| connection.url().is_none())?;
        let name = connection.ref_name()?;
        let (namespace, _) = subject.place();
        let Some((_, coordinator)) = self.find(namespace, name) else {
            let url = coordinator_url(name, namespace, &LMCacheCoordinatorSpec::default());
            let warning = format!(
                "spec.coordinator.ref.name: LMCacheCoordinator {namespace}/{name} is not in the given files; {url} is \
                 assumed, which holds if it exists and leaves spec.port at its default"
            );
            return Some(Resolved {
                url,
                warnings: vec![warning],
            });
        };
        let mut warnings = Vec::new();
        let (ours, theirs) = (Running::of(&subject.object), Running::of_coordinator(&coordinator.spec));
        if let (Some(ours), Some(theirs)) = (ours.stated, theirs.stated)
            && ours != theirs
        {
            warnings.push(format!(
                "spec.coordinator.ref.name: {name} runs LMCache {theirs} and the engine {ours}; across releases reports \
                 may be lost, so let both run the same one"
            ));
        }
        let (chunk, index) = (chunk_size(engine), coordinator.spec.blend_chunk_size);
        let index = index.unwrap_or(DEFAULT_BLEND_CHUNK_SIZE);
        if subject.document.kind == Kind::CacheBlendEngine && chunk != index {
            warnings.push(format!(
                "spec.server.chunkSize {chunk} is not the spec.blendChunkSize of {name}, {index}; the coordinator finds \
                 no chunk of another size"
            ));
        }
        Some(Resolved {
            url: coordinator_url(name, namespace, &coordinator.spec),
            warnings,
        })
    }

    /// Where the coordinator of that name is, as the Go operator tells engines; `None` if it is not among the files.
    pub fn legacy_coordinator(&self, namespace: &str, name: &str) -> Option<String> {
        let (coordinator, _) = self.find(namespace, name)?;
        legacy::coordinator_url(&coordinator.document.object)
    }

    /// The Secret of that name among the files. Of several the last one counts, as with `kubectl apply`.
    pub fn secret(&self, namespace: &str, name: &str) -> Option<&Value> {
        let is = |secret: &Value, pointer: &str, text: &str| secret.pointer(pointer).is_some_and(|found| found == text);
        let mut secrets = self.secrets.iter().rev();
        secrets.find(|secret| is(secret, "/metadata/namespace", namespace) && is(secret, "/metadata/name", name))
    }

    fn find(&self, namespace: &str, name: &str) -> Option<(&Subject, &Object<LMCacheCoordinatorSpec>)> {
        let mut subjects = self.subjects.iter();
        subjects.find_map(|subject| match &subject.object {
            AnyObject::LMCacheCoordinator(coordinator) if subject.place() == (namespace, name) => {
                Some((subject, coordinator))
            }
            _ => None,
        })
    }
}
