//! The photos that a push sends, read from the source once more. Of a tenant those are fetched that are wanted, few at a time.
//!
//! They lie in a spool while they are sent, so that many of them take no memory, and nothing is left of them however the
//! process ends.
//!
//! Rejected: photos in the queue. Ten thousand of them are half a gigabyte in the state, and they must not be found
//! there (law 11).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::collect::rows;
use super::model::context::Context;
use crate::config::Job;
use crate::fault::chain;
use crate::mapping::{Mapped, Mapping};
use crate::push::Photos;
use crate::record::{Key, Target, Value};
use crate::source::entra;
use crate::spool::{self, SpillOffset, Spool};

/// How many photos of a tenant lie in the spool at a time.
const FETCHED_AT_ONCE: usize = 100;

/// The photos of one job.
pub(crate) struct SourcePhotos<'a> {
    context: &'a Context<'a>,
    job: &'a Job,
    gathered: Mutex<Option<Gathered>>,
}

/// Photos, and where that of each key is, or why it can't be had.
struct Gathered {
    spool: Spool,
    places: BTreeMap<Key, Result<SpillOffset, String>>,
}

impl<'a> SourcePhotos<'a> {
    pub(crate) fn new(context: &'a Context<'a>, job: &'a Job) -> Self {
        Self { context, job, gathered: Mutex::new(None) }
    }

    /// The tenant that photos are fetched from, where that is how it goes.
    fn tenant(&self, mapping: &Mapping) -> Option<&entra::Options> {
        let source = match mapping.photo_reference()?.joined() {
            Some(joined) => &self.job.lookups.iter().find(|lookup| lookup.name == joined.lookup)?.source,
            None => &self.job.source,
        };
        source.tenant()
    }

    fn fetched(&self, tenant: &entra::Options, wanted: &BTreeMap<Key, String>) -> Result<Gathered, String> {
        let spool = Spool::new(self.context.store.home().spill_dir());
        let mut places = BTreeMap::new();
        let mut broken = None;
        let (keys, references): (Vec<&Key>, Vec<&str>) = wanted.iter().map(|(key, mark)| (key, mark.as_str())).unzip();
        let mut take = |at: usize, bytes: Result<&[u8], String>| {
            let place = match bytes.map(|bytes| spool.put(bytes)) {
                Ok(Ok(place)) => Ok(place),
                Ok(Err(error)) => {
                    broken = Some(error);
                    return ControlFlow::Break(());
                }
                Err(reason) => Err(reason),
            };
            places.insert(keys[at].clone(), place);
            ControlFlow::Continue(())
        };
        rows::accessed(self.context, None, |access| entra::photos(tenant, &references, access, &mut take))
            .map_err(|error| chain(&error))?;
        Gathered { spool, places }.unless(broken)
    }

    fn gathered(&self, mapping: &Mapping, wanted: &BTreeMap<Key, String>) -> Result<Gathered, String> {
        let spool = Spool::new(self.context.store.home().spill_dir());
        let mut places = BTreeMap::new();
        let mut broken = None;
        let today = self.job.day(self.context.clock.now());
        rows::read(self.context, self.job, mapping, None, &mut |row, bound| {
            if let Mapped::Record(record) = bound.read(row, Some(today)).mapped
                && let Some(mark) = wanted.get(&record.key)
                && record.fields.get(Target::PHOTO).and_then(Value::as_text) == Some(mark)
                && !places.contains_key(&record.key)
                && let Some(bytes) = bound.photo(row)
            {
                match spool.put(&bytes) {
                    Ok(place) => drop(places.insert(record.key, Ok(place))),
                    Err(error) => {
                        broken = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| chain(&error))?;
        Gathered { spool, places }.unless(broken)
    }
}

impl Gathered {
    /// These, unless the spool broke.
    fn unless(self, broken: Option<spool::Error>) -> Result<Self, String> {
        match broken {
            Some(error) => Err(format!("the state folder can't hold them for a moment: {}", chain(&error))),
            None => Ok(self),
        }
    }
}

impl Photos for SourcePhotos<'_> {
    fn at_once(&self) -> usize {
        if self.tenant(&rows::mapping(self.job)).is_some() { FETCHED_AT_ONCE } else { usize::MAX }
    }

    fn gather(&self, wanted: &BTreeMap<Key, String>) -> Result<(), String> {
        let mapping = rows::mapping(self.job);
        let gathered = match self.tenant(&mapping) {
            Some(tenant) => self.fetched(tenant, wanted)?,
            None => self.gathered(&mapping, wanted)?,
        };
        *self.gathered.lock().unwrap_or_else(PoisonError::into_inner) = Some(gathered);
        Ok(())
    }

    fn photo(&self, key: &Key) -> Result<Option<Vec<u8>>, String> {
        let gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((spool, place)) = gathered.as_ref().and_then(|it| Some((&it.spool, it.places.get(key)?))) else {
            return Ok(None);
        };
        let read = spool.read(place.clone()?, |bytes| Some(bytes.to_vec()));
        read.map_err(|error| format!("the photo can't be read back: {}", chain(&error)))
    }
}
