//! Did the Pod ask for wiring, and for which of the two systems?

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::settings::OptIn;
use super::system::System;
use crate::keys::{CACHEBLEND, MIRROR_POD, SystemKeys};
use crate::request::MetadataHead;
use pod_edit::metadata;
use serde_json::Value;
use std::borrow::Cow;

/// Something with labels and annotations: a whole Pod, or only the head of one.
pub trait Labelled {
    /// The value of a label.
    fn label(&self, key: &str) -> Option<Cow<'_, str>>;
    /// The value of an annotation.
    fn annotation(&self, key: &str) -> Option<Cow<'_, str>>;
}

impl Labelled for Value {
    fn label(&self, key: &str) -> Option<Cow<'_, str>> {
        metadata::label(self, key).map(Cow::Borrowed)
    }

    fn annotation(&self, key: &str) -> Option<Cow<'_, str>> {
        metadata::annotation(self, key).map(Cow::Borrowed)
    }
}

impl Labelled for MetadataHead<'_> {
    fn label(&self, key: &str) -> Option<Cow<'_, str>> {
        MetadataHead::label(self, key)
    }

    fn annotation(&self, key: &str) -> Option<Cow<'_, str>> {
        MetadataHead::annotation(self, key)
    }
}

/// The answer, decided from labels and annotations alone, before any look-up.
#[derive(Debug, PartialEq, Eq)]
pub enum OptedIn {
    /// It did not.
    No,
    /// It did, to the engine in this annotation.
    To(String),
    /// It did, but nothing can come of it.
    Incomplete(Skip),
}

impl OptedIn {
    /// Reads the opt-in to an engine of one system.
    pub fn of(pod: &dyn Labelled, opt_in: OptIn, system: &System) -> Self {
        let engine = |keys: &SystemKeys| {
            let name = pod.annotation(keys.engine)?.trim().to_owned();
            (!name.is_empty()).then_some(name)
        };
        let labelled =
            |keys: &SystemKeys| opt_in == OptIn::Annotation || pod.label(keys.inject).as_deref() == Some("true");
        let keys = system.keys;
        if !labelled(keys) || pod.annotation(MIRROR_POD).is_some() {
            return Self::No;
        }
        let Some(name) = engine(keys) else {
            if opt_in == OptIn::Annotation {
                return Self::No;
            }
            return Self::Incomplete(Skip::new(
                SkipReason::EngineAnnotationMissing,
                format!(
                    "the Pod has the label {} but no annotation {}",
                    keys.inject, keys.engine
                ),
                "name the engine in that annotation",
            ));
        };
        // A label without its annotation is no opt-in, so only a complete one takes precedence.
        if !system.blends() && labelled(&CACHEBLEND) && engine(&CACHEBLEND).is_some() {
            return Self::Incomplete(Skip::new(
                SkipReason::CacheblendTakesPrecedence,
                "the Pod asks for an LMCacheEngine and for a CacheBlendEngine, which takes precedence",
                "ask for one of them",
            ));
        }
        Self::To(name)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    fn of(labels: &[(&str, &str)], annotations: &[(&str, &str)], opt_in: OptIn) -> Result<String, Option<SkipReason>> {
        let map = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(key, value)| ((*key).into(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
        };
        match OptedIn::of(
            &json!({"metadata": {"labels": map(labels), "annotations": map(annotations)}}),
            opt_in,
            &crate::pod::LMCACHE,
        ) {
            OptedIn::No => Err(None),
            OptedIn::To(name) => Ok(name),
            OptedIn::Incomplete(skip) => Err(Some(skip.reason)),
        }
    }

    const LABEL: (&str, &str) = ("lmcache.ai/lmcache-inject", "true");
    const ENGINE: (&str, &str) = ("lmcache.ai/lmcache-engine", " kv ");
    const BLEND_LABEL: (&str, &str) = ("lmcache.ai/cacheblend-inject", "true");
    const BLEND_ENGINE: (&str, &str) = ("lmcache.ai/cacheblend-engine", "blend");

    #[test]
    fn label_and_annotation_together() {
        assert_eq!(of(&[LABEL], &[ENGINE], OptIn::Label), Ok("kv".into()));
        assert_eq!(of(&[], &[ENGINE], OptIn::Label), Err(None));
        assert_eq!(
            of(&[("lmcache.ai/lmcache-inject", "True")], &[ENGINE], OptIn::Label),
            Err(None)
        );
        for annotations in [&[][..], &[("lmcache.ai/lmcache-engine", "  ")]] {
            assert_eq!(
                of(&[LABEL], annotations, OptIn::Label),
                Err(Some(SkipReason::EngineAnnotationMissing))
            );
        }
    }

    #[test]
    fn the_annotation_alone_where_the_setting_says_so() {
        assert_eq!(of(&[], &[ENGINE], OptIn::Annotation), Ok("kv".into()));
        assert_eq!(of(&[LABEL], &[], OptIn::Annotation), Err(None));
        assert_eq!(
            of(&[], &[ENGINE, BLEND_ENGINE], OptIn::Annotation),
            Err(Some(SkipReason::CacheblendTakesPrecedence))
        );
    }

    #[test]
    fn a_complete_cacheblend_opt_in_takes_precedence() {
        let both = [LABEL, BLEND_LABEL];
        assert_eq!(
            of(&both, &[ENGINE, BLEND_ENGINE], OptIn::Label),
            Err(Some(SkipReason::CacheblendTakesPrecedence))
        );
        assert_eq!(of(&both, &[ENGINE], OptIn::Label), Ok("kv".into()));
        assert_eq!(
            of(&both, &[BLEND_ENGINE], OptIn::Label),
            Err(Some(SkipReason::EngineAnnotationMissing))
        );
        assert_eq!(of(&[LABEL], &[ENGINE, BLEND_ENGINE], OptIn::Label), Ok("kv".into()));
        assert_eq!(of(&[BLEND_LABEL], &[BLEND_ENGINE], OptIn::Label), Err(None));
    }
}
