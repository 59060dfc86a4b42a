//! Making an input smaller while it still breaks the same rule.

use super::input::Input;
use serde_json::Value;

/// Leaves out members and entries, and shortens texts, one at a time as long as `fails` holds, for at most `tries` tries.
pub fn minimise(input: &Input, tries: usize, mut fails: impl FnMut(&Input) -> bool) -> Input {
    let mut best = input.to_value();
    let mut left = tries;
    let mut smaller = |best: &mut Value, change: &dyn Fn(&mut Value) -> bool, left: &mut usize| {
        let mut candidate = best.clone();
        if *left == 0 || !change(&mut candidate) {
            return false;
        }
        let Some(input) = Input::from_value(candidate.clone()) else {
            return false;
        };
        if input.admission_request().is_none() || input.cluster().is_none() {
            return false;
        }
        *left -= 1;
        if !fails(&input) {
            return false;
        }
        *best = candidate;
        true
    };
    loop {
        let mut progress = false;
        for pointer in pointers(&best) {
            progress |= smaller(&mut best, &|value| remove(value, &pointer), &mut left)
                || smaller(&mut best, &|value| shorten(value, &pointer), &mut left);
        }
        if !progress || left == 0 {
            return Input::from_value(best).unwrap_or_else(|| input.clone());
        }
    }
}

/// The places below a value: whole branches before their leaves, the last entries of lists first.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut wave = vec![(String::new(), value)];
    while !wave.is_empty() {
        let mut next = Vec::new();
        for (path, value) in wave {
            match value {
                Value::Object(members) => {
                    for (name, member) in members {
                        next.push((format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), member));
                    }
                }
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate().rev() {
                        next.push((format!("{path}/{index}"), item));
                    }
                }
                _ => {}
            }
        }
        found.extend(next.iter().map(|(path, _)| path.clone()));
        wave = next;
    }
    found
}

fn remove(value: &mut Value, pointer: &str) -> bool {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        return false;
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => members.shift_remove(&name).is_some(),
        Some(Value::Array(items)) => match name.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn shorten(value: &mut Value, pointer: &str) -> bool {
    let Some(Value::String(text)) = value.pointer_mut(pointer) else {
        return false;
    };
    if text.len() < 40 {
        return false;
    }
    let half: String = text.chars().take(text.chars().count() / 2).collect();
    *text = half;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_what_the_failure_needs_and_no_more() {
        let input = Input {
            request: json!({
                "uid": "1", "operation": "CREATE", "namespace": "a", "userInfo": {"username": "u", "groups": ["g"]},
                "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
                "object": {"metadata": {"labels": {"x/y": "1"}}, "spec": {"a": [1, {"bad": "b".repeat(100)}, 2], "c": {"d": 1}}},
            }),
            objects: vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})],
            behaviour: Default::default(),
            settings: json!({"s": 1}),
        };
        let fails = |input: &Input| input.request.to_string().contains("bad");
        let small = minimise(&input, 500, fails);
        assert_eq!(
            small.object().unwrap(),
            &json!({"spec": {"a": [{"bad": "b".repeat(25)}]}})
        );
        assert_eq!((small.objects.len(), &small.settings), (0, &json!({})));
        assert!(small.admission_request().is_some());
        let mut tried = 0;
        minimise(&input, 3, |_| {
            tried += 1;
            false
        });
        assert_eq!(tried, 3);
    }
}
