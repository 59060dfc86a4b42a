//! The input file of a page.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::document::{self, kind_of};

/// A page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// The first heading.
    pub(super) title: String,
    /// Markdown below it.
    #[serde(default)]
    pub(super) intro: Option<String>,
    pub(super) sections: Vec<Section>,
}

/// A heading and what stands below it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    pub(super) heading: String,
    /// Markdown.
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) cases: Vec<CaseEntry>,
    #[serde(default)]
    pub(super) sections: Vec<Section>,
}

/// A case to show.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct CaseEntry {
    /// The folder, relative to the input file.
    pub(super) path: PathBuf,
    /// The heading; the `about` of the case when absent.
    pub(super) title: Option<String>,
    /// Markdown.
    pub(super) text: Option<String>,
    /// Whether the objects of the cluster are shown.
    pub(super) cluster: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongEntry {
    case: PathBuf,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    cluster: bool,
}

impl TryFrom<Value> for CaseEntry {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(path) => Ok(Self {
                path: PathBuf::from(path),
                title: None,
                text: None,
                cluster: false,
            }),
            Value::Object(_) => {
                let entry: LongEntry = serde_json::from_value(value).map_err(|e| format!("entry of cases: {e}"))?;
                Ok(Self {
                    path: entry.case,
                    title: entry.title,
                    text: entry.text,
                    cluster: entry.cluster,
                })
            }
            found => Err(format!(
                "an entry of cases must be a path or a map, found {}",
                kind_of(&found)
            )),
        }
    }
}

impl Page {
    pub(super) fn load(path: &Path) -> Result<Self> {
        let page: Self =
            serde_json::from_value(document::read_one(path)?).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        if page.sections.is_empty() {
            bail!("{}: `sections` is empty", path.display());
        }
        Ok(page)
    }
}
