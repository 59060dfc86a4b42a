//! What every policy of this project shares.
//!
//! A policy is a thin shell around this crate: it decodes the request ([`request`]), asks for a decision that is a pure
//! function of the request, the settings and the look-ups ([`pod`], [`engine`]), and encodes the answer ([`response`]).
//!
//! | module | what it holds |
//! |---|---|
//! | [`request`] | the two-step reading of an admission request: its head first, the object only when it matters |
//! | [`cluster`] | look-ups behind one trait with four answers, and the waPC implementation |
//! | [`keys`] | every label, annotation and object name that is part of the contract |
//! | [`pod`] | the decision about a Pod: opt-in, engine, target container, connection, IPC |
//! | [`engine`] | the decision about an engine or coordinator: faults, ratcheting, name clashes, image rules |
//! | [`guard`] | the decision about what the policies wrote on a Pod: stamps that are true, keys that stay, wiring that is up to date |
//! | [`workload`] | the advice about Deployments, Jobs and their like: the decision about the Pods of their templates |
//! | [`response`] | the answer with warnings and audit annotations |
//! | [`log`] | one record for each decision |
//! | [`settings`] | settings errors, sorted and named as the user wrote them |
//! | [`text`] | text that may stand in a warning header |

pub mod cluster;
pub mod engine;
mod enums;
pub mod guard;
pub mod keys;
pub mod log;
pub mod pod;
pub mod request;
pub mod response;
pub mod settings;
pub mod text;
pub mod workload;

/// Registers the three functions that the host calls on every policy.
///
/// `validate` and `validate_settings` receive the raw payload and return the raw answer.
#[macro_export]
macro_rules! register_policy {
    ($validate:path, $validate_settings:path) => {
        /// Entry point that the host calls once per instance.
        // `no_mangle` is an unsafe attribute since Rust 2024: the name must be unique in the module, and it is.
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub extern "C" fn wapc_init() {
            use kubewarden_policy_sdk::wapc_guest::register_function;
            register_function("validate", $validate);
            register_function("validate_settings", $validate_settings);
            register_function("protocol_version", kubewarden_policy_sdk::protocol_version_guest);
        }
    };
}
