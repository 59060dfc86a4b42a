//! Kubernetes quantities: `500m`, `1.5Gi`, `5e9`.

use std::fmt;
use std::str::FromStr;

/// An amount, held in billionths and rounded up to them as Kubernetes does. Amounts compare, texts do not: `2Gi` equals
/// `2048Mi`. Beyond about 1.7e29 an amount is held at that bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// Digits behind the point that are read exactly; what follows can only round up.
const FRACTION_DIGITS: usize = 18;

impl Quantity {
    /// Whole units.
    pub fn from_units(units: i64) -> Self {
        Quantity {
            nanos: i128::from(units) * NANOS_PER_UNIT,
        }
    }

    /// The amount in units, as near as a float can be.
    pub fn as_f64(self) -> f64 {
        self.nanos as f64 / NANOS_PER_UNIT as f64
    }

    /// Whether the amount is below zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }
}

/// A text that is no quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAQuantity;

impl fmt::Display for NotAQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must be a quantity: a number with an optional suffix (n u m k M G T P E Ki Mi Gi Ti Pi Ei) or exponent",
        )
    }
}

impl std::error::Error for NotAQuantity {}

impl FromStr for Quantity {
    type Err = NotAQuantity;

    /// Sign, digits with an optional point, suffix or decimal exponent; no space. `1E` is an exa, `1E3` a thousand.
    fn from_str(text: &str) -> Result<Self, NotAQuantity> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end).ok_or(NotAQuantity)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return Err(NotAQuantity);
        }
        let scale = Scale::of(suffix).ok_or(NotAQuantity)?;
        let nanos = magnitude(whole, fraction, scale);
        Ok(Quantity {
            nanos: if negative { -nanos } else { nanos },
        })
    }
}

/// What a suffix multiplies with.
#[derive(Clone, Copy)]
enum Scale {
    /// 10 to this power.
    Decimal(i64),
    /// 2 to this power.
    Binary(u32),
}

impl Scale {
    fn of(suffix: &str) -> Option<Scale> {
        Some(match suffix {
            "n" => Scale::Decimal(-9),
            "u" => Scale::Decimal(-6),
            "m" => Scale::Decimal(-3),
            "" => Scale::Decimal(0),
            "k" => Scale::Decimal(3),
            "M" => Scale::Decimal(6),
            "G" => Scale::Decimal(9),
            "T" => Scale::Decimal(12),
            "P" => Scale::Decimal(15),
            "E" => Scale::Decimal(18),
            "Ki" => Scale::Binary(10),
            "Mi" => Scale::Binary(20),
            "Gi" => Scale::Binary(30),
            "Ti" => Scale::Binary(40),
            "Pi" => Scale::Binary(50),
            "Ei" => Scale::Binary(60),
            exponent => Scale::Decimal(exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }
}

/// Billionths of `whole.fraction` times `scale`, rounded up.
fn magnitude(whole: &str, fraction: &str, scale: Scale) -> i128 {
    let fraction = fraction.trim_end_matches('0');
    let (exact, beyond) = fraction.split_at_checked(FRACTION_DIGITS).unwrap_or((fraction, ""));
    let digits = whole.bytes().chain(exact.bytes());
    let mantissa = digits.fold(0_i128, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(i128::from(digit.saturating_sub(b'0')))
    });
    let mantissa = mantissa.saturating_add(i128::from(!beyond.is_empty()));
    if mantissa == 0 {
        return 0;
    }
    let down = i64::try_from(exact.len()).unwrap_or(i64::MAX);
    match scale {
        Scale::Decimal(power) => shift(mantissa, power.saturating_add(9).saturating_sub(down)),
        Scale::Binary(power) => {
            let scaled = mantissa.saturating_mul(1_i128.checked_shl(power).unwrap_or(i128::MAX));
            // One shift by the difference, so that the billionths cannot push a large fraction over the edge.
            shift(scaled, 9_i64.saturating_sub(down))
        }
    }
}

/// `value` times ten to `power`, rounded up, at most `i128::MAX`.
fn shift(value: i128, power: i64) -> i128 {
    let factor = u32::try_from(power.unsigned_abs())
        .ok()
        .and_then(|power| 10_i128.checked_pow(power));
    match factor {
        Some(factor) if power < 0 => value / factor + i128::from(value % factor != 0),
        Some(factor) => value.saturating_mul(factor),
        None if power < 0 => 1,
        None => i128::MAX,
    }
}
