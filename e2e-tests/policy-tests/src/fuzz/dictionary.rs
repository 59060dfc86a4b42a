//! What stands where in the corpus, so that mutations put plausible things into plausible places.

use super::rng::Rng;
use serde_json::Value;
use std::collections::BTreeMap;

/// Values kept for a member name; more add little.
const VALUES_PER_NAME: usize = 150;

/// The members of the corpus, by name and by the name of the map that holds them.
#[derive(Debug, Default)]
pub struct Dictionary {
    values: BTreeMap<String, Vec<Value>>,
    members: BTreeMap<String, Vec<String>>,
}

impl Dictionary {
    /// Takes in everything below a value. `name` is the member that holds it.
    pub fn learn(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(members) => {
                for (member, value) in members {
                    let known = self.members.entry(name.to_owned()).or_default();
                    if !known.contains(member) && known.len() < VALUES_PER_NAME {
                        known.push(member.clone());
                    }
                    let values = self.values.entry(member.clone()).or_default();
                    if values.len() < VALUES_PER_NAME && !values.contains(value) {
                        values.push(value.clone());
                    }
                    self.learn(member, value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(name, item)),
            _ => {}
        }
    }

    /// A value that the corpus has for a member of this name.
    pub fn value(&self, rng: &mut Rng, name: &str) -> Option<&Value> {
        rng.pick(self.values.get(name)?)
    }

    /// The name of a member that maps of this name have in the corpus.
    pub fn member(&self, rng: &mut Rng, of: &str) -> Option<&str> {
        rng.pick(self.members.get(of)?).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn knows_what_stands_where() {
        let mut dictionary = Dictionary::default();
        dictionary.learn(
            "spec",
            &json!({"containers": [{"args": ["a"]}, {"args": ["b"], "env": []}]}),
        );
        let mut rng = Rng::new(1);
        let args: Vec<&Value> = (0..50).filter_map(|_| dictionary.value(&mut rng, "args")).collect();
        assert!(args.contains(&&json!(["a"])) && args.contains(&&json!(["b"])));
        let members: Vec<&str> = (0..50)
            .filter_map(|_| dictionary.member(&mut rng, "containers"))
            .collect();
        assert!(members.contains(&"args") && members.contains(&"env"));
        assert_eq!(dictionary.member(&mut rng, "spec"), Some("containers"));
        assert_eq!(dictionary.value(&mut rng, "none"), None);
    }
}
