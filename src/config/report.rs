//! Collects mistakes with their places.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::keys::canonical;
use super::problem::{Errors, Problem};

/// Gathers mistakes and warnings. A place is a path such as `job[1].guard.max_leavers`; jobs count from 0.
pub(super) struct Report {
    /// The file as it was named.
    file: String,
    /// The line of each key of the file.
    lines: BTreeMap<String, usize>,
    /// Which variable set a key.
    variables: BTreeMap<String, String>,
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    /// Places that have a mistake already; a second one there would be its consequence.
    bad: RefCell<BTreeSet<String>>,
}

impl Report {
    pub(super) fn new(file: String) -> Self {
        Self {
            file,
            lines: BTreeMap::new(),
            variables: BTreeMap::new(),
            problems: RefCell::default(),
            warnings: RefCell::default(),
            bad: RefCell::default(),
        }
    }

    /// Remembers that the key at `place` is on `line` of the file.
    pub(super) fn at_line(&mut self, place: &str, line: usize) {
        self.lines.entry(place.to_owned()).or_insert(line);
    }

    /// Remembers that `variable` sets the key at `place`.
    pub(super) fn set_by(&mut self, place: &str, variable: &str) {
        self.variables.insert(place.to_owned(), variable.to_owned());
    }

    /// Whether the key at `place` is in the file.
    pub(super) fn in_file(&self, place: &str) -> bool {
        self.lines.contains_key(place)
    }

    /// The places in the file whose keys are among `keys`.
    pub(super) fn in_file_as(&self, keys: &[&str]) -> Vec<String> {
        self.lines.keys().filter(|place| keys.contains(&canonical(&shown(place)).as_ref())).cloned().collect()
    }

    /// The key at `place` as messages name it, with its line of the file.
    pub(super) fn named(&self, place: &str) -> String {
        match self.line(place) {
            Some(line) => format!("{} on line {line}", shown(place)),
            None => shown(place),
        }
    }

    /// Whether a variable of the environment sets the key at `place`.
    pub(super) fn in_environment(&self, place: &str) -> bool {
        self.variables.contains_key(place)
    }

    /// Whether a mistake was found at `place`.
    pub(super) fn is_bad(&self, place: &str) -> bool {
        self.bad.borrow().contains(place)
    }

    /// Adds a mistake, unless that place has one already.
    pub(super) fn problem(&self, place: &str, message: impl Into<String>, hint: Option<&str>) {
        if self.bad.borrow_mut().insert(place.to_owned()) {
            self.problems.borrow_mut().push(self.at(place, message.into(), hint));
        }
    }

    /// Adds a mistake about the file's own text, whatever the environment lays over it.
    pub(super) fn problem_in_file(&self, place: &str, message: impl Into<String>, hint: Option<&str>) {
        let line = self.lines.get(place).copied();
        self.problem_on_line(line, shown(place), message.into(), hint);
    }

    /// Adds a mistake on a line that no key tells.
    pub(super) fn problem_on_line(&self, line: Option<usize>, key: String, message: String, hint: Option<&str>) {
        let (file, hint) = (self.file.clone(), hint.map(str::to_owned));
        self.problems.borrow_mut().push(Problem { file, line, key, message, hint });
    }

    /// Adds a mistake about a variable that sets no key.
    pub(super) fn problem_of_variable(&self, variable: &str, message: impl Into<String>, hint: Option<&str>) {
        self.problems.borrow_mut().push(of_variable(variable, message.into(), hint));
    }

    /// Adds a warning.
    pub(super) fn warning(&self, place: &str, message: impl Into<String>, hint: Option<&str>) {
        self.warnings.borrow_mut().push(self.at(place, message.into(), hint));
    }

    /// Adds a warning about a variable that sets no key.
    pub(super) fn warning_of_variable(&self, variable: &str, message: impl Into<String>, hint: Option<&str>) {
        self.warnings.borrow_mut().push(of_variable(variable, message.into(), hint));
    }

    /// Ends the report: the warnings, or every mistake in the order of the file.
    pub(super) fn finish(self) -> Result<Vec<String>, Errors> {
        let (mut problems, mut warnings) = (self.problems.into_inner(), self.warnings.into_inner());
        let order = |problem: &Problem| (problem.file != self.file, problem.line.unwrap_or(0));
        warnings.sort_by_key(order);
        problems.sort_by_key(order);
        if problems.is_empty() {
            Ok(warnings.iter().map(Problem::to_string).collect())
        } else {
            Err(Errors { problems })
        }
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    fn at(&self, place: &str, message: String, hint: Option<&str>) -> Problem {
        if let Some(variable) = self.variables.get(place) {
            return of_variable(variable, message, hint);
        }
        let (file, hint) = (self.file.clone(), hint.map(str::to_owned));
        Problem { file, line: self.line(place), key: shown(place), message, hint }
    }

    /// The line of the key, or of the nearest table around it.
    fn line(&self, place: &str) -> Option<usize> {
        let mut place = place;
        loop {
            if let Some(line) = self.lines.get(place) {
                return Some(*line);
            }
            place = place.rsplit_once('.')?.0;
        }
    }
}

fn of_variable(variable: &str, message: String, hint: Option<&str>) -> Problem {
    let (file, key) = ("environment".to_owned(), variable.to_owned());
    Problem { file, line: None, key, message, hint: hint.map(str::to_owned) }
}

/// A place as people see it, and as `keys` knows it: without the number of a job or a rule.
pub(super) fn shown(place: &str) -> String {
    let numbered = ["job", "api.credentials", "approvals.allow"].into_iter().find_map(|list| {
        let (number, rest) = place.strip_prefix(list)?.strip_prefix('[')?.split_once(']')?;
        (!number.is_empty()).then(|| format!("{list}{rest}"))
    });
    numbered.unwrap_or_else(|| place.to_owned())
}
