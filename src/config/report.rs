//! Collects mistakes with their places.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{Errors, Problem};

/// Gathers mistakes and warnings. A place is a path such as `job[1].guard.max_leavers`; jobs count from 0.
pub(super) struct Report {
    /// The file as it was named.
    file: String,
    /// The line of each key of the file.
    lines: BTreeMap<String, usize>,
    /// Which variable set a key.
    variables: BTreeMap<String, String>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    /// Places that have a mistake already; a second one there would be its consequence.
    bad: BTreeSet<String>,
}

impl Report {
    pub(super) fn new(file: String) -> Self {
        Self {
            file,
            lines: BTreeMap::new(),
            variables: BTreeMap::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
            bad: BTreeSet::new(),
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
        self.lines.keys().filter(|place| keys.contains(&shown(place).as_str())).cloned().collect()
    }

    /// Whether a variable of the environment sets the key at `place`.
    pub(super) fn in_environment(&self, place: &str) -> bool {
        self.variables.contains_key(place)
    }

    /// Whether a mistake was found at `place`.
    pub(super) fn is_bad(&self, place: &str) -> bool {
        self.bad.contains(place)
    }

    /// Adds a mistake, unless that place has one already.
    pub(super) fn problem(&mut self, place: &str, message: impl Into<String>, hint: Option<&str>) {
        if self.bad.insert(place.to_owned()) {
            let problem = self.at(place, message.into(), hint);
            self.problems.push(problem);
        }
    }

    /// Adds a mistake about the file's own text, whatever the environment lays over it.
    pub(super) fn problem_in_file(&mut self, place: &str, message: impl Into<String>, hint: Option<&str>) {
        let line = self.lines.get(place).copied();
        self.problem_on_line(line, shown(place), message.into(), hint);
    }

    /// Adds a mistake on a line that no key tells.
    pub(super) fn problem_on_line(&mut self, line: Option<usize>, key: String, message: String, hint: Option<&str>) {
        let (file, hint) = (self.file.clone(), hint.map(str::to_owned));
        self.problems.push(Problem { file, line, key, message, hint });
    }

    /// Adds a mistake about a variable that sets no key.
    pub(super) fn problem_of_variable(&mut self, variable: &str, message: impl Into<String>, hint: Option<&str>) {
        self.problems.push(of_variable(variable, message.into(), hint));
    }

    /// Adds a warning.
    pub(super) fn warning(&mut self, place: &str, message: impl Into<String>, hint: Option<&str>) {
        let warning = self.at(place, message.into(), hint);
        self.warnings.push(warning);
    }

    /// Adds a warning about a variable that sets no key.
    pub(super) fn warning_of_variable(&mut self, variable: &str, message: impl Into<String>, hint: Option<&str>) {
        self.warnings.push(of_variable(variable, message.into(), hint));
    }

    /// Ends the report: the warnings, or every mistake in the order of the file.
    pub(super) fn finish(mut self) -> Result<Vec<String>, Errors> {
        let order = |problem: &Problem| (problem.file != self.file, problem.line.unwrap_or(0));
        self.warnings.sort_by_key(order);
        self.problems.sort_by_key(order);
        if self.problems.is_empty() {
            Ok(self.warnings.iter().map(Problem::to_string).collect())
        } else {
            Err(Errors { problems: self.problems })
        }
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_clean(&self) -> bool {
        self.problems.is_empty()
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

/// A place as people see it, and as `keys` knows it: without the job's number.
pub(super) fn shown(place: &str) -> String {
    match place.strip_prefix("job[").and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => format!("job{rest}"),
        None => place.to_owned(),
    }
}
