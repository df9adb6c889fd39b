//! Finds the next file of an inbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::error::Error;
use super::folder::{Folder, InboxEntry, What};
use super::options::{Options, Order};
use super::stamp::Stamp;
use super::{Refusal, name};
use crate::clock::Clock;

/// So that what will have settled has, when it is looked.
const HAIR: Duration = Duration::from_millis(2);

/// What a look at an inbox found to be next.
#[derive(Debug)]
pub enum Look {
    /// Nothing waits.
    Nothing,
    /// The next file has not stood still yet.
    Unsettled(InboxEntry),
    /// This file.
    File(InboxEntry),
    /// An entry that can't be taken, and why.
    Unfit(InboxEntry, Refusal),
}

/// Polls an inbox, and remembers since when each file is unchanged.
#[derive(Default)]
pub struct Watcher {
    seen: BTreeMap<OsString, (Stamp, Instant)>,
}

impl Watcher {
    /// Finds out what is next. A file that is behind one that has not settled waits for it, so that no older export is read
    /// after a newer one. `skip` names what is not to be looked at.
    pub fn look(
        &mut self,
        folder: &Folder,
        options: &Options,
        clock: &Clock,
        skip: &dyn Fn(&InboxEntry) -> bool,
    ) -> Result<Look, Error> {
        let entries = waiting(folder, options, skip)?;
        self.seen.retain(|name, _| entries.iter().any(|entry| entry.name == *name));
        for entry in &entries {
            let seen = self.seen.entry(entry.name.clone()).or_insert((entry.stamp, Instant::now()));
            if seen.0 != entry.stamp {
                *seen = (entry.stamp, Instant::now());
            }
        }
        let Some(entry) = entries.into_iter().next() else { return Ok(Look::Nothing) };
        match entry.what {
            What::Refused(what) => return Ok(Look::Unfit(entry, Refusal::NotAFile { what: what.to_owned() })),
            What::OpenToAll => return Ok(Look::Unfit(entry, Refusal::OpenToAll)),
            What::File | What::Folder => {}
        }
        let still = self.seen.get(&entry.name).map_or(Duration::ZERO, |(_, since)| since.elapsed());
        if entry.stamp.age(clock).is_none_or(|age| age < options.settle) && still < options.settle {
            return Ok(Look::Unsettled(entry));
        }
        Ok(match unfit(&entry, options) {
            Some(reason) => Look::Unfit(entry, reason),
            None => Look::File(entry),
        })
    }

    /// How long a file that has not settled has to lie still yet.
    pub fn settles_in(&self, entry: &InboxEntry, options: &Options, clock: &Clock) -> Duration {
        let still = self.seen.get(&entry.name).map_or(Duration::ZERO, |(_, since)| since.elapsed());
        let age = entry.stamp.age(clock).unwrap_or(Duration::ZERO);
        options.settle.saturating_sub(still.max(age)) + HAIR
    }
}

/// What waits in an inbox, in order; folders and work in progress left out.
pub(super) fn waiting(
    folder: &Folder,
    options: &Options,
    skip: &dyn Fn(&InboxEntry) -> bool,
) -> Result<Vec<InboxEntry>, Error> {
    let mut entries = folder.list()?;
    entries.retain(|entry| entry.what != What::Folder && !name::is_left_alone(&entry.name) && !skip(entry));
    entries.sort_by(|one, other| {
        let by_name = || name::in_order(&one.name, &other.name);
        match options.order {
            Order::Name => by_name(),
            Order::Modified => one.stamp.modified().cmp(&other.stamp.modified()).then_with(by_name),
        }
    });
    Ok(entries)
}

impl Folder {
    /// The names of the files that wait and fit, in order, whether they have settled or not. `skip` names what is done.
    pub fn waiting(&self, options: &Options, skip: &dyn Fn(&InboxEntry) -> bool) -> Result<Vec<String>, Error> {
        let is_unfit = |entry: &InboxEntry| entry.what != What::File || unfit(entry, options).is_some();
        let entries = waiting(self, options, &|entry| is_unfit(entry) || skip(entry))?;
        Ok(entries.iter().map(|entry| name::shown(&entry.name)).collect())
    }

    /// The names of folders in it, which are never looked into.
    pub fn folders(&self) -> Result<Vec<String>, Error> {
        let mut folders = self.list()?;
        folders.retain(|entry| entry.what == What::Folder && !name::is_left_alone(&entry.name));
        folders.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(folders.iter().map(|entry| name::shown(&entry.name)).collect())
    }
}

/// Why a file that is unchanged can't be taken.
fn unfit(entry: &InboxEntry, options: &Options) -> Option<Refusal> {
    let name = entry.name.to_string_lossy();
    if name::is_odd(&entry.name) {
        return Some(Refusal::OddName);
    }
    let is_fit = |name: &str| options.patterns.iter().any(|pattern| name::fits(pattern, name));
    if !is_fit(&name) {
        let end = name.rsplit_once('.').map(|(_, end)| end.to_lowercase()).unwrap_or_default();
        return Some(match end.as_str() {
            "xls" | "xlsm" | "xlsb" | "ods" if is_fit("x.xlsx") => Refusal::OldWorkbook,
            "xlsx" | "xls" | "xlsm" | "xlsb" | "ods" => Refusal::Spreadsheet,
            "zip" | "gz" | "7z" | "rar" => Refusal::Packed,
            _ => Refusal::OtherName { patterns: options.patterns.clone() },
        });
    }
    let (size, max) = (entry.stamp.size, options.size_max);
    (size > max).then_some(Refusal::TooLarge { size, max })
}
