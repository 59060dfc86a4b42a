//! Where the tests find the compiled policies and the files around them, and the fuzzing harness.

pub mod fuzz;

use policy_host::Policy;
use std::path::{Path, PathBuf};

/// Every policy, by the name of its folder.
pub const POLICIES: [&str; 7] = [
    "engine-validation",
    "connection-injection",
    "payload-staging",
    "cacheblend-injection",
    "pod-injection",
    "injection-guard",
    "workload-preflight",
];

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The annotated module of a policy: in `$POLICIES_DIR`, else in `target/policies`.
pub fn module(policy: &str) -> PathBuf {
    let folder = std::env::var_os("POLICIES_DIR").map_or_else(|| root().join("target/policies"), PathBuf::from);
    folder.join(format!("{policy}.wasm"))
}

/// A compiled policy.
///
/// # Errors
/// The module was not built, or is no policy.
pub fn load(policy: &str) -> Result<Policy, String> {
    Policy::from_file(module(policy)).map_err(|error| format!("{error}: run `make build` first"))
}
