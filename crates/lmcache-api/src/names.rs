//! Names of objects. Errors say what is wrong, in a sentence that follows the quoted name.

/// Longest name of an engine or coordinator, in bytes: a Service `<name>-metrics` must fit into a label of 63.
pub const MAX_NAME: usize = 55;

/// Bytes that the API server appends to `generateName`.
const GENERATED: usize = 5;

/// The name of an engine or coordinator from which Kubernetes can make all of its children: an RFC 1035 label of at most
/// 55 characters. Read it with `FromStr`; there is no other way to one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineName(String);

impl EngineName {
    /// The name itself: of the DaemonSet or Deployment, the look-up Service and the ServiceMonitor.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the Service that metrics are scraped through.
    pub fn metrics_service(&self) -> String {
        format!("{}-metrics", self.0)
    }

    /// Name of the ConfigMap with the connection JSON.
    pub fn connection_config_map(&self) -> String {
        connection_config_map(&self.0)
    }

    /// Name of the managed copy of the RESP credentials.
    pub fn resp_auth_secret(&self) -> String {
        format!("{}-resp-auth", self.0)
    }
}

impl std::str::FromStr for EngineName {
    type Err = String;

    /// # Errors
    /// What [`check_engine_name`] says.
    fn from_str(name: &str) -> Result<Self, String> {
        check_engine_name(name).map(|()| Self(name.to_owned()))
    }
}

impl std::fmt::Display for EngineName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Name of the ConfigMap with the connection JSON of an engine, also of one whose name is older than the rules for names.
pub fn connection_config_map(engine: &str) -> String {
    format!("{engine}-connection")
}

/// The prefix of the variables that Kubernetes makes of a Service of this name, where vLLM (`VLLM_`) or LMCache
/// (`LMCACHE_`) takes such variables for its own settings.
pub fn settings_variables(service: &str) -> Option<&'static str> {
    let makes = |word: &str| {
        let rest = service.strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    [("vllm", "VLLM_"), ("lmcache", "LMCACHE_")]
        .into_iter()
        .find_map(|(word, prefix)| makes(word).then_some(prefix))
}

/// Checks the name of an engine or coordinator: an RFC 1035 label (lower-case letters, digits, hyphens; starts with a
/// letter, ends with a letter or digit) of at most 55 characters, because Services `<name>` and `<name>-metrics` and a
/// label carry it.
pub fn check_engine_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if name.len() > MAX_NAME {
        return Err(format!(
            "must be no more than {MAX_NAME} characters, found {}: the Service <name>-metrics must fit into 63",
            name.len()
        ));
    }
    let ends_well = name.bytes().next_back().is_some_and(is_alphanumeric);
    if ends_well && label_start(name) {
        Ok(())
    } else {
        Err(
            "must be a Service name: lower-case letters, digits and '-', first a letter, last a letter or digit"
                .to_owned(),
        )
    }
}

/// Checks a `generateName`: with the five characters that the API server appends it must make an engine name.
pub fn check_generate_name(prefix: &str) -> Result<(), String> {
    if prefix.len() + GENERATED > MAX_NAME {
        return Err(format!(
            "must be no more than {} characters, found {}: the API server appends {GENERATED}, and the Service \
             <name>-metrics must fit into 63",
            MAX_NAME - GENERATED,
            prefix.len()
        ));
    }
    if label_start(prefix) {
        Ok(())
    } else {
        Err("must begin a Service name: lower-case letters, digits and '-', first a letter".to_owned())
    }
}

/// Checks an RFC 1123 label: a Namespace, or a name that becomes a Service.
pub fn check_label(name: &str) -> Result<(), String> {
    if is_label(name) {
        Ok(())
    } else {
        Err("must be lower-case letters, digits and '-', at most 63 characters".to_owned())
    }
}

/// Checks an RFC 1123 subdomain: the name of a Secret.
pub fn check_subdomain(name: &str) -> Result<(), String> {
    if name.len() <= 253 && name.split('.').all(is_subdomain_part) {
        Ok(())
    } else {
        Err("must be lower-case letters, digits, '-' and '.', at most 253 characters".to_owned())
    }
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn label_start(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
        && text.bytes().all(|byte| is_alphanumeric(byte) || byte == b'-')
}

fn is_subdomain_part(text: &str) -> bool {
    let edges = [text.bytes().next(), text.bytes().next_back()];
    edges.into_iter().all(|edge| edge.is_some_and(is_alphanumeric))
        && text.bytes().all(|byte| is_alphanumeric(byte) || byte == b'-')
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_subdomain_part(text)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn the_longest_name_leaves_room_for_its_longest_child() {
        let longest: EngineName = "k".repeat(MAX_NAME).parse().unwrap();
        assert_eq!(longest.metrics_service().len(), 63);
        assert!("k".repeat(MAX_NAME + 1).parse::<EngineName>().is_err());
    }

    #[test]
    fn children_are_named_as_the_go_operator_names_them() {
        let name: EngineName = "kv-pool".parse().unwrap();
        assert_eq!(name.connection_config_map(), "kv-pool-connection");
        assert_eq!(name.resp_auth_secret(), "kv-pool-resp-auth");
        assert_eq!((name.to_string(), name.as_str()), ("kv-pool".to_owned(), "kv-pool"));
    }
}
