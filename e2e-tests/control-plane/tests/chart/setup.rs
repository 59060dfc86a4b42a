//! A control plane with Kubewarden's kinds and none of ours, and the programs with which people install.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use control_plane::cluster::repository;
use control_plane::{ControlPlane, Identity, Programs, Tool, wait_until};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::kinds::others;
use crate::shared::LIMIT;

static SETUP: OnceCell<Setup> = OnceCell::const_new();
/// Held by tests that install: there is one release in a cluster.
static INSTALLING: Mutex<()> = Mutex::const_new(());

/// Namespaces that tests render into; those that install make their own.
pub const RENDER: &str = "render";

pub struct Setup {
    pub plane: ControlPlane,
    pub helm: PathBuf,
    pub kubectl: PathBuf,
    /// The chart, with monitoring.
    pub chart: PathBuf,
}

/// Of this file's own: the control plane runs until the process ends.
pub async fn setup() -> Result<&'static Setup> {
    SETUP
        .get_or_try_init(async || {
            let (programs, helm, kubectl) = tokio::task::spawn_blocking(|| {
                anyhow::Ok((Programs::find()?, Tool::Helm.find()?, Tool::Kubectl.find()?))
            })
            .await??;
            let plane = ControlPlane::start(programs).await?;
            let chart = chart(plane.folder())?;
            let setup = Setup {
                plane,
                helm,
                kubectl,
                chart,
            };
            let admin = setup.plane.cluster(Identity::Admin).await?;
            admin.gpu_node("node-0", &[("e2e.lmcache.ai/pool", "chart")]).await?;
            admin.runtime_class().await?;
            let mut objects: Vec<Value> = others().into();
            let namespaces = [
                RENDER,
                LONG_NAMESPACE,
                "kubewarden",
                "admission",
                "team-a",
                "team-b",
                "monitoring",
            ];
            objects.extend(namespaces.map(namespace));
            let crds = objects
                .iter()
                .filter(|object| object["kind"] == "CustomResourceDefinition");
            let names: Vec<&str> = crds.map(|crd| crd["metadata"]["name"].as_str().unwrap()).collect();
            setup.apply(&objects)?;
            setup.served(&names).await?;
            // As Kubewarden's own chart makes it.
            let server = json!({"apiVersion": "policies.kubewarden.io/v1", "kind": "PolicyServer",
                "metadata": {"name": "default"}, "spec": {"image": "policy-server:v1", "replicas": 1,
                "serviceAccountName": "policy-server"}});
            setup.apply(&[server])?;
            Ok(setup)
        })
        .await
}

/// As long as a namespace's name may be.
pub const LONG_NAMESPACE: &str = "a-namespace-with-as-many-characters-in-its-name-as-one-may-have";

/// The same for a test that installs, and nobody else until the guard goes.
pub async fn installing() -> Result<(&'static Setup, MutexGuard<'static, ()>)> {
    let setup = setup().await?;
    Ok((setup, INSTALLING.lock().await))
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// The chart of the repository. Where that has no alerts or no dashboard, a copy of it with some.
fn chart(folder: &Path) -> Result<PathBuf> {
    let chart = repository().join("deploy/chart").canonicalize()?;
    let stand_ins = [
        (
            "files/monitoring/prometheus-rule.yaml",
            "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: lmcache\n  namespace: lmcache-system\n\
             spec:\n  groups:\n    - name: lmcache\n      rules:\n        - alert: Down\n          expr: up == 0\n          \
             annotations: {summary: \"{{ $labels.pod }} is down: kubectl -n lmcache-system get pods\"}\n",
        ),
        ("files/monitoring/dashboard.json", "{\"title\": \"LMCache {{pod}}\"}\n"),
    ];
    if stand_ins.iter().all(|(file, _)| chart.join(file).is_file()) {
        return Ok(chart);
    }
    let copy = folder.join("chart");
    copied(&chart, &copy)?;
    for (file, text) in stand_ins {
        let path = copy.join(file);
        if !path.is_file() {
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(path, text)?;
        }
    }
    Ok(copy)
}

pub fn copied(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, target) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if path.is_dir() {
            copied(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

impl Setup {
    /// A program with the administrator's kubeconfig, and a home of its own for helm.
    pub fn command(&self, program: &Path) -> Command {
        let home = self.plane.folder().join("helm");
        let mut command = Command::new(program);
        command.env("KUBECONFIG", self.plane.kubeconfig(Identity::Admin));
        for part in ["CACHE", "CONFIG", "DATA"] {
            command.env(format!("HELM_{part}_HOME"), &home);
        }
        command
    }

    /// What helm prints.
    pub fn helm(&self, args: &[&str]) -> Result<String> {
        let (succeeded, out, err) = run(self.command(&self.helm).args(args), None)?;
        ensure!(succeeded, "helm {}: {err}", args.join(" "));
        Ok(out)
    }

    /// What helm complains about; that it does not is an error.
    pub fn helm_refuses(&self, args: &[&str]) -> Result<String> {
        let (succeeded, out, err) = run(self.command(&self.helm).args(args), None)?;
        ensure!(!succeeded, "helm {} succeeds: {out}", args.join(" "));
        Ok(err)
    }

    /// What kubectl prints.
    pub fn kubectl(&self, args: &[&str], input: Option<&str>) -> Result<String> {
        let (succeeded, out, err) = run(self.command(&self.kubectl).args(args), input)?;
        ensure!(succeeded, "kubectl {}: {err}", args.join(" "));
        Ok(out)
    }

    /// An object; `None` where there is none.
    pub fn find(&self, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>> {
        let mut args = vec!["get", kind, name, "--ignore-not-found", "-o", "json"];
        if !namespace.is_empty() {
            args.extend(["-n", namespace]);
        }
        let out = self.kubectl(&args, None)?;
        Ok(if out.trim().is_empty() {
            None
        } else {
            Some(serde_json::from_str(&out)?)
        })
    }

    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Result<Value> {
        let found = self.find(kind, namespace, name)?;
        found.with_context(|| format!("there is no {kind} {namespace}/{name}"))
    }

    /// Applies objects by server-side apply.
    pub fn apply(&self, objects: &[Value]) -> Result<()> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], Some(&list))?;
        Ok(())
    }

    /// Waits until kinds are served, by the names of their definitions. (`kubectl wait` fails on one without a status.)
    pub async fn served(&self, definitions: &[&str]) -> Result<()> {
        let wait = ["wait", "--for=condition=Established", "customresourcedefinition"];
        wait_until("the kinds are served", LIMIT, async || {
            self.kubectl(&[&wait[..], definitions].concat(), None)
        })
        .await?;
        Ok(())
    }

    /// Scales a Deployment to 0, and waits until it has no Pods.
    pub async fn stopped(&self, namespace: &str, name: &str) -> Result<()> {
        self.kubectl(&["-n", namespace, "scale", "deployment", name, "--replicas=0"], None)?;
        wait_until("a Deployment has no Pods", LIMIT, async || {
            let status = self.get("deployment", namespace, name)?["status"].clone();
            ensure!(
                status["replicas"].is_null() && status["observedGeneration"].is_i64(),
                "{status}"
            );
            Ok(())
        })
        .await
    }

    /// What the API server says to objects, none of which is stored: unknown fields are refused.
    pub fn dry_run(&self, manifests: &str) -> Result<()> {
        let args = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "-f",
            "-",
        ];
        self.kubectl(&args, Some(manifests))?;
        Ok(())
    }

    /// What the chart becomes with these arguments of `helm template`, in the namespace [`RENDER`].
    pub fn render(&self, args: &[&str]) -> Result<String> {
        let chart = self.chart.to_str().unwrap();
        self.helm(&[&["template", "lmcache", chart, "--namespace", RENDER], args].concat())
    }
}

/// Whether it succeeded, and what it printed.
pub fn run(command: &mut Command, input: Option<&str>) -> Result<(bool, String, String)> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let input = input.unwrap_or_default().to_owned();
    // Beside reading, since a program may print before it has read everything. One that reads nothing is no error.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output()?;
    writer.join().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}

/// The objects of a text of YAML documents.
pub fn documents(text: &str) -> Vec<Value> {
    let documents = yaml_serde::Deserializer::from_str(text).map(|document| Value::deserialize(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

/// Kind, namespace and name.
pub type Key = (String, String, String);

/// Objects by what names them; none is there twice.
pub fn keyed(objects: Vec<Value>) -> BTreeMap<Key, Value> {
    let count = objects.len();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let key = |object: &Value| {
        let metadata = &object["metadata"];
        (
            text(&object["kind"]),
            text(&metadata["namespace"]),
            text(&metadata["name"]),
        )
    };
    let all: BTreeMap<Key, Value> = objects.into_iter().map(|object| (key(&object), object)).collect();
    assert_eq!(all.len(), count, "an object is there twice: {:?}", all.keys());
    all
}

/// The only object of a kind.
pub fn only<'a>(objects: &'a BTreeMap<Key, Value>, kind: &str) -> &'a Value {
    let mut found = objects.iter().filter(|((of, _, _), _)| of == kind);
    let (_, object) = found.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(found.next().is_none(), "more than one {kind}");
    object
}

/// The policies among objects.
pub fn policies(objects: &BTreeMap<Key, Value>) -> BTreeMap<&str, &Value> {
    let policies = objects
        .iter()
        .filter(|((kind, _, _), _)| kind == "ClusterAdmissionPolicy");
    policies.map(|((_, _, name), policy)| (name.as_str(), policy)).collect()
}
