//! Settings that some release does not take: what the process does with them, and whether the policy said so.

use anyhow::Result;
use lmcache_api::{Kind, Release};
use serde_json::{Value, json};

use super::engine::{accepts, whole_life};
use crate::host::{Changes, Host};
use crate::http;
use crate::process::START;
use crate::rendered::{Rendered, engine, object, render};
use crate::report::Report;

/// What the process of a release does. As seen of the releases, not as our tables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It serves.
    Serves,
    /// It ends with this exit code (2 from the parser, 1 from checks before the start, 3 from the start itself) after
    /// printing these words.
    Exits(i32, &'static str),
    /// It serves and is healthy, but not what was asked for.
    Misleads,
    /// The scenario says nothing that others do not.
    LeftOut,
}
use Does::{Exits, LeftOut, Misleads, Serves};

/// What the policy says unless the process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It refuses, with a fault at this path.
    Refuses(&'static str),
    /// It warns, with these words.
    Warns(&'static str),
    /// It cannot know.
    Silent,
}
use Policy::{Refuses, Silent, Warns};

/// A setting of an engine.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the scenario.
    pub name: &'static str,
    /// An engine of the release with that setting.
    pub object: Value,
    /// What the process does.
    pub does: Does,
    /// What the policy says unless it serves.
    pub policy: Policy,
    /// Whether the file with the key of the second tier is missing.
    pub no_key: bool,
}

const fn v(minor: u32, patch: u32) -> Release {
    Release { major: 0, minor, patch }
}

/// What the parser says of flags that it does not know.
const UNKNOWN: &str = "unrecognized arguments: ";
/// Where the policy finds fault with the first extra argument.
const FIRST_EXTRA: &str = "spec.extraArgs[0]";

/// All settings for a release.
pub fn cases(release: Release) -> Vec<Case> {
    let mut cases = flags(release);
    cases.extend(values(release));
    cases.extend(second_tier(release));
    cases
}

fn case(release: Release, name: &'static str, spec: Value, does: Does, policy: Policy) -> Case {
    Case {
        name,
        object: engine(release, spec),
        does,
        policy,
        no_key: false,
    }
}

fn flags(release: Release) -> Vec<Case> {
    let case = |name, spec, does, policy| case(release, name, spec, does, policy);
    let extra = |name, words: &[&str], does, policy| case(name, json!({"extraArgs": words}), does, policy);
    let since = |first: Release| if release >= first { Serves } else { Exits(2, UNKNOWN) };
    let blend = object(
        Kind::CacheBlendEngine,
        json!({"l1": {"sizeGB": 60}, "server": {"release": release.to_string()}}),
        json!({"injection": {"payloadImage": {"repository": "registry.example.com/payload", "tag": "v1"}}}),
    );
    vec![
        extra(
            "unknown flag",
            &["--no-such-flag"],
            Exits(2, UNKNOWN),
            Warns("--no-such-flag"),
        ),
        extra(
            "--help",
            &["--help"],
            Exits(0, "usage: lmcache server"),
            Refuses(FIRST_EXTRA),
        ),
        extra(
            "--disable-prometheus",
            &["--disable-prometheus"],
            Exits(2, UNKNOWN),
            Refuses(FIRST_EXTRA),
        ),
        case(
            "--disable-metrics",
            json!({"prometheus": {"enabled": false}}),
            Serves,
            Silent,
        ),
        case(
            "--isolated-ipc",
            json!({"isolatedIPC": true}),
            since(v(5, 5)),
            Refuses("spec.isolatedIPC"),
        ),
        Case {
            object: blend,
            ..case("--engine-type blend", json!({}), Serves, Silent)
        },
        extra("--shm-name", &["--shm-name", "kv"], since(v(4, 7)), Warns("--shm-name")),
    ]
}

fn values(release: Release) -> Vec<Case> {
    let case = |name, spec, does, policy| case(release, name, spec, does, policy);
    let unchecked = json!({"server": {"chunkSize": 0}, "eviction": {"triggerWatermark": 1.5, "evictionRatio": 2}});
    vec![
        case(
            "values that no server checks",
            unchecked,
            Misleads,
            Refuses("spec.server.chunkSize"),
        ),
        case(
            "--max-workers 0",
            json!({"server": {"maxWorkers": 0}}),
            Exits(3, "max_workers must be greater than 0"),
            Refuses("spec.server.maxWorkers"),
        ),
        case(
            "--l1-align-bytes 3000",
            json!({"extraArgs": ["--l1-align-bytes", "3000"]}),
            // Before, nothing checks it.
            if release >= v(4, 6) {
                Exits(3, "positive power of two")
            } else {
                Misleads
            },
            Refuses(FIRST_EXTRA),
        ),
        case(
            "--port = --http-port",
            json!({"server": {"port": 8080}}),
            Exits(3, "address already in use"),
            Refuses("spec.server.httpPort"),
        ),
    ]
}

fn second_tier(release: Release) -> Vec<Case> {
    let case = |name, spec, does, policy| case(release, name, spec, does, policy);
    let serves_since = |first: Release, before: Does| if release >= first { Serves } else { before };
    let raw = |kind, config| json!({"l2Backend": {"raw": {"type": kind, "config": config}}});
    let plain = || raw("fs", json!({"base_path": "/l2"}));
    let with = |name: &str, value| {
        let mut spec = plain();
        if let Some(tier) = spec.pointer_mut("/l2Backend").and_then(Value::as_object_mut) {
            tier.insert(name.to_owned(), value);
        }
        spec
    };
    let sealed = || {
        with(
            "serde",
            json!({"aesgcm": {"masterKeySecretRef": {"name": "kv-master-key"}}}),
        )
    };
    let no_aesgcm = Exits(3, "Unknown serde type 'aesgcm'");
    vec![
        case(
            "--l2-prefetch-policy retain",
            with("prefetchPolicy", json!("retain")),
            serves_since(v(4, 4), Exits(2, "invalid choice: 'retain'")),
            Refuses("spec.l2Backend.prefetchPolicy"),
        ),
        case(
            "unknown adapter type",
            raw("bogus", json!({})),
            Exits(1, "unknown adapter type 'bogus'"),
            Refuses("spec.l2Backend.raw.type"),
        ),
        case(
            "fs without base_path",
            raw("fs", json!({})),
            Exits(1, "base_path must be a non-empty string"),
            Refuses("spec.l2Backend.raw.config.base_path"),
        ),
        case("fs with base_path", plain(), Serves, Silent),
        case(
            "eviction ARC of an adapter",
            raw(
                "fs",
                json!({"base_path": "/l2", "eviction": {"eviction_policy": "ARC"}}),
            ),
            serves_since(v(5, 6), Exits(1, "eviction_policy")),
            Refuses("spec.l2Backend.raw.config.eviction.eviction_policy"),
        ),
        case(
            "serde aesgcm",
            sealed(),
            // Up to 0.4.4 the key is ignored, and what should be encrypted is stored in plain.
            serves_since(v(5, 3), if release >= v(4, 5) { no_aesgcm } else { Misleads }),
            Refuses("spec.l2Backend.serde.aesgcm"),
        ),
        Case {
            no_key: true,
            ..case(
                "serde aesgcm, no key file",
                sealed(),
                if release >= v(5, 3) {
                    Exits(3, "FileNotFoundError")
                } else {
                    LeftOut
                },
                Silent,
            )
        },
    ]
}

/// Starts an engine with the setting.
///
/// # Errors
/// A process that should serve does not start or stops answering.
pub fn setting(host: &Host<'_>, report: &mut Report, case: &Case) -> Result<()> {
    let rendered = render(&case.object, None)?;
    policy(report, case, &rendered);
    let changes = Changes {
        no_key: case.no_key,
        ..Changes::default()
    };
    match case.does {
        LeftOut => Ok(()),
        Serves => whole_life(host, report, &rendered, &changes),
        Misleads => {
            let mut started = host.start("server", &rendered, &changes, report)?;
            started.process.open(started.ports.http)?;
            let answer = http::get(started.ports.http, super::engine::server_offers(&rendered)?.health_path)?;
            report.check(
                "the process is healthy all the same",
                answer.status == 200,
                answer.summary(),
            );
            Ok(())
        }
        Exits(expected, words) => {
            let mut started = host.start("server", &rendered, &changes, report)?;
            let exit = started.process.end(START)?;
            let said = started.process.said(words);
            let seen = exit.map_or_else(|| "it runs".to_owned(), |exit| format!("exit {exit}"));
            let passed = exit == Some(expected) && said.is_some();
            let said = said.unwrap_or_else(|| format!("not {words:?} but {}", started.process.last_words()));
            report.check(format!("exit {expected}"), passed, format!("{seen}: {said}"));
            Ok(())
        }
    }
}

fn policy(report: &mut Report, case: &Case, rendered: &Rendered) {
    let faults: Vec<String> = rendered.faults.iter().map(ToString::to_string).collect();
    match (case.does, case.policy) {
        (Serves, _) | (_, Silent) => accepts(report, rendered),
        (_, Refuses(path)) => {
            let refused = rendered.faults.iter().any(|fault| fault.path == path);
            let seen = if faults.is_empty() {
                "no fault".to_owned()
            } else {
                faults.join("; ")
            };
            report.check("the policy refuses it", refused, seen);
        }
        (_, Warns(words)) => {
            let said = rendered.warnings.iter().find(|warning| warning.contains(words));
            let seen = said.map_or_else(|| format!("warnings {:?}", rendered.warnings), String::clone);
            report.check("the policy warns", faults.is_empty() && said.is_some(), seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_differ_and_every_release_has_the_same_ones() {
        let names = |release| cases(release).iter().map(|case| case.name).collect::<Vec<_>>();
        let newest = names(v(5, 6));
        assert_eq!(newest.iter().collect::<BTreeSet<_>>().len(), newest.len());
        assert_eq!(names(v(4, 3)), newest);
    }

    #[test]
    fn the_newest_release_serves_whatever_an_older_one_serves() {
        for (old, new) in cases(v(4, 3)).iter().zip(&cases(v(5, 6))) {
            assert!(old.does != Serves || new.does == Serves, "{}", old.name);
        }
    }
}
