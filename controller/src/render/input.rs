//! Files with custom resources, and with what those refer to.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lmcache_api::{API_VERSION, GROUP, Kind};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::str::FromStr;

/// A custom resource as it was found.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, for messages.
    pub file: String,
    /// Its kind.
    pub kind: Kind,
    /// The object.
    pub object: Value,
}

/// What a file holds. Not `Debug`: Secrets must not get into a message by accident.
#[derive(Default)]
pub(super) struct Contents {
    pub documents: Vec<Document>,
    /// Secrets as the API server keeps them: everything under `data`, in base64.
    pub secrets: Vec<Value>,
    /// What cannot be read, one sentence each.
    pub faults: Vec<String>,
}

/// Reads YAML with any number of documents, or JSON. Lists (`kubectl get -o yaml`) are taken apart; objects of other kinds
/// are none of our business.
pub(super) fn read(file: &str, text: &str) -> Contents {
    let mut contents = Contents::default();
    // JSON first: YAML readers stumble over its tabs and over large numbers.
    if let Ok(object) = serde_json::from_str(text) {
        take(file, 1, object, &mut contents);
        return contents;
    }
    for (index, document) in yaml_serde::Deserializer::from_str(text).enumerate() {
        match json(document) {
            Ok(object) => take(file, index + 1, object, &mut contents),
            Err(error) => {
                contents.faults.push(format!("{file}: document {}: {error}", index + 1));
                // Behind broken syntax, what follows cannot be told apart.
                break;
            }
        }
    }
    contents
}

/// A document as `kubectl` would send it. Keys that are there twice are an error.
fn json(document: yaml_serde::Deserializer<'_>) -> Result<Value, String> {
    let mut value = yaml_serde::Value::deserialize(document).map_err(|error| error.to_string())?;
    value.apply_merge().map_err(|error| error.to_string())?;
    let mut value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    octal_modes(&mut value);
    Ok(value)
}

/// `defaultMode: 0400` is an octal number to `kubectl`, which reads YAML 1.1, and a text to the reader used here. Kubernetes
/// takes no text there, so nobody can have meant one.
fn octal_modes(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let mode = member.as_str().filter(|_| key == "defaultMode" || key == "mode");
                match mode
                    .filter(|mode| mode.starts_with('0'))
                    .map(|mode| i32::from_str_radix(mode, 8))
                {
                    Some(Ok(mode)) => *member = Value::from(mode),
                    _ => octal_modes(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(octal_modes),
        _ => {}
    }
}

/// Sorts a document in.
fn take(file: &str, number: usize, object: Value, contents: &mut Contents) {
    if object.is_null() {
        return;
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
    if kind.is_empty() {
        let fault =
            format!("{file}: document {number}: kind: Required value: must be an object with apiVersion and kind");
        contents.faults.push(fault);
        return;
    }
    if kind == "Secret" && api_version == "v1" {
        contents.secrets.push(stored(object));
        return;
    }
    if let Ok(kind) = Kind::from_str(&kind) {
        if api_version == API_VERSION {
            let file = file.to_owned();
            contents.documents.push(Document { file, kind, object });
        } else {
            contents.faults.push(format!(
                "{file}: document {number}: {kind}: apiVersion: Invalid value: {}: must be {API_VERSION}",
                lmcache_api::fault::quote(&api_version)
            ));
        }
        return;
    }
    let list_of = kind.strip_suffix("List");
    let is_known_list = list_of.is_some_and(|kind| Kind::from_str(kind).is_ok());
    if api_version.starts_with(&format!("{GROUP}/")) && !is_known_list {
        contents.faults.push(format!(
            "{file}: document {number}: kind: Unsupported value: {}: supported values: {}",
            lmcache_api::fault::quote(&kind),
            Kind::ALL.map(|kind| format!("{:?}", kind.as_str())).join(", ")
        ));
        return;
    }
    let of_ours = list_of.is_some_and(|kind| Kind::from_str(kind).is_ok());
    if kind == "List" || of_ours {
        let Value::Object(mut members) = object else { return };
        let Some(Value::Array(items)) = members.remove("items") else {
            return;
        };
        for mut item in items {
            // In a list of one kind, the items need not say it again.
            if let (true, Some(kind), Some(item)) = (of_ours, list_of, item.as_object_mut()) {
                item.entry("apiVersion")
                    .or_insert_with(|| Value::from(api_version.as_str()));
                item.entry("kind").or_insert_with(|| Value::from(kind));
            }
            take(file, number, item, contents);
        }
    }
}

/// A Secret as the API server keeps it: `stringData` is for writing alone, and wins over `data`.
fn stored(mut secret: Value) -> Value {
    let Some(members) = secret.as_object_mut() else {
        return secret;
    };
    if let Some(Value::Object(texts)) = members.remove("stringData") {
        let data = members.entry("data").or_insert(Value::Null);
        if data.is_null() {
            *data = Value::Object(Map::new());
        }
        if let Some(data) = data.as_object_mut() {
            let texts = texts.into_iter();
            data.extend(
                texts.filter_map(|(key, text)| Some((key, Value::from(BASE64_STANDARD.encode(text.as_str()?))))),
            );
        }
    }
    secret
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: lmcache.lmcache.ai/v1alpha1\nkind: LMCacheEngine\n";

    fn faults(text: &str) -> Vec<String> {
        let contents = read("f.yaml", text);
        assert!(contents.documents.is_empty(), "{:?}", contents.documents);
        contents.faults
    }

    #[test]
    fn a_misspelt_kind_is_told() {
        let text =
            format!("{HEAD}metadata: {{name: a}}\n---\napiVersion: lmcache.lmcache.ai/v1alpha1\nkind: LMCacheEngin\n");
        let contents = read("f.yaml", &text);
        assert_eq!(contents.documents.len(), 1);
        assert!(
            contents.faults[0].contains("document 2: kind: Unsupported value: \"LMCacheEngin\""),
            "{:?}",
            contents.faults
        );
    }

    #[test]
    fn several_documents_and_other_kinds() {
        let text = format!(
            "# nothing\n---\n{HEAD}metadata: {{name: a}}\n---\napiVersion: v1\nkind: Secret\n---\n{HEAD}metadata: {{name: b}}\n"
        );
        let contents = read("f.yaml", &text);
        assert!(contents.faults.is_empty(), "{:?}", contents.faults);
        let names: Vec<_> = contents
            .documents
            .iter()
            .map(|document| &document.object["metadata"]["name"])
            .collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn lists_as_kubectl_prints_them() {
        for kind in ["List", "LMCacheEngineList"] {
            let version = if kind == "List" { "v1" } else { API_VERSION };
            let text = format!(
                "apiVersion: {version}\nkind: {kind}\nitems:\n- apiVersion: {API_VERSION}\n  kind: LMCacheEngine\n  metadata: {{name: a}}\n"
            );
            assert_eq!(read("-", &text).documents.len(), 1, "{kind}");
        }
        let bare =
            format!("apiVersion: {API_VERSION}\nkind: CacheBlendEngineList\nitems: [{{metadata: {{name: a}}}}]\n");
        assert_eq!(read("-", &bare).documents[0].kind, Kind::CacheBlendEngine);
    }

    #[test]
    fn secrets_are_read_as_they_are_stored() {
        let data = |more: &str| {
            let text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\n{more}\n");
            read("-", &text).secrets[0]["data"].clone()
        };
        assert_eq!(data("data: {password: cHc=}"), serde_json::json!({"password": "cHc="}));
        assert_eq!(
            data("stringData: {password: pw}"),
            serde_json::json!({"password": "cHc="})
        );
        assert_eq!(
            data("data: {password: b2xk, username: dQ==}\nstringData: {password: pw, n: null}"),
            serde_json::json!({"password": "cHc=", "username": "dQ=="})
        );
        assert_eq!(data("data: null\nstringData: {a: ''}"), serde_json::json!({"a": ""}));
        assert_eq!(data("type: Opaque"), Value::Null);
    }

    #[test]
    fn json_is_read_too() {
        let text = "{\n\t\"apiVersion\": \"lmcache.lmcache.ai/v1alpha1\",\n\t\"kind\": \"LMCacheCoordinator\"\n}\n";
        assert_eq!(read("-", text).documents[0].kind, Kind::LMCacheCoordinator);
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_place() {
        assert!(faults("a: [")[0].starts_with("f.yaml: document 1: "));
        assert!(faults(&format!("{HEAD}metadata: {{name: a}}\nkind: LMCacheEngine\n"))[0].contains("duplicate"));
        assert_eq!(
            faults("- a\n"),
            ["f.yaml: document 1: kind: Required value: must be an object with apiVersion and kind"]
        );
        // The group that the labels' prefix suggests.
        assert_eq!(
            faults("apiVersion: lmcache.ai/v1alpha1\nkind: LMCacheEngine\n"),
            [
                "f.yaml: document 1: LMCacheEngine: apiVersion: Invalid value: \"lmcache.ai/v1alpha1\": must be \
              lmcache.lmcache.ai/v1alpha1"
            ]
        );
    }

    #[test]
    fn modes_are_octal_and_merges_are_resolved() {
        let text = format!(
            "{HEAD}x: &x {{a: 1}}\nspec:\n  l1: {{<<: *x, sizeGB: 1}}\n  volumes:\n  - secret: {{defaultMode: 0400, items: [{{mode: 0440}}]}}\n"
        );
        let spec = &read("-", &text).documents[0].object["spec"];
        assert_eq!(spec["l1"]["a"], 1);
        assert_eq!(spec["volumes"][0]["secret"]["defaultMode"], 0o400);
        assert_eq!(spec["volumes"][0]["secret"]["items"][0]["mode"], 0o440);
    }
}
