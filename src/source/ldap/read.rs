//! One read of a directory: entries become rows.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use xxhash_rust::xxh3::xxh3_128;

use super::attribute::{Attributes, IDENTITIES};
use super::entry::RawEntry;
use super::error::{Error, LdapErrorKind};
use super::fetch::{Fetched, Message, fetch};
use super::limits::{BATCHES_WAITING, ENTRY_BYTES_MAX, VALUE_BYTES_MAX};
use super::options::Options;
use super::state::DirectoryState;
use super::units::{self, Units};
use crate::clock::Clock;
use crate::source::{self, Access, Read, RequiredColumns, Row};
use crate::text::{counted, some_of};

/// How many names of attributes with options are counted, and how many a note names.
const OPTIONS_MAX: usize = 100;
const OPTIONS_NAMED_MAX: usize = 3;
/// Why an attribute is not used.
const TOO_LARGE: &str = "it is the largest attribute of an entry of more than 2 MiB, and was left out";

/// Reads a directory and visits the row of each entry. A visit that breaks ends the read, which then proves nothing.
///
/// # Errors
///
/// No server gives entries, one refuses the bind or the search, a base is missing, or no entry of a whole read has an
/// attribute that the mapping needs.
pub fn read(
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DirectoryState>,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let first = || options.servers.first().map(|server| server.url.clone()).unwrap_or_default();
    let fault = |kind| Error { server: first(), kind };
    if !options.tls_verify {
        let server = first();
        tracing::warn!(server, "tls_verify = false: anyone can pose as {server}");
    }
    let mut reading = Reading::new(Attributes::new(wanted, options));
    let asked = reading.attributes.asked.clone();
    let (sender, receiver) = sync_channel(BATCHES_WAITING);
    let fetched = std::thread::scope(|scope| {
        let fetching = std::thread::Builder::new().name("ldap".to_owned()).spawn_scoped(scope, move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime =
                runtime.map_err(|error| Error { server: String::new(), kind: LdapErrorKind::Thread(error) })?;
            runtime.block_on(fetch(options, &asked, access, &sender))
        });
        let fetching = fetching.map_err(|error| fault(LdapErrorKind::Thread(error)))?;
        for message in &receiver {
            if reading.take(message, visit).is_break() {
                break;
            }
        }
        // A sender that is still running learns that the receiver is closed.
        drop(receiver);
        fetching.join().unwrap_or_else(|_| Err(fault(LdapErrorKind::Garbled)))
    })?;
    reading.end(fetched, known, access.clock, options)
}

/// The rows so far.
pub(super) struct Reading {
    attributes: Attributes,
    row: Row,
    scratch: Vec<u8>,
    /// By column: its values in the entry at hand.
    values: Vec<Vec<Vec<u8>>>,
    /// By column: how many entries have it.
    counts: Vec<u64>,
    /// By what identifies an entry for ever: the number of its row.
    seen: HashMap<u128, u64>,
    units: Units,
    /// The number of the first row of the base at hand.
    base_begins: u64,
    number: u64,
    visited: u64,
    moved: u64,
    superseded: Vec<u64>,
    doubts: Vec<String>,
    /// By a name with options: the attribute that the mapping names, and how many entries have no value of that but of this.
    only_with_options: BTreeMap<String, (usize, u64)>,
}

impl Reading {
    pub(super) fn new(attributes: Attributes) -> Self {
        let columns = attributes.columns.len();
        Self {
            row: Row::reusable(Arc::clone(&attributes.columns)),
            attributes,
            scratch: Vec::new(),
            values: vec![Vec::new(); columns],
            counts: vec![0; columns],
            seen: HashMap::new(),
            units: Units::default(),
            base_begins: 1,
            number: 0,
            visited: 0,
            moved: 0,
            superseded: Vec::new(),
            doubts: Vec::new(),
            only_with_options: BTreeMap::new(),
        }
    }

    fn take(&mut self, message: Message, visit: &mut dyn FnMut(&Row) -> ControlFlow<()>) -> ControlFlow<()> {
        match message {
            Message::Base => {
                self.base_begins = self.number + 1;
                self.units.next_base();
            }
            Message::Again => {
                let begins = self.base_begins;
                self.superseded.extend(begins..=self.number);
                self.seen.retain(|_, number| *number < begins);
                self.units.again();
                self.base_begins = self.number + 1;
            }
            Message::Entries(entries) => {
                for entry in entries {
                    self.entry(entry, visit)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn entry(
        &mut self,
        mut entry: RawEntry,
        visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.number += 1;
        self.meet(&entry);
        self.units.count(&entry.dn);
        entry.shed(ENTRY_BYTES_MAX);
        self.fill(entry);
        self.visited += 1;
        if visit(&self.row).is_break() {
            self.doubts.push("the read was stopped before the end".to_owned());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Finds out whether the entry came before: then it was moved while the search went on, and what it is now counts.
    fn meet(&mut self, entry: &RawEntry) {
        let own = IDENTITIES.iter().find_map(|name| entry.values(name).next());
        let identity = match own {
            Some(identity) => xxh3_128(identity),
            None => xxh3_128(entry.dn.to_lowercase().as_bytes()),
        };
        if let Some(before) = self.seen.insert(identity, self.number) {
            self.superseded.push(before);
            self.moved += 1;
        }
    }

    /// Makes the row of an entry.
    fn fill(&mut self, entry: RawEntry) {
        self.values.iter_mut().for_each(Vec::clear);
        let RawEntry { dn, attributes, unread, too_large, .. } = entry;
        let mut with_options = Vec::new();
        for attribute in attributes {
            if let Some(at) = self.attributes.column(&attribute.name) {
                self.values[at].extend(attribute.values);
            } else if let Some((plain, _)) = attribute.name.split_once(';') {
                with_options.extend(self.attributes.column(plain).map(|at| (attribute.name, at)));
            }
        }
        with_options.retain(|(_, at)| self.values[*at].is_empty());
        for (name, at) in with_options {
            if self.only_with_options.len() < OPTIONS_MAX || self.only_with_options.contains_key(&name) {
                self.only_with_options.entry(name).or_insert((at, 0)).1 += 1;
            }
        }
        let mut flaws = Vec::new();
        let too_large = too_large.into_iter().map(|name| (name, TOO_LARGE));
        for (name, reason) in
            unread.into_iter().map(|(name, _)| (name, "not all of its values could be read")).chain(too_large)
        {
            if let Some(at) = self.attributes.column(&name) {
                flaws.push((at, reason.into()));
                self.values[at].clear();
                self.counts[at] += 1;
            }
        }
        let mut lists = Vec::new();
        let cells = self.row.cells_mut();
        cells.clear();
        for (at, values) in self.values.iter_mut().enumerate() {
            if self.attributes.dn == Some(at) {
                cells.push_field(&dn);
                self.counts[at] += 1;
                continue;
            }
            values.retain(|value| !value.is_empty());
            self.counts[at] += u64::from(!values.is_empty());
            let texts = match texts(values, self.attributes.binary[at]) {
                Ok(texts) => texts,
                Err(reason) => {
                    flaws.push((at, reason.into()));
                    Vec::new()
                }
            };
            cells.push_field(texts.first().map_or("", String::as_str));
            if texts.len() > 1 {
                lists.push((at, texts));
            }
        }
        self.row.describe(dn, lists, flaws);
        self.row.finish(self.number, &mut self.scratch);
    }

    fn end(
        mut self,
        fetched: Fetched,
        known: Option<&DirectoryState>,
        clock: &Clock,
        options: &Options,
    ) -> Result<Read, Error> {
        let Fetched { server, span, entries, doubts, mut notes } = fetched;
        let entries_read: u64 = entries.values().sum();
        self.doubts.splice(0..0, doubts);
        if let Some(known) = known.filter(|_| self.doubts.is_empty() && entries_read > 0) {
            self.doubts.extend(known.emptied(&entries, "base"));
        }
        let is_whole = self.doubts.is_empty();
        if is_whole && entries_read > 0 {
            self.check_attributes(known).map_err(|kind| Error { server: server.clone(), kind })?;
        }
        if is_whole && entries_read == 0 {
            self.doubts
                .push("the search found no entries, and an empty answer never means that everybody left".to_owned());
        }
        let found = if is_whole && entries_read > 0 {
            let names = self.attributes.columns.names().iter().cloned();
            let attributes: BTreeMap<String, u64> = names.zip(self.counts.iter().copied()).collect();
            let units = std::mem::take(&mut self.units).finish();
            notes.extend(known.and_then(|known| units::emptied(&known.units, &units)));
            DirectoryState { server, entries, attributes, units, groups: BTreeMap::new() }
        } else {
            known.cloned().unwrap_or_default()
        };
        if self.moved > 0 {
            let moved = self.moved;
            notes.push(match moved {
                1 => "1 entry came twice, since it was moved meanwhile or bases overlap; what came later counts".to_owned(),
                many => format!("{many} entries came twice, since they were moved meanwhile or bases overlap; what came later counts"),
            });
        }
        notes.extend(self.options_note());
        notes.extend(options.certificate.as_ref().and_then(|certificate| certificate.expiry(clock.now())));
        if !options.tls_verify {
            notes.push("tls_verify = false: the server's certificate was not verified".to_owned());
        }
        Ok(Read {
            rows: self.visited,
            rejected: Vec::new(),
            // Another read is another look, though everybody stayed as they were.
            content: xxh3_128(clock.now().as_nanosecond().to_le_bytes().as_slice()),
            modified: None,
            found: source::SourceState::Ldap(found),
            span,
            lost: Vec::new(),
            superseded: self.superseded,
            notes,
            incomplete: self.doubts,
        })
    }

    /// An attribute with options, such as a language, is another one.
    fn options_note(&self) -> Option<String> {
        let (names, columns) = (&self.only_with_options, self.attributes.columns.names());
        let one = |(name, (at, count)): (&String, &(usize, u64))| {
            format!(
                "{} of `{}` only as `{name}`",
                counted(count, "entry has a value", "entries have values"),
                columns[*at]
            )
        };
        let some = some_of(names.iter().map(one), OPTIONS_NAMED_MAX);
        let name = names.keys().next()?;
        Some(format!("{some}, which is another attribute and is not used: a template names it as `source['{name}']`"))
    }

    /// An attribute that no entry of a whole read has was renamed, misspelled or hidden.
    fn check_attributes(&self, known: Option<&DirectoryState>) -> Result<(), LdapErrorKind> {
        let names = self.attributes.columns.names();
        let missing: Vec<String> = (0..names.len())
            .filter(|at| self.attributes.required[*at] && self.counts[*at] == 0)
            .map(|at| missing(&names[at], known))
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(LdapErrorKind::Attributes(missing)) }
    }
}

fn missing(name: &str, known: Option<&DirectoryState>) -> String {
    let before = known.and_then(|known| known.attributes.get(name)).copied().unwrap_or(0);
    if before > 0 {
        return format!(
            "no entry has the attribute `{name}`, and {before} had it when the directory was read before: may the account \
             still see it?"
        );
    }
    format!("no entry has the attribute `{name}`; is it spelled so? If it is optional, put it into `optional`")
}

/// The values of a column as text, sorted, each once.
fn texts(values: &mut Vec<Vec<u8>>, binary: bool) -> Result<Vec<String>, String> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values.drain(..) {
        if binary {
            texts.push(STANDARD.encode(value));
        } else if value.len() > VALUE_BYTES_MAX {
            return Err(format!("it has a value of more than {} KiB", VALUE_BYTES_MAX / 1024));
        } else {
            let text = String::from_utf8(value);
            texts.push(text.map_err(|_| {
                "it holds bytes that are no text; if it is not meant to be text, put it into `binary`".to_owned()
            })?);
        }
    }
    texts.sort_unstable();
    texts.dedup();
    Ok(texts)
}
