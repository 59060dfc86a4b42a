//! `artifacthub-pkg.yml`, the listing of a policy on Artifact Hub, made from `metadata.yml`.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::{Metadata, is_semver};
use crate::document::{self, kind_of};

/// The package as YAML. The same input gives the same text.
///
/// # Errors
/// Names the annotation that is missing or cannot be used, or what is wrong with the questions.
pub fn artifacthub_package(metadata: &Metadata, questions: Option<&str>, created_at: &str) -> Result<String> {
    check_timestamp(created_at)?;
    let version = metadata.required_annotation("io.kubewarden.policy.version")?;
    if !is_semver(version) {
        bail!("annotations[\"io.kubewarden.policy.version\"] must be a semantic version, found \"{version}\"");
    }
    let title = metadata.required_annotation("io.kubewarden.policy.title")?;
    let description = metadata.required_annotation("io.kubewarden.policy.description")?;
    let image = format!(
        "{}:v{version}",
        metadata.required_annotation("io.kubewarden.policy.ociUrl")?
    );
    let mut package = json!({
        "version": version,
        "name": title,
        "displayName": metadata.required_annotation("io.artifacthub.displayName")?,
        "createdAt": created_at,
        "description": description,
    });
    let mut set = |key: &str, value: Option<Value>| {
        if let (Some(package), Some(value)) = (package.as_object_mut(), value) {
            package.insert(key.to_owned(), value);
        }
    };
    set(
        "license",
        metadata.annotation("io.kubewarden.policy.license").map(Value::from),
    );
    set(
        "homeURL",
        metadata.annotation("io.kubewarden.policy.url").map(Value::from),
    );
    set("containersImages", Some(json!([{"name": "policy", "image": image}])));
    set("keywords", csv(metadata.annotation("io.artifacthub.keywords")));
    set("links", links(metadata, version));
    set("install", Some(Value::from(install_text(&image))));
    set("maintainers", maintainers(metadata)?);
    set("provider", Some(json!({"name": "kubewarden"})));
    let recommended = "https://artifacthub.io/packages/helm/kubewarden/kubewarden-controller";
    set("recommendations", Some(json!([{ "url": recommended }])));
    set("annotations", Some(Value::Object(annotations(metadata, questions)?)));
    Ok(yaml_serde::to_string(&package)?)
}

fn annotations(metadata: &Metadata, questions: Option<&str>) -> Result<Map<String, Value>> {
    let mut annotations = Map::new();
    let mut set = |key: &str, value: String| annotations.insert(format!("kubewarden/{key}"), Value::from(value));
    set("mutation", metadata.mutating.to_string());
    if !metadata.context_aware_resources.is_empty() {
        set(
            "contextAwareResources",
            yaml_serde::to_string(&metadata.context_aware_resources)?,
        );
    }
    set("rules", yaml_serde::to_string(&metadata.rules)?);
    if let Some(resources) = metadata.annotation("io.artifacthub.resources") {
        set("resources", resources.to_owned());
    }
    if let Some(hidden) = metadata.annotation("io.kubewarden.hidden-ui") {
        set("hidden-ui", hidden.to_owned());
    }
    if let Some(questions) = questions {
        match document::parse_one(questions)? {
            Value::Object(map) if map.get("questions").is_some_and(Value::is_array) => {}
            Value::Object(_) => bail!("the questions file has no list `questions`"),
            Value::Null => bail!("the questions file is empty; leave -q out for a policy without questions"),
            found => bail!("the questions file must be a map, found {}", kind_of(&found)),
        }
        set("questions-ui", questions.to_owned());
    }
    Ok(annotations)
}

fn csv(text: Option<&str>) -> Option<Value> {
    let items: Vec<&str> = text?
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect();
    (!items.is_empty()).then(|| json!(items))
}

/// A GitHub source also links the module of the release.
fn links(metadata: &Metadata, version: &str) -> Option<Value> {
    let source = metadata.annotation("io.kubewarden.policy.source")?;
    let mut links = Vec::new();
    if source.starts_with("https://github.com/") {
        let tag = match metadata.annotation("com.github.release.tag") {
            Some(tag) => percent_encode(tag),
            None => format!("v{version}"),
        };
        let url = format!("{}/releases/download/{tag}/policy.wasm", source.trim_end_matches('/'));
        links.push(json!({"name": "policy", "url": url}));
    }
    links.push(json!({"name": "source", "url": source}));
    Some(Value::Array(links))
}

fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// `Name <mail>, Name <mail>`; Artifact Hub demands both.
fn maintainers(metadata: &Metadata) -> Result<Option<Value>> {
    let Some(authors) = metadata.annotation("io.kubewarden.policy.author") else {
        return Ok(None);
    };
    let mut maintainers = Vec::new();
    for author in authors.split(',').map(str::trim).filter(|author| !author.is_empty()) {
        let parts = author
            .strip_suffix('>')
            .and_then(|author| author.split_once('<'))
            .map(|(name, mail)| (name.trim(), mail.trim()))
            .filter(|(name, mail)| !name.is_empty() && mail.contains('@'));
        let Some((name, email)) = parts else {
            bail!("annotations[\"io.kubewarden.policy.author\"] must be `Name <mail>`, found \"{author}\"");
        };
        maintainers.push(json!({"name": name, "email": email}));
    }
    Ok(Some(Value::Array(maintainers)))
}

fn install_text(image: &str) -> String {
    format!(
        "Fetch the policy with [`kwctl`](https://docs.kubewarden.io):\n\n```console\nkwctl pull {image}\n```\n\nThen install it with the manifest of `kwctl scaffold manifest`.\n"
    )
}

/// Checks an RFC 3339 time such as `2026-01-31T12:00:00Z`.
///
/// # Errors
/// Says what was expected.
pub fn check_timestamp(text: &str) -> Result<()> {
    let number = |from: usize, to: usize| {
        text.get(from..to)
            .filter(|part| part.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|part| part.parse::<u32>().ok())
    };
    let in_range = |value: Option<u32>, low: u32, high: u32| value.is_some_and(|value| (low..=high).contains(&value));
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let date_time = marks.iter().all(|(at, mark)| text.as_bytes().get(*at) == Some(mark))
        && number(0, 4).is_some()
        && in_range(number(5, 7), 1, 12)
        && in_range(number(8, 10), 1, 31)
        && in_range(number(11, 13), 0, 23)
        && in_range(number(14, 16), 0, 59)
        && in_range(number(17, 19), 0, 60);
    let rest = text.get(19..).unwrap_or_default();
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let offset = zone.strip_prefix(['+', '-']).is_some_and(|offset| {
        offset.len() == 5
            && offset.as_bytes().get(2) == Some(&b':')
            && offset.bytes().filter(u8::is_ascii_digit).count() == 4
    });
    if date_time && (zone == "Z" || offset) {
        return Ok(());
    }
    bail!("'{text}' is no RFC 3339 time such as 2026-01-31T12:00:00Z")
}

/// The current time in UTC, to the second.
pub fn timestamp_now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    timestamp(seconds)
}

/// Seconds since 1970 as RFC 3339; the calendar arithmetic counts days in eras of 400 years that start on 1 March.
fn timestamp(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        time / 3_600,
        time / 60 % 60,
        time % 60
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(0, "1970-01-01T00:00:00Z")]
    #[case(951_782_399, "2000-02-28T23:59:59Z")]
    #[case(951_782_400, "2000-02-29T00:00:00Z")]
    #[case(1_709_251_200, "2024-03-01T00:00:00Z")]
    #[case(4_102_444_799, "2099-12-31T23:59:59Z")]
    fn formats_time(#[case] seconds: u64, #[case] expected: &str) {
        assert_eq!(timestamp(seconds), expected);
        check_timestamp(expected).unwrap();
    }

    #[rstest]
    #[case("2026-01-31T12:00:00.5+02:00", true)]
    #[case("2026-01-31T12:00:00-0200", false)]
    #[case("2026-13-31T12:00:00Z", false)]
    #[case("2026-01-31 12:00:00Z", false)]
    #[case("2026-01-31T12:00:00", false)]
    #[case("yesterday", false)]
    #[case("é026-01-31T12:00:00Z", false)]
    fn checks_time(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(check_timestamp(text).is_ok(), expected);
    }
}
