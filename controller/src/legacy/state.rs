//! The states of the Go operator.

use std::str::FromStr;

/// A state of the Go operator, the older the less. Each release is one, unless another renders the same workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// LMCache 0.5.0: host IPC always, and a privileged container always.
    ///
    /// Its CRD also refuses the words `noop` and `retain` for policies, which is not told apart: an object that is stored with
    /// one of them was stored under a later CRD, and this operator renders whatever it reads.
    V0_5_0,
    /// July 2026: `privileged`, `injection` of an LMCacheEngine. It has everything of 0.5.2 but `hostNetwork`.
    July,
    /// LMCache 0.5.1: `hostNetwork`. 0.5.2, which adds `injection`, renders the same.
    V0_5_1,
    /// LMCache 0.5.3: `serde`, and the new names of the flags of event reporting.
    V0_5_3,
    /// LMCache 0.5.4: `hostIPC`, else the host's `/dev/shm`; `initContainers`, `pd`, `partialBucket`; a large first tier has
    /// longer to start.
    V0_5_4,
    /// LMCache 0.5.5: isolated IPC on NVIDIA unless the engine says otherwise, `pd` of a CacheBlendEngine.
    V0_5_5,
    /// September 2026, the newest one seen: `runtimeClassName`, and labels of the selector that win over `podLabels`.
    ///
    /// LMCache 0.5.6 renders the same. It alone refuses a CacheBlendEngine that has `pd` and no payload image.
    Newest,
}

/// Releases that render what another state renders.
const ALIKE: [(&str, State); 2] = [("0.5.2", State::V0_5_1), ("0.5.6", State::Newest)];

impl State {
    /// Every state, the oldest first.
    pub const ALL: [State; 7] = [
        State::V0_5_0,
        State::July,
        State::V0_5_1,
        State::V0_5_3,
        State::V0_5_4,
        State::V0_5_5,
        State::Newest,
    ];

    /// The name: a release, `july` or `newest`.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::V0_5_0 => "0.5.0",
            State::July => "july",
            State::V0_5_1 => "0.5.1",
            State::V0_5_3 => "0.5.3",
            State::V0_5_4 => "0.5.4",
            State::V0_5_5 => "0.5.5",
            State::Newest => "newest",
        }
    }
}

impl FromStr for State {
    type Err = String;

    /// Reads a name, or a release that renders the same as one.
    fn from_str(text: &str) -> Result<Self, String> {
        let names = State::ALL.map(|state| (state.as_str(), state));
        let state = names.into_iter().chain(ALIKE).find(|(name, _)| *name == text);
        state.map(|(_, state)| state).ok_or_else(|| {
            format!("unknown state {text:?} of the Go operator, expected july, newest or a release from 0.5.0 to 0.5.6")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_a_state() {
        assert!(State::ALL.is_sorted());
        let states: Vec<State> = (0..=6).map(|patch| format!("0.5.{patch}").parse().unwrap()).collect();
        assert!(states.is_sorted());
        assert_eq!((states[2], states[6]), (State::V0_5_1, State::Newest));
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("0.5.7".parse::<State>().unwrap_err().contains("0.5.6"));
    }
}
