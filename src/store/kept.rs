//! What a state keeps beside its rows and its log: one list, which says of each kind what becomes of it.
//!
//! Invariants:
//! - Nothing is written under a name that is of no kind. So what exports, imports or forgets goes over this list and misses
//!   nothing.
//! - Each kind says what it holds of people, and `operator::forget` has an answer to each.

use std::io;

/// In what form something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptForm {
    /// In memory as a whole.
    Document,
    /// Too large for that.
    File,
}

/// What something that is kept beside the rows holds of people, and so who takes a person out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldsOfPeople {
    /// Names, times and settings.
    Nothing,
    /// Reasons that name people.
    Notices,
    /// A dropped file, or what reports on it are made of; of the job that the name has.
    Inbox,
}

/// A kind of what is kept.
#[derive(Clone, Copy, Debug)]
struct KeptKind {
    /// Its names: a star is any text within a part.
    pattern: &'static str,
    form: KeptForm,
    /// What it holds of people.
    people: HoldsOfPeople,
    /// Whether it is part of what another state needs to go on.
    moves: bool,
}

/// The document that is there while an import has not come to its end.
pub(super) const IMPORTING: &str = "importing";

const KINDS: [KeptKind; 8] = [
    KeptKind { pattern: IMPORTING, form: KeptForm::Document, people: HoldsOfPeople::Nothing, moves: false },
    KeptKind { pattern: "paused/*", form: KeptForm::Document, people: HoldsOfPeople::Nothing, moves: true },
    KeptKind { pattern: "notices.json", form: KeptForm::Document, people: HoldsOfPeople::Notices, moves: true },
    KeptKind { pattern: "inbox/*/*.order", form: KeptForm::Document, people: HoldsOfPeople::Nothing, moves: true },
    KeptKind { pattern: "inbox/*/*.file", form: KeptForm::File, people: HoldsOfPeople::Inbox, moves: true },
    KeptKind { pattern: "inbox/*/*.report", form: KeptForm::File, people: HoldsOfPeople::Inbox, moves: true },
    KeptKind { pattern: "inbox/*/kept_copy", form: KeptForm::File, people: HoldsOfPeople::Inbox, moves: true },
    KeptKind { pattern: "inbox/*/waiting", form: KeptForm::File, people: HoldsOfPeople::Inbox, moves: true },
];

impl KeptKind {
    fn has(&self, name: &str) -> bool {
        let (mut own, mut parts) = (self.pattern.split('/'), name.split('/'));
        loop {
            match (own.next(), parts.next()) {
                (None, None) => return true,
                (Some(own), Some(part)) if fits(own, part) => {}
                _ => return false,
            }
        }
    }
}

fn fits(pattern: &str, part: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => part.len() > end.len() && part.ends_with(end) && !matches!(part, "." | ".."),
        None => pattern == part,
    }
}

/// The kind of something that is kept.
fn kind(name: &str, form: KeptForm) -> Option<&'static KeptKind> {
    KINDS.iter().find(|kind| kind.form == form && kind.has(name))
}

/// Whether something of that name is part of what another state needs to go on.
pub(super) fn moves(name: &str, form: KeptForm) -> bool {
    kind(name, form).is_some_and(|kind| kind.moves)
}

/// Fails where a name is of no kind.
pub(super) fn declared(name: &str, form: KeptForm) -> io::Result<()> {
    match kind(name, form) {
        Some(_) => Ok(()),
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is of no kind that a state keeps"))),
    }
}

/// What something that is kept holds of people.
pub(super) fn people(name: &str, form: KeptForm) -> HoldsOfPeople {
    kind(name, form).map_or(HoldsOfPeople::Nothing, |kind| kind.people)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_one_kind_or_of_none() {
        for (name, form, expected) in [
            ("paused/all", KeptForm::Document, true),
            ("paused/all", KeptForm::File, false),
            ("paused", KeptForm::Document, false),
            ("paused/", KeptForm::Document, false),
            ("paused/a/b", KeptForm::Document, false),
            ("inbox/staff/out-0000000001.order", KeptForm::Document, true),
            ("inbox/staff/out-0000000001.file", KeptForm::File, true),
            ("inbox/../kept_copy", KeptForm::File, false),
            ("inbox/staff/copy", KeptForm::File, false),
            ("inbox/staff/waiting", KeptForm::File, true),
            ("../waiting", KeptForm::File, false),
            ("audit/2026-11.ndjson", KeptForm::Document, false),
        ] {
            assert_eq!(declared(name, form).is_ok(), expected, "{name}");
        }
        assert!(!moves(IMPORTING, KeptForm::Document) && moves("paused/all", KeptForm::Document));
    }
}
