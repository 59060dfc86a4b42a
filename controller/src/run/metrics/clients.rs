//! Clients of engines. They are kept by engine, so that an engine goes with all its series.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lmcache_api::ClientsStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::catalog::{CLIENTS, Metric, SKIPPED};
use super::labels::{ClientState, OTHER, word};
use crate::live::Key;

/// Most reasons of one engine, besides `other`.
const REASONS: usize = 32;

#[derive(Debug, Default)]
struct Counts {
    states: [(&'static str, i64); 4],
    skipped: BTreeMap<String, i64>,
}

/// The clients of every engine.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<BTreeMap<Key, Counts>>);

impl Clients {
    pub(super) fn set(&self, engine: &Key, counts: &ClientsStatus, skipped: &BTreeMap<String, u32>) {
        let counts = Counts {
            states: ClientState::ALL.map(|state| (state.as_str(), i64::from(state.of(counts)))),
            skipped: by_reason(skipped),
        };
        self.lock().insert(engine.clone(), counts);
    }

    pub(super) fn forget(&self, engine: &Key) {
        self.lock().remove(engine);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Counts>> {
        // What it guards is valid at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Few words, with the same sum.
fn by_reason(skipped: &BTreeMap<String, u32>) -> BTreeMap<String, i64> {
    let mut few: BTreeMap<String, i64> = BTreeMap::new();
    for (reason, count) in skipped {
        let mut reason = word(reason);
        let named = few.keys().filter(|reason| *reason != OTHER).count();
        if named >= REASONS && !few.contains_key(&reason) {
            OTHER.clone_into(&mut reason);
        }
        *few.entry(reason).or_default() += i64::from(*count);
    }
    few
}

impl Collector for Clients {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let engines = self.lock();
        encode(&mut encoder, &CLIENTS, &engines, |counts| {
            counts.states.iter().map(|(state, count)| (*state, *count)).collect()
        })?;
        encode(&mut encoder, &SKIPPED, &engines, |counts| {
            counts
                .skipped
                .iter()
                .map(|(reason, count)| (reason.as_str(), *count))
                .collect()
        })
    }
}

fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    about: &Metric,
    engines: &BTreeMap<Key, Counts>,
    series: impl Fn(&Counts) -> Vec<(&str, i64)>,
) -> fmt::Result {
    let help = format!("{}.", about.help);
    let mut metric = encoder.encode_descriptor(about.family(), &help, None, MetricType::Gauge)?;
    for (engine, counts) in engines {
        for (value, count) in series(counts) {
            let values = [&engine.namespace, engine.kind.as_str(), &engine.name, value];
            let labels: Vec<(&str, &str)> = about.labels.iter().copied().zip(values).collect();
            metric.encode_family(&labels)?.encode_gauge(&count)?;
        }
    }
    Ok(())
}
