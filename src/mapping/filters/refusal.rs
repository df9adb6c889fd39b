//! The reason of a filter.

use std::fmt;

use crate::record::RowDefect;
use minijinja::{Error, ErrorKind};

/// Why a filter does not take a value. Shown to people as it is, unlike what the engine says.
#[derive(Debug)]
pub(in crate::mapping) struct FilterRefusal(pub(in crate::mapping) RowDefect);

impl FilterRefusal {
    /// As an error of the engine.
    pub(in crate::mapping) fn error(reason: impl Into<RowDefect>) -> Error {
        Error::from(ErrorKind::InvalidOperation).with_source(Self(reason.into()))
    }
}

impl fmt::Display for FilterRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FilterRefusal {}
