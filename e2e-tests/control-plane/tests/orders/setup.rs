//! The namespaces in which the policies are called in different orders, and what is compared.

use anyhow::{Context, Result, ensure};
use control_plane::proxy_webhook::{NAME, PROXY, ProxyWebhook};
use control_plane::{Cluster, Identity, Policy, PolicyServer, wait_until};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::shared::policies::post;
use crate::shared::workloads::{pod, template};
use crate::shared::{LIMIT, engine, plane};

/// Position in the list of a namespace's policies.
const SEPARATE: [&str; 3] = ["connection-injection", "payload-staging", "cacheblend-injection"];
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
pub const MUTATING: &str = "MutatingWebhookConfiguration";
pub const STAMPS: [&str; 3] = ["lmcache-injected", "lmcache-payload-staged", "cacheblend-injected"];

/// Its name, and the names of its policies, in the order in which they are called.
pub type Namespace = (String, Vec<String>);

pub struct Setup {
    pub server: PolicyServer,
    pub mesh: ProxyWebhook,
    pub namespaces: Vec<Namespace>,
}

static SETUP: OnceCell<Setup> = OnceCell::const_new();
/// The tests change webhooks of the same namespaces.
static TURN: Mutex<()> = Mutex::const_new(());

/// A namespace for each order of the separate policies, and one for each of the two manifests of pod-injection. The guard
/// is there as well: it refuses a Pod whose wiring is not whole.
async fn set_up() -> Result<Setup> {
    let plane = plane().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    let mut sets = Vec::new();
    for (number, order) in ORDERS.iter().enumerate() {
        let files = order.map(|index| format!("separate/{}", SEPARATE[index]));
        sets.push((format!("order-{number}"), files.to_vec()));
    }
    let whole = [
        "lmcache-pod-injection".to_owned(),
        "cacheblend-pod-injection".to_owned(),
    ];
    sets.push(("whole-0".to_owned(), whole.to_vec()));
    sets.push(("whole-1".to_owned(), whole.iter().rev().cloned().collect()));
    let mut policies = vec![Policy::read("deploy/policies/lmcache-guard.yaml")?];
    let mut namespaces = Vec::new();
    for (ns, files) in sets {
        let mut names = Vec::new();
        for (position, file) in files.iter().enumerate() {
            let name = format!("{ns}-{position}-{}", file.trim_start_matches("separate/"));
            let policy = Policy::read(&format!("deploy/policies/{file}.yaml"))?;
            policies.push(policy.named(&name).only_in(&ns));
            names.push(name);
        }
        admin.namespace(&ns).await?;
        for (kind, name) in [("LMCacheEngine", "kv"), ("CacheBlendEngine", "blend")] {
            let mut engine = engine(&ns, name, "nowhere");
            engine["kind"] = kind.into();
            let image = json!({"repository": format!("registry.example.com/{name}/payload"), "tag": "v0.5.6"});
            let secrets = json!([{"name": format!("{name}-pull")}]);
            engine["spec"]["injection"] = json!({"payloadImage": image, "imagePullSecrets": secrets});
            admin.apply(&engine).await?;
        }
        namespaces.push((ns, names));
    }
    let server = PolicyServer::start(plane, "orders", &policies, &[]).await?;
    server.install()?;
    wait_until("the policies are in force", LIMIT, async || {
        for (ns, _) in &namespaces {
            let lmcache = admin.dry_run(&asking(ns, "probe-lmcache")).await?;
            ensure!(stamps(&lmcache) == STAMPS[..2], "{ns}: {:?}", stamps(&lmcache));
            let blend = admin.dry_run(&asking(ns, "probe-blend")).await?;
            ensure!(stamps(&blend) == STAMPS[2..], "{ns}: {:?}", stamps(&blend));
        }
        let mut forged = asking("order-0", "probe-forged");
        forged["metadata"] = json!({"name": "forged", "annotations": {"lmcache.ai/lmcache-injected": "true"}});
        let (code, _) = post(&admin, "/api/v1/namespaces/order-0/pods?dryRun=All", &forged).await?;
        ensure!(code == 422, "lmcache-guard: {code}");
        Ok(())
    })
    .await?;
    let mesh = ProxyWebhook::start(plane)?;
    Ok(Setup {
        server,
        mesh,
        namespaces,
    })
}

pub async fn turn() -> Result<(MutexGuard<'static, ()>, &'static Setup, Cluster)> {
    let turn = TURN.lock().await;
    let setup = SETUP.get_or_try_init(set_up).await?;
    Ok((turn, setup, plane().await?.cluster(Identity::Admin).await?))
}

/// What a Pod asks for, by the end of its name.
pub const PODS: [&str; 6] = ["lmcache", "blend", "both", "half", "cpu", "mesh"];

pub fn asking(ns: &str, name: &str) -> Value {
    let (lmcache, blend) = (
        json!({"lmcache.ai/lmcache-engine": "kv"}),
        "lmcache.ai/cacheblend-engine",
    );
    let (labels, mut annotations) = match name.rsplit('-').next().unwrap() {
        "lmcache" | "cpu" | "mesh" => (json!({"lmcache.ai/lmcache-inject": "true"}), lmcache),
        "blend" => (
            json!({"lmcache.ai/cacheblend-inject": "true"}),
            json!({(blend): "blend"}),
        ),
        // Both labels; `half` names one engine alone.
        "both" | "half" => (
            json!({"lmcache.ai/lmcache-inject": "true", "lmcache.ai/cacheblend-inject": "true"}),
            lmcache,
        ),
        _ => (json!({}), json!({"example.com/not": "ours"})),
    };
    if name.ends_with("both") {
        annotations[blend] = "blend".into();
    }
    if name.ends_with("mesh") {
        // Not known as a proxy: that the server of the model asks for a GPU tells the two apart.
        annotations[NAME] = "sidecar".into();
    }
    let mut template = template("nowhere", labels, annotations);
    if name.ends_with("cpu") {
        // Neither a GPU nor an image that is known: the name of the proxy alone does here.
        let container = template["spec"]["containers"][0].as_object_mut().unwrap();
        container.remove("resources");
        container["image"] = "registry.example.com/team/chat:1".into();
    }
    pod(ns, name, template)
}

pub fn stamps(pod: &Value) -> Vec<&'static str> {
    let mut stamps = STAMPS.to_vec();
    stamps.retain(|stamp| pod["metadata"]["annotations"][format!("lmcache.ai/{stamp}")] == "true");
    stamps
}

/// What namespaces may not make different: specification, labels, annotations.
pub fn brief(ns: &str, pod: &Value) -> Value {
    let metadata = &pod["metadata"];
    let brief =
        json!({"spec": pod["spec"], "labels": metadata["labels"], "annotations": metadata["annotations"]}).to_string();
    serde_json::from_str(&brief.replace(&format!(".{ns}.svc"), ".NAMESPACE.svc")).unwrap()
}

/// Creates the Pods in every namespace; what is stored, by namespace and kind of Pod.
pub async fn created(admin: &Cluster, namespaces: &[Namespace], prefix: &str) -> Result<Vec<(String, Vec<Value>)>> {
    let mut created = Vec::new();
    for (ns, _) in namespaces {
        let mut pods = Vec::new();
        for kind in PODS {
            let pod = asking(ns, &format!("{prefix}-{kind}"));
            pods.push(admin.create(&pod, "kubectl").await.context("refused")?);
        }
        created.push((ns.clone(), pods));
    }
    Ok(created)
}

/// The Pods of pod-injection without anybody else: what all others have to be.
pub async fn wanted(admin: &Cluster) -> Result<Vec<Value>> {
    let mut wanted = Vec::new();
    for kind in PODS {
        let pod = admin.dry_run(&asking("whole-0", &format!("wanted-{kind}"))).await?;
        wanted.push(brief("whole-0", &pod));
    }
    Ok(wanted)
}

/// Which of a namespace's policies were asked about a Pod, in order.
pub fn called(setup: &Setup, ns: &str, pod: &str) -> Result<Vec<String>> {
    let about = format!(": CREATE pods {ns}/{pod}: ");
    let log = setup.server.log()?;
    let lines = log
        .lines()
        .filter_map(|line| Some(line.strip_prefix("kw.cap.")?.split_once(&about)?.0));
    Ok(lines
        .filter(|name| *name != "lmcache-guard")
        .map(str::to_owned)
        .collect())
}

/// Puts a webhook in force that adds the proxy; where it is called, by its name, and in which namespaces.
pub async fn join(admin: &Cluster, setup: &Setup, places: &[(String, Vec<&str>)], reinvocation: &str) -> Result<()> {
    for (name, namespaces) in places {
        admin
            .apply(&setup.mesh.configuration(name, namespaces, reinvocation))
            .await?;
    }
    for (ns, pods) in places.iter().flat_map(|(_, all)| all).zip(1..) {
        wait_until(&format!("the proxy is put into {ns}"), LIMIT, async || {
            let pod = admin.dry_run(&asking(ns, &format!("join-{pods}-other"))).await?;
            ensure!(pod["spec"]["containers"][0]["name"] == PROXY, "not yet");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

pub async fn leave(admin: &Cluster, setup: &Setup) -> Result<()> {
    for configuration in admin.list(MUTATING, "", "e2e.lmcache.ai/of-tests").await? {
        let name = configuration["metadata"]["name"].as_str().unwrap();
        admin.delete(MUTATING, "", name).await?;
    }
    for (ns, _) in &setup.namespaces {
        wait_until(&format!("no proxy is put into {ns}"), LIMIT, async || {
            let pod = admin.dry_run(&asking(ns, "leave-other")).await?;
            ensure!(pod["spec"]["containers"][0]["name"] == "vllm", "not yet");
            Ok(())
        })
        .await?;
    }
    Ok(())
}
