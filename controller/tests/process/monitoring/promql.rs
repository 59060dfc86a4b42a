//! Which metrics and labels a query of PromQL names. Whether it is PromQL at all is for promtool to say, which runs in
//! `make e2e`.

/// A metric in a query, with its matchers: label, operator and value.
#[derive(Debug, PartialEq, Eq)]
pub struct Selector {
    pub metric: String,
    pub matchers: Vec<(String, String, String)>,
}

/// What a query names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    pub selectors: Vec<Selector>,
    /// Labels behind `by`, `on` and the like.
    pub labels: Vec<String>,
}

/// Words that stand before labels in parentheses.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
/// Other words that are no names.
const WORDS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// Ranges and numbers are left out: they name nothing.
fn tokens(query: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '[' => rest.find(']').unwrap() + 1,
            '"' | '\'' => {
                let end = rest[1..].find(first).unwrap();
                tokens.push(Token::Text(rest[1..=end].to_owned()));
                end + 2
            }
            _ if first.is_alphanumeric() || first == '_' => {
                let end = rest.find(|next: char| !next.is_alphanumeric() && !"_:.".contains(next));
                let end = end.unwrap_or(rest.len());
                if !first.is_ascii_digit() {
                    tokens.push(Token::Word(rest[..end].to_owned()));
                }
                end
            }
            _ => {
                if !first.is_whitespace() {
                    tokens.push(Token::Sign(first));
                }
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

/// Reads a query.
pub fn read(query: &str) -> Named {
    let tokens = tokens(query);
    let mut named = Named::default();
    let mut at = 0;
    while at < tokens.len() {
        let next = tokens.get(at + 1);
        let Token::Word(word) = &tokens[at] else {
            at += 1;
            continue;
        };
        at += 1;
        let is_word = |next: &Token| matches!(next, Token::Word(next) if BEFORE_LABELS.contains(&next.as_str()));
        if BEFORE_LABELS.contains(&word.as_str()) && next == Some(&Token::Sign('(')) {
            let inner = tokens[at + 1..].iter().take_while(|token| **token != Token::Sign(')'));
            named.labels.extend(inner.filter_map(|token| match token {
                Token::Word(label) => Some(label.clone()),
                _ => None,
            }));
            at += tokens[at..]
                .iter()
                .position(|token| *token == Token::Sign(')'))
                .unwrap();
        } else if next == Some(&Token::Sign('{')) {
            let end = at
                + tokens[at..]
                    .iter()
                    .position(|token| *token == Token::Sign('}'))
                    .unwrap();
            named.selectors.push(Selector {
                metric: word.clone(),
                matchers: matchers(&tokens[at + 1..end]),
            });
            at = end;
        } else if !WORDS.contains(&word.as_str())
            && !BEFORE_LABELS.contains(&word.as_str())
            && next != Some(&Token::Sign('('))
            && !next.is_some_and(is_word)
        {
            named.selectors.push(Selector {
                metric: word.clone(),
                matchers: Vec::new(),
            });
        }
    }
    named
}

fn matchers(tokens: &[Token]) -> Vec<(String, String, String)> {
    let parts = tokens.split(|token| *token == Token::Sign(','));
    let matcher = |part: &[Token]| {
        let [Token::Word(label), signs @ .., Token::Text(value)] = part else {
            panic!("no matcher: {part:?}");
        };
        let sign = |token: &Token| match token {
            Token::Sign(sign) => *sign,
            _ => panic!("no operator: {part:?}"),
        };
        (label.clone(), signs.iter().map(sign).collect(), value.clone())
    };
    parts.filter(|part| !part.is_empty()).map(matcher).collect()
}

#[test]
fn names_are_found() {
    let query = r#"sum by (kind, reason) (rate(a_total{code!~"2..|404",verb="get"}[5m])) > 0.5
        and on (kind) max without (instance) (b:c) unless label_replace(up, "name", "$1", "service", "(.+)") == 1"#;
    let selector = |metric: &str, matchers: &[(&str, &str, &str)]| Selector {
        metric: metric.to_owned(),
        matchers: matchers
            .iter()
            .map(|(label, sign, value)| ((*label).to_owned(), (*sign).to_owned(), (*value).to_owned()))
            .collect(),
    };
    assert_eq!(
        read(query),
        Named {
            selectors: vec![
                selector("a_total", &[("code", "!~", "2..|404"), ("verb", "=", "get")]),
                selector("b:c", &[]),
                selector("up", &[]),
            ],
            labels: ["kind", "reason", "kind", "instance"].map(str::to_owned).to_vec(),
        }
    );
}
