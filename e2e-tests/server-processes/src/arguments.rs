//! Changing single values of a rendered command line, so that it can run beside others on one host.

use serde_json::Value;

/// The value that counts of `--flag VALUE` or `--flag=VALUE`: the last one.
pub fn value<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    let mut found = None;
    let mut words = args.iter().peekable();
    while let Some(word) = words.next() {
        if word == flag {
            found = words.peek().map(|next| next.as_str());
        } else if let Some(value) = joined(word, flag) {
            found = Some(value);
        }
    }
    found
}

/// Gives every use of the flag this value. Returns how many there were; none is no fault: nothing is added.
pub fn set(args: &mut [String], flag: &str, value: &str) -> usize {
    change(args, flag, |_| Some(value.to_owned()))
}

/// Takes away every use of the flag with its value. Returns how many there were.
pub fn remove(args: &mut Vec<String>, flag: &str) -> usize {
    let mut count = 0;
    let mut follows = false;
    args.retain(|word| {
        let gone = follows || word == flag || joined(word, flag).is_some();
        count += usize::from(gone && !follows);
        follows = !follows && word == flag;
        !gone
    });
    count
}

/// Changes the JSON of every `--l2-adapter`; what is not JSON stays as it is. Returns how many were changed.
pub fn change_adapters(args: &mut [String], mut edit: impl FnMut(&mut Value)) -> usize {
    change(args, "--l2-adapter", |text| {
        let mut adapter = serde_json::from_str(text).ok()?;
        edit(&mut adapter);
        Some(adapter.to_string())
    })
}

/// The JSON of every `--l2-adapter`, as far as it is JSON.
pub fn adapters(args: &[String]) -> Vec<Value> {
    let mut found = Vec::new();
    change_adapters(&mut args.to_vec(), |adapter| found.push(adapter.clone()));
    found
}

fn change(args: &mut [String], flag: &str, mut edit: impl FnMut(&str) -> Option<String>) -> usize {
    let mut count = 0;
    let mut follows = false;
    for word in args {
        let changed = if follows {
            edit(word)
        } else {
            joined(word, flag)
                .and_then(&mut edit)
                .map(|value| format!("{flag}={value}"))
        };
        follows = !follows && word == flag;
        if let Some(changed) = changed {
            *word = changed;
            count += 1;
        }
    }
    count
}

fn joined<'a>(word: &'a str, flag: &str) -> Option<&'a str> {
    word.strip_prefix(flag)?.strip_prefix('=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn sets_every_spelling_of_a_flag_and_no_other() {
        let mut args = words("--port 5555 --http-port 8080 --port=1 --portable 3 --host --port");
        assert_eq!(set(&mut args, "--port", "20001"), 2);
        assert_eq!(
            args.join(" "),
            "--port 20001 --http-port 8080 --port=20001 --portable 3 --host --port"
        );
        assert_eq!(set(&mut args, "--prometheus-port", "20002"), 0);
    }

    #[test]
    fn removes_a_flag_with_its_value() {
        let mut args = words("--port 5555 --http-host 0.0.0.0 --http-port 8080 --http-host=x");
        assert_eq!(remove(&mut args, "--http-host"), 2);
        assert_eq!(args.join(" "), "--port 5555 --http-port 8080");
        assert_eq!(remove(&mut args, "--host"), 0);
    }

    #[test]
    fn the_last_value_counts() {
        assert_eq!(value(&words("--port 1 --port=2"), "--port"), Some("2"));
        assert_eq!(value(&words("--port=2 --port 1"), "--port"), Some("1"));
        assert_eq!(value(&words("--http-port 1"), "--port"), None);
        assert_eq!(value(&words("--port"), "--port"), None);
    }

    #[test]
    fn changes_the_json_of_adapters() {
        let mut args =
            words(r#"--l2-adapter {"type":"resp","port":1} --l2-adapter={"type":"fs"} --l2-adapter nonsense"#);
        let changed = change_adapters(&mut args, |adapter| {
            if adapter["type"] == "resp" {
                adapter["port"] = json!(2);
            }
        });
        assert_eq!(changed, 2);
        assert_eq!(
            args.join(" "),
            r#"--l2-adapter {"type":"resp","port":2} --l2-adapter={"type":"fs"} --l2-adapter nonsense"#
        );
        assert_eq!(
            adapters(&args),
            [json!({"type": "resp", "port": 2}), json!({"type": "fs"})]
        );
    }
}
