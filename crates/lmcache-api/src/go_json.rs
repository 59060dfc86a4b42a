//! JSON as Go's `encoding/json` writes it.
//!
//! The Go operator's ConfigMaps and command lines hold JSON that Go wrote. What replaces them must be equal byte for
//! byte, or every takeover would restart every Pod. Go sorts keys, escapes `<`, `>` and `&`, and writes floats its own
//! way. Integers are written exactly; the Go operator reads user JSON into float64 first, see [`through_float64`].

use serde_json::{Map, Number, Value};

/// Compact, without a newline at the end.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, None, &mut out);
    out
}

/// Indented by two spaces (`json.MarshalIndent(v, "", "  ")`), without a newline at the end.
pub fn to_string_pretty(value: &Value) -> String {
    let mut out = String::new();
    write(value, Some(1), &mut out);
    out
}

/// The value after Go read it into `interface{}` (every number a float64): integers beyond 2^53 lose their last digits.
pub fn through_float64(value: &Value) -> Value {
    match value {
        Value::Number(number) => number
            .as_f64()
            .and_then(Number::from_f64)
            .map_or(Value::Null, Value::Number),
        Value::Array(items) => Value::Array(items.iter().map(through_float64).collect()),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), through_float64(value)))
                .collect::<Map<_, _>>(),
        ),
        other => other.clone(),
    }
}

/// A text as a JSON string in quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    write_string(text, &mut out);
    out
}

/// A finite float as Go's `encoding/json` writes it: no `.0`, an exponent only below 1e-6 and from 1e21 on.
pub fn float_text(number: f64) -> String {
    go_float(number, Exponent::Shortest)
}

/// A finite float as the shortest decimal that reads back as the same number, without an exponent: `5`, `60.25`.
pub fn decimal_text(number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, power) = scientific(number);
    format!("{sign}{}", positional(&digits, power))
}

/// How Go writes exponents: `encoding/json` drops the leading zero of `e-07`, `fmt` keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exponent {
    Shortest,
    TwoDigits,
}

/// A JSON number as Go prints it.
pub(crate) fn number_text(number: &Number, exponent: Exponent) -> String {
    match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) => integer.to_string(),
        (None, Some(integer)) => integer.to_string(),
        (None, None) => number
            .as_f64()
            .map_or_else(|| number.to_string(), |float| go_float(float, exponent)),
    }
}

fn go_float(number: f64, exponent: Exponent) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let (digits, power) = scientific(number);
    // Go's `fmt` switches to an exponent below 1e-4, its JSON encoder below 1e-6.
    let smallest = if exponent == Exponent::Shortest { -6 } else { -4 };
    if digits.is_empty() || (smallest..21).contains(&power) {
        return format!("{sign}{}", positional(&digits, power));
    }
    let (power_sign, power) = if power < 0 {
        ('-', (-power).to_string())
    } else {
        ('+', power.to_string())
    };
    // Go pads to two digits; its JSON encoder takes the zero away again, but only after a minus.
    let pad = power.len() < 2 && !(exponent == Exponent::Shortest && power_sign == '-');
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    format!(
        "{sign}{first}{point}{rest}e{power_sign}{}{power}",
        if pad { "0" } else { "" }
    )
}

/// The shortest digits that read back as the same number, without zeros at either end and without the sign, and the power
/// of ten of the first one: 0.00000012 is `12` and -7; no digits for zero.
///
/// They are serde_json's, which every policy holds anyway: the formatter of the standard library would be 15 kB more.
fn scientific(number: f64) -> (String, i32) {
    let text = Number::from_f64(number.abs()).map_or_else(String::new, |number| number.to_string());
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let leading_zeros = all.len() - significant.len();
    let power = whole.len() as i32 - leading_zeros as i32 - 1 + exponent;
    (significant.trim_end_matches('0').to_owned(), power)
}

/// A decimal without exponent.
fn positional(digits: &str, power: i32) -> String {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    if digits.is_empty() {
        return "0".to_owned();
    }
    if power < 0 {
        return format!("0.{}{digits}", zeros(-power - 1));
    }
    let whole = usize::try_from(power).unwrap_or_default() + 1;
    match digits.split_at_checked(whole) {
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}", zeros(power + 1 - digits.len() as i32)),
    }
}

/// `depth` is the indentation of what stands inside `value`; `None` writes compactly.
fn write(value: &Value, depth: Option<usize>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(number, Exponent::Shortest)),
        Value::String(text) => write_string(text, out),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, depth, out);
                write(item, depth.map(|depth| depth + 1), out);
            }
            close(']', depth, out);
        }
        Value::Object(map) if map.is_empty() => out.push_str("{}"),
        Value::Object(map) => {
            // Put in place one by one: a sort would be a lot of wasm for a dozen keys.
            let mut entries: Vec<(&String, &Value)> = Vec::with_capacity(map.len());
            for entry in map {
                let place = entries.partition_point(|other| other.0 < entry.0);
                entries.insert(place, entry);
            }
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                separate(index, depth, out);
                write_string(key, out);
                out.push(':');
                if depth.is_some() {
                    out.push(' ');
                }
                write(value, depth.map(|depth| depth + 1), out);
            }
            close('}', depth, out);
        }
    }
}

fn separate(index: usize, depth: Option<usize>, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
    if let Some(depth) = depth {
        new_line(depth, out);
    }
}

fn close(bracket: char, depth: Option<usize>, out: &mut String) {
    if let Some(depth) = depth {
        new_line(depth.saturating_sub(1), out);
    }
    out.push(bracket);
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
