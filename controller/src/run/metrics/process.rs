//! The process itself, by the names that Prometheus' own clients use. Read from `/proc` when asked for; left out where
//! there is none.

use std::fmt;
use std::fs::read_to_string;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::catalog::{CPU, MEMORY, Metric, START};

/// Linux counts processor time for user space in hundredths of a second, on every architecture that we build for.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process {
    /// Seconds since 1970; when metrics were set up, which is among the first things that the process does.
    started: f64,
}

impl Process {
    pub(super) fn new() -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Process {
            started: started.as_secs_f64(),
        }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        if let Some(seconds) = read_to_string("/proc/self/stat").ok().as_deref().and_then(cpu_seconds) {
            encode(&mut encoder, &CPU, &ConstCounter::new(seconds))?;
        }
        if let Some(bytes) = read_to_string("/proc/self/status")
            .ok()
            .as_deref()
            .and_then(resident_bytes)
        {
            encode(&mut encoder, &MEMORY, &ConstGauge::new(bytes))?;
        }
        encode(&mut encoder, &START, &ConstGauge::new(self.started))
    }
}

fn encode(encoder: &mut DescriptorEncoder<'_>, about: &Metric, value: &impl EncodeMetric) -> fmt::Result {
    let help = format!("{}.", about.help);
    value.encode(encoder.encode_descriptor(about.family(), &help, None, value.metric_type())?)
}

/// User and system time in `/proc/self/stat`: fields 14 and 15, where field 2 is a name in parentheses that may hold
/// anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

/// `VmRSS` in `/proc/self/status`, which is in kB.
fn resident_bytes(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_proc() {
        let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 4 0 12345 1 2";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("7 (a"), None);
        assert_eq!(cpu_seconds("7 (a) S 1"), None);
        assert_eq!(resident_bytes("Name:\ta\nVmRSS:\t    2048 kB\n"), Some(2_097_152));
        assert_eq!(resident_bytes("Name:\ta\n"), None);
        assert_eq!(resident_bytes("VmRSS:\t9223372036854775807 kB\n"), None);
    }
}
