//! Webhook configurations in a cluster.

use anyhow::{Context, Result, anyhow, bail};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::Value;

/// Owns the fields of what is applied.
const FIELD_MANAGER: &str = "policy-host";

/// Applies configurations one after another, in their order.
///
/// # Errors
/// Names the configuration that the API server does not take, which those before it outlive; or one that Kubewarden itself
/// wrote, and then nothing is applied.
pub async fn apply(client: &Client, configurations: &[Value]) -> Result<()> {
    leave_kubewardens(client, configurations).await?;
    let params = PatchParams::apply(FIELD_MANAGER).force();
    for configuration in configurations {
        let (api, name) = api(client, configuration)?;
        api.patch(&name, &params, &Patch::Apply(configuration))
            .await
            .with_context(|| format!("cannot apply {name}"))?;
    }
    Ok(())
}

/// Deletes configurations; those that are not there are none too many.
///
/// # Errors
/// Names the configuration that cannot be deleted, and those after it stay; or one that Kubewarden itself wrote, and then
/// nothing is deleted.
pub async fn delete(client: &Client, configurations: &[Value]) -> Result<()> {
    leave_kubewardens(client, configurations).await?;
    for configuration in configurations {
        let (api, name) = api(client, configuration)?;
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error).with_context(|| format!("cannot delete {name}")),
        }
    }
    Ok(())
}

/// Where Kubewarden runs the same policies, its configurations have the same names. They lead to a Service.
async fn leave_kubewardens(client: &Client, configurations: &[Value]) -> Result<()> {
    for configuration in configurations {
        let (api, name) = api(client, configuration)?;
        let there = api
            .get_opt(&name)
            .await
            .with_context(|| format!("cannot read {name}"))?;
        let webhooks = there.as_ref().and_then(|there| there.data.get("webhooks")?.as_array());
        let leads_to_a_service = |webhook: &Value| webhook.pointer("/clientConfig/service").is_some();
        if webhooks.is_some_and(|webhooks| webhooks.iter().any(leads_to_a_service)) {
            bail!("{name} leads to a Service: it is Kubewarden's own; delete the ClusterAdmissionPolicy first");
        }
    }
    Ok(())
}

fn api(client: &Client, configuration: &Value) -> Result<(Api<DynamicObject>, String)> {
    let text = |pointer: &str| configuration.pointer(pointer).and_then(Value::as_str);
    let (Some(kind), Some(name)) = (text("/kind"), text("/metadata/name")) else {
        return Err(anyhow!("a webhook configuration without kind or name"));
    };
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    let resource = ApiResource::from_gvk(&kind);
    Ok((Api::all_with(client.clone(), &resource), name.to_owned()))
}
