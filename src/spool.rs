//! Temporary data that one run writes and reads again: a first run has more of it than fits in memory.
//!
//! Invariants:
//! - Little stays in memory. More goes to a file in the state folder that has no name, so that no other process can
//!   open it and it is gone with the process, however that ends.
//! - What was written is never changed, and is there as long as its spool.
//!
//! Rejected: rows of the store, which would have to be taken out again, and would be on disk for ever where the process
//! ends before; and a file mapped into memory, where a disk that fails ends the process.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many bytes are kept in memory before they are written. Less where tests run, which are to meet the file too.
const TAIL_MAX: usize = if cfg!(debug_assertions) { 2 << 10 } else { 1 << 20 };
/// So much is read at once by who goes through the spool in its order.
const AHEAD: usize = 64 << 10;
/// So much is read at once by who does not.
const APART: usize = 2 << 10;
/// So many places are read from side by side: numbers in order of their text (1, 10, 2) go back and forth through a file in
/// order of number.
const WINDOWS: usize = 4;
/// How the length of an entry is written before it.
const LENGTH: usize = size_of::<u32>();

/// Where an entry lies in its spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpillOffset(u64);

/// The folder for files without a name: the `wanted` one or, where no file can be made in it, that for temporary files. A
/// person who looks at a configuration may not write where the daemon may.
pub fn folder(wanted: &Path) -> PathBuf {
    match tempfile::tempfile_in(wanted) {
        Ok(_) => wanted.to_owned(),
        Err(_) => std::env::temp_dir(),
    }
}

/// Temporary data.
pub struct Spool {
    dir: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    file: Option<File>,
    /// What is not in the file yet.
    tail: Vec<u8>,
    /// How much is in the file.
    written: u64,
    /// Pieces of the file, the one that was looked at last first.
    windows: [Window; WINDOWS],
}

/// A piece of the file.
#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    fn has(&self, at: u64, length: usize) -> bool {
        self.at <= at && at + length as u64 <= self.end()
    }
}

/// Why temporary data could not be written, or not be read again.
#[derive(Debug, thiserror::Error)]
#[error("cannot write temporary data to {}; is the disk full?", .dir.display())]
pub struct Error {
    dir: PathBuf,
    #[source]
    error: io::Error,
}

impl Spool {
    /// An empty one, whose file lies in `dir` once it needs one.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), inner: Mutex::default() }
    }

    /// Puts bytes aside.
    pub fn put(&self, bytes: &[u8]) -> Result<SpillOffset, Error> {
        let mut inner = self.inner();
        let place = SpillOffset(inner.end());
        let length = u32::try_from(bytes.len()).map_err(|_| self.fail(io::ErrorKind::FileTooLarge.into()))?;
        inner.tail.extend(length.to_le_bytes());
        inner.tail.extend(bytes);
        if inner.tail.len() >= TAIL_MAX {
            inner.write(&self.dir).map_err(|error| self.fail(error))?;
        }
        Ok(place)
    }

    /// Shows `take` the bytes that were put there.
    pub fn read<T>(&self, place: SpillOffset, take: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let mut inner = self.inner();
        inner.entry(place.0).map(take).map_err(|error| self.fail(error))
    }

    /// Shows `visit` all that was put there, in its order, until it breaks.
    pub fn each(&self, mut visit: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<ControlFlow<()>, Error> {
        let mut at = 0;
        while at < self.inner().end() {
            let bytes = self.read(SpillOffset(at), <[u8]>::to_vec)?;
            at += (LENGTH + bytes.len()) as u64;
            if visit(&bytes).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic leaves at most an entry whose place is unknown.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: io::Error) -> Error {
        Error { dir: self.dir.clone(), error }
    }
}

impl Inner {
    fn end(&self) -> u64 {
        self.written + self.tail.len() as u64
    }

    fn write(&mut self, dir: &Path) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(dir)?),
        };
        file.write_all_at(&self.tail, self.written)?;
        self.written += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    fn entry(&mut self, at: u64) -> io::Result<&[u8]> {
        let length = u32::from_le_bytes(self.bytes(at, LENGTH)?.try_into().expect("four bytes")) as usize;
        self.bytes(at + LENGTH as u64, length)
    }

    fn bytes(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        if let Some(start) = at.checked_sub(self.written) {
            let start = usize::try_from(start).map_err(|_| io::ErrorKind::UnexpectedEof)?;
            return self.tail.get(start..start + length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        }
        let nearest = self.windows.iter().position(|window| (window.at..=window.end()).contains(&at));
        self.windows[..=nearest.unwrap_or(WINDOWS - 1)].rotate_right(1);
        let window = &mut self.windows[0];
        if !window.has(at, length) {
            let file = self.file.as_ref().ok_or(io::ErrorKind::UnexpectedEof)?;
            let ahead = if nearest.is_some() { AHEAD } else { APART };
            let left = usize::try_from(self.written - at).unwrap_or(usize::MAX);
            let mut bytes = std::mem::take(&mut window.bytes);
            bytes.resize(ahead.max(length).min(left), 0);
            file.read_exact_at(&mut bytes, at)?;
            *window = Window { at, bytes };
        }
        let start = usize::try_from(at - window.at).expect("it lies within");
        window.bytes.get(start..start + length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// Shows nothing of what lies in it (law 11).
impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(number: usize, length: usize) -> Vec<u8> {
        number.to_le_bytes().into_iter().cycle().take(length).collect()
    }

    proptest! {
        #[test]
        fn whatever_is_put_aside_is_found_in_any_order(
            lengths in prop::collection::vec(prop_oneof![0_usize..200, 1_000_usize..9_000], 1..200),
            looks in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let spool = Spool::new(dir.path());
            let mut places = Vec::new();
            for (number, length) in lengths.iter().enumerate() {
                places.push(spool.put(&entry(number, *length)).unwrap());
                // The entry that was just written, and one in the middle.
                for look in [number, number / 2] {
                    let same = spool.read(places[look], |bytes| bytes == entry(look, lengths[look])).unwrap();
                    prop_assert!(same, "entry {look} of {number}");
                }
            }
            let mut number = 0;
            let visited = spool.each(|bytes| {
                number += 1;
                if bytes == entry(number - 1, lengths[number - 1]) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            prop_assert!(visited.unwrap().is_continue() && number == lengths.len(), "entry {number}");
            let in_order = 0..lengths.len();
            for look in in_order.chain(looks.iter().map(|look| look.index(lengths.len()))) {
                prop_assert!(spool.read(places[look], |bytes| bytes == entry(look, lengths[look])).unwrap());
            }
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing of it has a name");
        }
    }

    #[test]
    fn fault_9_a_folder_that_takes_nothing_is_reported_and_little_needs_none() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(&dir.path().join("gone"));
        let place = spool.put(b"little").unwrap();
        assert_eq!(spool.read(place, <[u8]>::to_vec).unwrap(), b"little");
        let error = spool.put(&vec![0; TAIL_MAX]).unwrap_err().to_string();
        assert!(error.contains("cannot write temporary data to") && error.contains("/gone"), "{error}");
    }
}
