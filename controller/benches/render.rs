//! Times `render` from YAML text to YAML text for a fleet of 1,000 engines, as a pipeline runs it over a repository of
//! manifests: the samples of `deploy/samples` in turn, in 20 namespaces, each with its coordinator.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use lmcache_api::IpcMode;
use lmcache_controller::render::{Options, Report, render};
use serde_json::{Value, json};

const ENGINES: usize = 1000;
const NAMESPACES: usize = 20;

/// A benchmark that cannot run ends the program with the reason.
fn or_exit<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1)
        }
    }
}

/// The custom resources among the samples: engines, and the coordinator that one of them refers to.
fn samples() -> (Vec<Value>, Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/samples");
    let mut paths: Vec<_> = or_exit(std::fs::read_dir(folder))
        .map(|entry| or_exit(entry).path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    let (mut engines, mut coordinator) = (Vec::new(), Value::Null);
    for path in paths {
        let text = or_exit(std::fs::read_to_string(path));
        for document in yaml_serde::Deserializer::from_str(&text) {
            let object: Value = or_exit(serde::Deserialize::deserialize(document));
            match object.get("kind").and_then(Value::as_str) {
                Some("LMCacheEngine" | "CacheBlendEngine") => engines.push(object),
                Some("LMCacheCoordinator") => coordinator = object,
                _ => {}
            }
        }
    }
    (engines, coordinator)
}

/// A file for each namespace, as pairs of name and text.
fn fleet() -> Vec<(String, String)> {
    let (samples, coordinator) = samples();
    let mut files = Vec::new();
    for team in 0..NAMESPACES {
        let namespace = format!("team-{team}");
        let mut text = String::new();
        let mut write = |mut object: Value, name: Option<String>| {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("namespace".to_owned(), json!(namespace));
                metadata.extend(name.map(|name| ("name".to_owned(), json!(name))));
            }
            text.push_str("---\n");
            text.push_str(&or_exit(yaml_serde::to_string(&object)));
        };
        write(coordinator.clone(), None);
        let own = (0..ENGINES).filter(|number| number % NAMESPACES == team);
        for (number, sample) in own.zip(samples.iter().cycle()) {
            write(sample.clone(), Some(format!("kv-{number}")));
        }
        files.push((format!("{namespace}.yaml"), text));
    }
    files
}

fn options() -> Options {
    Options {
        ipc_default: IpcMode::HostIPC,
        cluster_domain: "cluster.local".to_owned(),
        namespace: "default".to_owned(),
        legacy: None,
    }
}

/// A benchmark of what is refused would time the wrong thing.
fn rendered(files: &[(String, String)], options: &Options) -> Report {
    let report = render(files, options);
    if let Some(fault) = report.faults.first() {
        or_exit::<(), _>(Err(fault));
    }
    report
}

fn bench(criterion: &mut Criterion) {
    let files = fleet();
    let ours = options();
    let report = rendered(&files, &ours);
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    eprintln!(
        "{ENGINES} engines and {NAMESPACES} coordinators, {} kB of YAML, become {} objects, {} kB",
        bytes / 1000,
        report.objects.len(),
        report.yaml().len() / 1000,
    );
    let mut group = criterion.benchmark_group("render");
    group.sample_size(10);
    group.bench_function("1,000 engines, text to text", |bencher| {
        bencher.iter(|| black_box(rendered(&files, &ours).yaml()));
    });
    group.bench_function("1 engine, text to text", |bencher| {
        let (samples, _) = samples();
        let file = samples.first().map(ToString::to_string).unwrap_or_default();
        let file = [("engine.json".to_owned(), file)];
        bencher.iter(|| black_box(rendered(&file, &ours).yaml()));
    });
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
