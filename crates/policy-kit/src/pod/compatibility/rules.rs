//! The rule set: what the [`table`](super::table) says about a pair of releases, and which releases it says would do.

use super::table::{FITS, FLAGS, LMCACHE, NEWEST_VLLM};
use lmcache_api::Release;

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
}

impl Fit {
    /// Does the engine serve?
    pub fn works(self) -> bool {
        matches!(self, Self::Loads | Self::NoLayoutHint | Self::OwnConnector)
    }
}

/// The releases of vLLM that know a flag.
#[derive(Debug)]
pub(super) struct FlagSpan {
    /// As it is written: `--no-async-scheduling` is one of its own.
    pub name: &'static str,
    /// The first release that knows it.
    pub from: Release,
    /// The first release that knows it no more.
    pub before: Option<Release>,
}

/// What the table says about one vLLM: from which client on, which fit.
pub(super) struct Clients(&'static [(Release, Release, Fit)]);

impl Clients {
    /// The clients of a vLLM; `None` for one that is older or newer than what was read.
    pub fn of(vllm: Release) -> Option<Self> {
        if vllm > NEWEST_VLLM {
            return None;
        }
        let end = FITS.iter().rposition(|row| row.0 <= vllm)? + 1;
        let first = FITS.get(end - 1)?.0;
        let start = FITS.iter().position(|row| row.0 == first)?;
        FITS.get(start..end).map(Self)
    }

    /// Is there a client that works?
    pub fn any_works(&self) -> bool {
        self.0.iter().any(|row| row.2.works())
    }

    /// What becomes of a client. Older ones than were read have no connector either, so they fare as the oldest.
    pub fn fit(&self, client: Release) -> Option<Fit> {
        let row = self.0.iter().rfind(|row| row.1 <= client);
        row.or(self.0.first()).map(|row| row.2)
    }

    /// The clients of one fit, as words: `0.4.2 to 0.4.7`, `0.5.5 or newer`; the newest run of them.
    pub fn with(&self, fit: Fit) -> Option<String> {
        let at = self.0.iter().rposition(|row| row.2 == fit)?;
        let first = self.0.get(at)?.1;
        Some(match self.0.get(at + 1) {
            None => format!("{first} or newer"),
            Some(next) => match LMCACHE.iter().rfind(|release| **release < next.1) {
                Some(last) if *last != first => format!("{first} to {last}"),
                _ => first.to_string(),
            },
        })
    }

    /// What to change for a client that does not work in this vLLM: vLLM where a newer one takes it, else the client.
    pub fn remedy(&self, vllm: Release, client: Release) -> String {
        let newer = vllm_for(client).filter(|(first, _)| *first > vllm);
        let clients = || self.with(Fit::Loads).or_else(|| self.with(Fit::OwnConnector));
        match newer.map_or_else(clients, |_| None) {
            Some(clients) => format!("use LMCache {clients}"),
            None => use_vllm_for(client),
        }
    }
}

/// The newest run of vLLM releases in which a client's connector loads: its first, and the first behind it.
fn vllm_for(client: Release) -> Option<(Release, Option<Release>)> {
    let mut found = None;
    for row in &FITS {
        let loads = Clients::of(row.0)
            .and_then(|clients| clients.fit(client))
            .is_some_and(|fit| matches!(fit, Fit::Loads | Fit::NoLayoutHint));
        found = match found {
            Some((first, None)) if !loads => Some((first, Some(row.0))),
            Some((_, Some(_))) | None if loads => Some((row.0, None)),
            found => found,
        };
    }
    found
}

/// The advice to use a vLLM in which this client's connector loads.
pub(super) fn use_vllm_for(client: Release) -> String {
    match vllm_for(client) {
        Some((first, None)) => format!("use vLLM {first} or newer"),
        Some((first, Some(next))) => format!("use vLLM {first} or newer, but older than {next}"),
        None => "use other releases of vLLM and LMCache".to_owned(),
    }
}

/// What to do for a flag that a vLLM does not know, as it is written; `None` where it knows the flag, or is newer than what
/// was read.
pub(super) fn flag_remedy(vllm: Release, name: &str) -> Option<String> {
    let span = FLAGS.iter().find(|span| span.name == name)?;
    if vllm < span.from {
        return Some(format!("use vLLM {} or newer", span.from));
    }
    let before = span.before.filter(|before| *before <= vllm)?;
    Some(format!("use a vLLM older than {before}"))
}
