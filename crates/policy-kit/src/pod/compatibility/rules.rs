//! What the [`table`](super::table) says about a pair of releases.

use super::packed::Packed;
use super::table::{FLAGS, NEWEST_VLLM, OLDEST_LMCACHE, ROWS};

/// What becomes of a client where the connection names LMCache's connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It loads.
    Loads,
    /// It loads, but cannot ask vLLM for the layout of its KV cache, and tells the server nothing about it.
    NoLayoutHint,
    /// vLLM ignores which connector is named and runs its own, which works with this client.
    OwnConnector,
    /// vLLM runs its own, which fails: when it loads, or at the first store or load.
    OwnConnectorFails,
    /// The client has no such connector yet.
    NoModule,
    /// The connector needs something that this vLLM has not.
    DoesNotLoad,
    /// No client at all works in this vLLM.
    NoClient,
}

/// What becomes of the clients from `client` on in the vLLM releases from `vllm` on, each up to the next row.
#[derive(Debug)]
pub(super) struct Row {
    pub vllm: Packed,
    pub client: Packed,
    pub fit: Fit,
    /// What to do about it; for [`Fit::OwnConnector`] what holds. Empty where all is well.
    pub advice: &'static str,
}

/// A flag that some vLLM does not know.
#[derive(Debug)]
pub(super) struct Flag {
    /// As it is written: `--no-async-scheduling` is one of its own.
    pub name: &'static str,
    /// The first vLLM that knows it.
    pub from: Packed,
    /// The first vLLM that knows it no more.
    pub before: Option<Packed>,
    /// What to do where it is not known.
    pub advice: &'static str,
}

/// What becomes of a client in a vLLM. Clients that are older than those that were read have no connector either, so they
/// fare as the oldest. Of a client that is not known: what holds for any. `None` where nothing is known.
pub(super) fn row(vllm: Packed, client: Option<Packed>) -> Option<&'static Row> {
    if vllm > NEWEST_VLLM {
        return None;
    }
    let first = ROWS.iter().rfind(|row| row.vllm <= vllm)?.vllm;
    ROWS.iter().rfind(|row| {
        row.vllm == first
            && match client {
                Some(client) => row.client <= client.max(OLDEST_LMCACHE),
                None => matches!(row.fit, Fit::NoClient | Fit::OwnConnector),
            }
    })
}

/// What to do for a flag, as it is written, that a vLLM does not know. `None` where it knows it, or is newer than what was
/// read.
pub(super) fn without_flag(vllm: Packed, name: &str) -> Option<&'static str> {
    let flag = FLAGS.iter().find(|flag| flag.name == name)?;
    let known = vllm >= flag.from && flag.before.is_none_or(|before| vllm < before);
    (!known).then_some(flag.advice)
}
