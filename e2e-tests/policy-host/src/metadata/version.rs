//! Semantic versions.

/// Whether a text is a version by <https://semver.org>: three numbers without leading zeros, then an optional pre-release
/// after `-` and build data after `+`, both dot-separated.
pub fn is_semver(text: &str) -> bool {
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (text, None),
    };
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let number = |part: &str| digits(part) && (part == "0" || !part.starts_with('0'));
    core.split('.').count() == 3
        && core.split('.').all(number)
        && pre.is_none_or(|pre| pre.split('.').all(|part| word(part) && (!digits(part) || number(part))))
        && build.is_none_or(|build| build.split('.').all(word))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0.1.0", true)]
    #[case("1.2.3-rc.1+build.01", true)]
    #[case("1.2.3--", true)]
    #[case("1.2", false)]
    #[case("v1.2.3", false)]
    #[case("1.02.3", false)]
    #[case("1.2.3-", false)]
    #[case("1.2.3-01", false)]
    #[case("1.2.3+", false)]
    #[case("1.2.3.4", false)]
    #[case("", false)]
    fn semver(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_semver(text), expected);
    }
}
