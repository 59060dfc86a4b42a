//! Numbers on a command line.

use lmcache_api::go_json::decimal_text;

/// The Go operator's format with a fixed number of decimals where it loses nothing (`60.0`, `0.80`), else the shortest
/// decimal that reads back as the same number (`60.25`, `0.001`).
pub(crate) fn with_decimals(number: f64, decimals: usize) -> String {
    let mut text = decimal_text(number);
    let given = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    if given == 0 && decimals > 0 {
        text.push('.');
    }
    for _ in given..decimals {
        text.push('0');
    }
    text
}

/// The shortest decimal that reads back as the same number: `5`, `2.5`.
pub(crate) fn shortest(number: f64) -> String {
    decimal_text(number)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn nothing_is_lost() {
        for (number, one, two, short) in [
            (60.0, "60.0", "60.00", "60"),
            (60.25, "60.25", "60.25", "60.25"),
            (0.8, "0.8", "0.80", "0.8"),
            (0.25, "0.25", "0.25", "0.25"),
            (0.04, "0.04", "0.04", "0.04"),
            (0.001, "0.001", "0.001", "0.001"),
            (1.0, "1.0", "1.00", "1"),
            (1e-7, "0.0000001", "0.0000001", "0.0000001"),
            (
                2e21,
                "2000000000000000000000.0",
                "2000000000000000000000.00",
                "2000000000000000000000",
            ),
            (-1.5, "-1.5", "-1.50", "-1.5"),
            (0.0, "0.0", "0.00", "0"),
        ] {
            assert_eq!(with_decimals(number, 1), one);
            assert_eq!(with_decimals(number, 2), two);
            assert_eq!(shortest(number), short);
            assert_eq!(with_decimals(number, 1).parse::<f64>(), Ok(number));
        }
    }
}
