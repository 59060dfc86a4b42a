//! Counts the client's requests, reads and watches included.

use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use tower::{Layer, Service};

use super::Metrics;
use crate::rbac::Call;

/// Counts what passes, see [`Metrics::count_requests`].
#[derive(Clone, Debug)]
pub struct CountRequests(Metrics);

impl CountRequests {
    pub(super) fn new(metrics: Metrics) -> Self {
        CountRequests(metrics)
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted {
            inner,
            metrics: self.0.clone(),
        }
    }
}

/// A service whose requests are counted.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    metrics: Metrics,
}

impl<S, A, B> Service<Request<A>> for Counted<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let call = Call::read(request.method().as_str(), target);
        let metrics = self.metrics.clone();
        let count = move |result: &Result<Response<B>, S::Error>| {
            // What RBAC has no words for: which kinds are served.
            let (verb, resource) = call
                .as_ref()
                .map_or(("get", "discovery"), |call| (call.verb, &call.resource));
            match result {
                Ok(response) => metrics.request(verb, resource, response.status().as_str()),
                Err(_) => metrics.request(verb, resource, "error"),
            }
        };
        self.inner.call(request).inspect(count).boxed()
    }
}
