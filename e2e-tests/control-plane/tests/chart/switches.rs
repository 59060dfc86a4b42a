//! Every switch makes what it says, and the real API server takes it.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::setup::{LONG_NAMESPACE, RENDER, documents, keyed, only, policies, setup};

/// A row of `switches.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    values: String,
    object: Option<String>,
    has: Option<String>,
    gone: Option<String>,
}

fn switches() -> Vec<Switch> {
    yaml_serde::from_str(include_str!("switches.yaml")).unwrap()
}

/// The object of a kind whose name this is, or begins with it.
fn find<'a>(objects: &'a [Value], key: &str) -> Option<&'a Value> {
    let (kind, name) = key.split_once('/').unwrap();
    objects.iter().find(|object| {
        let own = object["metadata"]["name"].as_str().unwrap();
        object["kind"] == kind && (own == name || name.is_empty())
    })
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn every_switch_makes_what_it_says_and_the_api_server_takes_it() -> Result<()> {
    let setup = setup().await?;
    let default = setup.render(&[])?;
    setup.dry_run(&default).context("the default")?;
    let default = documents(&default);
    let mut done = BTreeSet::new();
    for Switch {
        values,
        object,
        has,
        gone,
    } in switches()
    {
        let rendered = setup.render(&["--set", &values])?;
        let objects = documents(&rendered);
        // None is there twice.
        keyed(objects.clone());
        match (object, has, gone) {
            (Some(key), Some(has), None) => {
                let object = find(&objects, &key).with_context(|| format!("{values}: there is no {key}"))?;
                let (path, text) = has.split_once('=').unwrap();
                let found = |object: &Value| match object.pointer(path) {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                assert_eq!(found(object), text, "{values}: {path} of {key}");
                let before = find(&default, &key).map(found);
                assert_ne!(before.as_deref(), Some(text), "{values}: {path} of {key} is so anyway");
            }
            (None, None, Some(key)) => {
                assert!(find(&default, &key).is_some(), "{values}: {key} is not there anyway");
                assert!(find(&objects, &key).is_none(), "{values}: {key} is still there");
            }
            row => panic!("{values}: {row:?}"),
        }
        // Without the kinds, which were judged above, it takes a tenth of the time.
        if values != "crds.install=false" && !done.contains(&values) {
            let objects = objects
                .iter()
                .filter(|object| object["kind"] != "CustomResourceDefinition");
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()});
            setup.dry_run(&list.to_string()).with_context(|| values.clone())?;
            done.insert(values);
        }
    }
    Ok(())
}

/// Every value that is true or false is among the switches above.
#[test]
fn no_switch_is_left_out() {
    fn collect(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Bool(_) => found.push(path.to_owned()),
            Value::Object(members) => {
                for (key, member) in members {
                    collect(
                        &format!("{path}{}{key}", if path.is_empty() { "" } else { "." }),
                        member,
                        found,
                    );
                }
            }
            _ => {}
        }
    }
    let values = control_plane::cluster::read("deploy/chart/values.yaml").unwrap();
    let mut found = Vec::new();
    collect("", &values[0], &mut found);
    assert!(found.len() > 20, "{found:?}");
    // Setting of a policy: same.rs.
    found.retain(|path| path != "policies.engineValidation.requirePinnedImages");
    let switches = switches();
    for path in found {
        let given = |values: &str| {
            values
                .split(',')
                .any(|value| value.split('=').next() == Some(path.as_str()))
        };
        assert!(switches.iter().any(|switch| given(&switch.values)), "{path}");
    }
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_chart_is_clean_for_lint() -> Result<()> {
    let setup = setup().await?;
    let report = setup.helm(&["lint", "--strict", setup.chart.to_str().unwrap()])?;
    assert!(report.contains("0 chart(s) failed"), "{report}");
    // Several switches together.
    let everything = [
        "lint",
        "--strict",
        setup.chart.to_str().unwrap(),
        "--set",
        "policyServer.dedicated.enabled=true,policies.settings.optIn=Annotation,policies.podInjection.variant=Separate",
        "--set",
        "monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true,monitoring.dashboard.enabled=true",
        "--set",
        "networkPolicy.engines.enabled=true,networkPolicy.engines.namespaces={team-a}",
    ];
    setup.helm(&everything)?;
    Ok(())
}

/// The longest names that Helm and Kubernetes allow, and everything at once.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn long_names_and_another_namespace_do() -> Result<()> {
    let setup = setup().await?;
    let release = "r".repeat(53);
    let chart = setup.chart.to_str().unwrap();
    let rendered = setup.helm(&[
        "template", &release, chart, "--namespace", LONG_NAMESPACE,
        "--set", "policyServer.dedicated.enabled=true,policies.settings.optIn=Annotation,policies.podInjection.variant=Separate",
        "--set", "monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true,monitoring.dashboard.enabled=true",
        "--set", "networkPolicy.engines.enabled=true,networkPolicy.engines.namespaces={team-a,team-b}",
        "--set", "networkPolicy.controller.enabled=true,controller.replicas=2,controller.podDisruptionBudget.enabled=true",
        "--set", "commonLabels.team=ml,policies.workloadPreflight.leaderWorkerSet=true",
    ])?;
    assert!(
        !rendered.contains("lmcache-system"),
        "the namespace of the manifests is left somewhere"
    );
    setup.dry_run(&rendered)?;
    let objects = keyed(documents(&rendered));
    for ((kind, namespace, name), object) in &objects {
        // A ClusterRole's name may have any length, and none of ours needs it.
        assert!(name.len() <= 63, "{kind} {name}");
        assert_eq!(object["metadata"]["labels"]["team"], "ml", "{kind} {name}");
        let elsewhere = ["", "kubewarden", "team-a", "team-b"].contains(&namespace.as_str());
        assert!(elsewhere || namespace == LONG_NAMESPACE, "{kind} {namespace}/{name}");
    }
    for kind in ["ClusterRoleBinding", "RoleBinding"] {
        let bindings = objects
            .iter()
            .filter(|((of, _, name), _)| of == kind && name == "lmcache-controller");
        for (_, binding) in bindings {
            assert_eq!(binding["subjects"][0]["namespace"], LONG_NAMESPACE, "{kind}");
        }
    }
    let template = &only(&objects, "Deployment")["spec"]["template"];
    assert_eq!(
        template["metadata"]["labels"]["app.kubernetes.io/name"],
        "lmcache-controller"
    );
    assert!(
        policies(&objects)
            .values()
            .all(|policy| policy["spec"]["policyServer"] == "lmcache")
    );
    Ok(())
}

/// What is in the files is put into the objects as it is: alerts have braces of their own.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn monitoring_is_the_files() -> Result<()> {
    let setup = setup().await?;
    // Texts of alerts say where the controller is.
    let file = |name: &str| -> Result<String> {
        let text = std::fs::read_to_string(setup.chart.join("files/monitoring").join(name))?;
        Ok(text.replace("lmcache-system", RENDER))
    };
    let rendered = keyed(documents(&setup.render(&[
        "--set",
        "monitoring.prometheusRule.enabled=true,monitoring.dashboard.enabled=true,monitoring.serviceMonitor.enabled=true",
    ])?));
    let rule = only(&rendered, "PrometheusRule");
    assert_eq!(rule["spec"], documents(&file("prometheus-rule.yaml")?)[0]["spec"]);
    assert_eq!(rule["metadata"]["namespace"], RENDER);
    let dashboard = only(&rendered, "ConfigMap")["data"]["lmcache.json"].as_str().unwrap();
    let parsed = |text: &str| serde_json::from_str::<Value>(text);
    assert_eq!(parsed(dashboard)?, parsed(&file("dashboard.json")?)?);
    let monitor = only(&rendered, "ServiceMonitor");
    let service = only(&rendered, "Service");
    let wanted = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert!(
        wanted
            .iter()
            .all(|(key, value)| service["metadata"]["labels"][key] == *value),
        "{wanted:?}"
    );
    assert_eq!(
        monitor["spec"]["endpoints"][0]["port"],
        service["spec"]["ports"][0]["name"]
    );
    assert_eq!(monitor["spec"]["endpoints"][0]["honorLabels"], true);
    assert_eq!(monitor["metadata"]["namespace"], service["metadata"]["namespace"]);
    Ok(())
}
