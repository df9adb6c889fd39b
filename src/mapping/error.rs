//! Errors of templates.

use std::fmt;

/// What is wrong with a template, or with a source that it is to be used on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which one: `key`, `include`, `map.name`, …
    pub place: String,
    /// What is wrong and what to do.
    pub reason: String,
    /// Where in the template: line and column in characters, both counted from 1.
    pub at: Option<(u32, u32)>,
}

impl Error {
    /// A fault of the template at `place` as a whole.
    pub(super) fn whole(place: &str, reason: impl Into<String>) -> Self {
        Self { place: place.to_owned(), reason: reason.into(), at: None }
    }

    /// A fault at a byte offset in the template's text.
    pub(super) fn within(place: &str, text: &str, offset: usize, reason: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self { at: Some((small(line), small(column))), ..Self::whole(place, reason) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.place)?;
        match self.at {
            Some((1, column)) => write!(f, ", column {column} of the template")?,
            Some((line, column)) => write!(f, ", line {line}, column {column} of the template")?,
            None => {}
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_template_is_counted_in_characters() {
        for (text, offset, said) in [
            ("abc", 2, "`key`, column 3 of the template: x"),
            ("é\néa", 5, "`key`, line 2, column 2 of the template: x"),
        ] {
            assert_eq!(Error::within("key", text, offset, "x").to_string(), said);
        }
        assert_eq!(Error::whole("map.name", "x").to_string(), "`map.name`: x");
    }
}
