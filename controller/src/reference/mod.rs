//! `reference`: every word that metrics, conditions, Events and Pods can say, as a page. `docs/reference.md` holds what it
//! prints.
//!
//! The tables are made from the constants and enums that the rest of the code uses.

mod metrics;
mod pods;
mod status;

#[cfg(test)]
mod tests;

use std::fmt::Display;

/// Head of the page.
const HEAD: &str = "\
# Reference

<!-- Written by `lmcache-controller reference`. -->

Every metric, condition, Event and skip reason, with every word that can stand there. The page is printed by
`lmcache-controller reference` from what the code uses, so it lacks nothing. What alerts mean, and what to do when one
fires, is on [another page](alerts.md).
";

/// The page.
pub fn run() -> String {
    [HEAD.to_owned(), metrics::section(), status::section(), pods::section()].join("\n")
}

/// A table in Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let head = row(head.map(str::to_owned));
    let mut lines = vec![head, format!("|{}", "---|".repeat(N))];
    lines.extend(rows.into_iter().map(row));
    lines.join("\n") + "\n"
}

fn row<const N: usize>(cells: [String; N]) -> String {
    let cells = cells.map(|cell| {
        if cell.is_empty() {
            " ".to_owned()
        } else {
            format!(" {cell} ")
        }
    });
    format!("|{}|", cells.join("|"))
}

/// As code.
fn code(text: impl Display) -> String {
    format!("`{text}`")
}

/// Several, each as code.
fn codes<T: Display>(texts: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = texts.into_iter().map(code).collect();
    texts.join(", ")
}
