//! Which container of a Pod is the model server.

use super::command;
use super::outcome::Skip;
use super::reasons::SkipReason;
use super::staging::Staging;
use super::user_config::{self, UserConfig};
use crate::text::{cut, quoted};
use pod_edit::args::CommandLine;
use pod_edit::{container, volume};
use serde_json::Value;

/// What was asked for by name.
pub(super) struct AskedFor<'a> {
    /// Value of the Pod's annotation.
    pub annotation: Option<&'a str>,
    /// Key of that annotation, for messages.
    pub annotation_key: &'static str,
    /// The engine's `targetContainer`.
    pub engine: Option<&'a str>,
}

impl<'a> AskedFor<'a> {
    /// The name that counts, and where it comes from.
    fn name(&self) -> Option<(&'a str, &'static str)> {
        let given = |name: Option<&'a str>| name.map(str::trim).filter(|name| !name.is_empty());
        let annotation = given(self.annotation).map(|name| (name, self.annotation_key));
        annotation.or(given(self.engine).map(|name| (name, "the engine's targetContainer")))
    }
}

/// How a container shows that an earlier run, or its owner, took it for the model server.
pub(super) struct Traces<'a> {
    /// The connection JSON that would be injected.
    pub connection_json: &'a str,
    /// Class of its connector.
    pub connector: &'a str,
    /// Names of the payload.
    pub staging: &'a Staging,
}

impl Traces<'_> {
    /// The first container that carries our connection, else one that carries our connector, else one that has our payload
    /// mounted.
    fn followed(&self, containers: &[Value]) -> Option<usize> {
        let judged =
            |container: &Value| user_config::judge(&CommandLine::of(container), self.connection_json, self.connector);
        let mount = self.staging.mount();
        let mounts =
            |container: &Value| volume::mount_at(container, self.staging.path).is_some_and(|there| *there == mount);
        let first = |found: &dyn Fn(&Value) -> bool| containers.iter().position(found);
        first(&|container| judged(container) == Ok(UserConfig::Ours))
            .or_else(|| first(&|container| judged(container) == Ok(UserConfig::OwnConnection)))
            .or_else(|| first(&mounts))
    }
}

/// Finds the container to wire: the annotation names it, else the engine, else it is the one that is already wired or
/// staged, else the only one that asks for an accelerator, else the only one that looks like vLLM, else the first that is no
/// known proxy. A guess between several is said in a warning, because arguments on the wrong container stop it from
/// starting. Init containers and sidecars among them are never meant.
pub(super) fn find(
    pod: &Value,
    asked_for: &AskedFor<'_>,
    traces: &Traces<'_>,
    warnings: &mut Vec<String>,
) -> Result<usize, Skip> {
    let annotation_key = asked_for.annotation_key;
    if let Some((name, source)) = asked_for.name() {
        return container::index_by_name(pod, name).ok_or_else(|| {
            Skip::new(
                SkipReason::TargetContainerNotFound,
                format!(
                    "container {} (from {source}) is not among spec.containers",
                    quoted(name)
                ),
                format!("name one of {}", cut(&names(pod), 120)),
            )
        });
    }
    let containers = container::containers(pod);
    if let Some(index) = traces.followed(containers) {
        return Ok(index);
    }
    let mut accelerated = containers
        .iter()
        .enumerate()
        .filter(|(_, candidate)| container::wants_accelerator(candidate));
    match (accelerated.next(), accelerated.next()) {
        (Some((index, _)), None) => return Ok(index),
        (Some((index, _)), Some(_)) => return Ok(guess(pod, index, annotation_key, warnings)),
        (None, _) => {}
    }
    let mut servers = containers
        .iter()
        .enumerate()
        .filter(|(_, candidate)| command::is_vllm(candidate));
    let only_server = match (servers.next(), servers.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    };
    let first = only_server.or_else(|| {
        containers
            .iter()
            .position(|candidate| !container::is_known_proxy(candidate))
    });
    match first {
        Some(index) if containers.len() > 1 => Ok(guess(pod, index, annotation_key, warnings)),
        Some(index) => Ok(index),
        None => Err(Skip::new(
            SkipReason::TargetContainerNotFound,
            "no container could be the model server",
            format!("name it in {annotation_key}"),
        )),
    }
}

fn guess(pod: &Value, index: usize, annotation_key: &str, warnings: &mut Vec<String>) -> usize {
    if let Some(taken) = container::containers(pod).get(index) {
        warnings.push(format!(
            "container {} was taken for the model server among {}; name it in {annotation_key}",
            named(taken),
            cut(&names(pod), 100)
        ));
    }
    index
}

fn names(pod: &Value) -> String {
    container::containers(pod)
        .iter()
        .filter_map(container::name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The name of a container for a message, in quotes.
pub(super) fn named(container: &Value) -> String {
    quoted(container::name(container).unwrap_or_default())
}
