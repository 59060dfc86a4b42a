//! The custom resources that are already in this repository: samples, fixtures, recordings of the Go operator.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lmcache_api::{API_VERSION, IpcMode, Kind};
use serde::Deserialize;
use serde_json::Value;

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `deploy/samples/*.yaml`.
    Sample,
    /// `fixtures/engine-validation/*/request.json`.
    Fixture,
    /// `fixtures/go-operator/*/cr/*.yaml`.
    Recording,
    /// Made up here, from every field at random.
    Generated,
    /// Made up here, one thing each.
    Rule,
}

impl Source {
    /// In the plural.
    pub const fn as_str(self) -> &'static str {
        match self {
            Source::Sample => "samples",
            Source::Fixture => "fixtures",
            Source::Recording => "recordings",
            Source::Generated => "generated",
            Source::Rule => "rules",
        }
    }
}

/// One custom resource.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it comes from.
    pub source: Source,
    /// Unique within its source.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// As a user wrote it.
    pub object: Value,
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: IpcMode,
}

/// Every custom resource of the repository.
pub fn all() -> Result<Vec<Input>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut inputs = samples(&root.join("deploy/samples"))?;
    inputs.extend(fixtures(&root.join("fixtures/engine-validation"))?);
    inputs.extend(recordings(&root.join("fixtures/go-operator"))?);
    Ok(inputs)
}

/// Every document of our kinds; other objects (Deployments, ...) have no command line of ours.
fn samples(folder: &Path) -> Result<Vec<Input>> {
    let mut found = Vec::new();
    for path in children(folder)? {
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        for document in yaml_serde::Deserializer::from_str(&read(&path)?) {
            let object = Value::deserialize(document).with_context(|| path.display().to_string())?;
            let mut name = stem(&path);
            if let Some(input) = input(Source::Sample, &name, object) {
                if found.iter().any(|other: &Input| other.name == name) {
                    name = format!("{name}-{}", input.kind.plural());
                }
                found.push(Input { name, ..input });
            }
        }
    }
    none_is_an_error(found, folder)
}

/// The objects of requests that bring one.
fn fixtures(folder: &Path) -> Result<Vec<Input>> {
    #[derive(Deserialize)]
    struct Request {
        operation: String,
        #[serde(default)]
        object: Value,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Settings {
        ipc_default: Option<String>,
    }
    let mut found = Vec::new();
    for case in children(folder)? {
        let request = case.join("request.json");
        if !request.is_file() {
            continue;
        }
        let request: Request = serde_json::from_str(&read(&request)?).with_context(|| case.display().to_string())?;
        if !["CREATE", "UPDATE"].contains(&request.operation.as_str()) {
            continue;
        }
        let Some(input) = input(Source::Fixture, &stem(&case), request.object) else {
            continue;
        };
        let settings = match fs::read_to_string(case.join("settings.yaml")) {
            Ok(text) => yaml_serde::from_str(&text).with_context(|| case.display().to_string())?,
            Err(_) => Settings::default(),
        };
        // A setting that is no mode is what the case is about; the policy would not have started.
        let mode = settings.ipc_default.and_then(|mode| mode.parse().ok());
        found.push(Input {
            ipc_default: mode.unwrap_or(input.ipc_default),
            ..input
        });
    }
    none_is_an_error(found, folder)
}

/// The inputs of what was recorded of the Go operator, both generations.
fn recordings(folder: &Path) -> Result<Vec<Input>> {
    #[derive(Deserialize)]
    struct Recording {
        input: Value,
    }
    let mut found = Vec::new();
    // What was recorded of the releases is elsewhere: a few inputs that set nothing else than these do.
    for generation in children(folder)?.into_iter().filter(|path| path.join("cr").is_dir()) {
        for path in children(&generation.join("cr"))? {
            let recording: Recording =
                yaml_serde::from_str(&read(&path)?).with_context(|| path.display().to_string())?;
            let name = format!("{}/{}", stem(&generation), stem(&path));
            found.extend(input(Source::Recording, &name, recording.input));
        }
    }
    none_is_an_error(found, folder)
}

fn input(source: Source, name: &str, object: Value) -> Option<Input> {
    let text = |member: &str| object.get(member).and_then(Value::as_str);
    if text("apiVersion") != Some(API_VERSION) {
        return None;
    }
    let kind = text("kind")?.parse().ok()?;
    Some(Input {
        source,
        name: name.to_owned(),
        kind,
        object,
        ipc_default: IpcMode::HostIPC,
    })
}

/// A folder that was moved must not make the test pass.
fn none_is_an_error(found: Vec<Input>, folder: &Path) -> Result<Vec<Input>> {
    if found.is_empty() {
        bail!("no custom resource in {}", folder.display());
    }
    Ok(found)
}

fn children(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_source_has_every_kind_and_no_name_twice() {
        let inputs = all().unwrap();
        let names: BTreeSet<_> = inputs.iter().map(|input| (input.source, &input.name)).collect();
        assert_eq!(names.len(), inputs.len());
        for source in [Source::Sample, Source::Fixture, Source::Recording] {
            let kinds: BTreeSet<_> = inputs
                .iter()
                .filter(|input| input.source == source)
                .map(|input| input.kind)
                .collect();
            assert_eq!(kinds.len(), Kind::ALL.len(), "{}", source.as_str());
        }
    }

    #[test]
    fn both_generations_of_the_go_operator_are_read() {
        let inputs = all().unwrap();
        for generation in ["july/", "newest/"] {
            let count = inputs.iter().filter(|input| input.name.starts_with(generation)).count();
            assert!(count > 50, "{generation}: {count}");
        }
    }

    #[test]
    fn a_folder_without_objects_is_an_error() {
        let empty = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        assert!(samples(&empty).is_err());
        assert!(fixtures(&empty).is_err());
    }
}
