//! The notice of what keeps everything from working.

use jiff::SignedDuration;

use crate::store;

/// Why nothing works at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
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

impl Trouble {
    /// The daemon could not start.
    pub fn at_start(kind: &'static str, reasons: Vec<String>) -> Self {
        let text = "the daemon could not start, and nothing is synchronized".to_owned();
        Self { kind, text, reasons, patience: SignedDuration::ZERO }
    }

    /// The daemon could not start on its state.
    pub fn of_store_at_start(error: &store::Error) -> Self {
        let trouble = Self::at_start(kind(error), vec![told(error)]);
        let is_short = matches!(error.kind, store::Kind::InUse { .. });
        Self { patience: if is_short { IN_USE_MAX } else { trouble.patience }, ..trouble }
    }

    /// The daemon runs and can't read its state any more; `patience` is how long that may last.
    pub fn of_store(error: &store::Error, patience: SignedDuration) -> Self {
        let text = "the daemon can't read its state, and nothing is synchronized".to_owned();
        Self { kind: kind(error), text, reasons: vec![told(error)], patience }
    }
}

fn kind(error: &store::Error) -> &'static str {
    match error.kind {
        store::Kind::InUse { .. } => "in_use",
        store::Kind::Permission => "permission",
        store::Kind::Owner { .. } | store::Kind::Exposed { .. } => "owner",
        store::Kind::NoFolder => "no_folder",
        store::Kind::Full => "disk_full",
        store::Kind::Damaged(_) => "damaged",
        store::Kind::Newer { .. } => "newer",
        store::Kind::Io(_) => "unreadable",
    }
}

/// An error of the store, in words that name no person: what is damaged may be a row, and its name holds a key (law
/// 11).
pub fn told(error: &store::Error) -> String {
    match error.kind {
        store::Kind::Damaged(_) => {
            format!("state folder {}: damaged; `rosterd status` says where", error.dir.display())
        }
        _ => error.to_string(),
    }
}
