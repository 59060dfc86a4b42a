//! Quantities as Kubernetes reads them.

#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test helpers"
)]

use lmcache_api::quantity::Quantity;
use proptest::prelude::*;
use rstest::rstest;

fn read(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[rstest]
#[case("2Gi", "2048Mi")]
#[case("1.5Gi", "1536Mi")]
#[case("0.5", "500m")]
#[case("5000000000", "5G")]
#[case("1e3", "1000")]
#[case("1E3", "1k")]
#[case("1E", "1000P")]
#[case("1e-3", "1m")]
#[case("1e+3", "1k")]
#[case("+5", "5")]
#[case("5.", "5")]
#[case(".5", "500m")]
#[case("1000n", "1u")]
#[case("1000u", "1m")]
#[case("0", "-0")]
#[case("0Ki", "0")]
#[case("000123.4500", "123450m")]
#[case("1024Ei", "1180591620717411303424")]
#[case("0.1n", "1n")]
#[case("0.0000000000000000000000001", "1n")]
#[case("1.0000000000000000000000001", "1000000001n")]
#[case("0.5Ki", "512")]
#[case("1e-99999", "1n")]
fn equal_amounts(#[case] left: &str, #[case] right: &str) {
    assert_eq!(read(left), read(right));
}

#[rstest]
#[case("999m", "1")]
#[case("1G", "1Gi")]
#[case("1023Ki", "1Mi")]
#[case("-1", "0")]
#[case("-2Gi", "-1Gi")]
#[case("64G", "64Gi")]
#[case("1Ei", "1e30")]
fn ordered_amounts(#[case] less: &str, #[case] more: &str) {
    assert!(read(less) < read(more));
}

#[rstest]
#[case("")]
#[case("-")]
#[case("+")]
#[case(".")]
#[case("64GB")]
#[case("96MB")]
#[case("1ki")]
#[case("1K")]
#[case("1g")]
#[case("1 Gi")]
#[case(" 1")]
#[case("1 ")]
#[case("1.2.3")]
#[case("1e")]
#[case("1e1.5")]
#[case("1e3Gi")]
#[case("e3")]
#[case("Gi")]
#[case("--1")]
#[case("0x10")]
#[case("1_000")]
#[case("inf")]
#[case("१")]
fn no_quantity(#[case] text: &str) {
    assert!(text.parse::<Quantity>().is_err());
}

#[test]
fn units_and_floats() {
    assert_eq!(Quantity::from_units(4), read("4"));
    assert_eq!(read("1.5Gi").as_f64(), 1.5 * f64::from(1 << 30));
    assert!(read("-1m").is_negative() && !read("0").is_negative());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn quantity_like_texts_never_panic(text in "[-+]?[0-9.]{0,60}([eE][-+]?[0-9]{0,25}|[numkMGTPEi]{0,3})") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn whole_numbers_are_exact(number in any::<i64>()) {
        prop_assert_eq!(read(&number.to_string()), Quantity::from_units(number));
    }

    #[test]
    fn milli_is_a_thousandth(number in -1_000_000_000_i64..1_000_000_000) {
        prop_assert_eq!(read(&format!("{}000m", number)), Quantity::from_units(number));
    }
}
