//! Every switch makes what it says, and the real API server takes it.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::setup::{LONG_NAMESPACE, documents, keyed, only, policies, setup};

/// What is switched, by the arguments after `--set`, with an object that is there then and not otherwise (or, with `!`, the
/// other way round), and something in it.
const SWITCHES: &[(&str, &str, &str)] = &[
    (
        "commonLabels.team=ml",
        "Deployment/lmcache-controller",
        "/metadata/labels/team=ml",
    ),
    (
        "imagePullSecrets[0].name=login",
        "Deployment/lmcache-controller",
        "/spec/template/spec/imagePullSecrets/0/name=login",
    ),
    (
        "crds.install=false",
        "!CustomResourceDefinition/lmcacheengines.lmcache.lmcache.ai",
        "",
    ),
    ("rbac.userRoles=false", "!ClusterRole/lmcacheengine-editor", ""),
    ("controller.enabled=false", "!Deployment/lmcache-controller", ""),
    ("controller.enabled=false", "!ClusterRoleBinding/lmcache-controller", ""),
    (
        "controller.image.pullPolicy=Always",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/imagePullPolicy=Always",
    ),
    (
        "controller.replicas=3",
        "Deployment/lmcache-controller",
        "/spec/replicas=3",
    ),
    (
        "controller.leaderElection=false",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/args/1=--ipc-default=HostIPC",
    ),
    (
        "controller.concurrency=16",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/args/4=--concurrency=16",
    ),
    (
        "controller.logLevel=debug",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/args/4=--log-level=debug",
    ),
    (
        "controller.logFormat=text",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/args/4=--log-format=text",
    ),
    (
        "controller.extraArgs={--metrics-bind-address=:9999}",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/args/4=--metrics-bind-address=:9999",
    ),
    (
        "controller.env[0].name=HTTPS_PROXY,controller.env[0].value=http://proxy:3128",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/env/2/name=HTTPS_PROXY",
    ),
    (
        "controller.resources.limits.memory=1Gi",
        "Deployment/lmcache-controller",
        "/spec/template/spec/containers/0/resources/limits/memory=1Gi",
    ),
    (
        "controller.nodeSelector.pool=infra",
        "Deployment/lmcache-controller",
        "/spec/template/spec/nodeSelector/pool=infra",
    ),
    (
        "controller.tolerations[0].key=infra,controller.tolerations[0].operator=Exists",
        "Deployment/lmcache-controller",
        "/spec/template/spec/tolerations/0/key=infra",
    ),
    (
        "controller.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey=zone",
        "Deployment/lmcache-controller",
        "/spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/topologyKey=zone",
    ),
    (
        "controller.topologySpreadConstraints[0].maxSkew=1,controller.topologySpreadConstraints[0].topologyKey=zone,controller.topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
        "Deployment/lmcache-controller",
        "/spec/template/spec/topologySpreadConstraints/0/maxSkew=1",
    ),
    (
        "controller.priorityClassName=system-cluster-critical",
        "Deployment/lmcache-controller",
        "/spec/template/spec/priorityClassName=system-cluster-critical",
    ),
    (
        "controller.podAnnotations.note=x",
        "Deployment/lmcache-controller",
        "/spec/template/metadata/annotations/note=x",
    ),
    (
        "controller.podLabels.note=x",
        "Deployment/lmcache-controller",
        "/spec/template/metadata/labels/note=x",
    ),
    (
        "controller.serviceAccount.annotations.note=x",
        "ServiceAccount/lmcache-controller",
        "/metadata/annotations/note=x",
    ),
    (
        "controller.service.annotations.note=x",
        "Service/lmcache-controller-metrics",
        "/metadata/annotations/note=x",
    ),
    (
        "controller.podDisruptionBudget.enabled=true",
        "PodDisruptionBudget/lmcache-controller",
        "/spec/maxUnavailable=1",
    ),
    (
        "controller.podDisruptionBudget.enabled=true,controller.podDisruptionBudget.minAvailable=50%",
        "PodDisruptionBudget/lmcache-controller",
        "/spec/minAvailable=50%",
    ),
    ("policies.enabled=false", "!ClusterAdmissionPolicy/lmcache-guard", ""),
    ("policies.enabled=false", "!ClusterRole/lmcache-kubewarden-policies", ""),
    (
        "policies.auditScannerRole=false",
        "!ClusterRole/lmcache-kubewarden-view",
        "",
    ),
    (
        "policies.excludedNamespaces={kube-system}",
        "ClusterAdmissionPolicy/lmcache-guard",
        "/spec/namespaceSelector/matchExpressions/0/values/1=kubewarden",
    ),
    (
        "policies.timeoutSeconds=5",
        "ClusterAdmissionPolicy/lmcache-guard",
        "/spec/timeoutEvalSeconds=5",
    ),
    (
        "policies.engineValidation.enabled=false",
        "!ClusterAdmissionPolicy/lmcache-engine-validation",
        "",
    ),
    (
        "policies.engineValidation.mode=monitor",
        "ClusterAdmissionPolicy/lmcache-engine-validation",
        "/spec/mode=monitor",
    ),
    (
        "policies.engineValidation.failurePolicy=Ignore",
        "ClusterAdmissionPolicy/lmcache-engine-validation",
        "/spec/failurePolicy=Ignore",
    ),
    (
        "policies.podInjection.lmcache=false",
        "!ClusterAdmissionPolicy/lmcache-pod-injection",
        "",
    ),
    (
        "policies.podInjection.cacheblend=false",
        "!ClusterAdmissionPolicy/cacheblend-pod-injection",
        "",
    ),
    (
        "policies.podInjection.variant=Separate",
        "ClusterAdmissionPolicy/lmcache-payload-staging",
        "/spec/mutating=true",
    ),
    (
        "policies.podInjection.variant=Separate",
        "!ClusterAdmissionPolicy/lmcache-pod-injection",
        "",
    ),
    (
        "policies.podInjection.variant=Separate,policies.podInjection.lmcache=false",
        "ClusterAdmissionPolicy/cacheblend-injection",
        "/spec/mutating=true",
    ),
    (
        "policies.guard.enabled=false",
        "!ClusterAdmissionPolicy/lmcache-guard",
        "",
    ),
    (
        "policies.guard.mode=monitor",
        "ClusterAdmissionPolicy/lmcache-guard",
        "/spec/mode=monitor",
    ),
    (
        "policies.guard.failurePolicy=Ignore",
        "ClusterAdmissionPolicy/lmcache-guard",
        "/spec/failurePolicy=Ignore",
    ),
    (
        "policies.wiringAudit.lmcache=false",
        "!ClusterAdmissionPolicy/lmcache-wiring-audit",
        "",
    ),
    (
        "policies.wiringAudit.cacheblend=false",
        "!ClusterAdmissionPolicy/cacheblend-wiring-audit",
        "",
    ),
    (
        "policies.settings.optIn=Annotation",
        "!ClusterAdmissionPolicy/cacheblend-wiring-audit",
        "",
    ),
    (
        "policies.settings.optIn=Annotation",
        "ClusterAdmissionPolicy/lmcache-pod-injection",
        "/spec/matchConditions/0/name=names-an-engine",
    ),
    (
        "policies.settings.optIn=Annotation,policies.podInjection.variant=Separate",
        "ClusterAdmissionPolicy/cacheblend-injection",
        "/spec/matchConditions/0/name=names-an-engine",
    ),
    (
        "policies.workloadPreflight.enabled=false",
        "!ClusterAdmissionPolicy/lmcache-workload-preflight",
        "",
    ),
    (
        "policies.workloadPreflight.leaderWorkerSet=true",
        "ClusterAdmissionPolicy/lmcache-workload-preflight-leaderworkerset",
        "/spec/mode=monitor",
    ),
    (
        "policyServer.name=critical",
        "ClusterAdmissionPolicy/lmcache-pod-injection",
        "/spec/policyServer=critical",
    ),
    (
        "policyServer.serviceAccountName=reader",
        "ClusterRoleBinding/lmcache-kubewarden-policies",
        "/subjects/0/name=reader",
    ),
    (
        "policyServer.namespace=admission",
        "ClusterRoleBinding/lmcache-kubewarden-policies",
        "/subjects/0/namespace=admission",
    ),
    (
        "policyServer.namespace=admission",
        "ClusterAdmissionPolicy/lmcache-guard",
        "/spec/namespaceSelector/matchExpressions/0/values/3=admission",
    ),
    (
        "policyServer.dedicated.enabled=true",
        "PolicyServer/lmcache",
        "/spec/replicas=2",
    ),
    (
        "policyServer.dedicated.enabled=true",
        "!ClusterRoleBinding/lmcache-kubewarden-policies",
        "",
    ),
    (
        "policyServer.dedicated.enabled=true",
        "ClusterAdmissionPolicy/cacheblend-wiring-audit",
        "/spec/policyServer=lmcache",
    ),
    (
        "policyServer.dedicated.enabled=true,policyServer.namespace=admission",
        "ClusterRoleBinding/lmcache-kubewarden-policies-own-server",
        "/subjects/0/namespace=admission",
    ),
    (
        "policyServer.dedicated.enabled=true,policyServer.dedicated.imagePullSecret=login,policyServer.dedicated.insecureSources={registry.local:5000}",
        "PolicyServer/lmcache",
        "/spec/imagePullSecret=login",
    ),
    (
        "policyServer.dedicated.enabled=true,policyServer.dedicated.extraSpec.webhookPort=9443,policyServer.dedicated.env[0].name=KUBEWARDEN_WORKERS",
        "PolicyServer/lmcache",
        "/spec/webhookPort=9443",
    ),
    (
        "networkPolicy.engines.enabled=true,networkPolicy.engines.namespaces={team-a,team-b}",
        "NetworkPolicy/lmcache-engine-http",
        "/metadata/namespace=team-a",
    ),
    (
        "networkPolicy.controller.enabled=true",
        "NetworkPolicy/lmcache-controller",
        "/spec/ingress/0/ports/0/port=metrics",
    ),
    (
        "monitoring.serviceMonitor.enabled=true,monitoring.serviceMonitor.labels.release=prometheus",
        "ServiceMonitor/lmcache-controller",
        "/metadata/labels/release=prometheus",
    ),
    (
        "monitoring.prometheusRule.enabled=true,monitoring.prometheusRule.labels.release=prometheus",
        "PrometheusRule/",
        "/metadata/labels/release=prometheus",
    ),
    (
        "monitoring.dashboard.enabled=true,monitoring.dashboard.annotations.grafana_folder=LMCache",
        "ConfigMap/lmcache-dashboard",
        "/metadata/labels/grafana_dashboard=1",
    ),
];

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
    let mut done = Vec::new();
    for (values, key, expected) in SWITCHES {
        let rendered = setup.render(&["--set", values])?;
        let objects = documents(&rendered);
        // Two of one kind and name are in two namespaces.
        let objects_by_name = keyed(objects.clone());
        assert_eq!(objects_by_name.len(), objects.len());
        if let Some(key) = key.strip_prefix('!') {
            assert!(find(&default, key).is_some(), "{values}: {key} is not there anyway");
            assert!(find(&objects, key).is_none(), "{values}: {key} is still there");
        } else {
            let object = find(&objects, key).with_context(|| format!("{values}: there is no {key}"))?;
            let (path, text) = expected.split_once('=').unwrap();
            let found = |object: &Value| match object.pointer(path) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            assert_eq!(found(object), text, "{values}: {path} of {key}");
            let before = find(&default, key).map(found);
            assert_ne!(before.as_deref(), Some(text), "{values}: {path} of {key} is so anyway");
        }
        // Without the kinds, which were judged above, it takes a tenth of the time.
        if !done.contains(values) && *values != "crds.install=false" {
            let objects = objects
                .iter()
                .filter(|object| object["kind"] != "CustomResourceDefinition");
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()});
            setup.dry_run(&list.to_string()).with_context(|| (*values).to_owned())?;
            done.push(values);
        }
    }
    Ok(())
}

/// Every value that is true or false is among the switches above.
#[test]
fn no_switch_is_left_out() {
    fn switches(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Bool(_) => found.push(path.to_owned()),
            Value::Object(members) => {
                for (key, member) in members {
                    switches(
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
    switches("", &values[0], &mut found);
    assert!(found.len() > 20, "{found:?}");
    // Setting of a policy: same.rs.
    found.retain(|path| path != "policies.engineValidation.requirePinnedImages");
    for path in found {
        let given = |values: &str| {
            values
                .split(',')
                .any(|value| value.split('=').next() == Some(path.as_str()))
        };
        assert!(SWITCHES.iter().any(|(values, _, _)| given(values)), "{path}");
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
    let file = |name: &str| std::fs::read_to_string(setup.chart.join("files/monitoring").join(name));
    let rendered = keyed(documents(&setup.render(&[
        "--set",
        "monitoring.prometheusRule.enabled=true,monitoring.dashboard.enabled=true,monitoring.serviceMonitor.enabled=true",
    ])?));
    let rule = only(&rendered, "PrometheusRule");
    assert_eq!(rule["spec"], documents(&file("prometheus-rule.yaml")?)[0]["spec"]);
    assert_eq!(rule["metadata"]["namespace"], crate::setup::RENDER);
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
