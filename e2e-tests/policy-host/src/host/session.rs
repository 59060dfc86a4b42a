//! Recorded sessions in the format of `kwctl run --replay-host-capabilities-interactions` and
//! `--record-host-capabilities-interactions`.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use super::{HostCapabilities, HostRequest, lock};
use crate::document;

/// One element of a session file; the request is a string that is YAML itself.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Exchange {
    Exchange { request: String, response: Response },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Response {
    Success { payload: String },
    Error { message: String },
}

/// Answers from a recorded session: each call takes the next exchange, and its request must be equal.
#[derive(Debug)]
pub struct Replay(Mutex<VecDeque<(HostRequest, Response)>>);

impl Replay {
    /// Reads a session file.
    ///
    /// # Errors
    /// Names the file, the exchange and what is wrong with it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::parse(&document::read_text(path)?)
            .map_err(|e| anyhow!("{}: not a recorded session: {e:#}", path.display()))
    }

    /// Parses the text of a session file.
    ///
    /// # Errors
    /// Names the exchange and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        let exchanges: Vec<Exchange> = yaml_serde::from_str(text)?;
        let mut queue = VecDeque::new();
        for (index, Exchange::Exchange { request, response }) in exchanges.into_iter().enumerate() {
            let request = yaml_serde::from_str(&request).with_context(|| format!("request of exchange {index}"))?;
            queue.push_back((request, response));
        }
        Ok(Self(Mutex::new(queue)))
    }

    /// The requests that nobody made, in order.
    pub fn leftovers(&self) -> Vec<HostRequest> {
        lock(&self.0).iter().map(|(request, _)| request.clone()).collect()
    }
}

impl HostCapabilities for Replay {
    fn answer(&self, request: &HostRequest) -> Result<Vec<u8>, String> {
        match lock(&self.0).pop_front() {
            None => Err("the list of recorded responses is empty".to_owned()),
            Some((expected, _)) if expected != *request => Err(format!(
                "Replay error: unexpected request. Was expecting {expected:?}, got {request:?} instead"
            )),
            Some((_, Response::Success { payload })) => Ok(payload.into_bytes()),
            Some((_, Response::Error { message })) => Err(message),
        }
    }
}

/// Hands calls on and keeps what was asked and answered.
pub struct Recorder<H> {
    inner: H,
    exchanges: Mutex<Vec<Exchange>>,
}

impl<H: HostCapabilities> Recorder<H> {
    /// Records the calls that `inner` answers.
    pub fn new(inner: H) -> Self {
        Self {
            inner,
            exchanges: Mutex::new(Vec::new()),
        }
    }

    /// The session file, as YAML.
    ///
    /// # Errors
    /// When an exchange cannot be written as YAML.
    pub fn session(&self) -> Result<String> {
        Ok(yaml_serde::to_string(&*lock(&self.exchanges))?)
    }
}

impl<H: HostCapabilities> HostCapabilities for Recorder<H> {
    fn answer(&self, request: &HostRequest) -> Result<Vec<u8>, String> {
        let answer = self.inner.answer(request);
        let response = match &answer {
            Ok(payload) => Response::Success {
                payload: String::from_utf8_lossy(payload).into_owned(),
            },
            Err(message) => Response::Error {
                message: message.clone(),
            },
        };
        let request = yaml_serde::to_string(request).map_err(|e| format!("cannot record the request: {e}"))?;
        lock(&self.exchanges).push(Exchange::Exchange { request, response });
        answer
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::NoCluster;
    use super::*;

    const SESSION: &str = r#"
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Namespace
    name: team-a
    namespace: null
    disable_cache: false
  response:
    type: Success
    payload: '{"kind":"Namespace"}'
- type: Exchange
  request: |
    !KubernetesListResourceAll
    api_version: v1
    kind: Pod
    label_selector: null
  response: {type: Error, message: boom}
"#;

    fn get(name: &str) -> HostRequest {
        HostRequest::KubernetesGetResource {
            api_version: "v1".into(),
            kind: "Namespace".into(),
            name: name.into(),
            namespace: None,
            disable_cache: false,
            field_masks: None,
        }
    }

    fn list() -> HostRequest {
        HostRequest::KubernetesListResourceAll {
            api_version: "v1".into(),
            kind: "Pod".into(),
            label_selector: None,
            field_selector: None,
            field_masks: None,
            disable_cache: false,
        }
    }

    #[test]
    fn replays_in_order_until_used_up() {
        let replay = Replay::parse(SESSION).unwrap();
        assert_eq!(replay.leftovers(), [get("team-a"), list()]);
        assert_eq!(replay.answer(&get("team-a")).unwrap(), br#"{"kind":"Namespace"}"#);
        assert_eq!(replay.answer(&list()).unwrap_err(), "boom");
        assert_eq!(
            replay.answer(&list()).unwrap_err(),
            "the list of recorded responses is empty"
        );
    }

    #[test]
    fn a_mismatch_uses_the_exchange_up() {
        let replay = Replay::parse(SESSION).unwrap();
        let error = replay.answer(&get("team-b")).unwrap_err();
        assert!(error.starts_with(
            "Replay error: unexpected request. Was expecting KubernetesGetResource { api_version: \"v1\""
        ));
        assert!(
            error.contains("got KubernetesGetResource") && error.ends_with("instead"),
            "{error}"
        );
        assert_eq!(replay.leftovers(), [list()]);
    }

    #[test]
    fn what_is_recorded_can_be_replayed() {
        let first = Recorder::new(Replay::parse(SESSION).unwrap());
        let answers = (first.answer(&get("team-a")), first.answer(&list()));
        let second = Replay::parse(&first.session().unwrap()).unwrap();
        assert_eq!((second.answer(&get("team-a")), second.answer(&list())), answers);
        assert_eq!(Recorder::new(NoCluster).session().unwrap().trim(), "[]");
    }

    #[rstest]
    #[case("a: 1", "invalid type")]
    #[case("- {type: Other}", "unknown variant `Other`")]
    #[case(
        "- {type: Exchange, request: '!Unknown {}', response: {type: Error, message: x}}",
        "request of exchange 0: unknown variant `Unknown`"
    )]
    #[case(
        "- {type: Exchange, request: '!KubernetesGetResource {api_version: v1, kind: Pod, name: a}', response: {type: Error, message: x}}",
        "request of exchange 0: missing field `disable_cache`"
    )]
    fn refuses_broken_files(#[case] text: &str, #[case] expected: &str) {
        let error = format!("{:#}", Replay::parse(text).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}
