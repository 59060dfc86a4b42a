//! The doors of policy-server: paths, status codes and bodies.

use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tokio::sync::Semaphore;

use super::policies::Origin;
use super::review::{Checked, ReviewRequest, Reviewed};
use super::{Log, Policies};
use crate::AdmissionRequest;

struct App {
    policies: Policies,
    places: Semaphore,
    log: Log,
}

pub(super) fn router(policies: Policies, workers: usize, log: Log) -> Router {
    let app = App {
        policies,
        places: Semaphore::new(workers.max(1)),
        log,
    };
    Router::new()
        .route("/validate/{id}", post(validate))
        .route("/audit/{id}", post(audit))
        .route("/readiness", get(ready))
        .with_state(Arc::new(app))
}

async fn ready() -> StatusCode {
    StatusCode::OK
}

async fn validate(app: State<Arc<App>>, id: Path<String>, body: Body) -> Result<Json<Reviewed>, Failure> {
    review(app.0, id.0, body.0.request, Origin::Validate).await
}

async fn audit(app: State<Arc<App>>, id: Path<String>, body: Body) -> Result<Json<Reviewed>, Failure> {
    review(app.0, id.0, body.0.request, Origin::Audit).await
}

async fn review(app: Arc<App>, id: String, request: Checked, origin: Origin) -> Result<Json<Reviewed>, Failure> {
    let Checked(request) = request;
    if !app.policies.contains(&id) {
        return Err(Failure::not_found(&id));
    }
    // Nobody closes the semaphore.
    let _place = app.places.acquire().await.map_err(|_| Failure::internal())?;
    let (evaluated, shown) = (Arc::clone(&app), id.clone());
    let line = described(&request);
    // A guest blocks, and so does its look-up.
    let reviewed =
        tokio::task::spawn_blocking(move || evaluated.policies.review(&id, &request, origin, &evaluated.log)).await;
    match reviewed {
        Ok(Some(reviewed)) => {
            (app.log)(&format!("{shown}: {line}: {}", reviewed.verdict()));
            Ok(Json(reviewed))
        }
        Ok(None) => Err(Failure::not_found(&shown)),
        Err(error) => {
            (app.log)(&format!("{shown}: {line}: the evaluation broke off: {error}"));
            Err(Failure::internal())
        }
    }
}

/// `CREATE pods team-a/web`, for the log.
fn described(request: &AdmissionRequest) -> String {
    let text = |pointer: &str| request.value().pointer(pointer).and_then(|value| value.as_str());
    let name = text("/name")
        .or_else(|| text("/object/metadata/name"))
        .or_else(|| text("/object/metadata/generateName"))
        .unwrap_or("?");
    let namespace = text("/namespace")
        .map(|namespace| format!("{namespace}/"))
        .unwrap_or_default();
    let (operation, resource) = (
        text("/operation").unwrap_or("?"),
        text("/resource/resource").unwrap_or("?"),
    );
    format!("{operation} {resource} {namespace}{name}")
}

/// A JSON body; what is wrong with one is said in JSON too.
struct Body(ReviewRequest);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Failure;

    async fn from_request(request: axum::extract::Request, state: &S) -> Result<Self, Failure> {
        let Json(review) = Json::<ReviewRequest>::from_request(request, state).await?;
        Ok(Self(review))
    }
}

/// An answer that is no AdmissionReview, so that the API server applies the webhook's `failurePolicy`.
struct Failure {
    status: StatusCode,
    message: String,
}

impl Failure {
    fn not_found(id: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            message: format!("policy not found: {id}"),
        }
    }

    fn internal() -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: "Something went wrong".to_owned(),
        }
    }
}

impl From<JsonRejection> for Failure {
    /// 400 for what is no JSON, 415 without its content type, 422 for what is no AdmissionReview.
    fn from(rejection: JsonRejection) -> Self {
        Self {
            status: rejection.status(),
            message: rejection.body_text(),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = json!({"message": self.message, "status": self.status.as_u16()});
        (self.status, Json(body)).into_response()
    }
}
