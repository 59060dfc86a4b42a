//! Every sample under `deploy/samples` becomes what is kept in `tests/goldens`. `UPDATE_GOLDENS=1` writes them anew.

use std::collections::BTreeSet;
use std::path::Path;

use lmcache_controller::render::render;

use crate::support::{options, root};

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".yaml")).collect()
}

#[test]
fn samples_become_what_is_recorded() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let update = std::env::var_os("UPDATE_GOLDENS").is_some_and(|value| value == "1");
    let samples = root().join("deploy/samples");
    let mut rendered = BTreeSet::new();
    let mut different = Vec::new();
    for name in names(&samples) {
        let text = std::fs::read_to_string(samples.join(&name)).unwrap();
        if !text.contains("\napiVersion: lmcache.lmcache.ai/") {
            continue; // workloads that use an engine
        }
        let report = render(&[(name.clone(), text)], &options());
        assert_eq!(report.faults, Vec::<String>::new());
        let golden = goldens.join(&name);
        let yaml = report.yaml();
        if update {
            std::fs::write(&golden, &yaml).unwrap();
        } else if std::fs::read_to_string(&golden).ok() != Some(yaml) {
            different.push(name.clone());
        }
        // What is kept is what was built.
        let kept = std::fs::read_to_string(&golden).unwrap_or_default();
        let documents = yaml_serde::Deserializer::from_str(&kept);
        let kept: Vec<serde_json::Value> = documents
            .filter_map(|document| serde::Deserialize::deserialize(document).ok())
            .collect();
        if kept != report.objects && !different.contains(&name) {
            different.push(name.clone());
        }
        rendered.insert(name);
    }
    assert!(rendered.len() >= 15, "{rendered:?}");
    assert!(
        different.is_empty(),
        "{different:?} differ from tests/goldens; UPDATE_GOLDENS=1 writes them anew"
    );
    assert_eq!(
        names(&goldens),
        rendered,
        "goldens without a sample, or samples without a golden"
    );
}

/// The sample says that the coordinator is another sample; with both the connection is the same, without the guess.
#[test]
fn a_coordinator_among_the_files_is_found() {
    let sample = |name: &str| {
        let text = std::fs::read_to_string(root().join("deploy/samples").join(name)).unwrap();
        (name.to_owned(), text)
    };
    let engine = sample("lmcacheengine-coordinated.yaml");
    let alone = render(std::slice::from_ref(&engine), &options());
    let both = render(&[engine, sample("lmcachecoordinator.yaml")], &options());
    assert!(both.faults.is_empty(), "{:?}", both.faults);
    assert!(
        alone
            .warnings
            .iter()
            .any(|warning| warning.contains("is not in the given files")),
        "{:?}",
        alone.warnings
    );
    assert!(
        !both.warnings.iter().any(|warning| warning.contains("coordinator.ref")),
        "{:?}",
        both.warnings
    );
    // kv-coordinated stands before kv-coordinator.
    assert_eq!(both.objects[..alone.objects.len()], alone.objects[..]);
    assert_eq!(both.objects[alone.objects.len()]["kind"], "Deployment");
}
