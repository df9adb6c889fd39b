//! Reading a file of rows.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::table::{Block, END_BYTES, MAGIC, TableMeta};
use crate::store::error::ErrorKind;

/// How many blocks are kept in memory: neighbours are asked for one after the other.
const KEPT_BLOCKS: usize = 8;
/// How much is read at once where everything is.
const READ_BYTES: usize = 256 * 1024;
/// The header of each entry: the lengths of key and value.
const ENTRY_BYTES: u64 = 2 + 4;
/// How many bytes one compressed byte can become at most.
const UNPACKED_SHARE_MAX: u64 = 255;

/// A file of rows, or none yet: number 0.
#[derive(Default)]
pub(in crate::store::embedded) struct SsTable {
    file: Option<File>,
    meta: TableMeta,
    firsts: Vec<u8>,
    blocks: Vec<Block>,
    kept: Mutex<VecDeque<(usize, Arc<Vec<u8>>)>>,
}

impl SsTable {
    /// Opens the file that `mark` speaks of; its blocks are not looked at.
    pub(in crate::store::embedded) fn open(path: &Path, meta: &TableMeta) -> Result<Self, ErrorKind> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::Damaged(format!("its file {name} is missing")),
            _ => ErrorKind::from_io(error),
        })?;
        Self::of(file, meta, &name)
    }

    /// Reads a file that is open already; `name` is what an error calls it.
    pub(in crate::store::embedded) fn of(file: File, meta: &TableMeta, name: &str) -> Result<Self, ErrorKind> {
        let damaged = |what: &str| ErrorKind::Damaged(format!("its file {name} {what}"));
        let length = file.metadata().map_err(ErrorKind::from_io)?.len();
        let end_at = length.checked_sub(END_BYTES as u64).ok_or_else(|| damaged("is cut short"))?;
        let mut end = [0; END_BYTES];
        file.read_exact_at(&mut end, end_at).map_err(ErrorKind::from_io)?;
        let number = |at: usize| u64::from_le_bytes(end[at * 8..at * 8 + 8].try_into().expect("eight bytes"));
        let [offset, bytes, digest] = [number(0), number(1), number(2)];
        let fits = end[END_BYTES - MAGIC.len()..] == *MAGIC && offset.checked_add(bytes) == Some(end_at);
        let found = TableMeta { generation: meta.generation, rows: number(3), bytes: number(4), digest };
        if !fits || found != *meta {
            return Err(damaged("is cut short, or another"));
        }
        let mut contents = vec![0; usize::try_from(bytes).map_err(|_| damaged("is another"))?];
        file.read_exact_at(&mut contents, offset).map_err(ErrorKind::from_io)?;
        if xxh3_64(&contents) != digest {
            return Err(damaged("does not fit its digest"));
        }
        let (firsts, blocks) = parse(&contents, meta, offset).ok_or_else(|| damaged("has another form"))?;
        let table = Self { file: Some(file), meta: *meta, firsts, blocks, kept: Mutex::default() };
        let mut magic = [0; MAGIC.len()];
        table.read_at(&mut magic, 0)?;
        if magic == *MAGIC { Ok(table) } else { Err(damaged("has another form")) }
    }

    /// What the store remembers of it.
    pub(in crate::store::embedded) fn meta(&self) -> &TableMeta {
        &self.meta
    }

    /// Holds every block against its digest.
    pub(in crate::store::embedded) fn check(&self) -> Result<(), ErrorKind> {
        let mut buffer = vec![0; READ_BYTES];
        let mut at = 0;
        while at < self.blocks.len() {
            let start = self.blocks[at].offset;
            let fits = |block: &&Block| block.offset + u64::from(block.stored) - start <= READ_BYTES as u64;
            let group = self.blocks[at..].iter().take_while(fits).count().max(1);
            let last = &self.blocks[at + group - 1];
            let bytes = (last.offset - start) as usize + last.stored as usize;
            if buffer.len() < bytes {
                buffer.resize(bytes, 0);
            }
            self.read_at(&mut buffer[..bytes], start)?;
            for (number, block) in self.blocks.iter().enumerate().skip(at).take(group) {
                let from = (block.offset - start) as usize;
                if digest(block, &buffer[from..from + block.stored as usize]) != block.digest {
                    return Err(self.corrupt_block(number));
                }
            }
            at += group;
        }
        Ok(())
    }

    /// The value of a key.
    pub(in crate::store::embedded) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ErrorKind> {
        let Some(number) = self.block_of(key) else { return Ok(None) };
        let block = self.block(number)?;
        let mut rest = block.as_slice();
        while !rest.is_empty() {
            let (found, value, after) = entry(rest).ok_or_else(|| self.corrupt_block(number))?;
            match found.cmp(key) {
                std::cmp::Ordering::Less => rest = after,
                std::cmp::Ordering::Equal => return Ok(Some(value.to_vec())),
                std::cmp::Ordering::Greater => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The rows whose keys are `key` or greater, in order.
    pub(in crate::store::embedded) fn rows_from(self: &Arc<Self>, key: &[u8]) -> TableIter {
        let next = self.block_of(key).unwrap_or(0);
        TableIter { table: Arc::clone(self), from: key.to_vec(), block: Vec::new(), at: 0, next }
    }

    /// The last block whose first key is not greater.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        self.blocks.partition_point(|block| self.first(block) <= key).checked_sub(1)
    }

    fn first(&self, block: &Block) -> &[u8] {
        &self.firsts[block.first.0 as usize..block.first.1 as usize]
    }

    fn block(&self, number: usize) -> Result<Arc<Vec<u8>>, ErrorKind> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = kept.iter().find(|(kept, _)| *kept == number) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(self.plain(number)?);
        kept.truncate(KEPT_BLOCKS - 1);
        kept.push_front((number, Arc::clone(&block)));
        Ok(block)
    }

    fn plain(&self, number: usize) -> Result<Vec<u8>, ErrorKind> {
        let block = &self.blocks[number];
        let mut stored = vec![0; block.stored as usize];
        self.read_at(&mut stored, block.offset)?;
        if digest(block, &stored) != block.digest {
            return Err(self.corrupt_block(number));
        }
        if block.stored == block.plain {
            return Ok(stored);
        }
        let plain =
            lz4_flex::block::decompress(&stored, block.plain as usize).map_err(|_| self.corrupt_block(number))?;
        if plain.len() == block.plain as usize { Ok(plain) } else { Err(self.corrupt_block(number)) }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ErrorKind> {
        let file = self.file.as_ref().ok_or_else(|| ErrorKind::Damaged("a file of rows is closed".into()))?;
        file.read_exact_at(buffer, offset).map_err(ErrorKind::from_io)
    }

    fn corrupt_block(&self, number: usize) -> ErrorKind {
        let first = crate::store::Keyspace::shown(self.first(&self.blocks[number]));
        ErrorKind::Damaged(format!("the rows from {first} on do not fit their digest"))
    }
}

/// A key and its value.
type KeyValue<'a> = (&'a [u8], &'a [u8]);

/// TableIter in order.
pub(in crate::store::embedded) struct TableIter {
    table: Arc<SsTable>,
    from: Vec<u8>,
    block: Vec<u8>,
    at: usize,
    next: usize,
}

impl TableIter {
    /// The next key and value.
    pub(in crate::store::embedded) fn next(&mut self) -> Result<Option<KeyValue<'_>>, ErrorKind> {
        loop {
            while self.at == self.block.len() {
                if self.next == self.table.blocks.len() {
                    return Ok(None);
                }
                self.block = self.table.plain(self.next)?;
                (self.at, self.next) = (0, self.next + 1);
            }
            let at = self.at;
            let torn = || self.table.corrupt_block(self.next - 1);
            let (key, _, rest) = entry(&self.block[at..]).ok_or_else(torn)?;
            let is_before = *key < *self.from;
            self.at = self.block.len() - rest.len();
            if !is_before {
                let (key, value, _) = entry(&self.block[at..]).expect("it was read just now");
                return Ok(Some((key, value)));
            }
        }
    }
}

fn digest(block: &Block, stored: &[u8]) -> u64 {
    let mut digest = Xxh3Default::new();
    digest.update(&block.plain.to_le_bytes());
    digest.update(stored);
    digest.digest()
}

/// Key, value and what follows.
fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (key, rest) = bytes.split_first_chunk::<2>()?;
    let (value, rest) = rest.split_first_chunk::<4>()?;
    let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*key).into())?;
    let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value) as usize)?;
    Some((key, value, rest))
}

/// The first keys and places of all blocks. They lie one behind the other from the magic to the contents at `end`, in order
/// of key, and hold as many plain bytes as the rows have; so whatever is computed of them later stays inside the file, and
/// none is unpacked into more than its bytes can hold.
fn parse(contents: &[u8], meta: &TableMeta, end: u64) -> Option<(Vec<u8>, Vec<Block>)> {
    let (mut firsts, mut blocks) = (Vec::new(), Vec::<Block>::new());
    let (mut next, mut plain_bytes) = (MAGIC.len() as u64, 0u64);
    let mut rest = contents;
    let mut last: Option<&[u8]> = None;
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<2>()?;
        let (first, after) = after.split_at_checked(u16::from_le_bytes(*length).into())?;
        let (offset, after) = after.split_first_chunk::<8>()?;
        let (stored, after) = after.split_first_chunk::<4>()?;
        let (plain, after) = after.split_first_chunk::<4>()?;
        let (digest, after) = after.split_first_chunk::<8>()?;
        let start = u32::try_from(firsts.len()).ok()?;
        firsts.extend_from_slice(first);
        let block = Block {
            first: (start, u32::try_from(firsts.len()).ok()?),
            offset: u64::from_le_bytes(*offset),
            stored: u32::from_le_bytes(*stored),
            plain: u32::from_le_bytes(*plain),
            digest: u64::from_le_bytes(*digest),
        };
        let (stored, plain) = (u64::from(block.stored), u64::from(block.plain));
        let fits = block.offset == next && stored <= plain && plain <= stored * UNPACKED_SHARE_MAX;
        if !fits || last.is_some_and(|last| last >= first) {
            return None;
        }
        next = next.checked_add(stored).filter(|next| *next <= end)?;
        plain_bytes = plain_bytes.checked_add(plain)?;
        blocks.push(block);
        (last, rest) = (Some(first), after);
    }
    let rows = meta.rows.checked_mul(ENTRY_BYTES)?.checked_add(meta.bytes)?;
    (next == end && plain_bytes == rows).then_some((firsts, blocks))
}
