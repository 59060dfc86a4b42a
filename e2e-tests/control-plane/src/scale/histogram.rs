//! How long the API server waited for each webhook, from its own metrics.

use std::collections::BTreeMap;

use serde::Serialize;

const METRIC: &str = "apiserver_admission_webhook_admission_duration_seconds_";

/// The calls of each webhook by its name, of all operations and answers, since the API server started.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histograms(BTreeMap<String, Histogram>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Histogram {
    count: f64,
    /// Seconds.
    sum: f64,
    /// Calls by the largest number of microseconds that they took; cumulative.
    buckets: BTreeMap<u64, f64>,
}

/// How long one webhook took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Calls {
    pub calls: f64,
    pub mean_ms: f64,
    /// The upper end of the bucket that the median is in; `None` above the largest one.
    pub median_at_most_ms: Option<f64>,
    /// Likewise for the 99th of 100.
    pub p99_at_most_ms: Option<f64>,
}

impl Histograms {
    /// Reads what `/metrics` says. Lines that cannot be read are about something else.
    pub(super) fn parse(text: &str) -> Histograms {
        let mut all = Histograms::default();
        for line in text.lines().filter_map(|line| line.strip_prefix(METRIC)) {
            let Some((series, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let (Some(name), Ok(value)) = (label(series, "name"), value.parse::<f64>()) else {
                continue;
            };
            let histogram = all.0.entry(name.to_owned()).or_default();
            if series.starts_with("count{") {
                histogram.count += value;
            } else if series.starts_with("sum{") {
                histogram.sum += value;
            } else if let Some(Ok(limit)) = label(series, "le").map(str::parse::<f64>)
                && limit.is_finite()
            {
                *histogram.buckets.entry(microseconds(limit)).or_default() += value;
            }
        }
        all
    }

    /// The calls since an earlier reading, of webhooks that were called.
    pub(super) fn since(&self, earlier: &Histograms) -> BTreeMap<String, Calls> {
        let nothing = Histogram::default();
        let calls = |(name, now): (&String, &Histogram)| {
            let calls = now.calls(earlier.0.get(name).unwrap_or(&nothing))?;
            Some((name.clone(), calls))
        };
        self.0.iter().filter_map(calls).collect()
    }
}

impl Histogram {
    fn calls(&self, earlier: &Histogram) -> Option<Calls> {
        let calls = self.count - earlier.count;
        let within = |share: f64| {
            let mut buckets = self.buckets.iter();
            let found = buckets.find(|(limit, count)| {
                *count - earlier.buckets.get(limit).copied().unwrap_or_default() >= share * calls
            });
            found.map(|(limit, _)| *limit as f64 / 1000.0)
        };
        (calls > 0.0).then(|| Calls {
            calls,
            mean_ms: (self.sum - earlier.sum) / calls * 1000.0,
            median_at_most_ms: within(0.5),
            p99_at_most_ms: within(0.99),
        })
    }
}

fn microseconds(seconds: f64) -> u64 {
    (seconds * 1_000_000.0).round() as u64
}

fn label<'a>(series: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = series.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_calls_between_two_readings() {
        let series = |kind: &str, le: &str, value: &str| {
            format!(
                "{METRIC}{kind}{{name=\"inject\",operation=\"CREATE\",rejected=\"false\",type=\"admit\"{le}}} {value}\n"
            )
        };
        let reading = |low: &str, high: &str, count: &str, sum: &str| {
            let mut text = "# HELP something else\n".to_owned();
            text += &series("bucket", ",le=\"0.005\"", low);
            text += &series("bucket", ",le=\"0.025\"", high);
            text += &series("bucket", ",le=\"+Inf\"", count);
            text += &series("sum", "", sum);
            text += &series("count", "", count);
            Histograms::parse(&text)
        };
        let (before, after) = (reading("10", "10", "10", "0.01"), reading("70", "109", "110", "0.61"));
        let expected = Calls {
            calls: 100.0,
            mean_ms: 6.0,
            median_at_most_ms: Some(5.0),
            p99_at_most_ms: Some(25.0),
        };
        assert_eq!(after.since(&before), BTreeMap::from([("inject".to_owned(), expected)]));
        assert!(after.since(&after).is_empty());
    }
}
