//! Lists in messages.

/// Longest list of faults or problems, in bytes. A condition's message may have 32,768.
pub(super) const LIST_BYTES: usize = 8_000;
/// Most names in a message.
const NAMES: usize = 10;

/// As many items as fit into [`LIST_BYTES`], at least one, and how many more there are. One item stands bare, several
/// as the Go operator writes them: `[a, b]`.
pub(super) fn bracketed(items: &[String]) -> String {
    let (shown, more) = fitting(items, ", ");
    let shown = match items {
        [_] => shown,
        _ => format!("[{shown}]"),
    };
    with_more(shown, more)
}

/// Likewise, one sentence after the other.
pub(super) fn sentences(items: &[String]) -> String {
    let (shown, more) = fitting(items, "; ");
    with_more(shown, more)
}

/// The first ten names, and how many more there are.
pub(super) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<&str> = names.by_ref().take(NAMES).collect();
    with_more(shown.join(", "), names.count())
}

fn with_more(shown: String, more: usize) -> String {
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn fitting(items: &[String], separator: &str) -> (String, usize) {
    let Some((first, rest)) = items.split_first() else {
        return (String::new(), 0);
    };
    let mut shown = cut(first, LIST_BYTES);
    let mut more = rest.len();
    for item in rest {
        if shown.len() + separator.len() + item.len() > LIST_BYTES {
            break;
        }
        shown.push_str(separator);
        shown.push_str(item);
        more -= 1;
    }
    (shown, more)
}

/// At most `bytes` of a text, with dots in place of the rest.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    const DOTS: &str = "...";
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub(DOTS.len());
    let end = (0..=room).rev().find(|end| text.is_char_boundary(*end));
    format!("{}{DOTS}", end.and_then(|end| text.get(..end)).unwrap_or_default())
}
