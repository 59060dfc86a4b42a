//! From a decision to edits.

use super::examine::Examined;
use super::reasons::SkipReason;
use super::target::named;
use super::user_config::{self, UserConfig};
use super::{ipc, nixl, service_links};
use crate::keys::{PAYLOAD_SKIP_REASON, PAYLOAD_STAGED};
use lmcache_api::EngineSpec;
use pod_edit::args::KV_TRANSFER_CONFIG;
use pod_edit::env::{self, EnvState};
use pod_edit::{Edit, Tail};
use serde_json::{Value, json};

/// Environment variable that makes Python's string hashes equal in all processes, which chunk keys are built on.
const HASH_SEED: &str = "PYTHONHASHSEED";

/// What a policy does of a wiring that is decided as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All but the payload.
    Connection,
    /// The payload alone.
    Staging,
    /// Both.
    Whole,
}

impl Part {
    /// Does the part wire the connection?
    pub fn connects(self) -> bool {
        self != Self::Staging
    }

    /// Does the part stage the payload?
    pub fn stages(self) -> bool {
        self != Self::Connection
    }
}

/// The edits that make one part of a wiring. What is there already is no edit, or one that changes nothing. They stand in
/// the order of the Go operator; where two policies share the work, whichever comes last puts the ends of the lists into
/// that order.
pub(super) fn edits(examined: &Examined<'_>, part: Part, warnings: &mut Vec<String>) -> Vec<Edit> {
    if examined.subject.system.blends() {
        return cacheblend(examined, warnings);
    }
    let mut edits = Vec::new();
    let (index, target) = (examined.index, examined.target);
    if part.connects() {
        edits.extend(examined.ipc.edits.iter().cloned());
        edits.extend(connection(examined, warnings));
        edits.extend(hash_seed(target, index, warnings));
    }
    if part.stages() {
        edits.extend(examined.staging.iter().flatten().cloned());
    }
    if part.connects() {
        edits.extend(nixl::environment(target, index, examined.stored.spec()));
        edits.extend(service_links::edit(examined.subject, warnings));
        stamp(examined, &mut edits);
    }
    if part.stages() {
        let key = PAYLOAD_STAGED.into();
        edits.push(match examined.staging {
            Some(_) => Edit::SetAnnotation {
                key,
                value: "true".into(),
            },
            None => Edit::RemoveAnnotation { key },
        });
        edits.push(Edit::RemoveAnnotation {
            key: PAYLOAD_SKIP_REASON.into(),
        });
    }
    if examined.staging.is_some() {
        edits.extend(order(examined));
    }
    edits
}

fn cacheblend(examined: &Examined<'_>, warnings: &mut Vec<String>) -> Vec<Edit> {
    let mut edits = examined.ipc.edits.clone();
    edits.extend(examined.staging.iter().flatten().cloned());
    edits.extend(nixl::environment(
        examined.target,
        examined.index,
        examined.stored.spec(),
    ));
    let arguments = examined.arguments.as_ref();
    edits.extend(arguments.and_then(|planned| planned.before_connection.clone()));
    edits.extend(connection(examined, warnings));
    edits.extend(
        arguments
            .into_iter()
            .flat_map(|planned| planned.behind_connection.iter().cloned()),
    );
    edits.extend(service_links::edit(examined.subject, warnings));
    stamp(examined, &mut edits);
    edits
}

/// The connection itself, unless the user has one.
fn connection(examined: &Examined<'_>, warnings: &mut Vec<String>) -> Option<Edit> {
    if examined.user_config != UserConfig::Absent {
        return None;
    }
    warnings.extend(user_config::of_file(examined.target));
    Some(Edit::AppendArgs {
        container: examined.index,
        tokens: vec![KV_TRANSFER_CONFIG.name.to_owned(), examined.connection.json.clone()],
    })
}

/// Adds the hash seed unless the container has one of its own, wherever that comes from.
fn hash_seed(target: &Value, index: usize, warnings: &mut Vec<String>) -> Option<Edit> {
    match env::state(target, HASH_SEED) {
        EnvState::Literal("random") => {
            warnings.push(format!(
                "container {} has {HASH_SEED}=random: no two processes agree on the keys of chunks; give it a number",
                named(target)
            ));
            return None;
        }
        EnvState::Literal(_) | EnvState::ValueFrom => return None,
        EnvState::Absent => {}
        EnvState::MaybeEnvFrom => warnings.push(format!(
            "{HASH_SEED}=0 was added to container {}; it wins over one that its envFrom may bring",
            named(target)
        )),
    }
    Some(Edit::AppendEnv {
        container: index,
        entry: hash_seed_entry(),
    })
}

fn hash_seed_entry() -> Value {
    json!({"name": HASH_SEED, "value": "0"})
}

fn stamp(examined: &Examined<'_>, edits: &mut Vec<Edit>) {
    let keys = examined.subject.system.keys;
    edits.push(Edit::SetAnnotation {
        key: keys.injected.into(),
        value: "true".into(),
    });
    let key = keys.skip_reason.into();
    edits.push(match examined.left_to_user() {
        Some(reason) => Edit::SetAnnotation {
            key,
            value: SkipReason::as_str(reason).into(),
        },
        None => Edit::RemoveAnnotation { key },
    });
}

/// The order of what both parts append.
fn order(examined: &Examined<'_>) -> [Edit; 3] {
    let (index, staging) = (examined.index, &examined.subject.system.staging);
    let mut variables = vec![hash_seed_entry()];
    variables.extend(staging.variables());
    if let Some(pd) = examined.stored.spec().and_then(EngineSpec::pd) {
        variables.extend(nixl::variables(pd));
    }
    let mode = examined.connection.ipc_mode;
    [
        Edit::OrderTail {
            list: Tail::Volumes,
            order: vec![ipc::shm_volume(mode), staging.volume()],
        },
        Edit::OrderTail {
            list: Tail::Mounts(index),
            order: vec![ipc::shm_mount(), staging.mount()],
        },
        Edit::OrderTail {
            list: Tail::Env(index),
            order: variables,
        },
    ]
}
