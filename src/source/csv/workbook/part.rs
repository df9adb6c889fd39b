//! One part of a workbook, unpacked as it is read.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::rc::Rc;

use zip::read::ZipFile;

use super::error::Limit;
use super::limits::{PIECE_BYTES_MAX, UNPACKED_BYTES_MAX};

/// How much of a part is unpacked at once.
const BUFFER_BYTES: usize = 64 << 10;

/// A file of which so much may be read.
pub(super) struct Metered {
    file: File,
    left: Rc<Cell<u64>>,
}

impl Metered {
    /// `left` says how much.
    pub(super) fn new(file: File, left: Rc<Cell<u64>>) -> Self {
        Self { file, left }
    }
}

impl Read for Metered {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::other(Limit::Part));
        }
        let read = self.file.read(out)?;
        self.left.set(self.left.get().saturating_sub(read as u64));
        Ok(read)
    }
}

impl Seek for Metered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A part of a workbook, unpacked as it is read: so much of it, and no more.
pub(super) struct Part<'a> {
    inner: BufReader<ZipFile<'a, Metered>>,
    left: u64,
    piece_left: u64,
}

impl<'a> Part<'a> {
    /// Of an entry of an archive.
    pub(super) fn new(entry: ZipFile<'a, Metered>) -> Self {
        let inner = BufReader::with_capacity(BUFFER_BYTES, entry);
        Self { inner, left: UNPACKED_BYTES_MAX, piece_left: PIECE_BYTES_MAX }
    }

    /// Begins the next piece of XML.
    pub(super) fn begin_piece(&mut self) {
        self.piece_left = PIECE_BYTES_MAX;
    }
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let taken = ready.len().min(out.len());
        out[..taken].copy_from_slice(&ready[..taken]);
        self.consume(taken);
        Ok(taken)
    }
}

impl BufRead for Part<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match (self.left, self.piece_left) {
            (0, _) => Err(io::Error::other(Limit::Part)),
            (_, 0) => Err(io::Error::other(Limit::Piece)),
            _ => self.inner.fill_buf(),
        }
    }

    fn consume(&mut self, taken: usize) {
        self.left = self.left.saturating_sub(taken as u64);
        self.piece_left = self.piece_left.saturating_sub(taken as u64);
        self.inner.consume(taken);
    }
}
