//! The kinds of source behind one interface.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::access::Access;
use super::cached::CachedRows;
use super::complete::Read;
use super::csv;
use super::entra;
use super::https;
use super::ldap;
use super::name::RequiredColumns;
use super::row::Row;
use super::source_state::SourceState;
use crate::secret::SecretSource;
use crate::spool;

/// What a job says about its source.
#[derive(Clone, Debug)]
pub enum Source {
    /// A CSV file.
    Csv(csv::Options),
    /// The same from a web server.
    Web(Box<https::Options>),
    /// A directory server.
    Ldap(ldap::Options),
    /// A tenant of Microsoft Entra ID.
    Entra(Box<entra::Options>),
    /// One of these as it was read a moment ago.
    Cached {
        /// What was read.
        origin: Box<Source>,
        /// Its rows.
        rows: Arc<CachedRows>,
    },
}

impl Source {
    /// Whether it is read in parts one after the other, between which someone may move meanwhile.
    pub fn is_in_parts(&self) -> bool {
        match self {
            Self::Ldap(options) => options.bases.len() > 1,
            Self::Cached { origin, .. } => origin.is_in_parts(),
            Self::Csv(_) | Self::Web(_) | Self::Entra(_) => false,
        }
    }

    /// The settings that select which people a run sees: where in a directory it searches, with which filter, and by
    /// which account; which report a web server is asked for; which tenant, filter and groups. When one of them changes, the next run is held first (law 7).
    /// Empty for a file, since a file may be renamed when it is moved. The server of a directory is not among them: another
    /// server has checks of its own. A text to be digested: it may hold secrets.
    pub fn selection(&self) -> String {
        match self {
            Self::Csv(_) => String::new(),
            Self::Web(options) => options.selection(),
            Self::Ldap(options) => {
                let account = options.account();
                format!("{}\n{}\n{}\n{account}", options.bases.join("\n"), options.scope.name(), options.filter)
            }
            Self::Entra(options) => options.selection(),
            Self::Cached { origin, .. } => origin.selection(),
        }
    }

    /// Its kind, as the configuration calls it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Csv(_) => "path",
            Self::Web(_) => "url",
            Self::Ldap(_) => "ldap",
            Self::Entra(_) => "entra",
            Self::Cached { origin, .. } => origin.kind(),
        }
    }

    /// Whether its rows have line numbers.
    pub fn has_lines(&self) -> bool {
        match self {
            Self::Csv(_) | Self::Web(_) => true,
            Self::Ldap(_) | Self::Entra(_) => false,
            Self::Cached { origin, .. } => origin.has_lines(),
        }
    }

    /// Reads it to its end and keeps its rows in the folder `dir`.
    pub fn cached(&self, wanted: &RequiredColumns, access: Access<'_>, dir: &Path) -> Result<Self, Error> {
        let rows = CachedRows::keep(dir, |visit| read(self, wanted, access, visit))?;
        Ok(Self::Cached { origin: Box::new(self.clone()), rows: Arc::new(rows) })
    }

    /// The tenant that it is.
    pub fn tenant(&self) -> Option<&entra::Options> {
        match self {
            Self::Entra(options) => Some(options),
            Self::Cached { origin, .. } => origin.tenant(),
            Self::Csv(_) | Self::Web(_) | Self::Ldap(_) => None,
        }
    }

    /// Whether each read asks a server, which may answer otherwise by then.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Csv(_) | Self::Cached { .. } => false,
            Self::Web(_) | Self::Ldap(_) | Self::Entra(_) => true,
        }
    }

    /// Its secret, where it has one.
    pub fn secret(&mut self) -> Option<&mut SecretSource> {
        match self {
            Self::Ldap(options) => options.secret(),
            Self::Web(options) => options.secret(),
            Self::Entra(options) => options.secret(),
            Self::Csv(_) => None,
            Self::Cached { origin, .. } => origin.secret(),
        }
    }

    /// Reads its private key now, where it has one, for a process that may not read its file later.
    pub fn hold_certificate(&mut self) {
        match self {
            Self::Ldap(options) => options.hold_certificate(),
            Self::Cached { origin, .. } => origin.hold_certificate(),
            Self::Web(_) | Self::Entra(_) | Self::Csv(_) => {}
        }
    }

    /// Where a row of it is: on a line, or of an entry or user of that name.
    pub fn place(&self, line: Option<u64>, name: Option<&str>) -> String {
        match (self, name, line) {
            (Self::Cached { origin, .. }, ..) => origin.place(line, name),
            (Self::Entra(_), Some(name), _) => format!("user {name}"),
            (_, Some(name), _) => format!("entry {name}"),
            (_, None, Some(line)) => format!("line {line}"),
            (_, None, None) => "a row".to_owned(),
        }
    }

    /// Where it is, with the sheet that a read of a workbook found.
    pub fn with_sheet(&self, found: &SourceState) -> String {
        match found.file().and_then(|file| file.sheet.as_deref()) {
            Some(sheet) => format!("{self}, sheet {sheet:?}"),
            None => self.to_string(),
        }
    }

    /// What it says about a file of this machine, where it is one.
    pub fn file(&self) -> Option<&csv::Options> {
        match self {
            Self::Csv(options) => Some(options),
            Self::Web(_) | Self::Ldap(_) | Self::Entra(_) => None,
            Self::Cached { origin, .. } => origin.file(),
        }
    }
}

/// Where it is, as messages name it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Csv(options) => options.shown().display().fmt(f),
            Self::Web(options) => options.address.fmt(f),
            Self::Ldap(options) => {
                let urls: Vec<&str> = options.servers.iter().map(|server| server.url.as_str()).collect();
                f.write_str(&urls.join(", "))
            }
            Self::Entra(options) => write!(f, "{} of {}", options.tenant, options.graph),
            Self::Cached { origin, .. } => origin.fmt(f),
        }
    }
}

/// Why nothing can be taken from a source.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// From a file.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// From a web server.
    #[error(transparent)]
    Https(#[from] https::Error),
    /// From a directory.
    #[error(transparent)]
    Ldap(#[from] ldap::Error),
    /// From a tenant.
    #[error(transparent)]
    Entra(#[from] entra::Error),
    /// Its rows could not be kept for a moment.
    #[error("the rows can't be kept in the state folder while the run lasts; is the disk full?")]
    Cached(#[from] spool::Error),
}

/// Reads a file of a web server as one of this machine. Of what may have been cut the last row must show its end.
fn web(
    options: &https::Options,
    wanted: &RequiredColumns,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let https::Downloaded { file, size, modified, doubt } =
        https::download(options, access.dir, access.clock, access.logins, access.stop)?;
    let content = csv::Options {
        final_newline: options.content.final_newline || doubt.is_some(),
        spill: access.dir.to_owned(),
        ..options.content.clone()
    };
    let known = access.known.and_then(SourceState::file);
    let mut read = csv::read_opened(csv::Opened { file, size }, &content, wanted, known, visit)?;
    read.modified = modified;
    read.incomplete.extend(doubt);
    Ok(read)
}

/// Reads a source and visits each of its rows. A visit that breaks ends the read,
/// which then proves nothing.
pub fn read(
    source: &Source,
    wanted: &RequiredColumns,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let Access { known, clock, .. } = access;
    // What is remembered of another kind of source says nothing.
    match source {
        Source::Csv(options) => {
            let options = csv::Options { spill: access.dir.to_owned(), ..options.clone() };
            Ok(csv::read(&options, wanted, known.and_then(SourceState::file), clock, visit)?)
        }
        Source::Web(options) => web(options, wanted, access, visit),
        Source::Ldap(options) => {
            Ok(ldap::read(options, wanted, known.and_then(SourceState::directory), access, visit)?)
        }
        Source::Entra(options) => {
            Ok(entra::read(options, wanted, known.and_then(SourceState::directory), access, visit)?)
        }
        Source::Cached { rows, .. } => Ok(rows.replay(visit)?),
    }
}
