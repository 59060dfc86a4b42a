//! Rules of the second tier and of the coordinator connection.

use serde_json::Value;

use super::Faults;
use crate::fault::{echo, quote, without_login};
use crate::names::{check_label, check_subdomain};
use crate::{CoordinatorConnectionSpec, FieldError, L2BackendSpec};

/// Exactly one backend, and at most one encryption.
pub(super) fn check_l2(l2: Option<&L2BackendSpec>, faults: &mut Faults) {
    if let Some(l2) = l2 {
        match (&l2.resp, &l2.raw) {
            (None, None) => faults.push(FieldError::required(
                "spec.l2Backend",
                "exactly one of resp or raw must be set",
            )),
            (Some(_), Some(_)) => {
                let expected = "exactly one of resp or raw must be set, got both";
                faults.push(FieldError::invalid("spec.l2Backend", "\"\"", expected));
            }
            _ => {}
        }
    }
    faults.take("spec.l2Backend");
    let Some((l2, serde)) = l2.and_then(|l2| Some((l2, l2.serde.as_ref()?))) else {
        return;
    };
    if serde.aesgcm.is_none() {
        faults.push(FieldError::required(
            "spec.l2Backend.serde",
            "exactly one serde must be set: aesgcm",
        ));
    }
    let config = l2.raw.as_ref().and_then(|raw| raw.config.as_ref());
    if config.is_some_and(|config| config.contains_key("serde")) {
        // Not what it says: there may be a key in it.
        let expected = "raw.config has a serde of its own: use one of the two";
        faults.push(FieldError::invalid("spec.l2Backend.serde", "\"\"", expected));
    }
}

/// `ref` or `url`; what is empty counts as unset.
pub(super) fn check_coordinator(coordinator: Option<&CoordinatorConnectionSpec>, faults: &mut Faults) {
    if let Some(coordinator) = coordinator {
        match (coordinator.ref_name(), coordinator.url()) {
            (Some(_), Some(_)) => {
                let expected = "exactly one of ref or url must be set, got both";
                faults.push(FieldError::invalid("spec.coordinator", "\"\"", expected));
            }
            (None, None) => {
                faults.push(FieldError::required(
                    "spec.coordinator",
                    "exactly one of ref or url must be set",
                ));
            }
            (Some(name), None) => {
                if let Err(expected) = check_label(name) {
                    faults.push(FieldError::invalid("spec.coordinator.ref.name", quote(name), expected));
                }
            }
            (None, Some(url)) => {
                if let Err(expected) = check_url(url) {
                    faults.push(FieldError::invalid(
                        "spec.coordinator.url",
                        quote(&without_login(url)),
                        expected,
                    ));
                }
            }
        }
    }
    faults.take("spec.coordinator");
}

/// What the Go operator does not check.
pub(super) fn check_more(l2: Option<&L2BackendSpec>, faults: &mut Faults) {
    let Some(l2) = l2 else { return };
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    if let Some(secret) = l2.resp.as_ref().and_then(|resp| resp.auth_secret_ref.as_ref()) {
        check(
            faults,
            "spec.l2Backend.resp.authSecretRef.name",
            given(&secret.name),
            check_subdomain,
        );
        check(
            faults,
            "spec.l2Backend.resp.authSecretRef.namespace",
            given(&secret.namespace),
            check_label,
        );
    }
    let aesgcm = l2.serde.as_ref().and_then(|serde| serde.aesgcm.as_ref());
    if let Some(key) = aesgcm.and_then(|aesgcm| aesgcm.master_key_secret_ref.as_ref()) {
        let path = "spec.l2Backend.serde.aesgcm.masterKeySecretRef.name";
        check(faults, path, given(&key.name), check_subdomain);
    }
    let Some(raw) = &l2.raw else { return };
    let own = raw.config.as_ref().and_then(|config| config.get("type"));
    if let (Some(type_), Some(own)) = (given(&raw.type_), own)
        && own != &Value::String(type_.clone())
    {
        let expected = format!(
            "differs from raw.type {}, which it would overwrite: leave it out",
            quote(&type_)
        );
        faults.push(FieldError::invalid(
            "spec.l2Backend.raw.config.type",
            echo(own),
            expected,
        ));
    }
}

fn check(faults: &mut Faults, path: &str, name: Option<String>, rule: fn(&str) -> Result<(), String>) {
    if let Some(name) = name
        && let Err(expected) = rule(&name)
    {
        faults.push(FieldError::invalid(path, quote(&name), expected));
    }
}

/// An `http` or `https` URL with a host and, if there is a port, one in range.
fn check_url(url: &str) -> Result<(), &'static str> {
    let expected = Err("must be an http:// or https:// URL with a host, such as http://coordinator.example.com:9300");
    let Some((scheme, rest)) = url.split_once("://") else {
        return expected;
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return expected;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // An IPv6 address stands in brackets, since it has colons of its own.
    let (host, port) = match authority.split_once(']') {
        Some((address, port)) => match address.strip_prefix('[') {
            Some(address) => (address, port.strip_prefix(':')),
            None => return expected,
        },
        None => authority
            .split_once(':')
            .map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if host.is_empty() || !port_fits || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return expected;
    }
    Ok(())
}
