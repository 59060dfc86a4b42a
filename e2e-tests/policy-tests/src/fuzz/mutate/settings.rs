//! Mutations of settings: by the questions that a policy asks, and against them.

use super::super::dictionary::Dictionary;
use super::super::rng::Rng;
use super::generic;
use crate::root;
use policy_host::document;
use serde_json::{Value, json};

/// The settings that a policy knows, from `metadata/<policy>/questions-ui.yml`.
#[derive(Debug, Default)]
pub struct Questions(Vec<(String, Vec<Value>)>);

impl Questions {
    /// Reads the questions of a policy; none where it has no such file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(policy: &str) -> Result<Self, String> {
        let path = root().join("metadata").join(policy).join("questions-ui.yml");
        if !path.is_file() {
            return Ok(Self::default());
        }
        let document = document::read_one(&path).map_err(|error| error.to_string())?;
        let questions = document.get("questions").and_then(Value::as_array);
        Ok(Self(questions.into_iter().flatten().filter_map(question).collect()))
    }
}

/// The name of a setting and values that are plausible.
fn question(question: &Value) -> Option<(String, Vec<Value>)> {
    let name = question.get("variable")?.as_str()?.to_owned();
    let options = question
        .get("options")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let kind = question.get("type").and_then(Value::as_str).unwrap_or_default();
    let values = if kind.starts_with("array") {
        let mut values = vec![
            json!([]),
            json!(["*"]),
            json!(["team-b", "lmcache/vllm-openai", "*/x"]),
            json!([""]),
        ];
        values.extend(options.iter().map(|option| json!([option])));
        values.push(Value::from(options));
        values
    } else if kind == "boolean" {
        vec![json!(true), json!(false)]
    } else if options.is_empty() {
        vec![
            json!("cluster.local"),
            json!("corp.example"),
            json!(""),
            json!("Not A Domain"),
        ]
    } else {
        options
    };
    Some((name, values))
}

/// Changes one setting, mostly to a value that it may have.
pub fn mutate(rng: &mut Rng, dictionary: &Dictionary, questions: &Questions, settings: &mut Value) {
    let before = settings.clone();
    match rng.below(12) {
        0 => generic::anywhere(rng, dictionary, "settings", settings),
        1 => {
            if let Some(members) = settings.as_object_mut() {
                members.insert(generic::any_text(rng), generic::scalar(rng));
            }
        }
        _ => {
            if let (Some((name, values)), Some(members)) = (rng.pick(&questions.0), settings.as_object_mut())
                && let Some(value) = rng.pick(values)
            {
                members.insert(name.clone(), value.clone());
            }
        }
    }
    // Kubewarden hands over nothing but maps.
    if !settings.is_object() {
        *settings = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_give_names_and_values() {
        let (name, values) = question(&json!({"variable": "a", "type": "enum", "options": ["X", "Y"]})).unwrap();
        assert_eq!((name.as_str(), values), ("a", vec![json!("X"), json!("Y")]));
        let (_, values) = question(&json!({"variable": "a", "type": "array[", "options": ["X", "Y"]})).unwrap();
        assert!(values.contains(&json!(["Y"])) && values.contains(&json!(["X", "Y"])) && values.contains(&json!([])));
        assert_eq!(question(&json!({"type": "enum"})), None);
    }

    #[test]
    fn settings_stay_a_map() {
        let mut rng = Rng::new(1);
        let questions = Questions(vec![("a".into(), vec![json!(1)])]);
        let mut settings = json!({});
        for _ in 0..500 {
            mutate(&mut rng, &Dictionary::default(), &questions, &mut settings);
            assert!(settings.is_object());
        }
    }
}
