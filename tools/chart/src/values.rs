//! The table of values: each with its default, and as description the comment above it.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

const BEGIN: &str = "<!-- Values: written by `make generate` from values.yaml. -->\n";
const END: &str = "<!-- End of the values. -->\n";

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The path of the value, with dots.
    pub path: String,
    /// Its default as JSON; `None` for a map that is only there to hold others.
    pub default: Option<String>,
    /// What it is for.
    pub about: String,
}

/// Every value of a `values.yaml`, in its order: all that hold no others, and those that do where they have a comment.
///
/// # Errors
/// It is no YAML, or a value has no comment.
pub fn rows(text: &str) -> Result<Vec<Row>> {
    let values: Value = yaml_serde::from_str(text).context("values.yaml is no YAML")?;
    let mut rows = Vec::new();
    let mut parents: Vec<(usize, String)> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    // Lines that are indented deeper belong to the value of a row.
    let mut inside: Option<usize> = None;
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.is_empty() {
            comment.clear();
            continue;
        }
        if inside.is_some_and(|limit| indent > limit) {
            continue;
        }
        inside = None;
        if let Some(words) = content.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        let Some((key, _)) = content.split_once(':') else {
            bail!("values.yaml: expected a key, found `{line}`");
        };
        parents.retain(|(depth, _)| *depth < indent);
        parents.push((indent, key.to_owned()));
        let keys: Vec<&str> = parents.iter().map(|(_, key)| key.as_str()).collect();
        let path = keys.join(".");
        let value = keys.iter().try_fold(&values, |value, key| value.get(key));
        let value = value.with_context(|| format!("values.yaml: {path} is not where its line is"))?;
        let holds_others = value.as_object().is_some_and(|members| !members.is_empty());
        if !holds_others {
            ensure!(
                !comment.is_empty(),
                "values.yaml: {path} needs a comment that says what it is for"
            );
            inside = Some(indent);
        }
        if !comment.is_empty() {
            rows.push(Row {
                path,
                default: (!holds_others).then(|| value.to_string()),
                about: comment.join(" "),
            });
        }
        comment.clear();
    }
    Ok(rows)
}

/// The README with the table of these values in it.
///
/// # Errors
/// See [`rows`]; or the README lacks the marks between which the table is.
pub(crate) fn readme(readme: &str, values: &str) -> Result<String> {
    let marks = readme.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = marks.with_context(|| {
        format!(
            "the chart's README.md lacks the lines `{}` and `{}`",
            BEGIN.trim(),
            END.trim()
        )
    })?;
    let mut table = String::from("\n| Value | Default | For |\n|---|---|---|\n");
    for row in rows(values)? {
        let default = row.default.map_or_else(String::new, |default| format!("`{default}`"));
        table.push_str(&format!(
            "| `{}` | {} | {} |\n",
            row.path,
            cell(&default),
            cell(&row.about)
        ));
    }
    Ok(format!("{before}{BEGIN}{table}\n{END}{after}"))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: &str = "# About the file.\n\n# First,\n# in two lines.\nalpha: 1\nbeta:\n  # Inner | text.\n  list:\n    \
                          - {a: b}\n    # Not a description.\n    - c: d\n  # Held.\n  held:\n    # Deep.\n    deep-er: \"\"\n";

    #[test]
    fn comments_become_rows() -> Result<()> {
        let row = |path: &str, default: Option<&str>, about: &str| Row {
            path: path.to_owned(),
            default: default.map(str::to_owned),
            about: about.to_owned(),
        };
        let expected = [
            row("alpha", Some("1"), "First, in two lines."),
            row("beta.list", Some(r#"[{"a":"b"},{"c":"d"}]"#), "Inner | text."),
            row("beta.held", None, "Held."),
            row("beta.held.deep-er", Some("\"\""), "Deep."),
        ];
        assert_eq!(rows(VALUES)?, expected);
        Ok(())
    }

    #[test]
    fn a_value_without_a_comment_is_named() {
        let error = rows("alpha:\n  beta: 1\n").map_or_else(|error| error.to_string(), |rows| format!("{rows:?}"));
        assert_eq!(
            error,
            "values.yaml: alpha.beta needs a comment that says what it is for"
        );
    }

    #[test]
    fn the_table_goes_between_its_marks_and_is_replaced() -> Result<()> {
        let empty = format!("# Chart\n{BEGIN}{END}The end.\n");
        let once = readme(&empty, VALUES)?;
        assert!(
            once.contains("| `beta.list` | `[{\"a\":\"b\"},{\"c\":\"d\"}]` | Inner \\| text. |\n"),
            "{once}"
        );
        assert!(once.starts_with("# Chart\n") && once.ends_with("The end.\n"), "{once}");
        assert_eq!(readme(&once, VALUES)?, once);
        assert!(readme("# Chart\n", VALUES).is_err());
        Ok(())
    }
}
