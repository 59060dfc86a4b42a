//! Pure edits of a Pod held as a [`serde_json::Value`].
//!
//! A policy that rewrites Pods must give back every byte that it does not own: fields that are newer than itself, `null`s,
//! the order of lists and of keys. Typed Pods cannot do that, so this crate reads and edits the JSON directly.
//!
//! - **Reading** ([`container`], [`mod@env`], [`volume`], [`metadata`], [`args`]) never fails: a member that is absent, `null` or
//!   of the wrong type reads as absent.
//! - **Editing** goes through a [`Plan`]: a list of [`Edit`]s that is applied whole or not at all. An edit that finds itself
//!   already done changes nothing, so applying a plan twice is the same as applying it once. An edit that would have to
//!   overwrite something of the user's, or that meets a member of the wrong type, is an [`EditError`], and the Pod stays as
//!   it was.
//!
//! Admission hosts turn the edited Pod into a JSON patch by comparing it with the original, lists by index. So edits append
//! to lists and never insert in front or reorder; the exceptions are a `--` in `args`, before which arguments have to stand, and
//! [`Edit::OrderTail`], which sorts entries that are exactly what is appended.
//!
//! What is not done here: deciding which container is the target, which edits a Pod needs, or what to do about an error.

pub mod args;
pub mod container;
pub mod env;
mod error;
mod json;
pub mod metadata;
mod plan;
pub mod pod;
mod tail;
pub mod volume;

pub use error::EditError;
pub use plan::{Edit, Plan, Tail};
