//! JSON texts against what Go writes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test helpers"
)]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use lmcache_api::go_json::{float_text, quote, through_float64, to_string, to_string_pretty};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

#[rstest]
#[case(0.0, "0")]
#[case(-0.0, "-0")]
#[case(1.0, "1")]
#[case(0.15, "0.15")]
#[case(-0.5, "-0.5")]
#[case(750.0, "750")]
#[case(0.1 + 0.2, "0.30000000000000004")]
#[case(0.000001, "0.000001")]
#[case(0.00000123, "0.00000123")]
#[case(1e-7, "1e-7")]
#[case(9.5e-7, "9.5e-7")]
#[case(1e-10, "1e-10")]
#[case(1e-100, "1e-100")]
#[case(1e20, "100000000000000000000")]
#[case(1e21, "1e+21")]
#[case(-1.5e21, "-1.5e+21")]
#[case(1e100, "1e+100")]
#[case(f64::MAX, "1.7976931348623157e+308")]
#[case(5e-324, "5e-324")]
#[case(9007199254740993.0, "9007199254740992")]
#[test_runner::test]
fn floats(#[case] number: f64, #[case] text: &str) {
    assert_eq!(float_text(number), text);
    assert_eq!(to_string(&json!(number)), text);
}

#[rstest]
#[case("plain", r#""plain""#)]
#[case("a\"b\\c", r#""a\"b\\c""#)]
#[case("\n\r\t\u{8}\u{c}", r#""\n\r\t\b\f""#)]
#[case("\u{0}\u{1}\u{1f}", r#""\u0000\u0001\u001f""#)]
#[case("<a>&", r#""\u003ca\u003e\u0026""#)]
#[case("\u{2028}\u{2029}", r#""\u2028\u2029""#)]
#[case("é😀\u{7f}/", "\"é😀\u{7f}/\"")]
#[test_runner::test]
fn strings(#[case] text: &str, #[case] json: &str) {
    assert_eq!(quote(text), json);
    assert_eq!(serde_json::from_str::<Value>(json).unwrap(), json!(text));
}

#[test_runner::test]
fn keys_are_sorted_bytewise_at_every_level() {
    let value: Value = serde_json::from_str(r#"{"b":{"z":1,"Z":2},"a":[],"é":{},"B":null}"#).unwrap();
    assert_eq!(to_string(&value), r#"{"B":null,"a":[],"b":{"Z":2,"z":1},"é":{}}"#);
}

#[test_runner::test]
fn indented_by_two_spaces() {
    let value = json!({"b": [1, {"x": true}], "a": {}, "c": []});
    let text = "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"x\": true\n    }\n  ],\n  \"c\": []\n}";
    assert_eq!(to_string_pretty(&value), text);
}

/// Integers are exact; the Go operator's detour over float64 is there for whoever must reproduce it.
#[test_runner::test]
fn large_integers() {
    let value = json!({"a": 9_007_199_254_740_993_i64, "b": [i64::MAX], "c": u64::MAX});
    assert_eq!(
        to_string(&value),
        r#"{"a":9007199254740993,"b":[9223372036854775807],"c":18446744073709551615}"#
    );
    let text = r#"{"a":9007199254740992,"b":[9223372036854776000],"c":18446744073709552000}"#;
    assert_eq!(to_string(&through_float64(&value)), text);
}
