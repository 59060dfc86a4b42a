//! Answers look-ups from a real cluster, with the rights of the client that it is given.
//!
//! Steps, caches and texts are those of Kubewarden's callback handler, since policies tell "not found", "kind not served"
//! and "forbidden" apart by the text alone. One thing differs: each list is read anew, where policy-server starts a watch
//! on the first and answers the next ones from memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow};
use k8s_openapi::api::authorization::v1 as authorization;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::Value;
use tokio::runtime::Handle;

use super::cluster::{list_of, strip};
use super::select::apply_masks;
use super::{HostCapabilities, HostRequest, SubjectAccessReview};

/// How long an answer to a cached call is used again, as in policy-server.
const CACHE_TIME: Duration = Duration::from_secs(5);

/// A cluster behind an API server. Calls block, so they must not come from a thread that drives asynchronous work.
pub struct KubeCluster {
    client: Client,
    runtime: Handle,
    /// By apiVersion and kind. What the API server once served is not asked for again.
    kinds: Mutex<HashMap<(String, String), Kind>>,
    /// Answers of calls with `disable_cache: false`. Failures are never kept.
    cache: Mutex<HashMap<String, (Instant, Value)>>,
}

#[derive(Clone)]
struct Kind {
    resource: ApiResource,
    namespaced: bool,
}

/// The client of a kubeconfig; `context` is the current one by default. No request is made.
///
/// # Errors
/// Names the file: it cannot be read, has no such context, or holds a certificate or address that cannot be used.
pub async fn kube_client(kubeconfig: &Path, context: Option<&str>) -> Result<Client> {
    let named = || format!("kubeconfig {}", kubeconfig.display());
    // With several features of rustls compiled in there is no default. An error says that one was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let file = Kubeconfig::read_from(kubeconfig).with_context(named)?;
    let mut config = Config::from_custom_kubeconfig(file, &options)
        .await
        .with_context(named)?;
    // A failure must reach the policy, which has a few seconds, and not be tried again behind its back.
    config.default_retry = false;
    Client::try_from(config).with_context(named)
}

impl KubeCluster {
    /// Looks up through this client, whose requests run on `runtime`.
    pub fn new(client: Client, runtime: Handle) -> Self {
        Self {
            client,
            runtime,
            kinds: Mutex::default(),
            cache: Mutex::default(),
        }
    }

    async fn look_up(&self, request: &HostRequest) -> Result<Value> {
        match request {
            HostRequest::KubernetesGetResource {
                api_version,
                kind,
                name,
                namespace,
                disable_cache,
                field_masks,
            } => {
                let get = self.get(api_version, kind, name, namespace.as_deref());
                let mut object = if *disable_cache {
                    get.await?
                } else {
                    let key = format!("get {api_version}/{kind} {namespace:?} {name}");
                    self.cached(key, get).await?
                };
                if let Some(masks) = field_masks {
                    apply_masks(&mut object, masks);
                }
                Ok(object)
            }
            HostRequest::KubernetesListResourceNamespace {
                api_version,
                kind,
                namespace,
                label_selector,
                field_selector,
                field_masks,
                ..
            } => {
                let found = self.kind(api_version, kind).await?;
                if !found.namespaced {
                    return Err(anyhow!(
                        "resource {api_version}/{kind} is cluster wide. Cannot search for it inside of a namespace"
                    ));
                }
                let api = Api::namespaced_with(self.client.clone(), namespace, &found.resource);
                let items = list(&api, label_selector.as_deref(), field_selector.as_deref()).await?;
                Ok(list_of(api_version, kind, items, field_masks.as_ref()))
            }
            HostRequest::KubernetesListResourceAll {
                api_version,
                kind,
                label_selector,
                field_selector,
                field_masks,
                ..
            } => {
                let found = self.kind(api_version, kind).await?;
                let api = Api::all_with(self.client.clone(), &found.resource);
                let items = list(&api, label_selector.as_deref(), field_selector.as_deref()).await?;
                Ok(list_of(api_version, kind, items, field_masks.as_ref()))
            }
            HostRequest::KubernetesCanI { request, disable_cache } => {
                let ask = self.can_i(request);
                if *disable_cache {
                    ask.await
                } else {
                    let key = format!("can_i {}", serde_json::to_string(request)?);
                    self.cached(key, ask).await
                }
            }
            other => Err(anyhow!(
                "an API server cannot answer {other}; use Kubewarden's policy-server"
            )),
        }
    }

    async fn get(&self, api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> Result<Value> {
        let found = self.kind(api_version, kind).await?;
        let api: Api<DynamicObject> = if found.namespaced {
            let namespace = namespace
                .ok_or_else(|| anyhow!("Resource {api_version}/{kind} is namespaced, but no namespace was provided"))?;
            Api::namespaced_with(self.client.clone(), namespace, &found.resource)
        } else {
            Api::all_with(self.client.clone(), &found.resource)
        };
        let object = api.get_opt(name).await.map_err(Error::new)?.ok_or_else(|| {
            anyhow!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
        })?;
        serde_json::to_value(object).map_err(|e| anyhow!("error serializing payload: {e:?}"))
    }

    async fn can_i(&self, request: &SubjectAccessReview) -> Result<Value> {
        let asked = &request.resource_attributes;
        let review = authorization::SubjectAccessReview {
            spec: authorization::SubjectAccessReviewSpec {
                user: Some(request.user.clone()),
                groups: request.groups.clone(),
                resource_attributes: Some(authorization::ResourceAttributes {
                    group: asked.group.clone(),
                    name: asked.name.clone(),
                    namespace: asked.namespace.clone(),
                    resource: Some(asked.resource.clone()),
                    subresource: asked.subresource.clone(),
                    verb: Some(asked.verb.clone()),
                    version: asked.version.clone(),
                    ..authorization::ResourceAttributes::default()
                }),
                ..authorization::SubjectAccessReviewSpec::default()
            },
            ..authorization::SubjectAccessReview::default()
        };
        let api: Api<authorization::SubjectAccessReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await.map_err(Error::new)?;
        let status = answer
            .status
            .ok_or_else(|| anyhow!("SubjectAccessReview did not return a response"))?;
        serde_json::to_value(status).map_err(|e| anyhow!("error serializing payload: {e:?}"))
    }

    /// The plural and scope of a kind, from the API server's own list.
    async fn kind(&self, api_version: &str, kind: &str) -> Result<Kind> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = lock(&self.kinds).get(&key) {
            return Ok(known.clone());
        }
        let listed = if api_version == "v1" {
            self.client.list_core_api_resources(api_version).await?
        } else {
            self.client
                .list_api_group_resources(api_version)
                .await
                .map_err(|e| anyhow!("error finding resource {api_version} / {kind}: {e}"))?
        };
        let entry = listed
            .resources
            .into_iter()
            .find(|resource| resource.kind == kind)
            .ok_or_else(|| anyhow!("Cannot find resource {api_version}/{kind}"))?;
        let (group, version) = match api_version.split_once('/') {
            Some(parts) => parts,
            None if api_version == "v1" => ("", api_version),
            None => return Err(anyhow!("cannot determine group and version for {api_version}")),
        };
        let found = Kind {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                plural: entry.name,
            },
            namespaced: entry.namespaced,
        };
        lock(&self.kinds).insert(key, found.clone());
        Ok(found)
    }

    async fn cached(&self, key: String, read: impl Future<Output = Result<Value>>) -> Result<Value> {
        if let Some((read_at, value)) = lock(&self.cache).get(&key)
            && read_at.elapsed() < CACHE_TIME
        {
            return Ok(value.clone());
        }
        let value = read.await?;
        let mut cache = lock(&self.cache);
        cache.retain(|_, (read_at, _)| read_at.elapsed() < CACHE_TIME);
        cache.insert(key, (Instant::now(), value.clone()));
        Ok(value)
    }
}

impl HostCapabilities for KubeCluster {
    fn answer(&self, request: &HostRequest) -> Result<Vec<u8>, String> {
        // The chain of causes belongs to the text that the guest gets.
        let answer = self
            .runtime
            .block_on(self.look_up(request))
            .map_err(|e| format!("{e:?}"))?;
        serde_json::to_vec(&answer).map_err(|e| format!("error serializing payload: {e:?}"))
    }
}

async fn list(api: &Api<DynamicObject>, labels: Option<&str>, fields: Option<&str>) -> Result<Vec<Value>> {
    let mut params = ListParams::default();
    if let Some(labels) = labels {
        params = params.labels(labels);
    }
    if let Some(fields) = fields {
        params = params.fields(fields);
    }
    let found = api.list(&params).await.map_err(Error::new)?;
    let mut items = Vec::with_capacity(found.items.len());
    for item in found.items {
        let mut item = serde_json::to_value(item).map_err(|e| anyhow!("error serializing payload: {e:?}"))?;
        strip(&mut item);
        items.push(item);
    }
    Ok(items)
}

/// A poisoned lock only means that another thread failed; each write is whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
