//! One read of a tenant: users become rows.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_128;

use super::error::{EntraErrorKind, Error};
use super::fetch::{Listed, Selected, walks};
use super::limits::PAGES_WAITING;
use super::options::Options;
use super::page::id;
use super::property::{Properties, Values};
use super::request::bounded;
use crate::clock::Clock;
use crate::source::ldap::DirectoryState;
use crate::source::{self, Access, Read, RequiredColumns, Row};

/// Reads a tenant and visits the row of each user. A visit that breaks ends the read, which then proves nothing.
///
/// # Errors
///
/// No token is issued, an answer is not a page, the pages lead elsewhere or have no end, a group can't be found, or no
/// user of a whole read has a property that the mapping needs.
pub fn read(
    options: &Options,
    wanted: &RequiredColumns,
    known: Option<&DirectoryState>,
    access: Access<'_>,
    visit: &mut dyn FnMut(&Row) -> ControlFlow<()>,
) -> Result<Read, Error> {
    let fault = |kind| Error { address: options.graph.to_string(), kind };
    let mut reading = Reading::new(Properties::new(wanted, options));
    let selected = Selected::new(&reading.properties);
    let (sender, receiver) = sync_channel(PAGES_WAITING);
    let fetched = std::thread::scope(|scope| {
        let fetching = std::thread::Builder::new().name("entra".to_owned()).spawn_scoped(scope, move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let work = bounded(options, access, walks(options, &selected, access, &sender));
            runtime.map_err(EntraErrorKind::Thread)?.block_on(work)
        });
        let fetching = fetching.map_err(EntraErrorKind::Thread)?;
        for message in &receiver {
            if reading.take(message, visit).is_break() {
                break;
            }
        }
        // A sender that is still running learns that the receiver is closed.
        drop(receiver);
        fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    reading.end(fetched.map_err(fault)?, known, access.clock, options).map_err(fault)
}

/// The rows so far.
struct Reading {
    properties: Properties,
    row: Row,
    scratch: Vec<u8>,
    /// By column: how many users have it.
    counts: Vec<u64>,
    /// By id: the number of its row, and the list that showed it.
    seen: HashMap<u128, (u64, u64)>,
    list: u64,
    /// By group, or for all users: how many users its list has.
    lists: Vec<(String, u64)>,
    /// By display name: the id of a group that is named by it.
    groups: BTreeMap<String, String>,
    number: u64,
    superseded: Vec<u64>,
    doubts: Vec<String>,
}

impl Reading {
    fn new(properties: Properties) -> Self {
        Self {
            row: Row::reusable(Arc::clone(&properties.columns)),
            counts: vec![0; properties.columns.len()],
            properties,
            scratch: Vec::new(),
            seen: HashMap::new(),
            list: 0,
            lists: Vec::new(),
            groups: BTreeMap::new(),
            number: 0,
            superseded: Vec::new(),
            doubts: Vec::new(),
        }
    }

    fn take(&mut self, message: Listed, visit: &mut dyn FnMut(&Row) -> ControlFlow<()>) -> ControlFlow<()> {
        match message {
            Listed::List { name, id } => {
                self.list += 1;
                self.groups.extend(id.map(|id| (name.clone(), id)));
                self.lists.push((name, 0));
            }
            Listed::Page(page) => {
                self.lists.iter_mut().next_back().expect("a list begins before its pages").1 += page.value.len() as u64;
                for user in &page.value {
                    self.user(user, visit)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// A member of several groups is one row. Who comes twice in one list was changed meanwhile, and what comes later counts.
    fn user(&mut self, user: &Map<String, Value>, visit: &mut dyn FnMut(&Row) -> ControlFlow<()>) -> ControlFlow<()> {
        let identity = xxh3_128(id(user).as_bytes());
        if let Some((before, list)) = self.seen.get(&identity) {
            if *list != self.list {
                return ControlFlow::Continue(());
            }
            self.superseded.push(*before);
        }
        self.number += 1;
        self.seen.insert(identity, (self.number, self.list));
        self.fill(user);
        if visit(&self.row).is_break() {
            self.doubts.push("the read was stopped before the end".to_owned());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn fill(&mut self, user: &Map<String, Value>) {
        let (mut flaws, mut lists) = (Vec::new(), Vec::new());
        let cells = self.row.cells_mut();
        cells.clear();
        for at in 0..self.properties.columns.len() {
            let texts = match self.properties.values(at, user) {
                Values::Texts(texts) => texts,
                Values::Flaw(reason) => {
                    self.counts[at] += 1;
                    flaws.push((at, reason.into()));
                    Vec::new()
                }
            };
            self.counts[at] += u64::from(!texts.is_empty());
            cells.push_field(texts.first().map_or("", String::as_str));
            if texts.len() > 1 {
                lists.push((at, texts));
            }
        }
        self.row.describe(id(user).to_owned(), lists, flaws);
        self.row.finish(self.number, &mut self.scratch);
    }

    fn end(
        mut self,
        doubts: Vec<String>,
        known: Option<&DirectoryState>,
        clock: &Clock,
        options: &Options,
    ) -> Result<Read, EntraErrorKind> {
        self.doubts.splice(0..0, doubts);
        let entries: BTreeMap<String, u64> = std::mem::take(&mut self.lists).into_iter().collect();
        if self.number == 0 {
            self.doubts.push("no users came, and an empty answer never means that everybody left".to_owned());
        }
        if let Some(known) = known.filter(|_| self.doubts.is_empty()) {
            self.doubts.extend(known.emptied(&entries, "groups"));
        }
        if self.doubts.is_empty() {
            self.check_properties()?;
        }
        let found =
            if self.doubts.is_empty() { self.state(options, entries) } else { known.cloned().unwrap_or_default() };
        let mut notes = Vec::new();
        if !self.superseded.is_empty() {
            notes.push(format!("{} users came twice in one list; what came later counts", self.superseded.len()));
        }
        Ok(Read {
            rows: self.number,
            rejected: Vec::new(),
            // Another read is another look, though everybody stayed as they were.
            content: xxh3_128(clock.now().as_nanosecond().to_le_bytes().as_slice()),
            modified: None,
            found: source::SourceState::Ldap(found),
            span: None,
            lost: Vec::new(),
            superseded: self.superseded,
            notes,
            incomplete: self.doubts,
        })
    }

    fn state(&self, options: &Options, entries: BTreeMap<String, u64>) -> DirectoryState {
        let names = self.properties.columns.names().iter().cloned();
        let attributes: BTreeMap<String, u64> = names.zip(self.counts.iter().copied()).collect();
        let (server, groups) = (options.graph.to_string(), self.groups.clone());
        DirectoryState { server, entries, attributes, groups, ..DirectoryState::default() }
    }

    /// A property that no user of a whole read has is not shown to the app, most likely.
    fn check_properties(&self) -> Result<(), EntraErrorKind> {
        let names = self.properties.columns.names();
        let missing: Vec<String> = (0..names.len())
            .filter(|at| self.properties.required[*at] && self.counts[*at] == 0)
            .map(|at| {
                let name = &names[at];
                format!(
                    "no user has the property `{name}`; may the app read it? If it is optional, put it into `optional`"
                )
            })
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(EntraErrorKind::Properties(missing)) }
    }
}
