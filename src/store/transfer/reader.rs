//! Reads an exported state and proves that it is whole.

use std::io::{BufRead, Read as _};

use ring::digest::{Context, SHA256};
use serde_json::Value;

use super::entry::{Contents, Entry, FORM, Header};
use super::error::TransferError;
use crate::store::kept::{self, KeptForm};
use crate::store::{Keyspace, MetaKey};

/// No line is longer: what a row holds is far below.
const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Shows each entry but the last one, in order, and returns the first line and how much there was, once the end has proved
/// that nothing is missing or another.
pub(super) fn read(
    input: &mut dyn BufRead,
    mut visit: impl FnMut(Entry) -> Result<(), TransferError>,
) -> Result<(Header, Contents), TransferError> {
    let mut lines = Lines { input, number: 0, line: Vec::new(), digest: Context::new(&SHA256) };
    let header = header(&mut lines)?;
    let mut found = Contents::default();
    // How much of a file is still to come.
    let mut left = 0_u64;
    loop {
        let before = lines.digest.clone();
        if !lines.next()? {
            return Err(lines.broken("its end is missing"));
        }
        let Ok(entry) = serde_json::from_slice(&lines.line) else { return Err(lines.broken("a line can't be read")) };
        if left > 0 && !matches!(entry, Entry::Part(_)) {
            return Err(lines.broken("a part of a file is missing"));
        }
        match &entry {
            Entry::Document { name, .. } if kept::moves(name, KeptForm::Document) => found.documents += 1,
            Entry::Line { of, text } if is_segment(of) && !text.contains(['\n', '\0']) => found.lines += 1,
            Entry::File { name, size } if kept::moves(name, KeptForm::File) => {
                found.files += 1;
                left = *size;
            }
            Entry::Part(bytes) if !bytes.0.is_empty() => {
                let more = left.checked_sub(bytes.0.len() as u64);
                left = more.ok_or_else(|| lines.broken("a file has too many parts"))?;
            }
            Entry::Row { key, .. } if is_key(&key.0) => found.rows += 1,
            Entry::End { contents, sha256 } => {
                if *contents != found || *sha256 != hex(before.finish().as_ref()) {
                    return Err(lines.broken("its digest or its counts do not fit"));
                }
                return if lines.next()? {
                    Err(lines.broken("something follows its end"))
                } else {
                    Ok((header, found))
                };
            }
            _ => return Err(lines.broken("a name is none that a state can have")),
        }
        visit(entry)?;
    }
}

fn header(lines: &mut Lines<'_>) -> Result<Header, TransferError> {
    match lines.next() {
        Ok(true) => {}
        Ok(false) | Err(TransferError::Broken { .. }) => return Err(TransferError::Foreign),
        Err(error) => return Err(error),
    }
    let Ok(first) = serde_json::from_slice::<Value>(&lines.line) else { return Err(TransferError::Foreign) };
    match first.get("rosterd_state").and_then(Value::as_u64) {
        Some(FORM) => serde_json::from_value(first).map_err(|_| lines.broken("its first line does not fit")),
        Some(found) => Err(TransferError::Form { found }),
        None => Err(TransferError::Foreign),
    }
}

struct Lines<'a> {
    input: &'a mut dyn BufRead,
    number: u64,
    line: Vec<u8>,
    digest: Context,
}

impl Lines<'_> {
    /// Reads the next line; false where there is none.
    fn next(&mut self) -> Result<bool, TransferError> {
        self.line.clear();
        self.number += 1;
        let read = (&mut *self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line);
        if read.map_err(TransferError::File)? == 0 {
            return Ok(false);
        }
        if self.line.last() != Some(&b'\n') {
            return Err(self.broken("a line has no end"));
        }
        self.digest.update(&self.line);
        Ok(true)
    }

    fn broken(&self, what: &'static str) -> TransferError {
        TransferError::Broken { line: self.number, what }
    }
}

/// Segments are months.
fn is_segment(of: &str) -> bool {
    !of.is_empty() && of.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn is_key(key: &[u8]) -> bool {
    Keyspace::ALL.iter().any(|space| key.first() == Some(&(*space as u8)))
        && std::str::from_utf8(key).is_ok()
        && !MetaKey::is_of_engine(key)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
