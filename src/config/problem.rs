//! Mistakes in a configuration, all at once.

use std::fmt::{self, Write};

/// One mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as it was named, or `environment`.
    pub file: String,
    /// The line, counted from 1; `None` for what is missing altogether and for the environment.
    pub line: Option<usize>,
    /// The key, for example `job.guard.max_leavers`, or the variable's name; empty where it is about the whole file.
    pub key: String,
    /// What is wrong; holds no secret (law 11).
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Writes `config.toml:12: job.guard.max_leaver: unknown key; did you mean max_leavers?`, always on one line.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        one_line(f, &self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            f.write_str(": ")?;
            one_line(f, &self.key)?;
        }
        f.write_str(": ")?;
        one_line(f, &self.message)?;
        if let Some(hint) = &self.hint {
            f.write_str("; ")?;
            one_line(f, hint)?;
        }
        Ok(())
    }
}

/// Writes a text with its control characters escaped: a quoted key may hold any.
fn one_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
    }
    Ok(())
}

/// Every mistake found in a configuration, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Errors {
    /// The mistakes.
    pub problems: Vec<Problem>,
}

/// One line for each mistake.
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
