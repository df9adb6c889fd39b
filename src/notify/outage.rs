//! The notice of what keeps everything from working.

use jiff::SignedDuration;

use crate::store;

/// Why nothing works at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// What kind of trouble it is: another kind is notified again, the same kind in other words is not.
    pub kind: &'static str,
    /// What happened, in a sentence.
    pub text: String,
    /// Why, one by one.
    pub reasons: Vec<String>,
    /// How long it may last before a notice: what passes by itself is no news.
    pub patience: SignedDuration,
}

/// How long a command may have the state for itself.
const IN_USE_MAX: SignedDuration = SignedDuration::from_mins(5);

impl Outage {
    /// The daemon could not start.
    pub fn at_start(kind: &'static str, reasons: Vec<String>) -> Self {
        let text = "the daemon could not start, and nothing is synchronized".to_owned();
        Self { kind, text, reasons, patience: SignedDuration::ZERO }
    }

    /// The daemon could not start on its state.
    pub fn of_store_at_start(error: &store::Error) -> Self {
        let trouble = Self::at_start(kind(error), vec![describe(error)]);
        // Who was taken over ends, is started again, and stands by.
        let is_short = matches!(error.kind, store::ErrorKind::InUse { .. } | store::ErrorKind::Fenced);
        Self { patience: if is_short { IN_USE_MAX } else { trouble.patience }, ..trouble }
    }

    /// The daemon runs and can't read its state any more; `patience` is how long that may last.
    pub fn of_store(error: &store::Error, patience: SignedDuration) -> Self {
        let text = "the daemon can't read its state, and nothing is synchronized".to_owned();
        Self { kind: kind(error), text, reasons: vec![describe(error)], patience }
    }
}

fn kind(error: &store::Error) -> &'static str {
    match error.kind {
        store::ErrorKind::InUse { .. } | store::ErrorKind::Leased { .. } => "in_use",
        store::ErrorKind::Fenced => "taken_over",
        store::ErrorKind::Database(_)
        | store::ErrorKind::Denied(_)
        | store::ErrorKind::ReadOnly
        | store::ErrorKind::SeveralPrimaries { .. }
        | store::ErrorKind::Unversioned(_) => "database",
        store::ErrorKind::Permission => "permission",
        store::ErrorKind::Owner { .. } | store::ErrorKind::Exposed { .. } => "owner",
        store::ErrorKind::NoFolder => "no_folder",
        store::ErrorKind::Full => "disk_full",
        store::ErrorKind::Damaged(_) => "damaged",
        store::ErrorKind::Newer { .. } => "newer",
        store::ErrorKind::Unfinished => "unfinished",
        store::ErrorKind::Io(_) => "unreadable",
    }
}

/// An error of the store, in words that name no person: what is damaged may be a row, and its name holds a key (law
/// 11).
pub fn describe(error: &store::Error) -> String {
    match error.kind {
        store::ErrorKind::Damaged(_) => {
            format!("{}: damaged; `rosterd status` says where", error.place)
        }
        _ => error.to_string(),
    }
}
