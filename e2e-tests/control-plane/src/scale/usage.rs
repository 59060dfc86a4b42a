//! What processes use, as /proc has it.

use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;

/// Ticks in a second in /proc: the same on every Linux, whatever the kernel's own clock does.
const TICKS: f64 = 100.0;

/// Memory of a process in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Memory {
    /// VmRSS.
    pub resident: f64,
    /// VmHWM: the most that it was since the process started.
    pub highest: f64,
}

/// What a process has in RAM.
pub(super) fn memory(process: u32) -> Result<Memory> {
    let text = read(process, "status")?;
    parse_memory(&text).with_context(|| format!("/proc/{process}/status has no VmRSS and VmHWM in kB"))
}

/// Processor time of a process so far, in seconds, user and system.
pub(super) fn cpu(process: u32) -> Result<f64> {
    let text = read(process, "stat")?;
    parse_cpu(&text).with_context(|| format!("/proc/{process}/stat has no times in fields 14 and 15"))
}

/// The load averages of 1, 5 and 15 minutes.
pub(super) fn load_average() -> Result<String> {
    let text = fs::read_to_string("/proc/loadavg").context("cannot read /proc/loadavg")?;
    let fields: Vec<&str> = text.split_whitespace().take(3).collect();
    Ok(fields.join(" "))
}

fn read(process: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{process}/{file}");
    fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}

fn parse_memory(status: &str) -> Option<Memory> {
    let mebibytes = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        let kilobytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kilobytes / 1024.0)
    };
    Some(Memory {
        resident: mebibytes("VmRSS:")?,
        highest: mebibytes("VmHWM:")?,
    })
}

fn parse_cpu(stat: &str) -> Option<f64> {
    // Field 2 is a name in parentheses that may hold anything; field 3 comes after the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(str::parse::<f64>);
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + system) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_memory_and_processor_time() {
        let status = "Name:\tx\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n";
        let expected = Memory {
            resident: 10.0,
            highest: 20.0,
        };
        assert_eq!(parse_memory(status), Some(expected));
        assert_eq!(parse_memory("Name:\tx\n"), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 6 7 20 0 9 0 100";
        assert_eq!(parse_cpu(stat), Some(2.0));
        assert_eq!(parse_cpu("7 (a"), None);
    }
}
