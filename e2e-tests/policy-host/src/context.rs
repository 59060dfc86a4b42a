//! Under which conditions a policy is evaluated.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::host::{CapabilityPatterns, HostCapabilities, LogRecord, NoCluster};

/// Receives the log records of a guest while it runs.
pub type LogSink = Arc<dyn Fn(&LogRecord) + Send + Sync>;

/// Rights and surroundings of a policy. The defaults are those of `kwctl run`: every capability, no Kubernetes resource,
/// mutation allowed.
#[derive(Clone)]
pub struct EvaluationContext {
    pub(crate) host: Arc<dyn HostCapabilities>,
    pub(crate) capabilities: CapabilityPatterns,
    pub(crate) host_call_delay: Duration,
    pub(crate) allowed_to_mutate: bool,
    pub(crate) policy_id: String,
    context_aware: ContextAware,
    log_sink: Option<LogSink>,
}

#[derive(Clone)]
enum ContextAware {
    Listed(BTreeSet<(String, String)>),
    Any,
}

impl EvaluationContext {
    /// A context whose host calls `host` answers.
    pub fn new(host: impl HostCapabilities + 'static) -> Self {
        Self {
            host: Arc::new(host),
            capabilities: CapabilityPatterns::all(),
            host_call_delay: Duration::ZERO,
            allowed_to_mutate: true,
            policy_id: "policy-host".to_owned(),
            context_aware: ContextAware::Listed(BTreeSet::new()),
            log_sink: None,
        }
    }

    /// A context without a cluster.
    pub fn without_cluster() -> Self {
        Self::new(NoCluster)
    }

    /// The capabilities the policy may use.
    #[must_use]
    pub fn allow_capabilities(self, capabilities: CapabilityPatterns) -> Self {
        Self { capabilities, ..self }
    }

    /// The (apiVersion, kind) pairs the policy may get and list, as `contextAwareResources` of a ClusterAdmissionPolicy.
    #[must_use]
    pub fn context_aware(self, resources: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Self {
        let listed = resources
            .into_iter()
            .map(|(version, kind)| (version.into(), kind.into()));
        Self {
            context_aware: ContextAware::Listed(listed.collect()),
            ..self
        }
    }

    /// Lets the policy get and list every kind: for modules that carry no metadata.
    #[must_use]
    pub fn context_aware_any(self) -> Self {
        Self {
            context_aware: ContextAware::Any,
            ..self
        }
    }

    /// Delays every host call, as a slow API server would.
    #[must_use]
    pub fn host_call_delay(self, host_call_delay: Duration) -> Self {
        Self {
            host_call_delay,
            ..self
        }
    }

    /// Whether a patch is allowed (`spec.mutating` of the policy's manifest); `false` turns one into a refusal.
    #[must_use]
    pub fn allowed_to_mutate(self, allowed_to_mutate: bool) -> Self {
        Self {
            allowed_to_mutate,
            ..self
        }
    }

    /// The name used in the refusal of a forbidden mutation.
    #[must_use]
    pub fn policy_id(self, policy_id: impl Into<String>) -> Self {
        Self {
            policy_id: policy_id.into(),
            ..self
        }
    }

    /// Hears log records as they are written; they are also part of the [`Evaluation`](crate::Evaluation).
    #[must_use]
    pub fn log_to(self, sink: impl Fn(&LogRecord) + Send + Sync + 'static) -> Self {
        Self {
            log_sink: Some(Arc::new(sink)),
            ..self
        }
    }

    pub(crate) fn may_read(&self, api_version: &str, kind: &str) -> bool {
        match &self.context_aware {
            ContextAware::Any => true,
            ContextAware::Listed(listed) => listed
                .iter()
                .any(|(listed_version, listed_kind)| listed_version == api_version && listed_kind == kind),
        }
    }

    pub(crate) fn log(&self, record: &LogRecord) {
        if let Some(sink) = &self.log_sink {
            sink(record);
        }
    }
}

impl Default for EvaluationContext {
    fn default() -> Self {
        Self::without_cluster()
    }
}
