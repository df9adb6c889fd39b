//! A workbook (`.xlsx`), read as a table.
//!
//! Two passes over the sheet, both in constant memory. The first one reads it to its end, so that what stands behind the
//! rows is known before the first of them is handed out: merged cells, a filter, and that nothing is cut or damaged.
//! The second one hands out the rows.
//!
//! Invariants:
//! - Every part that is read is read to its end, where its checksum is compared; a read that can't is an error, never a
//!   shorter list (law 1).
//! - Whatever a part unpacks to, memory is bounded: shared strings lie in a spool, and one piece of XML has a limit.
//! - A cell is the text that the sheet shows, as far as a source should: numbers without exponent, dates by their style.
//!
//! Rejected: calamine. It keeps all shared strings in memory (many times the limit of this program for a large workbook),
//! does not tell number formats, so that `00000` would lose its zeros, and does not tell merged cells before the rows.

mod error;
mod limits;
mod number;
mod package;
mod part;
mod read;
mod sheet;
mod strings;
mod styles;
mod xml;

pub use error::WorkbookFault;
pub(super) use read::{open, read};

/// How a file is packed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// A zip archive, as a workbook is.
    Zip,
    /// The container of old office programs, and of workbooks with a password.
    Ole,
    /// Neither.
    Other,
}

impl Container {
    /// By the first bytes of a file.
    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            [b'P', b'K', 3, 4, ..] => Self::Zip,
            [0xd0, 0xcf, 0x11, 0xe0, ..] => Self::Ole,
            _ => Self::Other,
        }
    }
}
#[cfg(test)]
mod tests;
