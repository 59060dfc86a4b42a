//! Lines whose outcome is known from elsewhere: they show that the released checks run, and not the stand-ins.
//!
//! They are asked before and after everything else, since all lines of a release share one process.

use lmcache_api::Release;

use crate::line::Line;
use crate::parser::{Answer, Outcome, RealParser};

/// Which releases a control is for: from the first on, before the second.
struct Control {
    from: (u32, u32, u32),
    before: Option<(u32, u32, u32)>,
    command: &'static str,
    args: &'static [&'static str],
    outcome: Outcome,
    /// What the message must contain.
    says: &'static str,
}

/// Arguments without which no server starts; rendered lines always have them.
pub const REQUIRED: &[&str] = &["--l1-size-gb", "60.0", "--eviction-policy", "LRU"];

const fn server(from: (u32, u32, u32), args: &'static [&'static str], outcome: Outcome, says: &'static str) -> Control {
    Control {
        from,
        before: None,
        command: "server",
        args,
        outcome,
        says,
    }
}

const fn fleet(from: (u32, u32, u32), args: &'static [&'static str], outcome: Outcome, says: &'static str) -> Control {
    Control {
        from,
        before: None,
        command: "coordinator",
        args,
        outcome,
        says,
    }
}

const SERVER: (u32, u32, u32) = (0, 4, 3);
const COORDINATOR: (u32, u32, u32) = (0, 4, 7);
const DEVDAX: &[&str] = &["--l1-devdax-path", "/dev/dax0.0"];
const RESP: &[&str] = &[
    "--l2-adapter",
    r#"{"type":"resp","host":"redis","port":6379,"num_workers":8}"#,
];
const TEXT_PORT: &[&str] = &[
    "--l2-adapter",
    r#"{"type":"resp","host":"redis","port":"6379","num_workers":8}"#,
];
const ENCRYPTED: &[&str] = &["--l2-adapter", r#"{"type":"fs","base_path":"/kv","serde":"aesgcm"}"#];
const ARC: &[&str] = &[
    "--l2-adapter",
    r#"{"type":"fs","base_path":"/kv","eviction":{"eviction_policy":"MRU"}}"#,
];

const CONTROLS: &[Control] = &[
    server(SERVER, &[], Outcome::Accepted, ""),
    server(SERVER, RESP, Outcome::Accepted, ""),
    server(SERVER, TEXT_PORT, Outcome::Config, "port must be a positive integer"),
    server(
        SERVER,
        &["--l2-adapter", r#"{"type":"bogus"}"#],
        Outcome::Config,
        "unknown adapter type 'bogus'",
    ),
    server(
        SERVER,
        &["--l2-adapter", r#"{"type":"fs"}"#],
        Outcome::Config,
        "base_path",
    ),
    server(SERVER, &["--l2-adapter", "{"], Outcome::Config, "Invalid JSON"),
    server(SERVER, ARC, Outcome::Config, "eviction_policy"),
    server(
        SERVER,
        &["--l1-size-gb", "nan"],
        Outcome::Config,
        "cannot convert float NaN to integer",
    ),
    server(SERVER, &["--enable-tracing"], Outcome::Config, "otlp"),
    server(
        SERVER,
        &["--disable-prometheus"],
        Outcome::Usage,
        "unrecognized arguments: --disable-prometheus",
    ),
    server(
        SERVER,
        &["--bogus", "1"],
        Outcome::Usage,
        "unrecognized arguments: --bogus 1",
    ),
    server(SERVER, &["--port", "x"], Outcome::Usage, "invalid int value"),
    server(SERVER, &["--eviction-policy", "lru"], Outcome::Usage, "invalid choice"),
    server(SERVER, &["--help"], Outcome::Help, ""),
    server((0, 4, 5), ENCRYPTED, Outcome::Config, "'serde' must be a dict"),
    server(
        COORDINATOR,
        &["--coordinator-heartbeat-interval", "0"],
        Outcome::Config,
        "heartbeat",
    ),
    // Only where the machine has a GPU is the first tier lazy, which this flag does not go with.
    server((0, 5, 0), DEVDAX, Outcome::Config, "lazy"),
    server(
        (0, 5, 0),
        &["--worker-reap-timeout-seconds", "10"],
        Outcome::Config,
        "reap",
    ),
    Control {
        before: Some((0, 5, 5)),
        ..server(SERVER, &["--isolated-ipc"], Outcome::Usage, "--isolated-ipc")
    },
    server((0, 5, 5), &["--isolated-ipc"], Outcome::Accepted, ""),
    Control {
        before: Some(COORDINATOR),
        ..fleet(SERVER, &[], Outcome::Usage, "invalid choice: 'coordinator'")
    },
    fleet(COORDINATOR, &[], Outcome::Accepted, ""),
    fleet(
        COORDINATOR,
        &["--trigger-watermark", "2"],
        Outcome::Config,
        "trigger_watermark",
    ),
    fleet(
        COORDINATOR,
        &["--trigger-watermark", "0"],
        Outcome::Config,
        "trigger_watermark",
    ),
    fleet(
        COORDINATOR,
        &["--eviction-ratio", "2"],
        Outcome::Config,
        "eviction_ratio",
    ),
    fleet(
        COORDINATOR,
        &["--instance-timeout", "0"],
        Outcome::Config,
        "instance_timeout",
    ),
    fleet(
        COORDINATOR,
        &["--bogus"],
        Outcome::Usage,
        "unrecognized arguments: --bogus",
    ),
    fleet(COORDINATOR, &["--help"], Outcome::Help, ""),
    fleet(
        (0, 5, 0),
        &["--blend-probe-stride", "0"],
        Outcome::Config,
        "blend_probe_stride",
    ),
    Control {
        before: Some((0, 5, 2)),
        ..fleet((0, 5, 0), &["--blend-chunk-size", "9"], Outcome::Accepted, "")
    },
    fleet(
        (0, 5, 2),
        &["--blend-chunk-size", "9"],
        Outcome::Usage,
        "--blend-chunk-size",
    ),
    fleet((0, 5, 2), &["--chunk-size", "0"], Outcome::Config, "chunk_size"),
];

/// What the controls of a release showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The checks of `lmcache server` run.
    pub server: bool,
    /// The checks of `lmcache coordinator` run.
    pub coordinator: bool,
    /// How many lines showed it.
    pub lines: usize,
}

/// Asks all controls of the release, past what was answered before.
pub fn run(release: Release, parser: &mut RealParser) -> Result<Shown, String> {
    let release = (release.major, release.minor, release.patch);
    let mut shown = Shown::default();
    let applies = |control: &&Control| release >= control.from && control.before.is_none_or(|before| release < before);
    for control in CONTROLS.iter().filter(applies) {
        let mut args = if control.command == "server" {
            REQUIRED.to_vec()
        } else {
            Vec::new()
        };
        args.extend(control.args);
        let line = Line::new(control.command, &args);
        let answer = parser.ask_again(&line, false).map_err(|error| format!("{error:#}"))?;
        check(control, &line, &answer)?;
        shown.lines += 1;
        shown.server |= control.command == "server" && control.outcome == Outcome::Config;
        shown.coordinator |= control.command == "coordinator" && control.outcome == Outcome::Config;
    }
    Ok(shown)
}

fn check(control: &Control, line: &Line, answer: &Answer) -> Result<(), String> {
    if answer.outcome == control.outcome && answer.message.contains(control.says) {
        return Ok(());
    }
    Err(format!(
        "expected {:?} {:?}, got {:?} {:?}\n    line:   {}",
        control.outcome,
        control.says,
        answer.outcome,
        answer.message,
        line.text()
    ))
}
