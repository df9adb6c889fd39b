//! The kinds of source, behind one face.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::complete::Read;
use super::csv;
use super::kept::Kept;
use super::ldap;
use super::name::Wanted;
use super::row::Row;
use crate::clock::Clock;

/// What a job says about its source.
#[derive(Clone, Debug)]
pub enum Source {
    /// A CSV file.
    Csv(csv::Options),
    /// A directory server.
    Ldap(ldap::Options),
    /// One of these as it was read a moment ago.
    Kept(Arc<Kept>),
}

impl Source {
    /// The settings that select which people a run sees: where in a directory it searches, with which filter, and by
    /// which account. When one of them changes, the next run is held first (law 7). Empty for a file, since a file may
    /// be renamed when it is moved. The server is not among them: another server has checks of its own.
    pub fn selection(&self) -> String {
        match self {
            Self::Csv(_) => String::new(),
            Self::Ldap(options) => {
                let bind = options.bind.as_ref().map(|bind| bind.dn.as_str()).unwrap_or_default();
                format!("{}\n{}\n{}\n{bind}", options.bases.join("\n"), options.scope.name(), options.filter)
            }
            Self::Kept(kept) => kept.source.selection(),
        }
    }

    /// Whether its rows stand on lines.
    pub fn has_lines(&self) -> bool {
        match self {
            Self::Csv(_) => true,
            Self::Ldap(_) => false,
            Self::Kept(kept) => kept.source.has_lines(),
        }
    }
}

impl Source {
    /// What it says about a file, where it is one.
    pub fn file(&self) -> Option<&csv::Options> {
        match self {
            Self::Csv(options) => Some(options),
            Self::Ldap(_) => None,
            Self::Kept(kept) => kept.source.file(),
        }
    }
}

/// Where it is, as messages name it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Csv(options) => options.shown().display().fmt(f),
            Self::Ldap(options) => {
                let urls: Vec<&str> = options.servers.iter().map(|server| server.url.as_str()).collect();
                f.write_str(&urls.join(", "))
            }
            Self::Kept(kept) => kept.source.fmt(f),
        }
    }
}

/// What a read found out about its source: remembered by the caller and given to the next read.
///
/// Stored without the name of its kind, as it was when there was one kind only; the kinds have no field in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Found {
    /// How a file was understood.
    Csv(csv::Found),
    /// What a whole read of a directory saw.
    Ldap(ldap::Found),
}

impl Found {
    /// How a file was understood, where it is one.
    pub fn file(&self) -> Option<&csv::Found> {
        match self {
            Self::Csv(found) => Some(found),
            Self::Ldap(_) => None,
        }
    }
}

/// Why nothing can be taken from a source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// From a file.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// From a directory.
    #[error(transparent)]
    Ldap(#[from] ldap::Error),
    /// Its rows could not be kept for a moment.
    #[error("the rows can't be kept in the state folder while the run lasts; is the disk full?")]
    Kept(#[source] std::io::Error),
}

/// What a read is given besides its source.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// What the read before found.
    pub known: Option<&'a Found>,
    /// The time.
    pub clock: &'a Clock,
    /// Which accounts of directories are tried.
    pub binds: &'a ldap::Binds,
    /// Whether someone asked to end.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Access<'a> {
    /// That of a person who waits for the answer.
    pub fn of_a_person(clock: &'a Clock, binds: &'a ldap::Binds) -> Self {
        Self { known: None, clock, binds, stop: &|| false }
    }
}

/// Reads a source and visits each of its rows. A visit that breaks ends the read,
/// which then proves nothing.
pub fn read(
    source: &Source,
    wanted: &Wanted,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let Access { known, clock, .. } = access;
    // What is remembered of another kind of source says nothing.
    match source {
        Source::Csv(options) => {
            let known = known.and_then(|known| match known {
                Found::Csv(known) => Some(known),
                Found::Ldap(_) => None,
            });
            Ok(csv::read(options, wanted, known, clock, visit)?)
        }
        Source::Ldap(options) => {
            let known = known.and_then(|known| match known {
                Found::Ldap(known) => Some(known),
                Found::Csv(_) => None,
            });
            Ok(ldap::read(options, wanted, known, access, visit)?)
        }
        Source::Kept(kept) => kept.replay(visit),
    }
}
