//! Why a record waits.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Why a record waits: people read the text, and the program asks for the variant alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldReason {
    /// The record leaves and is on site (law 10).
    OnSite,
    /// A new record of a first run has the name of a person at the service that no record matches.
    SameName(#[serde(with = "shared")] Arc<str>),
    /// The name of a person goes to another record of the same read.
    MovedName(#[serde(with = "shared")] Arc<str>),
    /// What only people act on; one text for all that wait for the same.
    Other(#[serde(with = "shared")] Arc<str>),
}

impl HoldReason {
    /// What people read.
    pub fn text(&self) -> &str {
        match self {
            Self::OnSite => "on site; removed once they have left",
            Self::SameName(text) | Self::MovedName(text) | Self::Other(text) => text,
        }
    }

    /// Puts another reason before it.
    pub fn precede(&mut self, reason: &str) {
        *self = self.with_text(format!("{reason}; {}", self.text()));
    }

    /// The same reason in other words.
    pub fn with_text(&self, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        match self {
            Self::SameName(_) => Self::SameName(text),
            Self::MovedName(_) => Self::MovedName(text),
            Self::OnSite | Self::Other(_) => Self::Other(text),
        }
    }
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl<T: Into<Arc<str>>> From<T> for HoldReason {
    fn from(text: T) -> Self {
        Self::Other(text.into())
    }
}

/// A shared text on disk.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stays_what_it_is_with_another_before_it_and_on_disk() {
        let mut reason = HoldReason::SameName("this new record has a name".into());
        reason.precede("the mapping change alters 2 people");
        assert_eq!(reason.text(), "the mapping change alters 2 people; this new record has a name");
        for reason in [reason, HoldReason::OnSite, "limit".into()] {
            let read: HoldReason = serde_json::from_str(&serde_json::to_string(&reason).unwrap()).unwrap();
            assert_eq!(read, reason);
        }
    }
}
