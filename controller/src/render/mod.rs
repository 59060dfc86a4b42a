//! `render`: what custom resources become, without a cluster.
//!
//! The same functions as in the controller, from files: validation, defaults, builders. Everything below [`run`] is a pure
//! function of the files' texts.

mod fleet;
mod go_operator;
mod input;
mod unknown;
mod yaml;

use anyhow::{Context, Result, bail};
use lmcache_api::names::check_label;
use lmcache_api::{AnyObject, FieldError, IpcMode, decode, fault};
use serde_json::Value;
use std::io::Read;

use crate::build::{self, Site};
use crate::legacy::State;
use fleet::Fleet;
pub use input::Document;

/// Options of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with any number of YAML documents, or JSON; `-` reads standard input. Can be given several times. Of other
    /// kinds, only Secrets that engines name are read.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    file: Vec<String>,
    /// How engines that say nothing about it share memory with their clients: HostIPC, HostShm or Isolated. As the
    /// controller is told.
    #[arg(long, value_name = "MODE", default_value = "HostIPC")]
    ipc_default: IpcMode,
    /// DNS suffix of the cluster's Services.
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local")]
    cluster_domain: String,
    /// Namespace of objects that name none.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
    /// Print what LMCache's Go operator makes of the same files instead: that of a release (0.5.0 to 0.5.6), or in its state
    /// of July 2026 (july) or September 2026 (newest, also where no state is given; write --legacy=0.5.4 with the equals
    /// sign). Faults are those that it finds; it stops where a coordinator or Secret that an engine names is not in the
    /// files, and what it makes before that is printed.
    #[arg(long, value_name = "STATE", num_args = 0..=1, require_equals = true, default_missing_value = "newest")]
    legacy: Option<State>,
}

/// What the installation decides.
#[derive(Clone, Debug)]
pub struct Options {
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: IpcMode,
    /// The DNS suffix of the cluster's Services.
    pub cluster_domain: String,
    /// The namespace of objects that name none.
    pub namespace: String,
    /// The state of the Go operator whose objects are asked for instead of ours.
    pub legacy: Option<State>,
}

/// What became of the files. `objects` can hold the copy of a login that was in them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The children of all objects, sorted by namespace and name of the object: the copy of a Redis login where its source
    /// is in the files, then those of [`build::objects`] in their order. Empty if an object has a fault: half of a fleet is
    /// nothing to go on with. The Go operator's, if asked for, are here as far as it gets.
    pub objects: Vec<Value>,
    /// One line each: file, object, and what is legal but probably not meant.
    pub warnings: Vec<String>,
    /// One line each: file, object, field path, and what is wrong.
    pub faults: Vec<String>,
}

impl Report {
    /// The children as YAML documents.
    pub fn yaml(&self) -> String {
        yaml::documents(&self.objects)
    }
}

/// Reads the files and renders what is in them.
///
/// # Errors
/// A file cannot be read, or an option makes no sense. What is wrong inside of files is in the report.
pub fn run(args: &Args, stdin: &mut dyn Read) -> Result<Report> {
    if let Err(expected) = check_label(&args.namespace) {
        bail!("--namespace {}: {expected}", args.namespace);
    }
    if args.file.iter().filter(|file| *file == "-").count() > 1 {
        bail!("-f -: standard input can be read once only");
    }
    let mut files = Vec::new();
    for file in &args.file {
        let mut text = String::new();
        let read = match file.as_str() {
            "-" => stdin.read_to_string(&mut text).map(|_| text),
            path => std::fs::read_to_string(path),
        };
        files.push((file.clone(), read.with_context(|| format!("cannot read {file}"))?));
    }
    let options = Options {
        ipc_default: args.ipc_default,
        cluster_domain: args.cluster_domain.clone(),
        namespace: args.namespace.clone(),
        legacy: args.legacy,
    };
    Ok(render(&files, &options))
}

/// Renders files, given as pairs of name and text.
pub fn render(files: &[(String, String)], options: &Options) -> Report {
    let mut report = Report::default();
    let (mut documents, mut secrets) = (Vec::new(), Vec::new());
    for (file, text) in files {
        let contents = input::read(file, text);
        documents.extend(contents.documents);
        secrets.extend(contents.secrets);
        report.faults.extend(contents.faults);
    }
    if documents.is_empty() && report.faults.is_empty() {
        let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
        let fault = format!(
            "{}: no LMCacheEngine, CacheBlendEngine or LMCacheCoordinator in it",
            names.join(", ")
        );
        report.faults.push(fault);
    }
    let subjects: Vec<Subject> = documents
        .into_iter()
        .map(|document| Subject::new(document, options))
        .collect();
    for secret in &mut secrets {
        place(secret, options);
    }
    let fleet = Fleet {
        subjects: &subjects,
        secrets: &secrets,
    };
    let (mut rendered, mut stops) = (Vec::new(), Vec::new());
    for (index, subject) in subjects.iter().enumerate() {
        let mut outcome = match options.legacy {
            None => subject.render(options, &fleet),
            Some(state) => go_operator::render(state, subject, &fleet),
        };
        let clash = fleet.clash(index, options.legacy.is_some());
        outcome
            .faults
            .extend(subject.unplaced(&outcome.faults).into_iter().chain(clash));
        let line = |text: String| format!("{}: {text}", subject.title());
        report
            .faults
            .extend(outcome.faults.iter().map(|fault| line(fault.to_string())));
        report.warnings.extend(outcome.warnings.into_iter().map(line));
        stops.extend(outcome.stopped.map(line));
        rendered.push((subject, outcome.objects));
    }
    if report.faults.is_empty() {
        rendered.sort_by_key(|(subject, _): &(&Subject, Vec<Value>)| subject.place());
        report.objects = rendered.into_iter().flat_map(|(_, objects)| objects).collect();
    }
    report.faults.extend(stops);
    report
}

/// Puts an object that names no namespace into the one that was asked for.
fn place(object: &mut Value, options: &Options) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let namespace = metadata.entry("namespace").or_insert(Value::Null);
        if namespace.is_null() || namespace == "" {
            *namespace = Value::from(options.namespace.as_str());
        }
    }
}

/// What becomes of one object.
#[derive(Default)]
struct Outcome {
    objects: Vec<Value>,
    faults: Vec<FieldError>,
    warnings: Vec<String>,
    /// Why the Go operator makes no more than `objects`, though the object has no fault.
    stopped: Option<String>,
}

/// A custom resource with what was read of it.
struct Subject {
    document: Document,
    object: AnyObject,
    /// Paths of fields that were in the file, and that its kind does not have.
    unknown: Vec<String>,
}

impl Subject {
    fn new(mut document: Document, options: &Options) -> Self {
        place(&mut document.object, options);
        // The Go operator's CRDs have other fields.
        let unknown = match options.legacy {
            None => unknown::remove(document.kind, &mut document.object),
            Some(_) => Vec::new(),
        };
        let mut object = decode(document.kind, &document.object).object;
        object.set_defaults();
        Subject {
            document,
            object,
            unknown,
        }
    }

    /// Namespace and name.
    fn place(&self) -> (&str, &str) {
        let metadata = self.object.metadata();
        (
            metadata.namespace.as_deref().unwrap_or_default(),
            metadata.name.as_deref().unwrap_or_default(),
        )
    }

    /// How messages call it.
    fn title(&self) -> String {
        let Document { file, kind, .. } = &self.document;
        let (namespace, name) = self.place();
        let printable = |text: &str| {
            text.chars()
                .map(|c| if c.is_control() { '?' } else { c })
                .collect::<String>()
        };
        format!("{file}: {kind} {}/{}", printable(namespace), printable(name))
    }

    /// Ours: what admission says of it, fields that it does not have, and its children.
    fn render(&self, options: &Options, fleet: &Fleet<'_>) -> Outcome {
        let Document { kind, object, .. } = &self.document;
        let faults = lmcache_server::validate(*kind, object, options.ipc_default);
        let mut warnings = lmcache_server::warnings(*kind, object, options.ipc_default);
        let unknown = self.unknown.iter();
        warnings.extend(unknown.map(|path| format!("{path}: no such field; the API server drops it")));
        let coordinator = fleet.coordinator(self);
        let site = Site {
            ipc_default: options.ipc_default,
            kept_ipc: None,
            cluster_domain: &options.cluster_domain,
            coordinator_url: coordinator.as_ref().map(|coordinator| coordinator.url.as_str()),
        };
        let mut objects = build::objects(&self.object, &site);
        match self.login_copy(fleet) {
            Some(Ok(copy)) => objects.insert(0, copy),
            Some(Err(doubt)) => warnings.push(doubt),
            None => {}
        }
        warnings.extend(coordinator.into_iter().flat_map(|coordinator| coordinator.warnings));
        Outcome {
            objects,
            faults,
            warnings,
            stopped: None,
        }
    }

    /// The copy of the Redis login, or why there will be none; `None` where no login is named, or its Secret is not among
    /// the files. Secrets seldom are, and nothing else depends on what is in one.
    fn login_copy(&self, fleet: &Fleet<'_>) -> Option<Result<Value, String>> {
        let resp = self.object.engine()?.l2_backend()?.resp.as_ref()?;
        let reference = resp.auth_secret_ref.as_ref()?;
        let (own_namespace, _) = self.place();
        let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or(own_namespace);
        let name = reference.name.as_deref().unwrap_or_default();
        let copy = build::resp_secret(&self.object, fleet.secret(namespace, name)?);
        copy.map_err(|fault| {
            format!(
                "spec.l2Backend.resp.authSecretRef: Secret {namespace}/{name} {fault}; until then there is no copy, and the \
                 servers do not start"
            )
        })
        .transpose()
    }

    /// What keeps it from being rendered without a cluster: no name yet, or a namespace that cannot be. `known` are the
    /// faults that were found before.
    fn unplaced(&self, known: &[FieldError]) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let (namespace, name) = self.place();
        if name.is_empty() && !known.iter().any(|fault| fault.path.starts_with("metadata")) {
            let expected = "must be set: the name that a cluster makes of generateName is not known here";
            faults.push(FieldError::required("metadata.name", expected));
        }
        if let Err(expected) = check_label(namespace)
            && !namespace.is_empty()
        {
            faults.push(FieldError::invalid(
                "metadata.namespace",
                fault::quote(namespace),
                expected,
            ));
        }
        faults
    }
}
