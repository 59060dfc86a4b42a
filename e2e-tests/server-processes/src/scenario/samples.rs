//! The manifests that people start from.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use lmcache_api::Kind;
use serde_json::{Value, json};

use super::coordinator::{alone, for_engine, registered, url};
use super::engine::{accepts, serves, stops};
use super::tier::connects;
use crate::arguments::adapters;
use crate::host::{Changes, Host};
use crate::process::START;
use crate::redis::{PASSWORD, Redis, USER};
use crate::rendered::{kind, render};
use crate::report::Report;

/// A custom resource of a sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The file, without its folder and ending.
    pub file: String,
    /// The object.
    pub object: Value,
    /// Why it cannot be run on this host, if so.
    pub needs: Option<String>,
}

/// All custom resources of the samples, in the order of the files.
///
/// # Errors
/// A file cannot be read, or there is no sample.
pub fn all(folder: &Path) -> Result<Vec<Sample>> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    let mut samples = Vec::new();
    for path in files {
        let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for object in documents(&text).with_context(|| format!("{} is no YAML", path.display()))? {
            if kind(&object).is_some() {
                let needs = render(&object, None).map(|rendered| needs(&rendered.container.args))?;
                let file = file.clone();
                samples.push(Sample { file, object, needs });
            }
        }
    }
    ensure!(!samples.is_empty(), "no sample in {}", folder.display());
    Ok(samples)
}

fn documents(text: &str) -> Result<Vec<Value>> {
    use serde::Deserialize;
    let documents = yaml_serde::Deserializer::from_str(text);
    Ok(documents.map(Value::deserialize).collect::<Result<_, _>>()?)
}

/// What a process with these arguments needs beyond a CPU and what a test can give it.
fn needs(args: &[String]) -> Option<String> {
    let hardware = ["--gds-", "--l1-devdax-", "--l1-use-hugepages", "--p2p-"];
    let flag = args
        .iter()
        .find(|word| hardware.iter().any(|start| word.starts_with(start)));
    let given = ["resp", "fs", "fs_native", "mock"];
    let adapters = adapters(args);
    let mut types = adapters.iter().filter_map(|adapter| adapter.get("type")?.as_str());
    let adapter = types.find(|name| !given.contains(name));
    match (flag, adapter) {
        (Some(flag), _) => Some(format!("hardware for {flag}")),
        (None, Some(adapter)) => Some(format!("a backend for the adapter {adapter}")),
        (None, None) => None,
    }
}

/// Starts the sample's process with what it asks for: a coordinator, a Redis with a login, a key.
///
/// # Errors
/// A process does not start or stops answering.
pub fn sample(host: &Host<'_>, report: &mut Report, sample: &Sample) -> Result<()> {
    if let Some(needs) = &sample.needs {
        report.leave_out(&sample.file, format!("it needs {needs}"));
        return Ok(());
    }
    let alone_rendered = render(&sample.object, None)?;
    accepts(report, &alone_rendered);
    if kind(&sample.object) == Some(Kind::LMCacheCoordinator) {
        return alone(host, report, &alone_rendered);
    }
    let coordinator = match sample.object.pointer("/spec/coordinator") {
        Some(_) => Some(for_engine(host, report, alone_rendered.release)?),
        None => None,
    };
    let url = coordinator.as_ref().map(|coordinator| url(coordinator.ports.main));
    let rendered = render(&sample.object, url.as_deref())?;
    let resp = adapters(&rendered.container.args)
        .iter()
        .any(|adapter| adapter.get("type") == Some(&json!("resp")));
    let login = rendered
        .container
        .env
        .iter()
        .any(|entry| entry.get("name") == Some(&json!("LMCACHE_RESP_PASSWORD")));
    let redis = match resp {
        true => Some(Redis::start(login, &host.folder)?),
        false => None,
    };
    let changes = Changes {
        redis: redis.as_ref().map(|redis| redis.port),
        login: login.then_some((USER, PASSWORD)),
        ..Changes::default()
    };
    let mut started = host.start("server", &rendered, &changes, report)?;
    serves(host, report, &rendered, &mut started)?;
    if let Some(redis) = &redis {
        connects(report, redis, if login { USER } else { "default" })?;
    }
    if let Some(coordinator) = &coordinator {
        let engines = BTreeSet::from([started.ports.http]);
        registered(report, "the engine registers", coordinator.ports.main, &engines, START)?;
    }
    stops(host, report, &mut started)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&["--port", "1"], None)]
    #[case(&["--l2-adapter", r#"{"type":"resp"}"#, "--l2-adapter={\"type\":\"fs\"}"], None)]
    #[case(&["--l2-adapter", r#"{"type":"s3"}"#], Some("a backend for the adapter s3"))]
    #[case(&["--gds-l1-path=/mnt"], Some("hardware for --gds-l1-path=/mnt"))]
    fn tells_what_a_host_without_gpu_cannot_run(#[case] args: &[&str], #[case] expected: Option<&str>) {
        let args: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(needs(&args).as_deref(), expected);
    }

    #[test]
    fn reads_every_document_of_a_file() {
        assert_eq!(
            documents("a: 1\n---\nb: [2]\n").unwrap(),
            [json!({"a": 1}), json!({"b": [2]})]
        );
        assert!(documents("a: [").is_err());
    }
}
