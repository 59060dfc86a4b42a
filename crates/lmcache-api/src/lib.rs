//! The kinds of `lmcache.lmcache.ai/v1alpha1`: types, defaults, validation and the connection JSON.
//!
//! Everything here is a pure function of its arguments, so that an admission policy (wasm) and a controller that use
//! this crate can never disagree about a custom resource:
//!
//! | Question | Function |
//! |---|---|
//! | What does this JSON say, as far as it can be read? | [`decode`]; of an engine, as far as its Pods are concerned: [`EngineView`] |
//! | What is wrong with it? | [`validate`] |
//! | What is legal but probably not meant? | [`warnings`] |
//! | Which images does it run? | [`image_refs`] |
//! | How do Pods reach the engine's shared memory? | [`ipc_mode`] |
//! | What does vLLM get as `--kv-transfer-config`? | [`connection_config`] |
//!
//! Without features the crate needs serde only. Feature `crd` adds `kube::CustomResource` and the OpenAPI schema, which
//! is made from the same field table (`schema.rs`) that [`decode`] walks.

mod chunk_size;
mod connection;
#[cfg(feature = "crd")]
pub mod crd;
mod decode;
mod defaults;
mod engine;
pub mod fault;
pub mod go_json;
mod image;
mod ipc;
mod kind;
pub mod names;
mod object;
pub mod quantity;
mod release;
mod schema;
pub mod spec;
mod validate;
mod view;
mod warnings;
mod words;

pub use chunk_size::chunk_size;
pub use connection::{
    CACHEBLEND_CONNECTOR, CACHEBLEND_MODULE, CONNECTION_KEY, CONNECTION_KEY_DECODER, CONNECTION_KEY_PREFILLER,
    ConnectionConfig, LMCACHE_CONNECTOR, LMCACHE_MODULE, PdRole, connection_config, connection_key,
};
pub use decode::{Decoded, decode};
pub use engine::{EngineRef, EngineSpec};
pub use fault::{FaultKind, FieldError};
pub use image::{DEFAULT_REPOSITORY, DEFAULT_TAG, ImageRef, image_parts, image_refs, is_default_repository};
pub use ipc::{IpcMode, ipc_mode};
pub use kind::{API_VERSION, GROUP, Kind, VERSION};
pub use object::{AnyObject, Object, ObjectMeta};
pub use release::{Release, image_release, server_release};
pub use spec::*;
pub use validate::validate;
pub use view::EngineView;
pub use warnings::{one_line, warnings};
