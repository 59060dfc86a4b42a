//! Which scenarios there are for a release.

use std::collections::BTreeSet;
use std::net::IpAddr;

use anyhow::Result;
use lmcache_api::Release;
use lmcache_server::table;
use serde_json::json;

use super::engine::{accepts, opens, stops, whole_life};
use super::options::Does;
use super::samples::Sample;
use super::tier::{Login, resp};
use super::{Scenario, coordinator, options, samples};
use crate::host::{Changes, Host};
use crate::process::START;
use crate::redis;
use crate::rendered::{engine, render};
use crate::report::Report;
use crate::sandbox::Sandbox;

/// The oldest release with the command, the first with a coordinator, the first with today's names of its event flags,
/// the last that binds HTTP to every address by itself; and the newest.
pub fn usual() -> Vec<Release> {
    let mut releases = vec![
        OLDEST,
        COORDINATOR,
        NEW_EVENT_FLAGS,
        LAST_ON_EVERY_ADDRESS,
        table::newest(),
    ];
    releases.dedup();
    releases
}

/// Every release that has the command.
pub fn all() -> Vec<Release> {
    table::RELEASES
        .into_iter()
        .filter(|release| *release >= OLDEST)
        .collect()
}

/// The first release with the command `lmcache server`.
const OLDEST: Release = v(4, 3);
/// The first release with a coordinator.
const COORDINATOR: Release = v(4, 7);
/// The first release with today's names of the flags for events.
const NEW_EVENT_FLAGS: Release = v(5, 3);
/// The last release that binds HTTP to every address by itself.
const LAST_ON_EVERY_ADDRESS: Release = v(5, 5);

const fn v(minor: u32, patch: u32) -> Release {
    Release { major: 0, minor, patch }
}

/// The scenarios of a release, those that take longest first. Where several of the [`usual`] releases in a row do the
/// same with a setting, the first and the last one of them are asked, unless everything is asked for.
pub fn of(release: Release, everything: bool) -> Vec<Scenario> {
    let at_end = [usual().first(), usual().last()].contains(&Some(&release));
    let mut list = Vec::new();
    if release >= COORDINATOR {
        list.push(Scenario::new(
            "coordinator and two engines",
            release,
            move |host, report| coordinator::fleet(host, report, release),
        ));
    }
    list.push(Scenario::new("baseline", release, move |host, report| {
        baseline(host, report, release)
    }));
    for (login, name) in Login::ALL {
        if login == Login::Right || at_end || everything {
            list.push(Scenario::new(name, release, move |host, report| {
                if redis::program().is_none() {
                    report.skip(name, "redis-server is not installed");
                    return Ok(());
                }
                resp(host, report, release, login)
            }));
        }
    }
    for case in options::cases(release) {
        if case.does != Does::LeftOut && (everything || changes_at(case.name, release)) {
            list.push(Scenario::new(case.name, release, move |host, report| {
                options::setting(host, report, &case)
            }));
        }
    }
    if everything || release >= LAST_ON_EVERY_ADDRESS {
        list.push(Scenario::new("without --http-host", release, move |host, report| {
            http_host_default(host, report, release)
        }));
    }
    if release >= NEW_EVENT_FLAGS {
        list.push(Scenario::new(
            "old names of the event flags",
            release,
            move |host, report| old_names(host, report, release),
        ));
    }
    if release == table::newest() {
        list.push(Scenario::new(
            "read-only root file system",
            release,
            move |host, report| read_only(host, report, release),
        ));
    }
    list
}

/// Whether the release is the first or the last of several that do the same with this setting.
fn changes_at(name: &str, release: Release) -> bool {
    let does = |release| {
        options::cases(release)
            .iter()
            .find(|case| case.name == name)
            .map(|case| case.does)
    };
    let usual = usual();
    let here = usual.iter().position(|known| *known == release);
    let near = |step: fn(usize) -> Option<usize>| usual.get(step(here?)?).and_then(|release| does(*release));
    let neighbours = [near(|here| here.checked_sub(1)), near(|here| here.checked_add(1))];
    neighbours.iter().any(|neighbour| *neighbour != does(release))
}

/// The scenario of a sample; it runs with the release that the sample names.
///
/// # Errors
/// The sample is of another kind.
pub fn of_sample(sample: Sample) -> Result<Scenario> {
    let release = render(&sample.object, None)?.release;
    let name = format!("sample {}", sample.file);
    Ok(Scenario::new(name, release, move |host, report| {
        samples::sample(host, report, &sample)
    }))
}

fn baseline(host: &Host<'_>, report: &mut Report, release: Release) -> Result<()> {
    let rendered = render(&engine(release, json!({})), None)?;
    accepts(report, &rendered);
    whole_life(host, report, &rendered, &Changes::default())
}

/// Why `--http-host` is always rendered: what the release does without it.
fn http_host_default(host: &Host<'_>, report: &mut Report, release: Release) -> Result<()> {
    let rendered = render(&engine(release, json!({})), None)?;
    let changes = Changes {
        without: vec!["--http-host"],
        ..Changes::default()
    };
    let mut started = host.start("server", &rendered, &changes, report)?;
    opens(report, &mut started)?;
    let loopback = release > LAST_ON_EVERY_ADDRESS;
    let expected = IpAddr::from(if loopback { [127, 0, 0, 1] } else { [0, 0, 0, 0] });
    let found = started
        .process
        .listening()?
        .remove(&started.ports.http)
        .unwrap_or_default();
    report.equal("HTTP would be bound to", found, BTreeSet::from([expected]));
    Ok(())
}

/// What the Go operator renders is still taken, with a warning.
fn old_names(host: &Host<'_>, report: &mut Report, release: Release) -> Result<()> {
    let rendered = render(&engine(release, json!({})), None)?;
    let old = [
        "--coordinator-l2-event-reporting",
        "--coordinator-l2-event-flush-interval",
        "1",
    ];
    let changes = Changes {
        arguments: old.map(str::to_owned).into(),
        ..Changes::default()
    };
    let mut started = host.start("server", &rendered, &changes, report)?;
    opens(report, &mut started)?;
    let warned = started.process.said("is deprecated, use --").is_some();
    report.equal("the log calls them deprecated", warned, true);
    Ok(())
}

/// It needs two writable folders; the policy says which.
fn read_only(host: &Host<'_>, report: &mut Report, release: Release) -> Result<()> {
    let spec = json!({"containerSecurityContext": {"readOnlyRootFilesystem": true}});
    let bare = render(&engine(release, spec), None)?;
    let scratch = host.folder("scratch")?;
    let path = scratch.display().to_string();
    let spec = json!({
        "containerSecurityContext": {"readOnlyRootFilesystem": true},
        "env": [{"name": "NUMBA_CACHE_DIR", "value": path}, {"name": "TMPDIR", "value": path}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
        "volumeMounts": [{"name": "scratch", "mountPath": path}],
    });
    let roomy = render(&engine(release, spec), None)?;
    let warns = |warnings: &[String]| warnings.iter().filter(|text| text.contains("NUMBA_CACHE_DIR")).count();
    report.equal(
        "the policy warns without writable folders, and not with them",
        [warns(&bare.warnings), warns(&roomy.warnings)],
        [1, 0],
    );
    if host.sandbox != Sandbox::Root {
        report.leave_out("started read-only", "mounting needs root");
        return Ok(());
    }
    let changes = |writable| Changes {
        mounts: host.read_only(writable),
        ..Changes::default()
    };
    let mut started = host.start("without", &bare, &changes(None), report)?;
    let exit = started.process.end(START)?;
    let said = started.process.last_words();
    let blamed = started.process.said("unrecognized arguments: --host");
    let passed = exit == Some(2) && blamed.is_some();
    report.check(
        "without them: exit 2, and the flags are blamed",
        passed,
        format!("{exit:?}: {said}"),
    );
    let mut started = host.start("with", &roomy, &changes(Some(scratch.as_path())), report)?;
    opens(report, &mut started)?;
    stops(host, report, &mut started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_releases_are_known_and_end_with_the_newest() {
        assert!(usual().iter().all(|release| all().contains(release)));
        assert_eq!(usual().last(), Some(&table::newest()));
    }

    #[test]
    fn a_setting_is_tried_where_what_it_does_changes() {
        let tried = |name: &str| -> Vec<String> {
            let tried = usual().into_iter().filter(|release| changes_at(name, *release));
            tried.map(|release| release.to_string()).collect()
        };
        let newest = table::newest().to_string();
        assert_eq!(tried("unknown flag"), ["0.4.3", newest.as_str()]);
        assert_eq!(tried("--isolated-ipc"), ["0.4.3", "0.5.3", "0.5.5", newest.as_str()]);
        assert_eq!(tried("serde aesgcm"), ["0.4.3", "0.4.7", "0.5.3", newest.as_str()]);
    }

    #[test]
    fn titles_are_unique() {
        for release in all() {
            let titles: Vec<String> = of(release, true).iter().map(Scenario::title).collect();
            let unique: BTreeSet<&String> = titles.iter().collect();
            assert_eq!(unique.len(), titles.len(), "{titles:?}");
        }
    }
}
