//! Entries of a directory that say nothing: `include` is false, and they lack an attribute that it names and that they had before.
//!
//! A directory leaves out what an account may not read, so such an entry does not say that its person is gone (law 1): they are
//! missing, as if the entry were not there.

use std::collections::BTreeSet;

use crate::text::counted;

/// The known people whose entries say nothing.
#[derive(Default)]
pub(super) struct SilentEntries {
    /// How many they are.
    pub(super) people: usize,
    /// What their entries lack.
    pub(super) lack: BTreeSet<String>,
}

impl SilentEntries {
    /// Says that they count as missing.
    pub(super) fn note(&self) -> Option<String> {
        let people = counted(self.people, "person counts", "people count");
        let names = self.lack.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let note = format!(
            "{people} as missing, since their entries lack what `include` names and had it before: {names}; may the account still \
             read it?"
        );
        (self.people > 0).then_some(note)
    }
}
