//! Colours for terminals.

use std::io::IsTerminal;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Wraps text in colours, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// Decides for a stream. By <https://no-color.org>, a NO_COLOR that is not empty switches colours off.
    pub fn new(choice: ColorChoice, stream: &impl IsTerminal) -> Self {
        Self(match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        })
    }

    /// Bold text.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Faint text.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Refusals and removed lines.
    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// Admissions and added lines.
    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Warnings.
    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Places in a diff.
    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        // What a policy says must not be able to steer the terminal.
        let text: String = text.chars().filter(|c| !c.is_control() || *c == '\t').collect();
        if self.0 {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text
        }
    }

    /// Text without colour.
    pub fn plain(self, text: &str) -> String {
        Self(false).wrap("", text)
    }
}
