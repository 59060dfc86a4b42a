//! Looking at a cluster: the requests, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Request;
use jiff::Timestamp;
use kube::{Client, Config};
use lmcache_api::Kind;
use policy_kit::keys::{CACHEBLEND, LMCACHE, OPERATOR_LABELS, SystemKeys};
use policy_kit::pod::OptIn;
use serde_json::Value;

use super::operator_pods::{self, KUBEBUILDER, is_made_by};
use super::operators::{GO_LEASE, is_controller, is_go_operator};
use super::served::{
    CONFIG_MAP, CRD, LEASES, MONITOR, MUTATING, NAMESPACES, POD, POLICY, SERVICE, Served, VALIDATING, WORKLOADS,
    custom, kinded,
};
use super::settings::{self, Options};
use super::snapshot::{Snapshot, annotation, label, text};
use super::{asking, crds, workloads};
use crate::rbac::{LEASE, NAMESPACE};

/// How many objects a page of a list has.
const PAGE: u32 = 500;
/// How long an answer may take.
const SILENCE: Duration = Duration::from_secs(60);
/// Where the Go operator is unless somebody chose otherwise.
const GO_NAMESPACE: &str = "lmcache-operator-system";

/// Why it could not be looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blind {
    /// Rights are missing: `list deployments.apps`.
    Rights(BTreeSet<String>),
    /// The API server does not answer, or what it answers makes no sense.
    Failed(String),
}

/// A client by the kubeconfig or the service account of the Pod. No request is made.
///
/// # Errors
/// Neither can be used.
pub async fn client() -> Result<Client, Blind> {
    // With several features of rustls compiled in there is no default. An error says that one was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let failed = |error: &dyn std::fmt::Display| Blind::Failed(format!("no way to a cluster: {error}"));
    let mut config = Config::infer().await.map_err(|error| failed(&error))?;
    config.read_timeout = Some(SILENCE);
    Client::try_from(config).map_err(|error| failed(&error))
}

/// Looks at a cluster.
///
/// # Errors
/// All rights that are missing, as far as that can be told; or the first other failure.
pub async fn look(client: Client) -> Result<Snapshot, Blind> {
    let mut eyes = Eyes {
        client,
        snapshot: Snapshot {
            taken: Timestamp::now(),
            ..Snapshot::default()
        },
        missing: BTreeSet::new(),
    };
    for kind in Kind::ALL {
        eyes.list(custom(kind), "", |_| true).await?;
        eyes.get(CRD, "", &crds::name(kind)).await?;
    }
    let children = Children::of(&eyes.snapshot);
    for served in [MUTATING, VALIDATING, POLICY] {
        eyes.list(served, "", |_| true).await?;
    }
    for served in WORKLOADS {
        let is_wanted = |object: &Value| {
            let is_child = children.has(served.kind, object);
            is_child || workloads::mentions(object) || is_go_operator(object) || is_controller(object)
        };
        // A Job says whose Pods a CronJob's are.
        let is_link = |object: &Value| object.pointer("/metadata/ownerReferences").is_some() && served.kind == "Job";
        eyes.list(served, "", |object| is_wanted(object) || is_link(object))
            .await?;
    }
    eyes.pods().await?;
    let [_, (managed_by, operator)] = OPERATOR_LABELS;
    for served in [CONFIG_MAP, SERVICE] {
        eyes.list(served, &format!("{managed_by}={operator}"), |_| true).await?;
    }
    eyes.list(MONITOR, "", |object| children.has(MONITOR.kind, object))
        .await?;
    eyes.one_by_one(&children).await?;
    if eyes.missing.is_empty() {
        Ok(eyes.snapshot)
    } else {
        Err(Blind::Rights(eyes.missing))
    }
}

/// The names that children have: kind, namespace, name.
struct Children(BTreeSet<(&'static str, String, String)>);

impl Children {
    fn of(snapshot: &Snapshot) -> Children {
        let mut names = BTreeSet::new();
        for kind in Kind::ALL {
            for object in snapshot.of(kind.as_str()) {
                let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
                let mut add = |kind, end: &str| names.insert((kind, namespace.to_owned(), format!("{name}{end}")));
                add("Service", "");
                add("Service", "-metrics");
                add("ServiceMonitor", "");
                if kind == Kind::LMCacheCoordinator {
                    add("Deployment", "");
                } else {
                    add("DaemonSet", "");
                    add("ConfigMap", "-connection");
                }
            }
        }
        Children(names)
    }

    fn has(&self, kind: &'static str, object: &Value) -> bool {
        let name = |field: &str| text(object, &format!("/metadata/{field}")).to_owned();
        self.0.contains(&(kind, name("namespace"), name("name")))
    }
}

struct Eyes {
    client: Client,
    snapshot: Snapshot,
    missing: BTreeSet<String>,
}

impl Eyes {
    /// Pods that ask for wiring, and those of the Go operator; each once.
    async fn pods(&mut self) -> Result<(), Blind> {
        let asks = |pod: &Value, keys: &SystemKeys| label(pod, keys.inject) == "true";
        let is_asking = |pod: &Value| asks(pod, &LMCACHE) || asks(pod, &CACHEBLEND);
        let is_kubebuilders = |pod: &Value| label(pod, KUBEBUILDER.0) == KUBEBUILDER.1;
        let is_listed = |pod: &Value| is_asking(pod) || is_kubebuilders(pod) && is_go_operator(pod);
        self.list(POD, &format!("{}=true", LMCACHE.inject), |_| true).await?;
        self.list(POD, &format!("{}=true", CACHEBLEND.inject), |pod| !asks(pod, &LMCACHE))
            .await?;
        self.list(POD, &format!("{}={}", KUBEBUILDER.0, KUBEBUILDER.1), |pod| {
            is_go_operator(pod) && !is_asking(pod)
        })
        .await?;
        let operators = self.snapshot.of("Deployment").filter(|object| is_go_operator(object));
        let operators: Vec<(String, String, String)> = operators
            .map(|deployment| {
                let text = |field: &str| text(deployment, &format!("/metadata/{field}")).to_owned();
                (operator_pods::selector(deployment), text("namespace"), text("name"))
            })
            .filter(|(selector, ..)| !selector.is_empty())
            .collect();
        for (selector, namespace, name) in &operators {
            self.list(POD, selector, |pod| {
                !is_listed(pod) && is_made_by(pod, name) && text(pod, "/metadata/namespace") == namespace
            })
            .await?;
        }
        // Annotations cannot be selected by, so where they are enough all Pods are looked through.
        let settings = settings::choose(&self.snapshot, &Options::default());
        if settings.pods.opt_in == OptIn::Annotation {
            let is_operators = |pod: &Value| {
                let namespace = text(pod, "/metadata/namespace");
                let mut operators = operators.iter();
                operators.any(|(_, other, name)| other == namespace && is_made_by(pod, name))
            };
            self.list(POD, "", |pod| {
                asking::by_annotation(pod) && !is_listed(pod) && !is_operators(pod)
            })
            .await?;
        }
        Ok(())
    }

    /// What has no label to be listed by.
    async fn one_by_one(&mut self, children: &Children) -> Result<(), Blind> {
        let named = children.0.iter().filter_map(|(kind, namespace, name)| {
            let served = [CONFIG_MAP, SERVICE].into_iter().find(|served| served.kind == *kind)?;
            Some((served, namespace.clone(), name.clone()))
        });
        let mut wanted: Vec<(Served, String, String)> = named.collect();
        let mut namespaces = BTreeSet::new();
        for object in WORKLOADS.iter().flat_map(|served| self.snapshot.of(served.kind)) {
            let namespace = text(object, "/metadata/namespace");
            for template in workloads::templates(object) {
                for keys in [&LMCACHE, &CACHEBLEND] {
                    let engine = annotation(template, keys.engine).trim();
                    let (namespace, engine) = engine.split_once('/').unwrap_or((namespace, engine));
                    if is_name(engine) && is_name(namespace) {
                        wanted.push((CONFIG_MAP, namespace.to_owned(), format!("{engine}-connection")));
                    }
                }
            }
            if workloads::mentions(object) {
                namespaces.insert(namespace.to_owned());
            }
        }
        wanted.extend(namespaces.into_iter().map(|name| (NAMESPACES, String::new(), name)));
        let deployments = self.snapshot.of("Deployment");
        let operators: Vec<&Value> = deployments
            .filter(|object| is_go_operator(object) || is_controller(object))
            .collect();
        let pods = self.snapshot.of("Pod").filter(|pod| is_go_operator(pod));
        let operators = operators.into_iter().chain(pods);
        let namespaces = operators.map(|object| text(object, "/metadata/namespace"));
        let namespaces: BTreeSet<&str> = namespaces.chain([GO_NAMESPACE, NAMESPACE]).collect();
        for namespace in namespaces {
            wanted.extend([GO_LEASE, LEASE].map(|lease| (LEASES, namespace.to_owned(), lease.to_owned())));
        }
        for (served, namespace, name) in wanted {
            if self.snapshot.get(served.kind, &namespace, &name).is_none() {
                self.get(served, &namespace, &name).await?;
            }
        }
        Ok(())
    }

    /// Lists the objects of all namespaces with these labels, and keeps some.
    async fn list(&mut self, served: Served, labels: &str, keep: impl Fn(&Value) -> bool) -> Result<(), Blind> {
        let mut next = String::new();
        loop {
            // Labels, and the words that the API server gives to go on, hold nothing that would have to be escaped but these.
            let escaped = |text: &str| {
                text.replace('%', "%25")
                    .replace('+', "%2B")
                    .replace('=', "%3D")
                    .replace('/', "%2F")
            };
            let mut path = format!("{}?limit={PAGE}", served.path("", ""));
            for (parameter, value) in [("labelSelector", labels), ("continue", next.as_str())] {
                if !value.is_empty() {
                    path.push_str(&format!("&{parameter}={}", escaped(value)));
                }
            }
            let Some(mut list) = self.ask(served, "list", &path).await? else {
                return Ok(());
            };
            next = text(&list, "/metadata/continue").to_owned();
            let items = list.get_mut("items").map(Value::take).unwrap_or_default();
            let Value::Array(items) = items else {
                return Err(Blind::Failed(format!("GET {path}: the answer is no list")));
            };
            let kept = items.into_iter().map(|item| kinded(served, item)).filter(&keep);
            self.snapshot.objects.extend(kept);
            if next.is_empty() {
                return Ok(());
            }
        }
    }

    /// Gets an object, if it is there.
    async fn get(&mut self, served: Served, namespace: &str, name: &str) -> Result<(), Blind> {
        let found = self.ask(served, "get", &served.path(namespace, name)).await?;
        self.snapshot.objects.extend(found.map(|object| kinded(served, object)));
        Ok(())
    }

    /// The answer to a GET; `None` where there is nothing, or no right.
    async fn ask(&mut self, served: Served, verb: &str, path: &str) -> Result<Option<Value>, Blind> {
        let failed = |error: &dyn std::fmt::Display| Blind::Failed(format!("GET {path}: {error}"));
        let request = Request::get(path).body(Vec::new()).map_err(|error| failed(&error))?;
        match self.client.request::<Value>(request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                // A list of a kind that is served is never missing.
                if verb == "list" {
                    self.snapshot.absent.insert(served.kind.to_owned());
                }
                Ok(None)
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                self.missing.insert(served.right(verb));
                Ok(None)
            }
            Err(kube::Error::Api(status)) => Err(failed(&format!(
                "the API server answered {}: {}",
                status.code, status.message
            ))),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Names go into paths: nothing else may.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}
