//! Plain HTTP requests to processes on this host.

use std::time::Duration;

use anyhow::{Context, Result};
use ureq::Agent;

/// Whole request; a server under load takes a second or two.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Status and body, whatever the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body.
    pub body: String,
}

impl Answer {
    /// Status and the beginning of the body, on one line.
    pub fn summary(&self) -> String {
        let body: String = self.body.split_whitespace().collect::<Vec<_>>().join(" ");
        match body.char_indices().nth(70) {
            Some((end, _)) => format!("{} {}...", self.status, body.get(..end).unwrap_or_default()),
            None => format!("{} {body}", self.status),
        }
    }
}

/// `GET http://127.0.0.1:PORT/PATH`.
///
/// # Errors
/// No answer: refused, cut off, too slow.
pub fn get(port: u16, path: &str) -> Result<Answer> {
    let url = format!("http://127.0.0.1:{port}{path}");
    let answer = agent().get(&url).call().with_context(|| format!("GET {url}"))?;
    read(answer).with_context(|| format!("GET {url}"))
}

/// `POST` with an empty body.
///
/// # Errors
/// As [`get`].
pub fn post(port: u16, path: &str) -> Result<Answer> {
    let url = format!("http://127.0.0.1:{port}{path}");
    let answer = agent().post(&url).send_empty().with_context(|| format!("POST {url}"))?;
    read(answer).with_context(|| format!("POST {url}"))
}

fn agent() -> Agent {
    Agent::new_with_config(
        Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            // A proxy of the environment has no business with 127.0.0.1.
            .proxy(None)
            .build(),
    )
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<Answer> {
    Ok(Answer {
        status: answer.status().as_u16(),
        body: answer.body_mut().read_to_string()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_one_short_line() {
        let answer = |body: &str| Answer {
            status: 200,
            body: body.to_owned(),
        };
        assert_eq!(answer("{\n  \"a\": 1\n}\n").summary(), "200 { \"a\": 1 }");
        assert_eq!(answer(&"ä".repeat(71)).summary(), format!("200 {}...", "ä".repeat(70)));
    }
}
