//! Lists in messages.

use crate::status::text::{bracketed, cut, names, sentences};

#[test]
fn texts_are_cut_between_characters() {
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("abcdef", 5), "ab...");
    assert_eq!(cut("a\u{e4}\u{e4}\u{e4}", 6), "a\u{e4}...");
    assert_eq!(cut("abcdef", 2), "...");
}

#[test]
fn one_item_that_is_too_long_is_cut() {
    let long = "x".repeat(50_000);
    assert_eq!(sentences(std::slice::from_ref(&long)).len(), 8_000);
    assert_eq!(bracketed(&[long, "y".to_owned()]).len(), 8_000 + "[] and 1 more".len());
}

#[test]
fn lists_of_names() {
    assert_eq!(names([]), "");
    assert_eq!(names(["a"]), "a");
    assert_eq!(names(["a"; 10]), "a, a, a, a, a, a, a, a, a, a");
    assert_eq!(names(["a"; 12]), "a, a, a, a, a, a, a, a, a, a and 2 more");
    assert_eq!(bracketed(&[]), "[]");
}
