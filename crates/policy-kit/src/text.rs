//! Text for people that travels in an HTTP header.
//!
//! An API server passes warnings on as `Warning` headers: longer than 256 bytes they are cut, and what is not printable
//! ASCII makes some clients drop the whole header.

/// Bytes that one warning may have.
pub const WARNING_BYTES: usize = 256;
/// Bytes that all warnings of one answer may have together.
pub const WARNINGS_BYTES: usize = 4096;

/// `text` as one line of printable ASCII: line breaks become spaces, other characters `?`.
pub fn ascii_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(WARNING_BYTES));
    for character in text.chars() {
        match character {
            ' '..='~' => line.push(character),
            '\n' | '\r' | '\t' => line.push(' '),
            _ => line.push('?'),
        }
    }
    line
}

/// `text` cut to at most `bytes` bytes on a character boundary, with `...` in place of what was cut.
pub fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes.saturating_sub(3);
    while end > 0 && !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut short = text.get(..end).unwrap_or_default().to_owned();
    short.push_str("...");
    short
}

/// Warnings as an API server can pass them on: printable ASCII, at most [`WARNING_BYTES`] each and
/// [`WARNINGS_BYTES`] together; what no longer fits is left out, the first ones stay.
pub fn warnings(texts: Vec<String>) -> Vec<String> {
    let mut room = WARNINGS_BYTES;
    let mut kept: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        let line = cut(&ascii_line(&text), WARNING_BYTES);
        if line.len() > room {
            break;
        }
        if !kept.contains(&line) {
            room -= line.len();
            kept.push(line);
        }
    }
    kept
}

/// A value of the user's for a message: in quotes, cut to 60 bytes.
pub fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    text.push_str(&cut(&ascii_line(value), 60));
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_warning_is_ascii_of_at_most_256_bytes() {
        let kept = warnings(vec![format!("engine \"{}\"\nX", "缓存".repeat(200))]);
        assert_eq!(kept.len(), 1);
        assert!(kept[0].len() <= WARNING_BYTES && kept[0].ends_with("..."));
        assert!(kept[0].bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    }

    #[test]
    fn all_warnings_together_fit_into_the_header() {
        let kept = warnings((0..100).map(|number| format!("{number} {}", "x".repeat(300))).collect());
        assert!(kept.iter().map(String::len).sum::<usize>() <= WARNINGS_BYTES);
        assert!(kept[0].starts_with("0 "));
    }

    #[test]
    fn one_warning_is_said_once() {
        assert_eq!(warnings(vec!["a".into(), "a".into(), "b".into()]), ["a", "b"]);
    }

    #[test]
    fn cutting_respects_characters() {
        assert_eq!(cut("äöü", 5), "ä...");
        assert_eq!(cut("abc", 3), "abc");
    }
}
