//! An embedded [Kubewarden](https://kubewarden.io) policy runner: it loads a policy compiled to wasm, speaks the waPC
//! protocol of Kubewarden's Rust SDK with it and answers its host calls, from files instead of a cluster.
//!
//! It exists for tests and demonstrations on machines without `kwctl`; production runs policies in Kubewarden's
//! policy-server. Inputs and outputs are those of `kwctl run`, so every file works with both.
//!
//! ```no_run
//! use policy_host::host::ClusterDir;
//! use policy_host::{AdmissionRequest, EvaluationContext, Policy};
//!
//! # fn main() -> anyhow::Result<()> {
//! let policy = Policy::from_file("policy.wasm")?;
//! let context = EvaluationContext::new(ClusterDir::load("cluster.yaml")?).context_aware_any();
//! let request = AdmissionRequest::from_file("pod.yaml")?;
//! let evaluation = policy.validate(&request, &serde_json::json!({}), &context);
//! assert!(evaluation.response.allowed);
//! assert_eq!(evaluation.calls.len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Policy`] is compiled once and shared freely between threads; each call runs in a fresh instance, as in
//! policy-server. Calls block: inside an async runtime use `spawn_blocking`.

pub mod check;
pub mod cli;
pub mod context;
pub mod demo;
pub mod document;
pub mod fixture;
pub mod host;
pub mod metadata;
pub mod page;
pub mod policy;
pub mod request;
pub mod response;
pub mod serve;

pub use context::EvaluationContext;
pub use policy::{Evaluation, Policy, SettingsVerdict};
pub use request::AdmissionRequest;
pub use response::{AdmissionResponse, Status, ValidationResponse};
