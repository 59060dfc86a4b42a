//! Kubewarden policy: refuses LMCacheEngines, CacheBlendEngines and LMCacheCoordinators that cannot work.
//!
//! All faults of an object are named at once, each with its field path. On a change only new faults count; objects that
//! are being deleted always pass. See the README for settings and rules.

pub mod settings;

use kubewarden_policy_sdk::wapc_guest::CallResult;
use policy_kit::cluster::{Cluster, HostCluster};
use policy_kit::engine::{Change, decide, kind_of, message};
use policy_kit::log;
use policy_kit::request::Request;
use policy_kit::response::Response;
use settings::Settings;

policy_kit::register_policy!(validate, validate_settings);

const POLICY: &str = "engine-validation";
/// HTTP status of a refusal: the object is understood, but its content is not valid.
const UNPROCESSABLE: u16 = 422;

/// Answers one admission request.
///
/// # Errors
/// Never in practice: what is not ours to judge is let through.
pub fn validate(payload: &[u8]) -> CallResult {
    answer(&Request::read(payload), &HostCluster).encode()
}

/// Checks the settings when the policy is loaded.
///
/// # Errors
/// Never in practice: bad settings are an answer, not an error.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    policy_kit::settings::validate(payload, Settings::read)
}

fn answer(request: &Request<'_>, cluster: &dyn Cluster) -> Response {
    let Some(kind) = kind_of(request) else {
        return Response::accept();
    };
    let Some(object) = request.object() else {
        return Response::accept();
    };
    // The host loads no policy with bad settings. Should it happen, the rules that need none still hold.
    let (settings, complaint) = match Settings::read(request.settings()) {
        Ok(settings) => (settings, None),
        Err(error) => (
            Settings::default(),
            Some(format!(
                "policy {POLICY} has bad settings, image rules were not applied: {error}"
            )),
        ),
    };
    let old_object = request.old_object();
    let change = if request.operation == "CREATE" {
        Change::Create
    } else {
        Change::Update(old_object.as_ref())
    };
    let mut verdict = decide(kind, &object, change, request.namespace.as_deref(), &settings, cluster);
    verdict.warnings.extend(complaint);
    let response = match verdict.faults.first() {
        None => Response::accept(),
        Some(first) => {
            log::Decision {
                policy: POLICY,
                engine: request.name.as_deref().unwrap_or_default(),
                outcome: "refused",
                reason: &first.path,
                host_error: None,
            }
            .write();
            Response::refuse(message(&verdict.faults), UNPROCESSABLE)
        }
    };
    response.with_warnings(verdict.warnings)
}
