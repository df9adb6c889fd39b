//! Writing a file of rows.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::table::{BLOCK_BYTES, BlockPart, MAGIC, TableMeta};
use crate::disk;

/// What is written before the kernel is asked.
const BUFFER_BYTES: usize = 256 * 1024;

/// A file that is being written, in order of key.
pub(in crate::store::embedded) struct TableWriter {
    out: BufWriter<File>,
    number: u32,
    /// The parts of the block that is not closed.
    keys: Vec<u8>,
    values: Vec<u8>,
    first: Vec<u8>,
    contents: Vec<u8>,
    offset: u64,
    rows: u64,
    bytes: u64,
    last: Vec<u8>,
}

impl TableWriter {
    /// Begins a file, in place of one that may be left there.
    pub(in crate::store::embedded) fn create(path: &Path, number: u32) -> io::Result<Self> {
        Self::begin(File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?, number)
    }

    /// Begins in a file that is empty.
    pub(in crate::store::embedded) fn begin(file: File, number: u32) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        out.write_all(MAGIC)?;
        Ok(Self {
            out,
            number,
            keys: Vec::with_capacity(BLOCK_BYTES),
            values: Vec::with_capacity(2 * BLOCK_BYTES),
            first: Vec::new(),
            contents: Vec::new(),
            offset: MAGIC.len() as u64,
            rows: 0,
            bytes: 0,
            last: Vec::new(),
        })
    }

    /// Adds a row; its key is greater than the one before.
    pub(in crate::store::embedded) fn push(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert!(self.rows == 0 || *self.last < *key, "rows come in order");
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a row is longer than its form allows");
        let lengths = (u16::try_from(key.len()).map_err(too_long)?, u32::try_from(value.len()).map_err(too_long)?);
        if self.keys.is_empty() {
            self.first.clear();
            self.first.extend_from_slice(key);
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.keys.extend_from_slice(&lengths.0.to_le_bytes());
        self.keys.extend_from_slice(&lengths.1.to_le_bytes());
        self.keys.extend_from_slice(key);
        self.values.extend_from_slice(value);
        self.rows += 1;
        self.bytes += (key.len() + value.len()) as u64;
        if self.keys.len() + self.values.len() >= BLOCK_BYTES { self.close() } else { Ok(()) }
    }

    /// The key that the next one must be greater than; `None` for the first row.
    pub(in crate::store::embedded) fn last(&self) -> Option<&[u8]> {
        (self.rows > 0).then_some(self.last.as_slice())
    }

    /// Ends the file; it is on disk when this returns.
    pub(in crate::store::embedded) fn end(self) -> io::Result<TableMeta> {
        let (meta, file) = self.end_unsynced()?;
        disk::sync(file)?;
        Ok(meta)
    }

    /// Ends a temporary file that is of no use after this process.
    pub(in crate::store::embedded) fn end_unsynced(mut self) -> io::Result<(TableMeta, File)> {
        self.close()?;
        let digest = xxh3_64(&self.contents);
        self.out.write_all(&self.contents)?;
        let end = [self.offset, self.contents.len() as u64, digest, self.rows, self.bytes];
        for number in end {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.out.write_all(MAGIC)?;
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok((TableMeta { generation: self.number, rows: self.rows, bytes: self.bytes, digest }, file))
    }

    fn close(&mut self) -> io::Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let key = u16::try_from(self.first.len()).expect("it was checked when it was added");
        self.contents.extend_from_slice(&key.to_le_bytes());
        self.contents.extend_from_slice(&self.first);
        self.contents.extend_from_slice(&self.offset.to_le_bytes());
        for part in [&mut self.keys, &mut self.values] {
            let packed = lz4_flex::block::compress(part);
            let stored = if packed.len() < part.len() { &packed } else { &*part };
            let lengths = [stored.len(), part.len()].map(|length| u32::try_from(length).unwrap_or(u32::MAX));
            self.out.write_all(stored)?;
            self.contents.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
            self.contents.extend_from_slice(&BlockPart::digest_of(lengths[1], stored).to_le_bytes());
            self.offset += stored.len() as u64;
            part.clear();
        }
        Ok(())
    }
}
