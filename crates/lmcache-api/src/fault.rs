//! What is wrong with a field.

use std::fmt;

use serde_json::Value;

use crate::go_json;

/// What sort of fault it is; the kinds of `k8s.io/apimachinery`'s field errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// Something must be there and is not.
    Required,
    /// The value is not allowed.
    Invalid,
    /// The value is not one of the allowed words.
    NotSupported,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The value is taken.
    Duplicate,
    /// The field may not be set.
    Forbidden,
}

impl FaultKind {
    /// The words that Kubernetes uses for it. A wrong type reads like an invalid value there too.
    pub const fn as_str(self) -> &'static str {
        match self {
            FaultKind::Required => "Required value",
            FaultKind::Invalid | FaultKind::TypeInvalid => "Invalid value",
            FaultKind::NotSupported => "Unsupported value",
            FaultKind::Duplicate => "Duplicate value",
            FaultKind::Forbidden => "Forbidden",
        }
    }
}

/// A fault of one field.
///
/// Two faults are equal exactly when the same bad value stands at the same path, since the detail names the value: so a
/// fault that the old object had too can be told from a new one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldError {
    /// Path from the top of the object: `spec.l1.sizeGB`, `spec.env[0]`, `spec.podLabels[example.com/team]`.
    pub path: String,
    /// What sort of fault it is.
    pub kind: FaultKind,
    /// The offending value, if there is one, then what was expected: `-1: must be greater than 0`.
    pub detail: String,
}

impl FieldError {
    /// A value that is not allowed. `value` is written as it stands.
    pub fn invalid(path: impl Into<String>, value: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::new(path, FaultKind::Invalid, format!("{value}: {expected}"))
    }

    /// Something that must be there.
    pub fn required(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::new(path, FaultKind::Required, expected.into())
    }

    /// A fault of any kind whose detail is complete.
    pub fn new(path: impl Into<String>, kind: FaultKind, detail: String) -> Self {
        FieldError {
            path: path.into(),
            kind,
            detail,
        }
    }
}

impl fmt::Display for FieldError {
    /// As apimachinery writes it: `spec.l1.sizeGB: Invalid value: -1: must be greater than 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FieldError { path, kind, detail } = self;
        write!(f, "{path}: {}: {detail}", kind.as_str())
    }
}

impl std::error::Error for FieldError {}

/// Longest value that is echoed whole, in bytes.
const MAX_ECHO: usize = 128;

/// A value as a message shows it: numbers as Go prints them, everything else as JSON. Long values are cut; a checksum
/// of the whole keeps the texts of different values different.
pub fn echo(value: &Value) -> String {
    match value {
        Value::Number(number) => go_json::number_text(number, go_json::Exponent::TwoDigits),
        other => shorten(go_json::to_string(other)),
    }
}

/// A text in quotes, cut like [`echo`].
pub fn quote(text: &str) -> String {
    shorten(go_json::quote(text))
}

/// A text in which nobody's login stands: of `http://user:password@host` remains `http://...@host`.
pub fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => format!("{scheme}://...{}", rest.get(at..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn shorten(text: String) -> String {
    if text.len() <= MAX_ECHO {
        return text;
    }
    // FNV-1a; it only has to tell two texts apart.
    let checksum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let end = (0..=MAX_ECHO)
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    format!(
        "{}... ({} bytes, checksum {checksum:016x})",
        text.get(..end).unwrap_or_default(),
        text.len()
    )
}

/// Whether a field path is `top`, or a field inside it.
pub fn is_at_or_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Appends a map key to a path: `.memory`, but `[nvidia.com/gpu]` where the key would not read as one segment.
pub fn push_key(path: &mut String, key: &str) {
    let plain = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if plain {
        path.push('.');
        path.push_str(key);
    } else {
        path.push('[');
        path.extend(key.chars().map(|c| if c.is_control() { '?' } else { c }));
        path.push(']');
    }
}
