//! The fields of the three kinds, named as Kubernetes names them.
//!
//! Every field is optional in Rust: an absent block and an empty block (`nodeSelector: {}`) mean different things and
//! both survive a round trip. What must be there is said by [`crate::validate`], not by the types, so that a broken
//! object can still be read as far as it goes. "Default" in a field's description is what the API server stores when
//! the surrounding block is present; code that reads an object without stored defaults falls back to the same values.
//!
//! Pass-through fields (`affinity`, `tolerations`, `env`, `volumes`, ...) stay JSON: typed structs would drop what is
//! newer than themselves and refuse integer quantities such as `cpu: 4`.

mod cacheblend;
mod coordinator;
mod engine;
mod l2;
mod shared;
mod status;
mod view;

pub use cacheblend::*;
pub use coordinator::*;
pub use engine::*;
pub use l2::*;
pub use shared::*;
pub use status::*;
pub(crate) use view::ViewSpec;
