//! The command line of a container, read as vLLM reads it, and edits of it.
//!
//! `command` and `args` are one line. vLLM first rewrites it and then hands it to Python's argparse; what matters here:
//!
//! - In long names `_` is `-`, up to the first dot. Any beginning of a long name that is unique will do (`--kv-t`).
//! - `--flag value` and `--flag=value` are the same. A word that starts with `-` is an option and never the value of another
//!   one, unless it is a lone `-`, a negative number, or has a space in its name.
//! - The last occurrence of a flag wins, and the last of an on/off pair.
//! - Dotted flags (`--kv-transfer-config.kv_role kv_both`) are collected into one JSON object that is put at the very end: it
//!   replaces every `--kv-transfer-config`, before or behind. Their value is the next word, whatever it looks like.
//! - After a lone `--` everything is positional.
//!
//! [`crate::Edit::SetFlag`] and [`crate::Edit::SetSwitch`] leave exactly one occurrence. One that says so already stays as it is;
//! a single other one is changed where it stands; otherwise all are removed and the flag is appended. What stands in
//! `command` is never touched: an appended flag then wins by being last, or, where it cannot, the edit is an error.

mod dotted;
mod edit;
mod flag;
mod launcher;
mod line;
mod scan;

pub use flag::{
    ASYNC_SCHEDULING, ATTENTION_BACKEND, ATTENTION_CONFIG, BLOCK_SIZE, COMPILATION_CONFIG,
    DISABLE_HYBRID_KV_CACHE_MANAGER, ENABLE_CHUNKED_PREFILL, ENFORCE_EAGER, Flag, FlagKind, KV_TRANSFER_CONFIG,
    LongName, MAX_MODEL_LEN, MAX_NUM_BATCHED_TOKENS, MAX_NUM_PARTIAL_PREFILLS, PIPELINE_PARALLEL_SIZE,
    TENSOR_PARALLEL_SIZE,
};
pub use launcher::Launcher;
pub use line::{CommandLine, FlagUse};
pub use scan::{Form, Occurrence};

pub(crate) use edit::{Wanted, append, replaced_by, set};

use serde_json::Value;

/// Every occurrence of a flag on a container's command line as it is written: what [`crate::Edit::SetFlag`] with a new value
/// would replace. [`crate::Edit::replaces`] tells it for a given value.
pub fn replaced(container: &Value, flag: &Flag) -> Vec<String> {
    let line = CommandLine::of(container);
    line.occurrences(flag)
        .iter()
        .map(|occurrence| line.text(occurrence))
        .collect()
}
