//! What identifies a record at its source, an entity at the service, and a job in the configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identifies a record at its source for ever: a staff number, an entryUUID, an objectGUID. Never empty.
///
/// A key may be shown in logs; it is how they name a person (law 11).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Makes a key of `text` without its outer white space; `None` where nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Identifies an entity at the service: a positive int32 (specification, Conventions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RemoteId(i32);

impl RemoteId {
    /// Makes an id of a number that fits int32 and is above zero (0 means "none" in places).
    pub fn new(number: i64) -> Option<Self> {
        i32::try_from(number).ok().filter(|id| *id > 0).map(Self)
    }

    /// The id as a number.
    pub fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for RemoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The name of a job in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobName(String);

impl JobName {
    /// The longest name, in characters.
    pub const LENGTH_MAX: usize = 64;

    /// Makes a name of 1 to 64 ASCII letters, digits, `-`, `_` and `.`, beginning with a letter or digit.
    pub fn new(text: &str) -> Option<Self> {
        let fits = text.len() <= Self::LENGTH_MAX
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        fits.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_empty_and_never_padded() {
        assert_eq!(Key::new("  \t"), None);
        assert_eq!(Key::new(" 0042 ").unwrap().as_str(), "0042");
    }

    #[test]
    fn an_id_is_a_positive_int32() {
        for (number, fits) in [(1, true), (0, false), (-4, false), (i64::from(i32::MAX), true), (1 << 31, false)] {
            assert_eq!(RemoteId::new(number).is_some(), fits, "{number}");
        }
    }

    #[test]
    fn a_job_name_is_fit_for_a_file_name() {
        for (text, fits) in
            [("employees", true), ("", false), ("a/b", false), ("-x", false), (".hid", false), ("a.b-c_1", true)]
        {
            assert_eq!(JobName::new(text).is_some(), fits, "{text}");
        }
    }
}
