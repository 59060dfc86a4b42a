//! Numbers as Python reads them.

use serde_json::Value;

/// Whether `int()` takes it: blanks around, a sign, digits with single underscores between them.
pub fn is_integer(text: &str) -> bool {
    digits(unsigned(text.trim()))
}

/// Whether `float()` takes it: also `1.`, `.5`, `1e3`, `inf`, `nan`.
pub fn is_float(text: &str) -> bool {
    let number = unsigned(text.trim());
    if ["inf", "infinity", "nan"]
        .iter()
        .any(|word| number.eq_ignore_ascii_case(word))
    {
        return true;
    }
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let mantissa = match mantissa.split_once('.') {
        Some((whole, "")) => digits(whole),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(mantissa),
    };
    mantissa && exponent.is_none_or(|exponent| digits(unsigned(exponent)))
}

/// The value of what [`is_float`] takes, unless it is infinite or no number.
///
/// serde_json reads it as any JSON, which every policy does anyway: the reader of the standard library, or of a number alone,
/// would be many kB more.
pub fn value(text: &str) -> Option<f64> {
    if !is_float(text) {
        return None;
    }
    let text = text.trim();
    let (negative, number) = match text.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let plain: String = number.chars().filter(|c| *c != '_').collect();
    let (mantissa, exponent) = match plain.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent),
        None => (plain.as_str(), "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    // JSON wants a digit on both sides of the point, and no zero in front of others.
    let whole = whole.trim_start_matches('0');
    let or_zero = |digits: &str| {
        if digits.is_empty() {
            "0".to_owned()
        } else {
            digits.to_owned()
        }
    };
    let json = format!("{}.{}e{exponent}", or_zero(whole), or_zero(fraction));
    let value = serde_json::from_str::<Value>(&json).ok()?.as_f64()?;
    Some(if negative { -value } else { value })
}

/// What `argparse` takes for a negative number rather than for a flag.
pub(super) fn is_negative(token: &str) -> bool {
    let Some(number) = token.strip_prefix('-') else {
        return false;
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match number.split_once('.') {
        Some((whole, fraction)) => all_digits(whole) && all_digits(fraction) && !fraction.is_empty(),
        None => all_digits(number) && !number.is_empty(),
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// Digits, with single underscores between them.
fn digits(text: &str) -> bool {
    text.split('_')
        .all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()))
}
