//! A compiled policy and its three operations.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Cache, Config, Engine, Module};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::context::EvaluationContext;
use crate::host::{self, HostCall, Journal, LogRecord};
use crate::metadata::Metadata;
use crate::request::AdmissionRequest;
use crate::response::{AdmissionResponse, ValidationResponse};

/// A policy, compiled once. Clones are cheap and share the code; each call gets a fresh instance.
#[derive(Clone)]
pub struct Policy {
    pre: WasmtimeEngineProviderPre,
    metadata: Option<Metadata>,
    /// In ticks of the engine's clock; only for an engine that has one.
    deadline: Option<u64>,
}

/// One evaluated request.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// What the API server would get.
    pub response: AdmissionResponse,
    /// The host calls that passed the capability gate and could be parsed, with their answers, in order.
    pub calls: Vec<HostCall>,
    /// The log records of the guest, in order.
    pub logs: Vec<LogRecord>,
}

impl Evaluation {
    /// How many calls were look-ups in Kubernetes.
    pub fn kubernetes_calls(&self) -> usize {
        self.calls.iter().filter(|call| call.request.is_kubernetes()).count()
    }
}

/// The answer to `validate_settings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsVerdict {
    /// Whether the policy can run with them.
    pub valid: bool,
    /// Why not.
    pub message: Option<String>,
}

impl Policy {
    /// Compiles a wasm file. Compiled code is kept in wasmtime's cache of the user, as `kwctl` does.
    ///
    /// # Errors
    /// Names the file: it cannot be read, is no wasm, asks for imports that the host lacks, or its metadata is broken.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| anyhow!("cannot read policy {}: {e}", path.display()))?;
        Self::from_bytes(&bytes).map_err(|e| anyhow!("{}: {e:#}", path.display()))
    }

    /// Compiles a module held in memory.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file), without the name of a file.
    pub fn from_bytes(wasm: &[u8]) -> Result<Self> {
        Self::compile(wasm, true)
    }

    /// Compiles a module, with or without wasmtime's on-disk cache.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes).
    pub fn compile(wasm: &[u8], cache: bool) -> Result<Self> {
        Self::compile_with(&engine(cache, false)?, wasm)
    }

    /// Compiles a module with an engine that others share.
    pub(crate) fn compile_with(engine: &Engine, wasm: &[u8]) -> Result<Self> {
        let metadata = Metadata::from_wasm(wasm)?;
        let module = Module::new(engine, wasm).map_err(|e| anyhow!("not a WebAssembly module: {}", first_line(&e)))?;
        let pre = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(module)
            .build_pre()
            .map_err(|e| anyhow!("not a Kubewarden policy: {e}"))?;
        Ok(Self {
            pre,
            metadata,
            deadline: None,
        })
    }

    /// Interrupts each call after so many ticks of the engine's clock. Without this, a policy of an engine that can
    /// interrupt is stopped at once.
    #[must_use]
    pub(crate) fn interrupted_after(self, ticks: u64) -> Self {
        Self {
            deadline: Some(ticks),
            ..self
        }
    }

    /// The metadata that `annotate` wrote into the module, if it did.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// Runs a bare module as if it were annotated.
    #[must_use]
    pub fn with_metadata(self, metadata: Metadata) -> Self {
        Self {
            metadata: Some(metadata),
            ..self
        }
    }

    /// Grants a context what the metadata lists as `contextAwareResources`; everything when the module has no metadata.
    pub fn grant_context_aware(&self, context: EvaluationContext) -> EvaluationContext {
        match &self.metadata {
            Some(metadata) => context.context_aware(metadata.context_aware_pairs()),
            None => context.context_aware_any(),
        }
    }

    /// The version of the protocol that the module speaks, `v1` for all there are.
    ///
    /// # Errors
    /// When the module does not start or does not answer.
    pub fn protocol_version(&self) -> Result<String> {
        let context = Arc::new(EvaluationContext::default());
        let answer = self
            .call(&context, &Arc::default(), "protocol_version", b"")
            .map_err(|e| anyhow!("{e}"))
            .context("cannot read the protocol version")?;
        serde_json::from_slice(&answer).map_err(|_| {
            anyhow!(
                "protocol version is not a JSON string: {}",
                String::from_utf8_lossy(&answer)
            )
        })
    }

    /// Asks the policy whether it can run with these settings. A failing guest makes them invalid.
    pub fn validate_settings(&self, settings: &Value, context: &EvaluationContext) -> SettingsVerdict {
        let context = Arc::new(context.clone());
        let payload = settings.to_string();
        match self.call(&context, &Arc::default(), "validate_settings", payload.as_bytes()) {
            Ok(answer) => serde_json::from_slice(&answer).unwrap_or_else(|e| SettingsVerdict {
                valid: false,
                message: Some(format!("cannot convert response: {e}")),
            }),
            Err(e) => SettingsVerdict {
                valid: false,
                message: Some(format!("Error invoking settings validation callback: {e}")),
            },
        }
    }

    /// Evaluates a request in a fresh instance. A guest that fails, traps or answers nonsense refuses it with code 500.
    pub fn validate(&self, request: &AdmissionRequest, settings: &Value, context: &EvaluationContext) -> Evaluation {
        #[derive(Serialize)]
        struct Payload<'a> {
            request: &'a Value,
            settings: &'a Value,
        }
        let uid = request.uid();
        let journal = Arc::new(Journal::default());
        let payload = serde_json::to_vec(&Payload {
            request: request.value(),
            settings,
        });
        let response = match payload {
            Ok(payload) => match self.call(&Arc::new(context.clone()), &journal, "validate", &payload) {
                Ok(answer) => match serde_json::from_slice::<ValidationResponse>(&answer) {
                    Ok(guest) => AdmissionResponse::from_guest(uid, request.object(), guest),
                    Err(e) => AdmissionResponse::internal_error(
                        uid,
                        &format!("cannot deserialize policy validation response: {e}"),
                    ),
                },
                Err(e) => AdmissionResponse::internal_error(uid, &e.to_string()),
            },
            Err(e) => AdmissionResponse::internal_error(uid, &format!("cannot serialize the request: {e}")),
        };
        let response = if context.allowed_to_mutate {
            response
        } else {
            response.forbid_mutation(&context.policy_id)
        };
        Evaluation {
            response,
            calls: journal.take_calls(),
            logs: journal.take_logs(),
        }
    }

    fn call(
        &self,
        context: &Arc<EvaluationContext>,
        journal: &Arc<Journal>,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, wapc::errors::Error> {
        let provider = self
            .pre
            .rehydrate(self.deadline.map(|ticks| EpochDeadlines {
                wapc_init: ticks,
                wapc_func: ticks,
            }))
            .map_err(|e| wapc::errors::Error::InitFailed(e.to_string()))?;
        let (context, journal) = (Arc::clone(context), Arc::clone(journal));
        let callback = move |_id: u64, binding: &str, namespace: &str, operation: &str, payload: &[u8]| {
            host::dispatch(&context, &journal, binding, namespace, operation, payload)
        };
        WapcHost::new(Box::new(provider), Some(Box::new(callback)))?.call(operation, payload)
    }
}

/// An engine, with wasmtime's on-disk cache or without. One that can interrupt counts the ticks that it is given.
pub(crate) fn engine(cache: bool, interruptible: bool) -> Result<Engine> {
    let mut config = Config::new();
    if cache {
        // A read-only home directory is no reason not to run.
        config.cache(Cache::from_file(None).ok());
    }
    config.epoch_interruption(interruptible);
    Engine::new(&config).map_err(|e| anyhow!("cannot start the wasm engine: {e}"))
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
