//! Pieces of Markdown.

use std::collections::BTreeMap;

/// A heading with an empty line in front of it. There are six levels.
pub(super) fn heading(level: usize, text: &str) -> String {
    format!("\n{} {}\n", "#".repeat(level.min(6)), text.trim())
}

/// A text with an empty line in front of it; nothing for an empty one.
pub(super) fn paragraph(text: Option<&str>) -> String {
    match text.map(str::trim_end).filter(|text| !text.is_empty()) {
        Some(text) => format!("\n{text}\n"),
        None => String::new(),
    }
}

/// A block of code behind a line of text, each with an empty line in front of it.
pub(super) fn block(label: &str, language: &str, code: &str) -> String {
    let longest = code
        .lines()
        .map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let label = paragraph(Some(label));
    format!("{label}\n{fence}{language}\n{}\n{fence}\n", code.trim_end_matches('\n'))
}

/// The anchors that GitHub gives to the headings of one page.
#[derive(Debug, Default)]
pub(super) struct Anchors(BTreeMap<String, usize>);

impl Anchors {
    /// The anchor of the next heading: lower case, letters, digits, `-` and `_`; a number where it was given before.
    pub(super) fn take(&mut self, heading: &str) -> String {
        let anchor: String = heading
            .trim()
            .chars()
            .filter_map(|character| match character {
                ' ' => Some('-'),
                '-' | '_' => Some(character),
                _ if character.is_alphanumeric() => Some(character),
                _ => None,
            })
            .flat_map(char::to_lowercase)
            .collect();
        let count = self.0.entry(anchor.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => anchor,
            times => format!("{anchor}-{}", times - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        let mut anchors = Anchors::default();
        for (heading, anchor) in [
            ("Pods that are wired", "pods-that-are-wired"),
            (
                "`enforce: baseline` (or `restricted`)",
                "enforce-baseline-or-restricted",
            ),
            ("Pods that are wired", "pods-that-are-wired-1"),
            ("A_b - c", "a_b---c"),
        ] {
            assert_eq!(anchors.take(heading), anchor);
        }
    }

    #[test]
    fn code_cannot_end_its_block() {
        assert_eq!(block("x:", "yaml", "a\n"), "\nx:\n\n```yaml\na\n```\n");
        assert_eq!(block("x:", "", "  ```\n"), "\nx:\n\n````\n  ```\n````\n");
        assert_eq!(paragraph(Some("  \n")), "");
    }
}
