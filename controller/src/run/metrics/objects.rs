//! Custom resources: their conditions and numbers. They are kept by object, so that each goes with all its series.
//!
//! An object has one series for each of its conditions and two for its numbers: nine at most. What is kept of it is its name
//! and words of the code.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::catalog::{CONDITION, DESIRED, Metric, READY};
use crate::live::Key;
use crate::status::Summary;

/// What was last found out about every custom resource.
#[derive(Debug, Default)]
pub(super) struct Objects(Mutex<BTreeMap<Key, Summary>>);

impl Objects {
    pub(super) fn set(&self, custom: &Key, found: Summary) {
        self.lock().insert(custom.clone(), found);
    }

    pub(super) fn forget(&self, custom: &Key) {
        self.lock().remove(custom);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Summary>> {
        // What it guards is valid at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Objects {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let objects = self.lock();
        let conditions = objects.iter().flat_map(|(key, found)| {
            let of_key = found.conditions.iter();
            of_key.map(move |shown| (key, vec![shown.type_, shown.status, shown.reason], 1))
        });
        encode(&mut encoder, &CONDITION, conditions)?;
        let desired = objects.iter().map(|(key, found)| (key, Vec::new(), found.desired));
        encode(&mut encoder, &DESIRED, desired)?;
        let ready = objects.iter().map(|(key, found)| (key, Vec::new(), found.ready));
        encode(&mut encoder, &READY, ready)
    }
}

/// Series of a gauge: the object, the labels behind those that name it, and the value.
fn encode<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    about: &Metric,
    series: impl Iterator<Item = (&'a Key, Vec<&'static str>, i64)>,
) -> fmt::Result {
    let help = format!("{}.", about.help);
    let mut metric = encoder.encode_descriptor(about.family(), &help, None, MetricType::Gauge)?;
    for (key, more, value) in series {
        let name = [key.namespace.as_str(), key.kind.as_str(), key.name.as_str()];
        let labels: Vec<(&str, &str)> = about.labels.iter().copied().zip(name.into_iter().chain(more)).collect();
        metric.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}
