//! Settings that some release does not take: what the process does with them, and whether the policy said so.

use anyhow::Result;
use lmcache_api::{Kind, Release};
use serde_json::{Value, json};

use super::engine::whole_life;
use crate::host::{Changes, Host};
use crate::process::START;
use crate::rendered::{Rendered, engine, object, render};
use crate::report::Report;

/// What the process of a release does. As seen of the releases, not as our tables say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// It serves.
    Serves,
    /// It ends with this exit code: 2 from the parser, 1 from checks before the start, 3 from the start itself.
    Exits(i32),
    /// It serves, but not what was asked for.
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

/// All settings for a release.
pub fn cases(release: Release) -> Vec<Case> {
    let serves_since = |first: Release, before: Does| if release >= first { Serves } else { before };
    let case = |name, spec, does, policy| Case {
        name,
        object: engine(release, spec),
        does,
        policy,
        no_key: false,
    };
    let extra = |name, words: &[&str], does, policy| case(name, json!({"extraArgs": words}), does, policy);
    let raw = |kind, config| json!({"l2Backend": {"raw": {"type": kind, "config": config}}});
    let fs = |config| raw("fs", config);
    let mut retain = fs(json!({"base_path": "/l2"}));
    let mut sealed = retain.clone();
    for (spec, name, value) in [
        (&mut retain, "prefetchPolicy", json!("retain")),
        (
            &mut sealed,
            "serde",
            json!({"aesgcm": {"masterKeySecretRef": {"name": "kv-master-key"}}}),
        ),
    ] {
        if let Some(tier) = spec.pointer_mut("/l2Backend").and_then(Value::as_object_mut) {
            tier.insert(name.to_owned(), value);
        }
    }
    let arc = json!({"base_path": "/l2", "eviction": {"eviction_policy": "ARC"}});
    let blend = object(
        Kind::CacheBlendEngine,
        json!({"l1": {"sizeGB": 60}, "server": {"release": release.to_string()}}),
        json!({"injection": {"payloadImage": {"repository": "registry.example.com/payload", "tag": "v1"}}}),
    );
    let aesgcm = "spec.l2Backend.serde.aesgcm";
    let first_extra = "spec.extraArgs[0]";
    vec![
        extra("unknown flag", &["--no-such-flag"], Exits(2), Warns("--no-such-flag")),
        extra("--help", &["--help"], Exits(0), Refuses(first_extra)),
        extra(
            "--disable-prometheus",
            &["--disable-prometheus"],
            Exits(2),
            Refuses(first_extra),
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
            serves_since(v(5, 5), Exits(2)),
            Refuses("spec.isolatedIPC"),
        ),
        Case {
            object: blend,
            ..case("--engine-type blend", json!({}), Serves, Silent)
        },
        extra(
            "--shm-name",
            &["--shm-name", "kv"],
            serves_since(v(4, 7), Exits(2)),
            Warns("--shm-name"),
        ),
        extra(
            "--l1-align-bytes 3000",
            &["--l1-align-bytes", "3000"],
            // Before, nothing checks it.
            if release >= v(4, 6) { Exits(3) } else { Misleads },
            Refuses(first_extra),
        ),
        case(
            "--port = --http-port",
            json!({"server": {"port": 8080}}),
            Exits(3),
            Refuses("spec.server.httpPort"),
        ),
        case(
            "--l2-prefetch-policy retain",
            retain,
            serves_since(v(4, 4), Exits(2)),
            Refuses("spec.l2Backend.prefetchPolicy"),
        ),
        case(
            "unknown adapter type",
            raw("bogus", json!({})),
            Exits(1),
            Refuses("spec.l2Backend.raw.type"),
        ),
        case(
            "fs without base_path",
            fs(json!({})),
            Exits(1),
            Refuses("spec.l2Backend.raw.config.base_path"),
        ),
        case("fs with base_path", fs(json!({"base_path": "/l2"})), Serves, Silent),
        case(
            "eviction ARC of an adapter",
            fs(arc),
            serves_since(v(5, 6), Exits(1)),
            Refuses("spec.l2Backend.raw.config.eviction.eviction_policy"),
        ),
        case(
            "serde aesgcm",
            sealed.clone(),
            // Up to 0.4.4 the key is ignored, and what should be encrypted is stored in plain.
            serves_since(v(5, 3), if release >= v(4, 5) { Exits(3) } else { Misleads }),
            Refuses(aesgcm),
        ),
        Case {
            no_key: true,
            ..case(
                "serde aesgcm, no key file",
                sealed,
                if release >= v(5, 3) { Exits(3) } else { LeftOut },
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
            let name = "the process starts all the same";
            let mut started = host.start("server", &rendered, &changes, report)?;
            let after = started.process.open(started.ports.http)?;
            report.check(name, true, format!("HTTP after {:.1} s", after.as_secs_f64()));
            Ok(())
        }
        Exits(expected) => {
            let mut started = host.start("server", &rendered, &changes, report)?;
            let exit = started.process.end(START)?;
            let seen = exit.map_or_else(|| "it runs".to_owned(), |exit| format!("exit {exit}"));
            let said = started.process.last_words();
            report.check(
                format!("exit {expected}"),
                exit == Some(expected),
                format!("{seen}: {said}"),
            );
            Ok(())
        }
    }
}

fn policy(report: &mut Report, case: &Case, rendered: &Rendered) {
    let faults: Vec<String> = rendered.faults.iter().map(ToString::to_string).collect();
    let refused_at = |path: &str| rendered.faults.iter().any(|fault| fault.path == path);
    match (case.does, case.policy) {
        (Serves, _) | (_, Silent) => report.equal("the policy has no fault", faults, vec![]),
        (_, Refuses(path)) => {
            let seen = if faults.is_empty() {
                "no fault".to_owned()
            } else {
                faults.join("; ")
            };
            report.check("the policy refuses it", refused_at(path), seen)
        }
        (_, Warns(words)) => {
            let said: Vec<&String> = rendered
                .warnings
                .iter()
                .filter(|warning| warning.contains(words))
                .collect();
            let passed = faults.is_empty() && !said.is_empty();
            report.check(
                "the policy warns",
                passed,
                format!("faults {faults:?}, warnings {said:?}"),
            )
        }
    };
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
    fn the_newest_release_serves_whatever_some_release_serves() {
        let newest = cases(v(5, 6));
        for (old, new) in cases(v(4, 3)).iter().zip(&newest) {
            assert!(old.does != Serves || new.does == Serves, "{}", old.name);
        }
    }
}
