//! Requests as tests name them.

use std::fmt;

use http::request::Parts;
use lmcache_controller::rbac;
use serde_json::Value;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
    /// Server-side apply.
    Apply,
    /// Server-side apply with force.
    ForceApply,
    JsonPatch,
    MergePatch,
    Delete,
}

/// A request.
///
/// It is written `VERB resource/name`, with the namespace before it where that is not [`super::NAMESPACE`]. `APPLY` is a
/// PATCH of content type `application/apply-patch+yaml`, `APPLY!` one with force, `JSON` and `MERGE` are the others. Events
/// are called by their reason.
#[derive(Clone, Debug)]
pub struct Call {
    pub verb: Verb,
    /// Plural.
    pub resource: String,
    pub namespace: String,
    /// Empty for a POST.
    pub name: String,
    /// `status` or empty.
    pub subresource: String,
    /// Empty where the request names none.
    pub field_manager: String,
    /// Null where there is none.
    pub body: Value,
}

impl Call {
    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with it: no request of the controller should be like that.
    pub fn read(head: &Parts, body: &[u8]) -> Result<Self, String> {
        let target = head.uri.path_and_query().map_or("", |target| target.as_str());
        let what = format!("{} {target}", head.method);
        let request = rbac::Call::read(head.method.as_str(), target).ok_or(format!("not about an object: {what}"))?;
        if !rbac::allows(&request, "lmcache-system") {
            return Err(format!("not allowed by the controller's roles: {what}"));
        }
        let query = |name: &str| {
            let pairs = head.uri.query().unwrap_or_default().split('&');
            let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        let content_type = head
            .headers
            .get("content-type")
            .map_or("", |value| value.to_str().unwrap());
        let verb = match (head.method.as_str(), content_type) {
            ("GET", _) => Verb::Get,
            ("POST", _) => Verb::Post,
            ("DELETE", _) => Verb::Delete,
            ("PATCH", "application/apply-patch+yaml") if query("force").as_deref() == Some("true") => Verb::ForceApply,
            ("PATCH", "application/apply-patch+yaml") => Verb::Apply,
            ("PATCH", "application/json-patch+json") => Verb::JsonPatch,
            ("PATCH", "application/merge-patch+json") => Verb::MergePatch,
            _ => return Err(format!("not of a kind that is used: {what} ({content_type})")),
        };
        let (resource, subresource) = request.resource.split_once('/').unwrap_or((&request.resource, ""));
        let call = Call {
            verb,
            resource: resource.to_owned(),
            namespace: request.namespace.clone().unwrap_or_default(),
            name: request.name.clone().unwrap_or_default(),
            subresource: subresource.to_owned(),
            field_manager: query("fieldManager").unwrap_or_default(),
            body: serde_json::from_slice(body).unwrap_or_default(),
        };
        if !target.starts_with(call.prefix()) {
            return Err(format!("not the group and version of {resource}: {what}"));
        }
        let is_patch = head.method == "PATCH" && resource != "events";
        if is_patch && call.field_manager != "lmcache-controller" {
            return Err(format!("patches under another field manager: {what}"));
        }
        Ok(call)
    }

    fn prefix(&self) -> &'static str {
        match self.resource.as_str() {
            "daemonsets" | "deployments" => "/apis/apps/v1/",
            "servicemonitors" => "/apis/monitoring.coreos.com/v1/",
            "lmcacheengines" | "cacheblendengines" | "lmcachecoordinators" => "/apis/lmcache.lmcache.ai/v1alpha1/",
            "events" => "/apis/events.k8s.io/v1/",
            _ => "/api/v1/",
        }
    }

    /// Whether it is about an Event.
    pub fn is_event(&self) -> bool {
        self.resource == "events"
    }

    /// Whether it writes anything but Events.
    pub fn is_write(&self) -> bool {
        self.verb != Verb::Get && !self.is_event()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.verb {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Apply => "APPLY",
            Verb::ForceApply => "APPLY!",
            Verb::JsonPatch => "JSON",
            Verb::MergePatch => "MERGE",
            Verb::Delete => "DELETE",
        };
        write!(f, "{verb} ")?;
        if self.namespace != super::NAMESPACE {
            write!(f, "{}/", self.namespace)?;
        }
        write!(f, "{}", self.resource)?;
        if self.is_event() {
            // Its name is made up; its reason says more.
            return write!(f, " {}", self.body["reason"].as_str().unwrap_or_default());
        }
        write!(f, "/{}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        Ok(())
    }
}
