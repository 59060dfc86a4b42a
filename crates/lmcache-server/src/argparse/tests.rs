//! The parser's rules, one by one. (`e2e-tests/server-flags` holds thousands of lines against the real parser.)

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::table::{RELEASES, SERVER, r};

fn tokens(line: &[&str]) -> Vec<String> {
    line.iter().map(|token| (*token).to_owned()).collect()
}

fn position(major: u32, minor: u32, patch: u32) -> usize {
    RELEASES
        .iter()
        .position(|release| *release == r(major, minor, patch))
        .unwrap()
}

/// `flag=value,value` or `no flag` for every use, then what is complained of.
fn reading(release: (u32, u32, u32), line: &[&str]) -> Vec<String> {
    let tokens = tokens(line);
    let reading = read(&SERVER, position(release.0, release.1, release.2), &tokens);
    let uses = reading.uses.iter().map(|used| {
        let values: Vec<_> = used.values.iter().map(|(_, value)| *value).collect();
        let no = if used.negated { "no " } else { "" };
        format!("{no}{}={}", used.flag.name, values.join(","))
    });
    let complaints = reading.complaints.iter().map(|complaint| {
        let problem = match complaint.problem {
            Problem::Unknown => "unknown",
            Problem::Ambiguous(..) => "ambiguous",
            Problem::NoValue(_) => "no value",
            Problem::UnwantedValue(_) => "unwanted value",
            Problem::NoNumber(_) => "no number",
            Problem::NoWord(_) => "no word",
        };
        format!("{}: {problem} {}", complaint.index, complaint.token)
    });
    uses.chain(complaints).collect()
}

const NEWEST: (u32, u32, u32) = (0, 5, 6);

#[test]
fn any_unambiguous_beginning_is_the_flag() {
    assert_eq!(reading(NEWEST, &["--l1-size", "5"]), ["--l1-size-gb=5"]);
    assert_eq!(reading(NEWEST, &["--coordinator-u=x"]), ["--coordinator-url=x"]);
    assert_eq!(reading(NEWEST, &["--l1", "5"]), ["0: ambiguous --l1", "1: unknown 5"]);
    // What is whole is never the beginning of another.
    assert_eq!(
        reading((0, 5, 2), &["--enable", "x"]),
        ["0: ambiguous --enable", "1: unknown x"]
    );
    assert_eq!(reading((0, 5, 3), &["--enable", "x"]), ["--enable=x"]);
}

#[test]
fn switches_have_an_off_form_and_take_no_value() {
    assert_eq!(reading(NEWEST, &["--no-l1-use-lazy"]), ["no --l1-use-lazy="]);
    assert_eq!(reading(NEWEST, &["--no-isol"]), ["no --isolated-ipc="]);
    assert_eq!(
        reading(NEWEST, &["--isolated-ipc=true"]),
        ["0: unwanted value --isolated-ipc=true"]
    );
    assert_eq!(
        reading(NEWEST, &["--isolated-ipc", "true"]),
        ["--isolated-ipc=", "1: unknown true"]
    );
    assert_eq!(
        reading(NEWEST, &["--no-disable-metrics"]),
        ["0: unknown --no-disable-metrics"]
    );
    // 0.4.1 has the flag without the off form.
    assert_eq!(
        reading((0, 4, 1), &["--no-l1-use-lazy"]),
        ["0: unknown --no-l1-use-lazy"]
    );
}

#[test]
fn values_are_checked_in_every_use() {
    assert_eq!(
        reading(NEWEST, &["--port", "1", "--port=x"]),
        ["--port=1", "2: no number x"]
    );
    assert_eq!(reading(NEWEST, &["--chunk-size", "256.0"]), ["1: no number 256.0"]);
    assert_eq!(reading(NEWEST, &["--eviction-policy", "lru"]), ["1: no word lru"]);
    assert_eq!(reading((0, 5, 5), &["--eviction-policy", "ARC"]), ["1: no word ARC"]);
    assert_eq!(
        reading(NEWEST, &["--eviction-policy", "ARC"]),
        ["--eviction-policy=ARC"]
    );
    assert_eq!(reading(NEWEST, &["--port"]), ["0: no value --port"]);
    assert_eq!(
        reading(NEWEST, &["--port", "--isolated-ipc"]),
        ["--isolated-ipc=", "0: no value --port"]
    );
    // A negative number is a value, and so is a text with a blank; another dash is not.
    assert_eq!(reading(NEWEST, &["--port", "-1"]), ["--port=-1"]);
    assert_eq!(reading(NEWEST, &["--instance-id", "-a b"]), ["--instance-id=-a b"]);
    assert_eq!(
        reading(NEWEST, &["--instance-id", "-ab"]),
        ["0: no value --instance-id", "1: unknown -ab"]
    );
    assert_eq!(reading(NEWEST, &["--instance-id", ""]), ["--instance-id="]);
}

#[test]
fn lists_take_what_follows() {
    assert_eq!(
        reading(NEWEST, &["--enable", "a", "b", "--port", "1"]),
        ["--enable=a,b", "--port=1"]
    );
    assert_eq!(reading(NEWEST, &["--enable"]), ["--enable="]);
}

#[test]
fn words_belong_to_nobody() {
    assert_eq!(
        reading(NEWEST, &["word", "--port", "1", "word"]),
        ["--port=1", "0: unknown word", "3: unknown word"]
    );
    assert_eq!(
        reading(NEWEST, &["--", "--port"]),
        ["0: unknown --", "1: unknown --port"]
    );
    assert_eq!(reading(NEWEST, &["-x"]), ["0: unknown -x"]);
    assert_eq!(reading(NEWEST, &["-qh"]), ["-q=", "-h="]);
    assert_eq!(reading(NEWEST, &["-q5"]), ["-q=", "0: unwanted value -q5"]);
    assert_eq!(reading(NEWEST, &["-"]), ["0: unknown -"]);
}

#[test]
fn numbers_are_those_of_python() {
    for text in ["5", " 5 ", "+5", "-5", "1_000"] {
        assert!(number::is_integer(text) && number::is_float(text), "{text}");
    }
    for text in ["5.", ".5", "1e3", "1E-3", "inf", "-Infinity", "NaN", "1_0.2_5"] {
        assert!(!number::is_integer(text) && number::is_float(text), "{text}");
    }
    for text in [
        "", " ", ".", "1__0", "_1", "1_", "0x10", "1e", "e3", "5 5", "5,0", "--5", "1.2.3",
    ] {
        assert!(!number::is_integer(text) && !number::is_float(text), "{text}");
    }
    assert_eq!(number::value("+0_0.5e1"), Some(5.0));
    assert_eq!(number::value("-.25"), Some(-0.25));
    assert_eq!(number::value("7."), Some(7.0));
    assert_eq!(number::value("007"), Some(7.0));
    assert_eq!((number::value("inf"), number::value("1e999")), (None, None));
}
