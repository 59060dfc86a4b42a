//! Settings, wherever they are written: in the manifests, the forms for Rancher and the READMEs.

use crate::installed::{MODULES, manifests, texts};
use policy_host::EvaluationContext;
use policy_tests::{POLICIES, root};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What the policies have to agree about is written in each of them.
#[test]
fn shared_settings_are_equal_everywhere() {
    for key in [
        "ipcDefault",
        "clusterDomain",
        "allowedEngineNamespaces",
        "podSecurity",
        "compatibility",
        "commandOverride",
    ] {
        let values: BTreeSet<String> = manifests()
            .iter()
            .filter_map(|manifest| manifest.spec("settings").get(key))
            .map(Value::to_string)
            .collect();
        assert_eq!(values.len(), 1, "{key}: {values:?}");
    }
}

#[test]
fn settings_in_manifests_are_valid_and_complete() {
    for manifest in manifests() {
        let place = manifest.place();
        let settings = manifest.spec("settings").clone();
        let module = &MODULES[manifest.policy.as_str()];
        let verdict = module.validate_settings(&settings, &EvaluationContext::without_cluster());
        assert!(verdict.valid, "{place}: {:?}", verdict.message);
        let given: BTreeSet<String> = settings.as_object().unwrap().keys().cloned().collect();
        let blends = texts(&settings["steps"]).contains("cacheblend-injection");
        let left_out: &[&str] = match manifest.policy.as_str() {
            // Its default, any repository, cannot be written down.
            "engine-validation" => &["allowedRepositories"],
            "pod-injection" if !blends => &["cacheblendArguments"],
            _ => &[],
        };
        let all: BTreeSet<String> = questions(&manifest.policy).keys().cloned().collect();
        let missing: Vec<&String> = all.difference(&given).collect();
        assert_eq!(missing, left_out, "{place}");
    }
}

/// The settings of a policy as its form for Rancher offers them.
fn questions(policy: &str) -> BTreeMap<String, Value> {
    let path = root().join(format!("metadata/{policy}/questions-ui.yml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let form: Value = yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let questions = form["questions"].as_array().unwrap().iter();
    questions
        .map(|question| (question["variable"].as_str().unwrap().to_owned(), question.clone()))
        .collect()
}

#[test]
fn forms_offer_what_the_policies_take() {
    for policy in POLICIES {
        let module = &MODULES[policy];
        let accepts = |settings: Map<String, Value>| {
            let context = EvaluationContext::without_cluster();
            let verdict = module.validate_settings(&Value::Object(settings), &context);
            assert!(verdict.valid, "{policy}: {:?}", verdict.message);
        };
        let questions = questions(policy);
        accepts(
            questions
                .iter()
                .filter_map(|(key, question)| Some((key.clone(), question.get("default")?.clone())))
                .collect(),
        );
        for (key, question) in &questions {
            for option in question["options"].as_array().into_iter().flatten() {
                accepts(Map::from_iter([(key.clone(), option.clone())]));
            }
        }
        let readme = std::fs::read_to_string(root().join(format!("policies/{policy}/README.md"))).unwrap();
        for key in questions.keys() {
            assert!(
                readme.contains(key.as_str()),
                "policies/{policy}/README.md does not mention {key}"
            );
        }
    }
}
