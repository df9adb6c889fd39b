//! The photos that a push sends, read from the source once more.
//!
//! They lie in a file without a name in the state folder while they are sent, so that many of them take no memory, and
//! nothing is left of them however the process ends.
//!
//! Rejected: photos in the queue. Ten thousand of them are half a gigabyte in the state, and they must not be found
//! there (law 11).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use super::collect::rows;
use super::model::context::Context;
use crate::config::Job;
use crate::fault::chain;
use crate::mapping::Mapped;
use crate::push::Photos;
use crate::record::{Key, Target, Value};

/// The photos of one job.
pub(crate) struct SourcePhotos<'a> {
    context: &'a Context<'a>,
    job: &'a Job,
    spool: Mutex<Option<Spool>>,
}

/// Photos one behind the other.
struct Spool {
    file: File,
    /// By key: where the photo begins, and its length in bytes.
    places: BTreeMap<Key, (u64, usize)>,
}

impl<'a> SourcePhotos<'a> {
    pub(crate) fn new(context: &'a Context<'a>, job: &'a Job) -> Self {
        Self { context, job, spool: Mutex::new(None) }
    }

    fn spool(&self, wanted: &BTreeMap<Key, String>) -> Result<Spool, String> {
        let failed = |error: io::Error| format!("the state folder can't hold them for a moment: {error}");
        let file = tempfile::tempfile_in(self.context.store.dir()).map_err(failed)?;
        let mut out = BufWriter::new(file);
        let mut places = BTreeMap::new();
        let mut end = 0;
        let mut broken = None;
        let today = self.job.day(self.context.clock.now());
        let mapping = rows::mapping(self.job);
        rows::read(self.context, self.job, &mapping, None, &mut |row, bound| {
            if let Mapped::Record(record) = bound.read(row, Some(today)).mapped
                && let Some(mark) = wanted.get(&record.key)
                && record.fields.get(Target::PHOTO).and_then(Value::as_text) == Some(mark)
                && !places.contains_key(&record.key)
                && let Some(bytes) = bound.photo(row)
            {
                if let Err(error) = out.write_all(&bytes) {
                    broken = Some(failed(error));
                    return ControlFlow::Break(());
                }
                places.insert(record.key, (end, bytes.len()));
                end += bytes.len() as u64;
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| chain(&error))?;
        if let Some(reason) = broken {
            return Err(reason);
        }
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(Spool { file, places })
    }
}

impl Photos for SourcePhotos<'_> {
    fn gather(&self, wanted: &BTreeMap<Key, String>) -> Result<(), String> {
        let spool = self.spool(wanted)?;
        *self.spool.lock().unwrap_or_else(PoisonError::into_inner) = Some(spool);
        Ok(())
    }

    fn photo(&self, key: &Key) -> Result<Option<Vec<u8>>, String> {
        let spool = self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, (start, length))) = spool.as_ref().and_then(|it| Some((&it.file, *it.places.get(key)?))) else {
            return Ok(None);
        };
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, start).map_err(|error| format!("the photo can't be read back: {error}"))?;
        Ok(Some(bytes))
    }
}
