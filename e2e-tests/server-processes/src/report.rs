//! What was started and what answered.

use std::fmt::{self, Debug, Display};

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Not as expected.
    Failed,
    /// Something is missing that could be installed.
    Skipped,
    /// This host cannot do it: hardware, rights.
    LeftOut,
}

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Started(String),
    Checked(Verdict, String),
}

/// What one scenario found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    entries: Vec<Entry>,
}

impl Report {
    /// A process was started.
    pub fn started(&mut self, line: impl Into<String>) {
        self.entries.push(Entry::Started(line.into()));
    }

    /// A check and what it saw. Returns whether it passed.
    pub fn check(&mut self, name: impl Display, passed: bool, seen: impl Display) -> bool {
        let verdict = if passed { Verdict::Passed } else { Verdict::Failed };
        self.entries.push(Entry::Checked(verdict, format!("{name}: {seen}")));
        passed
    }

    /// A check that two values are equal.
    pub fn equal<T: PartialEq + Debug>(&mut self, name: impl Display, found: T, expected: T) -> bool {
        if found == expected {
            self.check(name, true, format!("{found:?}"))
        } else {
            self.check(name, false, format!("found {found:?}, expected {expected:?}"))
        }
    }

    /// A check that could be made if something were installed.
    pub fn skip(&mut self, name: impl Display, why: impl Display) {
        let text = format!("{name}: {why}");
        self.entries.push(Entry::Checked(Verdict::Skipped, text));
    }

    /// A check that this host cannot make.
    pub fn leave_out(&mut self, name: impl Display, why: impl Display) {
        let text = format!("{name}: {why}");
        self.entries.push(Entry::Checked(Verdict::LeftOut, text));
    }

    /// How many checks came out like this.
    pub fn count(&self, verdict: Verdict) -> usize {
        let same = |entry: &&Entry| matches!(entry, Entry::Checked(found, _) if *found == verdict);
        self.entries.iter().filter(same).count()
    }

    /// How many processes were started.
    pub fn processes(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| matches!(entry, Entry::Started(_)))
            .count()
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            match entry {
                Entry::Started(line) => writeln!(f, "  start   {line}")?,
                Entry::Checked(Verdict::Passed, text) => writeln!(f, "  ok      {text}")?,
                Entry::Checked(Verdict::Failed, text) => writeln!(f, "  FAILED  {text}")?,
                Entry::Checked(Verdict::Skipped, text) => writeln!(f, "  SKIPPED {text}")?,
                Entry::Checked(Verdict::LeftOut, text) => writeln!(f, "  not run {text}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_prints() {
        let mut report = Report::default();
        report.started("lmcache server");
        assert!(report.check("health", true, "200"));
        assert!(!report.equal("exit", Some(3), Some(2)));
        assert!(report.equal("exit", 2, 2));
        report.skip("Redis", "not installed");
        report.leave_out("read-only", "needs root");
        let verdicts = [Verdict::Passed, Verdict::Failed, Verdict::Skipped, Verdict::LeftOut];
        assert_eq!(verdicts.map(|verdict| report.count(verdict)), [2, 1, 1, 1]);
        assert_eq!(report.processes(), 1);
        assert_eq!(
            report.to_string(),
            "  start   lmcache server\n  ok      health: 200\n  FAILED  exit: found Some(3), expected Some(2)\n  \
             ok      exit: 2\n  SKIPPED Redis: not installed\n  not run read-only: needs root\n"
        );
    }
}
