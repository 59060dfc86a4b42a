//! Rendered command lines.
//!
//! Every argument knows the field that asked for it, so that what a release cannot do is said of a field and not of a
//! flag that the user never wrote.

mod coordinator;
mod server;

pub(crate) use coordinator::coordinator;
pub(crate) use server::{CACHEBLEND_ALIGN_BYTES, DEFAULT_ALIGN_BYTES, server};

use crate::table::{Flag, find};

/// One argument of a rendered command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The flag.
    pub flag: &'static str,
    /// Its value, unless it takes none.
    pub value: Option<String>,
    /// The field that asked for it.
    pub path: &'static str,
    /// Whether the process does the same without it: then it is left out where the release does not know it.
    pub is_default: bool,
}

impl Argument {
    fn new(flag: &'static str, value: impl ToString, path: &'static str) -> Self {
        Argument {
            flag,
            value: Some(value.to_string()),
            path,
            is_default: false,
        }
    }

    fn switch(flag: &'static str, path: &'static str) -> Self {
        Argument {
            flag,
            value: None,
            path,
            is_default: false,
        }
    }

    fn unless_default(mut self, default: &str) -> Self {
        self.is_default = self.value.as_deref() == Some(default);
        self
    }
}

/// The newer of two names of one flag where the release at `position` knows it, else the older.
fn spelling(flags: &'static [Flag], position: usize, [newer, older]: [&'static str; 2]) -> &'static str {
    if find(flags, newer, position).is_some() {
        newer
    } else {
        older
    }
}

/// The tokens of a command line: each flag and its value as two, as the Go operator writes them.
pub(crate) fn tokens(
    arguments: Vec<Argument>,
    flags: &'static [Flag],
    position: usize,
    extra_args: &[String],
) -> Vec<String> {
    let known = |argument: &Argument| !argument.is_default || find(flags, argument.flag, position).is_some();
    let rendered = arguments
        .into_iter()
        .filter(known)
        .flat_map(|argument| std::iter::once(argument.flag.to_owned()).chain(argument.value));
    rendered.chain(extra_args.iter().cloned()).collect()
}
