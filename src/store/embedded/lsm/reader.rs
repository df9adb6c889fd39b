//! Reading a file of rows.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use super::table::{Block, BlockPart, END_BYTES, MAGIC, TableMeta};
use crate::store::engine::Projection;
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
    kept: Mutex<VecDeque<(usize, Arc<PlainBlock>)>>,
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

    /// Holds every block against its digests.
    pub(in crate::store::embedded) fn check(&self) -> Result<(), ErrorKind> {
        let mut buffer = vec![0; READ_BYTES];
        let mut at = 0;
        while at < self.blocks.len() {
            let start = self.blocks[at].offset;
            let fits = |block: &&Block| block.offset + block.stored() as u64 - start <= READ_BYTES as u64;
            let group = self.blocks[at..].iter().take_while(fits).count().max(1);
            let last = &self.blocks[at + group - 1];
            let bytes = (last.offset - start) as usize + last.stored();
            if buffer.len() < bytes {
                buffer.resize(bytes, 0);
            }
            self.read_at(&mut buffer[..bytes], start)?;
            for (number, block) in self.blocks.iter().enumerate().skip(at).take(group) {
                let from = (block.offset - start) as usize;
                let (keys, values) = buffer[from..from + block.stored()].split_at(block.keys.stored as usize);
                if !block.keys.is_of(keys) || !block.values.is_of(values) {
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
        let mut row = RowPlace::default();
        let torn = |Torn| self.corrupt_block(number);
        while let Some(found) = row.next(&block).map_err(torn)? {
            match found.cmp(key) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Ok(Some(row.value(&block).map_err(torn)?.to_vec())),
                std::cmp::Ordering::Greater => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The rows whose keys are `key` or greater, in order; the values are empty where only keys are `shown`.
    pub(in crate::store::embedded) fn rows_from(self: &Arc<Self>, key: &[u8], shown: Projection) -> TableIter {
        let next = self.block_of(key).unwrap_or(0);
        let (block, at) = (PlainBlock::default(), RowPlace::default());
        TableIter { table: Arc::clone(self), from: key.to_vec(), shown, block, at, next }
    }

    /// The last block whose first key is not greater.
    fn block_of(&self, key: &[u8]) -> Option<usize> {
        self.blocks.partition_point(|block| self.first(block) <= key).checked_sub(1)
    }

    fn first(&self, block: &Block) -> &[u8] {
        &self.firsts[block.first.0 as usize..block.first.1 as usize]
    }

    fn block(&self, number: usize) -> Result<Arc<PlainBlock>, ErrorKind> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = kept.iter().find(|(kept, _)| *kept == number) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(self.plain(number, Projection::Rows)?);
        kept.truncate(KEPT_BLOCKS - 1);
        kept.push_front((number, Arc::clone(&block)));
        Ok(block)
    }

    fn plain(&self, number: usize, shown: Projection) -> Result<PlainBlock, ErrorKind> {
        let block = &self.blocks[number];
        let keys_end = block.keys.stored as usize;
        let mut stored = vec![0; if shown == Projection::Keys { keys_end } else { block.stored() }];
        self.read_at(&mut stored, block.offset)?;
        let (keys, values) = stored.split_at(keys_end);
        let unpacked =
            |part: &BlockPart, stored: &[u8]| unpacked(part, stored).ok_or_else(|| self.corrupt_block(number));
        let keys = unpacked(&block.keys, keys)?;
        let values = match shown {
            Projection::Rows => unpacked(&block.values, values)?,
            Projection::Keys => Vec::new(),
        };
        Ok(PlainBlock { keys, values })
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

/// What a part of a block holds; none where it is not what was stored.
fn unpacked(part: &BlockPart, stored: &[u8]) -> Option<Vec<u8>> {
    if !part.is_of(stored) {
        return None;
    }
    if part.stored == part.plain {
        return Some(stored.to_vec());
    }
    let plain = lz4_flex::block::decompress(stored, part.plain as usize).ok()?;
    (plain.len() == part.plain as usize).then_some(plain)
}

/// A block as it is when unpacked.
#[derive(Default)]
struct PlainBlock {
    keys: Vec<u8>,
    /// Empty where only the keys were asked for.
    values: Vec<u8>,
}

/// A block whose lengths do not fit it.
struct Torn;

/// A row of a block: where its key ends, and where its value lies. At first it is none.
#[derive(Clone, Copy, Default)]
struct RowPlace {
    key_end: usize,
    value: (usize, usize),
}

impl RowPlace {
    /// Goes to the next row; its key, or none at the end of the block.
    fn next<'b>(&mut self, block: &'b PlainBlock) -> Result<Option<&'b [u8]>, Torn> {
        let rest = &block.keys[self.key_end..];
        if rest.is_empty() {
            return Ok(None);
        }
        let (key, rest) = rest.split_first_chunk::<2>().ok_or(Torn)?;
        let (value, rest) = rest.split_first_chunk::<4>().ok_or(Torn)?;
        let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*key).into()).ok_or(Torn)?;
        self.key_end = block.keys.len() - rest.len();
        let begin = self.value.1;
        self.value = (begin, begin.checked_add(u32::from_le_bytes(*value) as usize).ok_or(Torn)?);
        Ok(Some(key))
    }

    /// Its value.
    fn value<'b>(&self, block: &'b PlainBlock) -> Result<&'b [u8], Torn> {
        block.values.get(self.value.0..self.value.1).ok_or(Torn)
    }
}

/// A key and its value.
type KeyValue<'a> = (&'a [u8], &'a [u8]);

/// Rows in order.
pub(in crate::store::embedded) struct TableIter {
    table: Arc<SsTable>,
    from: Vec<u8>,
    shown: Projection,
    block: PlainBlock,
    /// The last row that was shown or skipped.
    at: RowPlace,
    /// The number of the block after this one.
    next: usize,
}

impl TableIter {
    /// The next key and value.
    pub(in crate::store::embedded) fn next(&mut self) -> Result<Option<KeyValue<'_>>, ErrorKind> {
        loop {
            let mut row = self.at;
            match row.next(&self.block).map_err(|Torn| self.table.corrupt_block(self.next - 1))? {
                Some(key) if *key < *self.from => self.at = row,
                Some(_) => break,
                None if self.next == self.table.blocks.len() => return Ok(None),
                None => {
                    self.block = self.table.plain(self.next, self.shown)?;
                    (self.at, self.next) = (RowPlace::default(), self.next + 1);
                }
            }
        }
        let torn = |Torn| self.table.corrupt_block(self.next - 1);
        let Some(key) = self.at.next(&self.block).map_err(torn)? else { return Ok(None) };
        let value = match self.shown {
            Projection::Keys => &[],
            Projection::Rows => self.at.value(&self.block).map_err(torn)?,
        };
        Ok(Some((key, value)))
    }
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
        let (keys, after) = parse_part(after)?;
        let (values, after) = parse_part(after)?;
        let start = u32::try_from(firsts.len()).ok()?;
        firsts.extend_from_slice(first);
        let block = Block {
            first: (start, u32::try_from(firsts.len()).ok()?),
            offset: u64::from_le_bytes(*offset),
            keys,
            values,
        };
        let fits = |part: &BlockPart| {
            let (stored, plain) = (u64::from(part.stored), u64::from(part.plain));
            stored <= plain && plain <= stored * UNPACKED_SHARE_MAX
        };
        if block.offset != next || !fits(&keys) || !fits(&values) || last.is_some_and(|last| last >= first) {
            return None;
        }
        next = next.checked_add(block.stored() as u64).filter(|next| *next <= end)?;
        plain_bytes = plain_bytes.checked_add(u64::from(keys.plain) + u64::from(values.plain))?;
        blocks.push(block);
        (last, rest) = (Some(first), after);
    }
    let rows = meta.rows.checked_mul(ENTRY_BYTES)?.checked_add(meta.bytes)?;
    (next == end && plain_bytes == rows).then_some((firsts, blocks))
}

/// What the contents say of a part of a block.
fn parse_part(contents: &[u8]) -> Option<(BlockPart, &[u8])> {
    let (stored, after) = contents.split_first_chunk::<4>()?;
    let (plain, after) = after.split_first_chunk::<4>()?;
    let (digest, after) = after.split_first_chunk::<8>()?;
    let [stored, plain] = [stored, plain].map(|length| u32::from_le_bytes(*length));
    Some((BlockPart { stored, plain, digest: u64::from_le_bytes(*digest) }, after))
}
