//! Unified diffs of small texts.

/// Compares line by line and gives the lines of a unified diff (`@@` headers, then ` `, `-` and `+` lines) with that many
/// lines of context; nothing when the texts are equal.
pub fn unified(before: &str, after: &str, context: usize) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = edit_script(&before, &after);
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.mark != ' ')
        .map(|(index, _)| index)
        .collect();
    let mut out = Vec::new();
    let mut shown_to = 0;
    let mut changes = changed.iter().peekable();
    while let Some(first) = changes.next() {
        let mut last = *first;
        // Changes whose context touches share a hunk.
        while let Some(next) = changes.next_if(|next| **next <= last + 2 * context + 1) {
            last = *next;
        }
        let from = first.saturating_sub(context).max(shown_to);
        let to = (last + context + 1).min(lines.len());
        let hunk = lines.get(from..to).unwrap_or_default();
        let count = |other: char| hunk.iter().filter(|line| line.mark != other).count();
        let (old, new) = hunk.first().map_or((0, 0), |line| (line.old, line.new));
        out.push(format!("@@ -{},{} +{},{} @@", old + 1, count('+'), new + 1, count('-')));
        out.extend(hunk.iter().map(|line| format!("{}{}", line.mark, line.text)));
        shown_to = to;
    }
    out
}

struct Line<'a> {
    mark: char,
    text: &'a str,
    /// How many lines of the old and the new text come before.
    old: usize,
    new: usize,
}

/// The shortest script by the longest common subsequence: quadratic, which is nothing for a manifest.
fn edit_script<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let width = after.len() + 1;
    // common[i * width + j]: length of the longest common subsequence of before[i..] and after[j..].
    let mut common = vec![0_u32; (before.len() + 1) * width];
    let at = |table: &[u32], i: usize, j: usize| table.get(i * width + j).copied().unwrap_or(0);
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let length = if old == new {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    loop {
        let (mark, text) = match (before.get(i), after.get(j)) {
            (None, None) => return lines,
            (Some(old), Some(new)) if old == new => (' ', *old),
            (Some(old), Some(_)) if at(&common, i + 1, j) >= at(&common, i, j + 1) => ('-', *old),
            (Some(old), None) => ('-', *old),
            (_, Some(new)) => ('+', *new),
        };
        lines.push(Line {
            mark,
            text,
            old: i,
            new: j,
        });
        i += usize::from(mark != '+');
        j += usize::from(mark != '-');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_no_diff() {
        assert!(unified("a\nb\n", "a\nb", 3).is_empty());
        assert!(unified("", "", 3).is_empty());
    }

    #[test]
    fn hunks_have_context_and_places() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\nx\n4\n5\n6\n7\n8\n9\n10\n";
        assert_eq!(
            unified(before, after, 1),
            [
                "@@ -2,3 +2,3 @@",
                " 2",
                "-3",
                "+x",
                " 4",
                "@@ -9,1 +9,2 @@",
                " 9",
                "+10"
            ]
        );
        assert_eq!(unified(before, after, 3).len(), 12);
    }

    #[test]
    fn everything_added_or_removed() {
        assert_eq!(unified("", "a\n", 3), ["@@ -1,0 +1,1 @@", "+a"]);
        assert_eq!(unified("a\n", "", 3), ["@@ -1,1 +1,0 @@", "-a"]);
    }
}
