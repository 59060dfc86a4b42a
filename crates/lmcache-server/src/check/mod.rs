//! What is wrong with an object for the release that runs, and what is probably not meant.

mod extra_args;
mod hints;
mod ports;
mod release;
mod tier;

use lmcache_api::fault::{echo, is_at_or_below};
use lmcache_api::{AnyObject, EngineSpec, FaultKind, FieldError, IpcMode, Kind, decode, ipc_mode, one_line};
use serde_json::Value;

use crate::line::{self, Argument};
use crate::release::Running;
use crate::table::{COORDINATOR, Flag, SERVER};

/// All faults of an object: those of `lmcache_api::validate`, then what the release that runs cannot do. A stable order,
/// one fault per path and kind, and none below a field that could not be read. `ipc_default` decides for engines that say
/// nothing about IPC. Any JSON will do.
pub fn validate(kind: Kind, object: &Value, ipc_default: IpcMode) -> Vec<FieldError> {
    let mut faults = lmcache_api::validate(kind, object);
    let first = faults.len();
    for fault in Subject::new(kind, object, ipc_default).faults() {
        let follows = faults
            .iter()
            .take(first)
            .any(|other| is_at_or_below(&fault.path, &other.path));
        let known = faults
            .iter()
            .any(|other| other.path == fault.path && other.kind == fault.kind);
        if !follows && !known {
            faults.push(fault);
        }
    }
    faults
}

/// Warnings about an object that [`validate`] may well accept: one ASCII sentence each, at most 256 bytes, in a stable
/// order; those of `lmcache_api::warnings` first. Any JSON will do.
pub fn warnings(kind: Kind, object: &Value, ipc_default: IpcMode) -> Vec<String> {
    let mut found = lmcache_api::warnings(kind, object);
    let own = Subject::new(kind, object, ipc_default).warnings();
    found.extend(own.into_iter().map(one_line));
    found
}

/// An object with its release and the line that is rendered for it.
struct Subject<'a> {
    json: &'a Value,
    object: AnyObject,
    running: Running,
    arguments: Vec<Argument>,
    flags: &'static [Flag],
}

impl<'a> Subject<'a> {
    fn new(kind: Kind, json: &'a Value, ipc_default: IpcMode) -> Self {
        let mut object = decode(kind, json).object;
        object.set_defaults();
        let running = Running::of(&object);
        let (arguments, flags): (_, &'static [Flag]) = match &object {
            AnyObject::LMCacheCoordinator(coordinator) => (
                line::coordinator(&coordinator.spec, running.position),
                COORDINATOR.as_slice(),
            ),
            engine => {
                let arguments = engine.engine().map(|spec| {
                    let mode = ipc_mode(spec, ipc_default);
                    line::server(spec, running.position, mode, coordinator_url(spec))
                });
                (arguments.unwrap_or_default(), SERVER.as_slice())
            }
        };
        Subject {
            json,
            object,
            running,
            arguments,
            flags,
        }
    }

    fn faults(&self) -> Vec<FieldError> {
        let mut faults = Vec::new();
        release::check(self, &mut faults);
        if let Some(spec) = self.object.engine() {
            tier::check(self, spec, &mut faults);
            ports::check(spec, &self.running, &mut faults);
        }
        extra_args::check(self, &mut faults);
        faults
    }

    fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        release::newer(&self.running, &mut found);
        if let Some(spec) = self.object.engine() {
            tier::doubts(spec, &self.running, &mut found);
            hints::engine(spec, &self.running, &mut found);
        }
        if let AnyObject::LMCacheCoordinator(coordinator) = &self.object {
            hints::coordinator(&coordinator.spec, &self.running, &mut found);
        }
        extra_args::doubts(self, &mut found);
        found
    }

    fn extra_args(&self) -> &[String] {
        match &self.object {
            AnyObject::LMCacheCoordinator(coordinator) => coordinator.spec.extra_args.as_deref().unwrap_or_default(),
            engine => engine.engine().map(EngineSpec::extra_args).unwrap_or_default(),
        }
    }
}

/// Something that stands for the URL of the coordinator, which may not be known yet.
fn coordinator_url(spec: &dyn EngineSpec) -> Option<&str> {
    let coordinator = spec.coordinator()?;
    coordinator.url().or(coordinator.ref_name())
}

impl Subject<'_> {
    /// Something that the release cannot do: `text` goes on from "LMCache 0.5.2". The release is part of the fault, so that
    /// an object which moves from one release that cannot to another is judged anew.
    fn cannot(&self, path: &str, text: &str) -> FieldError {
        let release = self.running.stated.unwrap_or(self.running.assumed());
        let value = self.value(path).map(|value| format!("{value}: ")).unwrap_or_default();
        FieldError::new(path, FaultKind::Forbidden, format!("{value}LMCache {release} {text}"))
    }

    /// What stands at a path without keys of lists, if it is one value.
    fn value(&self, path: &str) -> Option<String> {
        let value = path.split('.').try_fold(self.json, |value, step| value.get(step))?;
        let single = !matches!(value, Value::Null | Value::Object(_) | Value::Array(_));
        single.then(|| echo(value))
    }
}
