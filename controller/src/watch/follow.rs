//! One watch, followed for ever.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::pin::pin;

use futures::StreamExt;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{Config, DefaultBackoff, Error, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

/// Hands every event on to `take`. After an error the watch goes on by itself, or lists anew where it has to, with delays
/// that grow up to half a minute. Ends only where `refused` breaks, which is given the status codes of refusals.
///
/// kube's own back-off on streams is not used: it starts again with every attempt to list, and so never grows.
pub(super) async fn follow<K>(
    name: &str,
    api: Api<K>,
    config: Config,
    mut take: impl FnMut(Event<K>),
    mut refused: impl FnMut(u16) -> ControlFlow<()>,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut events = pin!(watcher(api, config));
    let mut backoff = DefaultBackoff::default();
    let mut faults = Faults::default();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                // That a list is asked for says nothing yet.
                if !matches!(event, Event::Init) {
                    backoff.reset();
                    faults.recovered(name);
                }
                take(event);
            }
            Err(error) => {
                faults.failed(name, &error);
                if code(&error).is_some_and(|code| refused(code).is_break()) {
                    return;
                }
                tokio::time::sleep(backoff.next().unwrap_or_default()).await;
            }
        }
    }
}

/// The status code with which the API server refused.
fn code(error: &Error) -> Option<u16> {
    match error {
        Error::InitialListFailed(error) | Error::WatchStartFailed(error) | Error::WatchFailed(error) => match error {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        },
        Error::WatchError(status) => Some(status.code),
        Error::NoResourceVersion => None,
    }
}

/// The last error of a watch: told once, and when it is over.
#[derive(Debug, Default)]
struct Faults {
    last: Option<String>,
}

impl Faults {
    fn failed(&mut self, watch: &str, error: &Error) {
        // What was seen last is too long ago, which happens to every watch, and is followed by a list.
        if code(error) == Some(410) {
            tracing::debug!(watch, "watch expired, listing again");
            return;
        }
        let text = text(error);
        if self.is_news(&text) {
            tracing::warn!(watch, error = text, "watch failed, trying again until it works");
        }
    }

    fn is_news(&mut self, text: &str) -> bool {
        let is_news = self.last.as_deref() != Some(text);
        if is_news {
            self.last = Some(text.to_owned());
        }
        is_news
    }

    fn recovered(&mut self, watch: &str) {
        if self.last.take().is_some() {
            tracing::info!(watch, "watch works again");
        }
    }
}

/// What the API server said, else the error as it is.
fn text(error: &Error) -> String {
    let status = match error {
        Error::InitialListFailed(kube::Error::Api(status))
        | Error::WatchStartFailed(kube::Error::Api(status))
        | Error::WatchFailed(kube::Error::Api(status))
        | Error::WatchError(status) => status,
        other => return other.to_string(),
    };
    format!("the API server answered {}: {}", status.code, status.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_once_until_it_changes_or_ends() {
        let mut faults = Faults::default();
        let told = ["a", "a", "b", "b", "a"].map(|text| faults.is_news(text));
        assert_eq!(told, [true, false, true, false, true]);
        faults.recovered("x");
        assert!(faults.is_news("a"));
    }
}
