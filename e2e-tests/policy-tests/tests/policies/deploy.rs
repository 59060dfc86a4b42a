//! Every manifest of a policy in the repository fits the module that it names.

use policy_host::check::{Modules, check_manifests};
use policy_tests::{POLICIES, module, root};

#[test]
fn manifests_fit_their_modules() {
    let modules = module("pod-injection");
    let modules = Modules::new(modules.parent().expect("a folder of modules"), false);
    let verdicts = check_manifests(&root().join("deploy"), &modules).unwrap_or_else(|error| panic!("{error:#}"));
    let clean = |faults: &[String], warnings: &[String]| faults.is_empty() && warnings.is_empty();
    let complaints: Vec<String> = verdicts
        .iter()
        .filter(|verdict| !clean(&verdict.faults, &verdict.warnings))
        .map(ToString::to_string)
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(
        verdicts.len() >= POLICIES.len(),
        "every policy has a manifest: {}",
        verdicts.len()
    );
}
