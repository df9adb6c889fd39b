//! Keys whose function is not built yet. The table shrinks.

use toml::de::DeValue;

/// The value that turns a function off, so that its key may stand in a file before it is built.
#[derive(Clone, Copy, Debug)]
pub(super) enum Off {
    Text(&'static str),
    /// Only a table without keys of its own.
    Section,
}

/// Every key that is known and not built yet.
pub(super) const UNBUILT: &[(&str, Off)] = &[
    ("status", Off::Section),
    ("status.listen", Off::Text("")),
    ("notify", Off::Section),
    ("notify.webhook", Off::Text("")),
    ("notify.mail", Off::Section),
    ("notify.heartbeat", Off::Text("")),
];

/// The word that turns off what `key` does; `None` for a key that is not in the table.
pub(super) fn off(key: &str) -> Option<Off> {
    UNBUILT.iter().find(|(known, _)| *known == key).map(|(_, off)| *off)
}

impl Off {
    /// Whether `value` turns the function off.
    pub(super) fn is(self, value: &DeValue<'_>) -> bool {
        match self {
            Self::Text(off) => value.as_str() == Some(off),
            Self::Section => value.as_table().is_some_and(|table| table.is_empty()),
        }
    }
}
