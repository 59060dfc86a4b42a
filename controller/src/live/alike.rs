//! JSON texts of objects, of which those that are alike are held once.
//!
//! The children of a hundred engines of one specification differ in names, uids, versions and addresses, and in nothing
//! else. Those are taken out of the text, and put back when it is read.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// How many texts of an object's own can be taken out: as many as [`mark`]s.
pub(super) const PLACES: usize = 6;

/// JSON text without what is the object's own.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Alike(Arc<str>);

impl Alike {
    /// Takes the `own` texts out, wherever they stand; empty ones are none.
    pub fn new(json: String, own: [&str; PLACES]) -> Self {
        let mut places: Vec<(usize, &str)> = own.into_iter().enumerate().collect();
        // One that holds a mark, as a name in an owner reference may, would take out the mark of another.
        places.retain(|(_, own)| !own.is_empty() && !own.contains(|letter| place(letter).is_some()));
        // A name can begin with that of its namespace.
        places.sort_by_key(|(_, own)| std::cmp::Reverse(own.len()));
        let text = places.into_iter().fold(json, |text, (place, own)| match mark(place) {
            Some(mark) if text.contains(own) => text.replace(own, mark),
            _ => text,
        });
        Alike(text.into())
    }

    /// The JSON text, with the `own` texts that were taken out.
    pub fn text(&self, own: [&str; PLACES]) -> String {
        let mut text = String::with_capacity(self.0.len().saturating_add(512));
        for piece in self.0.split_inclusive(|letter| place(letter).is_some()) {
            let own = piece
                .chars()
                .next_back()
                .and_then(place)
                .and_then(|place| own.get(place));
            match own {
                Some(own) => {
                    let mut letters = piece.chars();
                    letters.next_back();
                    text.push_str(letters.as_str());
                    text.push_str(own);
                }
                None => text.push_str(piece),
            }
        }
        text
    }
}

/// What stands for a text that was taken out: a control character, which JSON has only in escaped form.
const MARKS: [&str; PLACES] = ["\u{1}", "\u{2}", "\u{3}", "\u{4}", "\u{5}", "\u{6}"];

fn mark(place: usize) -> Option<&'static str> {
    MARKS.get(place).copied()
}

fn place(letter: char) -> Option<usize> {
    let place = usize::try_from(u32::from(letter)).ok()?.checked_sub(1)?;
    (place < PLACES).then_some(place)
}

/// How few texts are not worth a look for those that nobody holds any more.
const FEW: usize = 64;

/// The texts that are held.
#[derive(Default)]
pub struct Texts {
    held: HashSet<Arc<str>>,
    /// How many were shared since the last look for those that nobody holds any more.
    shared: usize,
}

impl Texts {
    /// Makes an equal text that is held already out of this one.
    pub(super) fn share(&mut self, text: &mut Alike) {
        if let Some(held) = self.held.get(&text.0) {
            text.0 = Arc::clone(held);
        } else {
            self.held.insert(Arc::clone(&text.0));
        }
        // What was shared and then not kept, since something newer was there.
        self.shared += 1;
        if self.shared > self.held.len() / 2 + FEW {
            self.held.retain(|held| Arc::strong_count(held) > 1);
            self.held.shrink_to(FEW);
            self.shared = 0;
        }
    }

    /// The text goes when its object goes, at once: it may hold what somebody wrote into a specification and should not have.
    /// Stays if others hold it as well.
    pub(super) fn release(&mut self, text: &Alike) {
        // Here and in the object.
        if self.held.get(&text.0).is_some_and(|held| Arc::strong_count(held) <= 2) {
            self.held.remove(&text.0);
        }
    }
}

/// Shows no contents.
impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texts")
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own<'a>(name: &'a str, namespace: &'a str, uid: &'a str) -> [&'a str; PLACES] {
        [uid, name, namespace, "", "", ""]
    }

    fn json(name: &str, namespace: &str, uid: &str) -> String {
        // Control characters stand in JSON as escapes.
        let quoted = |text: &str| serde_json::Value::from(text).to_string().trim_matches('"').to_owned();
        let (name, namespace) = (quoted(name), quoted(namespace));
        format!(
            r#"{{"name":"{name}-x","namespace":"{namespace}","k:{{\"uid\":\"{uid}\"}}":"\u0001{name}.{namespace}"}}"#
        )
    }

    #[test]
    fn texts_come_back_as_they_were() {
        let names = [
            "kv",
            "team",
            "team-a",
            "a",
            "u",
            "1",
            "\u{e9}t\u{e9}",
            "",
            "name",
            "\u{1}",
            "a\u{2}",
        ];
        for name in names {
            for namespace in names {
                let json = json(name, namespace, "5a1f");
                let own = own(name, namespace, "5a1f");
                assert_eq!(Alike::new(json.clone(), own).text(own), json, "{name} {namespace}");
            }
        }
    }

    #[test]
    fn those_that_differ_in_what_is_their_own_are_held_once() {
        let mut texts = Texts::default();
        let alike = |name: &str, uid: &str| Alike::new(json(name, "team", uid), own(name, "team", uid));
        let (mut one, mut other) = (alike("team-a", "5a1f"), alike("team-b", "77c2"));
        texts.share(&mut one);
        texts.share(&mut other);
        assert!(Arc::ptr_eq(&one.0, &other.0));
        let mut different = Alike::new("{}".to_owned(), own("kv", "team", "5a1f"));
        texts.share(&mut different);
        assert!(!Arc::ptr_eq(&one.0, &different.0));
    }

    #[test]
    fn the_text_of_an_object_goes_with_it_unless_others_hold_it() {
        let mut texts = Texts::default();
        let alike = |text: &str| Alike::new(text.to_owned(), [""; PLACES]);
        let (mut one, mut same, mut other) = (alike("password"), alike("password"), alike("other"));
        for text in [&mut one, &mut same, &mut other] {
            texts.share(text);
        }
        texts.release(&one);
        assert_eq!(texts.held.len(), 2, "the second has it");
        drop(one);
        texts.release(&same);
        assert!(!texts.held.contains("password"));
        drop(same);
        texts.release(&other);
        assert!(texts.held.is_empty());
    }

    #[test]
    fn those_that_nobody_holds_any_more_go() {
        let mut texts = Texts::default();
        for number in 0..10_000 {
            texts.share(&mut Alike::new(number.to_string(), [""; PLACES]));
        }
        assert!(texts.held.len() <= 2 * FEW, "{texts:?}");
    }
}
