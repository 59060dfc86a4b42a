//! What a broken rule leaves behind.

use super::input::Input;
use super::judge::Violation;
use std::fmt;
use std::path::{Path, PathBuf};

/// A broken rule and the input that breaks it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The policy.
    pub policy: String,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the mutation in the run; 0 for an input of the corpus.
    pub iteration: u64,
    /// The rule.
    pub violation: Violation,
    /// The input, made as small as was cheap.
    pub input: Input,
    /// Where it was written, as a fixture without `expected.yaml`.
    pub folder: Option<PathBuf>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { rule, detail } = &self.violation;
        let detail: String = detail.chars().take(2000).collect();
        write!(
            f,
            "{}: {rule}: {detail}\n  seed {}, iteration {}",
            self.policy, self.seed, self.iteration
        )?;
        match &self.folder {
            Some(folder) => write!(f, ", {}", folder.display()),
            None => Ok(()),
        }
    }
}

impl Finding {
    /// Writes the input into a folder of its own, with the finding in `finding.txt`. `number` counts the findings of a run.
    ///
    /// # Errors
    /// Names what cannot be written.
    pub fn write(&mut self, below: &Path, number: usize) -> Result<(), String> {
        let name = format!("{}-{}-{number}", self.violation.rule, self.seed);
        let folder = below.join(&self.policy).join(name);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        self.input.write(&folder)?;
        let text = format!("{self}\n\n{}\n", self.violation.detail);
        let path = folder.join("finding.txt");
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        self.folder = Some(folder);
        Ok(())
    }
}
