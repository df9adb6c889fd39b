//! The kinds of row, and how rows are named.

use crate::record::{JobName, RemoteId, Target};

/// A kind of row; the first byte of its key. The bytes are part of the stored format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Keyspace {
    /// About the store itself.
    Meta = b'a',
    /// By job and key: what was confirmed.
    Synced = b'k',
    /// By job: the pages of row digests.
    Pages = b'p',
    /// By job and key: changed since the pages were written.
    Dirty = b't',
    /// By collection and id: which job and key own the entity.
    Owner = b'o',
    /// By collection and id: the entity as last seen.
    Mirror = b'm',
    /// By collection: watermark and the like.
    Pull = b'w',
    /// By job and key: changes on their way.
    Queue = b'q',
    /// By job and key: changes that wait for a decision.
    Held = b'h',
    /// By job and key: what was decided about a held change.
    Decision = b'd',
    /// By job: facts of its last run.
    Job = b'j',
    /// By collection and id: whose presence a PUT echoed that was not compared since (law 10).
    Echo = b'e',
    /// By collection and id: removed a short while ago.
    Removed = b'r',
}

impl Keyspace {
    /// The spaces that can have so many rows that they lie in a file: all but the few about the store itself.
    pub(super) const FILED: [Self; 12] = [
        Self::Synced,
        Self::Pages,
        Self::Dirty,
        Self::Owner,
        Self::Mirror,
        Self::Pull,
        Self::Queue,
        Self::Held,
        Self::Decision,
        Self::Job,
        Self::Echo,
        Self::Removed,
    ];

    /// The space of a stored key, where it can lie in a file.
    pub(super) fn filed(key: &[u8]) -> Option<Self> {
        Self::FILED.into_iter().find(|space| key.first() == Some(&(*space as u8)))
    }

    /// Parts of a name are put apart by this character, which no job name and no key holds.
    pub const SEPARATOR: char = '\u{1f}';

    /// The name of a row by job and key.
    pub fn by_job(job: &JobName, key: &str) -> String {
        format!("{job}{}{key}", Self::SEPARATOR)
    }

    /// The name of a row by collection and id; rows sort by id.
    pub fn by_target(target: Target, id: RemoteId) -> String {
        format!("{}{:010}", Self::all_of(target), id.get())
    }

    /// What the names of all rows of a collection begin with.
    pub fn all_of(target: Target) -> String {
        format!("{target}{}", Self::SEPARATOR)
    }

    pub(super) fn key(self, name: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(1 + name.len());
        key.push(self as u8);
        key.extend_from_slice(name.as_bytes());
        key
    }

    /// A key as an error names it: its space and the first part of its name, so that no person is named by more than
    /// their key.
    pub(super) fn shown(key: &[u8]) -> String {
        let name = String::from_utf8_lossy(key.get(1..).unwrap_or_default());
        format!("{}:{}", char::from(*key.first().unwrap_or(&b'?')), name.replace(Self::SEPARATOR, "/"))
    }
}
