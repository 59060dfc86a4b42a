//! Mutations of any JSON.

use super::super::dictionary::Dictionary;
use super::super::rng::Rng;
use super::super::words;
use serde_json::{Map, Value, json};

/// Changes one place somewhere in a value. `name` is the member that holds it.
pub fn anywhere(rng: &mut Rng, dictionary: &Dictionary, name: &str, value: &mut Value) {
    let places = count(value);
    let chosen = rng.below(places);
    let mut left = chosen;
    if let Some((name, place)) = find(value, name, &mut left) {
        here(rng, dictionary, &name, place);
    }
}

/// How many values there are in this one, itself included.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// The value at a number in the order of [`count`], with the name of the member that holds it.
fn find<'a>(value: &'a mut Value, name: &str, left: &mut usize) -> Option<(String, &'a mut Value)> {
    if *left == 0 {
        return Some((name.to_owned(), value));
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| find_below(item, name, left)),
        Value::Object(members) => members
            .iter_mut()
            .find_map(|(key, member)| find_below(member, key, left)),
        _ => None,
    }
}

fn find_below<'a>(value: &'a mut Value, name: &str, left: &mut usize) -> Option<(String, &'a mut Value)> {
    let places = count(value);
    if *left < places {
        return find(value, name, left);
    }
    *left -= places;
    None
}

fn here(rng: &mut Rng, dictionary: &Dictionary, name: &str, value: &mut Value) {
    match (rng.below(10), &mut *value) {
        (0..=1, _) => {
            if let Some(other) = dictionary.value(rng, name) {
                *value = other.clone();
            }
        }
        (2..=6, Value::Object(members)) => in_map(rng, dictionary, name, members),
        (2..=6, Value::Array(items)) => in_list(rng, dictionary, name, items),
        (2..=6, Value::String(text)) => in_text(rng, text),
        (2..=6, Value::Number(_)) => {
            if let Some(number) = rng.pick(&words::numbers()) {
                *value = number.clone();
            }
        }
        (7, _) => *value = retyped(rng, value.take()),
        _ => *value = scalar(rng),
    }
}

fn in_map(rng: &mut Rng, dictionary: &Dictionary, name: &str, members: &mut Map<String, Value>) {
    let names: Vec<String> = members.keys().cloned().collect();
    match rng.below(6) {
        0 | 1 => {
            if let Some(member) = rng.pick(&names) {
                members.shift_remove(member);
            }
        }
        2 => {
            if let (Some(from), Some(to)) = (rng.pick(&names), rng.pick(&names))
                && let Some(value) = members.get(from).cloned()
            {
                members.insert(to.clone(), value);
            }
        }
        3 => {
            members.insert(rng.word(&words::TEXTS).to_owned(), scalar(rng));
        }
        _ => {
            if let Some(member) = dictionary.member(rng, name)
                && let Some(value) = dictionary.value(rng, member)
            {
                members.insert(member.to_owned(), value.clone());
            }
        }
    }
}

fn in_list(rng: &mut Rng, dictionary: &Dictionary, name: &str, items: &mut Vec<Value>) {
    let at = rng.below(items.len() + 1);
    match rng.below(6) {
        0 | 1 if at < items.len() => drop(items.remove(at)),
        2 => {
            if let Some(item) = items.get(at).cloned() {
                items.insert(rng.below(items.len() + 1), item);
            }
        }
        3 if at < items.len() => {
            let other = rng.below(items.len());
            items.swap(at, other);
        }
        4 => items.insert(at, scalar(rng)),
        _ => {
            if let Some(Value::Array(others)) = dictionary.value(rng, name)
                && let Some(item) = rng.pick(others)
            {
                items.insert(at, item.clone());
            }
        }
    }
}

/// Splices into a text, cuts it, repeats it or changes its case.
pub fn in_text(rng: &mut Rng, text: &mut String) {
    let at = text
        .char_indices()
        .map(|(at, _)| at)
        .nth(rng.below(text.chars().count() + 1))
        .unwrap_or(text.len());
    match rng.below(8) {
        0 => text.truncate(at),
        1 => *text = text.split_off(at),
        2 => *text = text.repeat(1 + rng.below(40)),
        3 => *text = text.to_uppercase(),
        4 => *text = text.replace('-', "_"),
        _ => text.insert_str(at, &any_text(rng)),
    }
}

/// The same content in another type: wrapped, unwrapped, as text, as nothing.
fn retyped(rng: &mut Rng, value: Value) -> Value {
    match (rng.below(6), value) {
        (0, _) => Value::Null,
        (1, value) => json!([value]),
        (2, value) => json!({ "a": value }),
        (3, Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        (3, value) => Value::from(value.to_string()),
        (4, Value::Array(items)) => items.into_iter().next().unwrap_or_default(),
        (4, Value::Object(members)) => Value::Array(members.into_iter().map(|(_, value)| value).collect()),
        // Deeper than parsers of the policies go.
        (5, value) if rng.one_in(8) => (0..200).fold(value, |inner, _| json!([inner])),
        (_, _) => json!(true),
    }
}

/// A value without members.
pub fn scalar(rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => Value::Null,
        1 => Value::from(rng.one_in(2)),
        2 => rng.pick(&words::numbers()).cloned().unwrap_or_default(),
        3 => json!([]),
        4 => json!({}),
        _ => Value::from(any_text(rng)),
    }
}

/// A text on which something may hang, now and then a long one.
pub fn any_text(rng: &mut Rng) -> String {
    match rng.below(12) {
        0..=2 => rng.word(&words::TEXTS).to_owned(),
        3..=5 => rng.word(&words::VALUES).to_owned(),
        6..=7 => rng.word(&words::ARGUMENTS).to_owned(),
        8 => rng.word(&words::NAMES).to_owned(),
        9 => rng.word(&words::PATHS).to_owned(),
        10 => rng.word(&words::IMAGES).to_owned(),
        _ if rng.one_in(40) => "x".repeat(100_000),
        _ => rng.word(&["a", "\u{e9}", "-", "0", " "]).repeat(30 + rng.below(400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_reached_and_named() {
        let mut value = json!({"a": [1, {"b": 2}], "c": "x"});
        assert_eq!(count(&value), 6);
        let found: Vec<(String, Value)> = (0..6)
            .filter_map(|number| {
                let mut left = number;
                find(&mut value, "top", &mut left).map(|(name, place)| (name, place.clone()))
            })
            .collect();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["top", "a", "a", "a", "b", "c"]);
        assert_eq!((&found[4].1, &found[5].1), (&json!(2), &json!("x")));
    }

    #[test]
    fn texts_are_spliced_on_character_boundaries() {
        let mut rng = Rng::new(3);
        for _ in 0..2000 {
            let mut text = "\u{7f13}\u{5b58}-a".to_owned();
            in_text(&mut rng, &mut text);
        }
    }

    #[test]
    fn mutations_depend_on_the_seed_alone() {
        let mutated = |seed| {
            let mut rng = Rng::new(seed);
            let mut value = json!({"spec": {"containers": [{"args": ["--model", "m"]}]}});
            (0..20).for_each(|_| anywhere(&mut rng, &Dictionary::default(), "object", &mut value));
            value
        };
        assert_eq!(mutated(5), mutated(5));
        assert_ne!(mutated(5), mutated(6));
    }
}
