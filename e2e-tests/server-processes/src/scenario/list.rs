//! Which scenarios there are for a release.

use std::collections::BTreeSet;
use std::net::IpAddr;

use anyhow::Result;
use lmcache_api::Release;
use lmcache_server::table;
use serde_json::json;

use super::engine::{opens, stops, whole_life};
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
    let v = |minor, patch| Release { major: 0, minor, patch };
    let mut releases = vec![v(4, 3), v(4, 7), v(5, 3), v(5, 5), table::newest()];
    releases.dedup();
    releases
}

/// Every release that has the command.
pub fn all() -> Vec<Release> {
    let first = Release {
        major: 0,
        minor: 4,
        patch: 3,
    };
    table::RELEASES
        .into_iter()
        .filter(|release| *release >= first)
        .collect()
}

/// The first release with a coordinator.
const COORDINATOR: Release = Release {
    major: 0,
    minor: 4,
    patch: 7,
};

/// The scenarios of a release, those that take longest first.
pub fn of(release: Release) -> Vec<Scenario> {
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
        // Every release connects; that it says nothing about a dead tier was seen of all, and is asked of two.
        if login == Login::Right || [usual().first(), usual().last()].contains(&Some(&release)) {
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
        if case.does != options::Does::LeftOut {
            list.push(Scenario::new(case.name, release, move |host, report| {
                options::setting(host, report, &case)
            }));
        }
    }
    list.push(Scenario::new("without --http-host", release, move |host, report| {
        http_host_default(host, report, release)
    }));
    if release >= COORDINATOR {
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
    report.equal("faults", rendered.faults.len(), 0);
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
    let loopback = release
        >= Release {
            major: 0,
            minor: 5,
            patch: 6,
        };
    let expected = IpAddr::from(if loopback { [127, 0, 0, 1] } else { [0, 0, 0, 0] });
    let found = started
        .process
        .listening()?
        .remove(&started.ports.http)
        .unwrap_or_default();
    report.equal("HTTP would be bound to", found, BTreeSet::from([expected]));
    Ok(())
}

/// What the Go operator renders is still taken; from 0.5.3 on with a warning.
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
    let warned = started.process.log().to_lowercase().contains("deprecated");
    let renamed = release
        >= Release {
            major: 0,
            minor: 5,
            patch: 3,
        };
    report.equal("the log calls them deprecated", warned, renamed);
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
        report.skip("started read-only", "mounting needs root");
        return Ok(());
    }
    let changes = |writable| Changes {
        mounts: host.read_only(writable),
        ..Changes::default()
    };
    let mut started = host.start("without", &bare, &changes(None), report)?;
    let exit = started.process.end(START)?;
    let said = started.process.last_words();
    report.check(
        "without them: exit 2, and the flags are blamed",
        exit == Some(2),
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
    fn titles_are_unique() {
        for release in all() {
            let titles: Vec<String> = of(release).iter().map(Scenario::title).collect();
            let unique: BTreeSet<&String> = titles.iter().collect();
            assert_eq!(unique.len(), titles.len(), "{titles:?}");
        }
    }
}
