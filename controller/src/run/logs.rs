//! Log lines on stderr.

use std::io::{IsTerminal, stderr};

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// Time, level, origin and message; in colours on a terminal.
    Text,
}

/// What libraries say is about single requests, which we report ourselves with what they were for. kube's client is off
/// because it logs whole answers that it cannot decode, and such an answer can be a Secret; what it says about tokens and
/// certificates stays. Its watcher warns at every attempt; [`crate::watch`] tells of each change once.
const LIBRARIES: &str = "kube_client=warn,kube_client::client=off,kube_client::client::auth=warn,\
                         kube_client::client::tls=warn,kube_runtime=warn,kube_runtime::watcher=off,tower=warn,tower_http=warn,hyper=warn,\
                         hyper_util=warn,h2=warn,rustls=warn";

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks what `--log-level` was given: a level, or pairs `target=level`, or several of them with commas between.
///
/// # Errors
/// What is wrong with it.
pub fn level(text: &str) -> Result<String, String> {
    for word in text.split(',') {
        // tracing takes a single word that is no level for a target, and then nothing else is logged.
        let known = LEVELS.contains(&word.to_ascii_lowercase().as_str());
        if !known && !word.contains('=') {
            return Err(format!(
                "{word:?} is neither one of {} nor target=level",
                LEVELS.join(", ")
            ));
        }
    }
    match EnvFilter::builder().parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Begins to log to stderr.
///
/// # Errors
/// Where `level` was not checked by [`level`], or logging was begun before.
pub fn install(format: Format, level: &str) -> Result<()> {
    let subscriber = subscriber(format, level, stderr().is_terminal(), stderr)?;
    tracing::subscriber::set_global_default(subscriber).context("cannot begin to log")
}

/// What turns events into lines. Times are RFC 3339 in UTC.
fn subscriber<W>(format: Format, level: &str, colours: bool, writer: W) -> Result<Box<dyn Subscriber + Send + Sync>>
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    // Of two directives for one target the later wins, so what the user says about a library is heard.
    let filter = EnvFilter::builder()
        .parse(format!("{LIBRARIES},{level}"))
        .map_err(|error| anyhow!("--log-level {level}: {error}"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(writer);
    Ok(match format {
        Format::Text => Box::new(builder.finish()),
        Format::Json => Box::new(builder.json().flatten_event(true).with_span_list(false).finish()),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn lines(format: Format, level: &str) -> Vec<String> {
        let memory = Memory::default();
        let writer = memory.clone();
        let subscriber = subscriber(format, level, false, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(engine = "team-a/cache", pods = 3, "wired");
            tracing::debug!("detail");
            tracing::info!(target: "kube_runtime::controller", "from a library");
            tracing::warn!(target: "kube_runtime::controller", "a library warns");
            tracing::warn!(target: "kube_runtime::watcher", "told elsewhere");
            tracing::error!(target: "kube_client::client", "a whole answer");
            tracing::warn!(target: "kube_client::client::auth", "no token");
        });
        let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn json_is_one_object_a_line_with_the_fields_at_the_top() {
        let lines = lines(Format::Json, "info");
        let objects: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let messages: Vec<&str> = objects.iter().filter_map(|object| object["message"].as_str()).collect();
        assert_eq!(messages, ["wired", "a library warns", "no token"]);
        assert_eq!(objects[0]["engine"], "team-a/cache");
        assert_eq!(objects[0]["pods"], 3);
        assert_eq!(objects[0]["level"], "INFO");
        let time = objects[0]["timestamp"].as_str().unwrap();
        time.parse::<jiff::Timestamp>().unwrap();
        assert!(time.ends_with('Z'), "{time}");
    }

    #[test]
    fn text_has_no_colours_where_no_terminal_is() {
        let lines = lines(Format::Text, "info");
        assert!(lines[0].contains("INFO") && lines[0].contains("wired"), "{}", lines[0]);
        assert!(!lines.concat().contains('\u{1b}'), "{lines:?}");
    }

    #[test]
    fn libraries_are_heard_when_asked_for_but_whole_answers_never_by_accident() {
        let all = lines(Format::Text, "debug,kube_runtime=info,kube_client=trace").concat();
        for word in ["wired", "detail", "from a library"] {
            assert!(all.contains(word), "{word}: {all}");
        }
        assert!(!all.contains("a whole answer"), "{all}");
    }

    #[test]
    fn words_that_are_no_levels_are_refused() {
        for text in [
            "info",
            "WARN",
            "debug,kube_runtime=info",
            "lmcache_controller::run=trace",
        ] {
            assert_eq!(level(text), Ok(text.to_owned()));
        }
        for text in ["verbose", "", "info,", "kube_runtime=loud"] {
            assert!(level(text).is_err(), "{text:?}");
        }
    }
}
