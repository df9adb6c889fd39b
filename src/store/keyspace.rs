//! The kinds of row.

macro_rules! keyspaces {
    ($($(#[doc = $doc:literal])* $name:ident = $byte:literal, $personal:ident;)*) => {
        /// A kind of row; the first byte of its key. The bytes are part of the stored format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Keyspace {
            $($(#[doc = $doc])* $name = $byte,)*
        }

        impl Keyspace {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// What its rows hold of people.
            pub(super) fn personal(self) -> Personal {
                match self {
                    $(Self::$name => Personal::$personal,)*
                }
            }
        }
    };
}

/// What the rows of a keyspace hold of people, and so what becomes of them when a person is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Personal {
    /// Each row is about the person whose key is in its name: it goes.
    ByKey,
    /// Each row is about one entity: those of the person go.
    ByEntity,
    /// Rows speak of many people: they are written again without the person.
    Shared,
    /// Ids and times: they stay.
    Nothing,
}

keyspaces! {
    /// About the state as a whole, a job or a collection; see [`MetaKey`](super::MetaKey).
    Meta = b'a', Shared;
    /// By job and key: what was confirmed.
    Synced = b'k', ByKey;
    /// By job and first key: the pages of row digests.
    Pages = b'p', Shared;
    /// By job and key: changed since the pages were written.
    Dirty = b't', ByKey;
    /// By collection and id: which job and key own the entity.
    Owner = b'o', ByEntity;
    /// By collection and id: the entity as last seen.
    Mirror = b'm', ByEntity;
    /// By job and key: changes on their way.
    Queue = b'q', ByKey;
    /// By job and key: changes that wait for a decision.
    Held = b'h', ByKey;
    /// By job and key: what files of changes said that counts another time.
    Later = b'l', ByKey;
    /// By job and key: what was decided about a held change.
    Decision = b'd', ByKey;
    /// By collection and id: whose presence a PUT echoed that was not compared since (law 10).
    Echo = b'e', Nothing;
    /// By collection and id: removed a short while ago.
    Removed = b'r', Nothing;
    /// By id: when a plan file was applied.
    UsedPlan = b'u', Nothing;
}

impl Keyspace {
    /// Parts of a name are put apart by this character, which no job name and no key holds.
    pub(super) const SEPARATOR: char = '\u{1f}';

    /// The spaces that can have so many rows that they lie in a file: all but the few about the state as a whole.
    pub(super) fn all_filed() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|space| *space != Self::Meta)
    }

    /// The space of a stored key, where it can lie in a file.
    pub(super) fn filed(key: &[u8]) -> Option<Self> {
        Self::all_filed().find(|space| key.first() == Some(&(*space as u8)))
    }

    /// The space of a stored key.
    #[cfg(feature = "postgres")]
    pub(super) fn of(key: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|space| key.first() == Some(&(*space as u8)))
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
