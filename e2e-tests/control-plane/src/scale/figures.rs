//! Reading and condensing figures.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

/// Ticks of the processor time in /proc, a second: the same on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

/// What a process uses.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Usage {
    /// Processor time so far, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory now (`VmRSS`), in MiB.
    pub rss_mib: f64,
    /// The most there was (`VmHWM`), in MiB.
    pub peak_mib: f64,
}

impl Usage {
    /// Of a process, from /proc.
    ///
    /// # Errors
    /// There is no such process, or no /proc.
    pub fn of(process: u32) -> Result<Usage> {
        let read = |name: &str| {
            let path = format!("/proc/{process}/{name}");
            fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
        };
        let (status, stat) = (read("status")?, read("stat")?);
        let mib = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field));
            let number = line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
            let kib: Option<f64> = number.and_then(|number| number.parse().ok());
            kib.map(|kib| kib / 1024.0).with_context(|| format!("no {field}"))
        };
        // The name in brackets may hold anything; user and system time are the 12th and 13th field behind it.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks = ticks.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
        Ok(Usage {
            cpu_seconds: ticks / TICKS,
            rss_mib: mib("VmRSS")?,
            peak_mib: mib("VmHWM")?,
        })
    }
}

/// Of many durations, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Half are not longer.
    pub median_ms: f64,
    /// 99 of 100 are not longer.
    pub p99_ms: f64,
    /// The longest.
    pub longest_ms: f64,
}

/// Condenses durations; all 0 where there are none. A quantile is the smallest duration that enough of them do not exceed.
pub fn quantiles(durations: &[Duration]) -> Quantiles {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let at = |hundredths: usize| {
        let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
        let found = sorted.get(rank - 1).copied().unwrap_or_default();
        found.as_secs_f64() * 1000.0
    };
    Quantiles {
        median_ms: at(50),
        p99_ms: at(99),
        longest_ms: at(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_durations_that_were_measured() {
        let of = |numbers: &[u64]| quantiles(&numbers.iter().copied().map(Duration::from_millis).collect::<Vec<_>>());
        let all: Vec<u64> = (1..=200).rev().collect();
        let expected = Quantiles {
            median_ms: 100.0,
            p99_ms: 198.0,
            longest_ms: 200.0,
        };
        assert_eq!(of(&all), expected);
        assert_eq!(of(&[7]).median_ms, 7.0);
        assert_eq!(of(&[]), Quantiles::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_uses_something() -> Result<()> {
        let usage = Usage::of(std::process::id())?;
        assert!(usage.rss_mib > 0.5 && usage.peak_mib >= usage.rss_mib, "{usage:?}");
        Ok(())
    }
}
