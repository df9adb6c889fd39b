//! Fetches entries from the first server that gives them, page by page, and hands them over in batches.
//!
//! What goes wrong before the first entry was handed over sends us to the next server; what goes wrong later leaves a read
//! that proves nothing: the entries that came are true all the same.

use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use super::code;
use super::entry::{self, RawEntry};
use super::error::{Error, LdapErrorKind};
use super::limits::{BATCH_BYTES, BATCH_ENTRIES, EMPTY_PAGES_MAX, ENTRIES_MAX, ENTRY_BYTES_MAX};
use super::look::look;
use super::options::{Options, Server};
use super::position::standing;
use super::range;
use super::session::{Done, Item, Search, Session, SessionFault};
use crate::source::{Access, Span};

/// How long a busy server is left alone before it is asked once more.
const BUSY_WAIT: Duration = Duration::from_secs(1);
/// How often it is looked whether someone asked to end.
const STOP_LOOK: Duration = Duration::from_millis(200);
/// How many references are named.
const REFERENCES_NAMED: usize = 3;

/// What is handed over.
pub(super) enum Message {
    /// Entries, in the order in which they came.
    Entries(Vec<RawEntry>),
    /// Here begin the entries of another base.
    Base,
    /// The search in this base starts again: its earlier results no longer count.
    Again,
}

/// What a whole fetch came to.
#[derive(Default)]
pub(super) struct Fetched {
    /// The server that gave the entries.
    pub(super) server: String,
    /// How far that server was, before and after.
    pub(super) span: Option<Span>,
    /// By base: how many entries it gave.
    pub(super) entries: BTreeMap<String, u64>,
    /// Why it does not prove that everyone was seen.
    pub(super) doubts: Vec<String>,
    /// Further things worth knowing.
    pub(super) notes: Vec<String>,
}

/// Fetches all entries; `asked` are the attributes. Ends early when the receiver is closed.
pub(super) async fn fetch(
    options: &Options,
    asked: &[String],
    access: Access<'_>,
    messages: &SyncSender<Message>,
) -> Result<Fetched, Error> {
    let first = options.servers.first().map(|server| server.url.clone()).unwrap_or_default();
    let mut fetch = Fetch { options, asked, access, messages, fetched: Fetched::default(), batch: Batch::default() };
    let work = tokio::time::timeout(options.total_timeout, fetch.any_server());
    let ended = tokio::select! {
        ended = work => ended,
        () = stopped(access) => return Err(Error { server: first, kind: LdapErrorKind::Interrupted }),
    };
    match ended {
        Ok(Ok(())) => Ok(fetch.fetched),
        Ok(Err(error)) => Err(error),
        Err(_) => {
            let seconds = options.total_timeout.as_secs();
            // What came is true all the same.
            fetch.batch.flush(messages);
            if fetch.batch.taken == 0 {
                return Err(Error { server: first, kind: LdapErrorKind::Slow { seconds } });
            }
            fetch.doubt(format!("the read took longer than {seconds} s (`total_timeout`) and was given up"));
            Ok(fetch.fetched)
        }
    }
}

/// Returns when someone asked to end.
async fn stopped(access: Access<'_>) {
    while !(access.stop)() {
        tokio::time::sleep(STOP_LOOK).await;
    }
}

struct Fetch<'a> {
    options: &'a Options,
    asked: &'a [String],
    access: Access<'a>,
    messages: &'a SyncSender<Message>,
    fetched: Fetched,
    /// What is on its way.
    batch: Batch,
}

/// How the search in one base ended.
enum Ended {
    Whole,
    /// Not wholly, and that is noted; other bases may do better.
    Part,
    /// The receiver of entries is closed.
    Unwanted,
}

impl Fetch<'_> {
    async fn any_server(&mut self) -> Result<(), Error> {
        let mut faults = Vec::new();
        for server in &self.options.servers {
            match self.one_server(server).await {
                Ok(()) => {
                    self.fetched.notes.extend(
                        faults.iter().map(|(url, reason)| format!("{url} could not be read: {reason}; {server} was")),
                    );
                    return Ok(());
                }
                Err(SessionFault::Final(kind)) => return Err(Error { server: server.url.clone(), kind }),
                Err(SessionFault::Gone(reason)) if self.batch.taken > 0 => {
                    self.doubt(format!("{server} went away in the middle: {reason}"));
                    return Ok(());
                }
                Err(SessionFault::Gone(reason)) => faults.push((server.url.clone(), reason)),
            }
        }
        let server = self.options.servers.first().map(|server| server.url.clone()).unwrap_or_default();
        Err(Error { server, kind: LdapErrorKind::Unreachable(faults) })
    }

    async fn one_server(&mut self, server: &Server) -> Result<(), SessionFault> {
        let mut session = Session::open(self.options, server, self.access.logins, self.access.clock).await?;
        self.fetched = Fetched { server: server.url.clone(), ..Fetched::default() };
        let began = standing(&mut session, server, &self.options.bases).await?;
        // Until the end of the read is known, no other server is known to have seen what this one had seen.
        self.fetched.span = Some(Span { ended: began.alone(), began });
        for base in &self.options.bases {
            if let Ended::Unwanted = self.base(&mut session, base).await? {
                return Ok(());
            }
        }
        // What was read stands, whether it says so or not.
        if let Ok(ended) = standing(&mut session, server, &self.options.bases).await
            && let Some(span) = &mut self.fetched.span
        {
            let shows_now = !span.began.tells() && ended.tells();
            span.ended = ended;
            if shows_now {
                self.doubt(format!(
                    "{server} showed how far it is only at the end of the read; was it in the middle of an import?"
                ));
            }
        }
        session.close().await;
        Ok(())
    }

    fn doubt(&mut self, reason: String) {
        self.fetched.doubts.push(reason);
    }

    /// All pages of one base.
    async fn base(&mut self, session: &mut Session, base: &str) -> Result<Ended, SessionFault> {
        if self.messages.send(Message::Base).is_err() {
            return Ok(Ended::Unwanted);
        }
        let (mut cookie, mut again, mut empty) = (Vec::new(), false, 0u32);
        let mut references = Vec::new();
        let mut count = 0u64;
        loop {
            let mut page = self.page(session, base, cookie.clone(), &mut references).await?;
            if let Some(Page { done: Done { code: code::BUSY | code::UNAVAILABLE, .. }, entries: 0 }) = page {
                tokio::time::sleep(BUSY_WAIT.min(self.options.timeout)).await;
                page = self.page(session, base, cookie.clone(), &mut references).await?;
            }
            let Some(Page { done, entries }) = page else { return Ok(Ended::Unwanted) };
            count += entries;
            self.fetched.entries.insert(base.to_owned(), count);
            if self.batch.taken > ENTRIES_MAX {
                return Err(SessionFault::Final(LdapErrorKind::TooMany));
            }
            let lost = matches!(
                done.code,
                code::UNWILLING | code::PROTOCOL_ERROR | code::UNAVAILABLE_CRITICAL_EXTENSION | code::OPERATIONS_ERROR
            );
            if lost && !cookie.is_empty() && !again {
                // The cookie is lost: everything from the first page on, once.
                (again, count) = (true, 0);
                cookie.clear();
                references.clear();
                if self.messages.send(Message::Again).is_err() {
                    return Ok(Ended::Unwanted);
                }
                continue;
            }
            match done.code {
                code::SUCCESS => {}
                code::REFERRAL => references.extend(done.references.iter().cloned()),
                _ => return self.broken(base, &done, again),
            }
            match done.cookie {
                Some(next) if !next.is_empty() && done.code == code::SUCCESS => {
                    empty = if entries == 0 { empty + 1 } else { 0 };
                    if empty > EMPTY_PAGES_MAX {
                        self.doubt(format!("the search in {base:?} gives empty pages without end"));
                        return Ok(Ended::Part);
                    }
                    cookie = next;
                }
                None if done.code == code::SUCCESS && self.options.page_size > 0 => {
                    // 389 Directory Server answers so where the base does not exist.
                    if count == 0 {
                        let (done, _) = look(session, base, &["1.1".to_owned()]).await?;
                        if done.code == code::NO_SUCH_OBJECT {
                            return self.broken(base, &done, again);
                        }
                    }
                    self.doubt(format!(
                        "{} ignores that the search is to be in pages, so nothing shows that the one in {base:?} came \
                         to its end; where it gives everybody in one answer, set page_size = 0",
                        self.fetched.server
                    ));
                    return Ok(self.referred(base, &references, Ended::Part));
                }
                _ => return Ok(self.referred(base, &references, Ended::Whole)),
            }
        }
    }

    /// A search that ended with another code than success.
    fn broken(&mut self, base: &str, done: &Done, again: bool) -> Result<Ended, SessionFault> {
        let said = format!("{}{}", code::words(done.code), code::said(&done.text));
        let refused =
            |hint| Err(SessionFault::Final(LdapErrorKind::Search { base: base.to_owned(), said: said.clone(), hint }));
        match done.code {
            code::NO_SUCH_OBJECT => Err(SessionFault::Final(LdapErrorKind::NoBase { base: base.to_owned() })),
            code::TIME_LIMIT | code::SIZE_LIMIT | code::ADMIN_LIMIT => {
                let hint = match done.code {
                    code::TIME_LIMIT => "the server's limit on time",
                    code::SIZE_LIMIT => "the server's limit on entries; have it lifted for the account",
                    _ => {
                        "a limit of the server; have it lifted for the account (389 Directory Server and FreeIPA: \
                         nsPagedLookThroughLimit or nsLookThroughLimit in its entry; OpenLDAP: size.prtotal), or, where it is \
                         one on the size of pages, lower page_size"
                    }
                };
                self.doubt(format!("the search in {base:?} stopped short: {said}: {hint}"));
                Ok(Ended::Part)
            }
            // Another server may do better, while nothing came from this one.
            code::BUSY | code::UNAVAILABLE => Err(SessionFault::Gone(said)),
            _ if again => {
                self.doubt(format!("the search in {base:?} lost its place twice: {said}"));
                Ok(Ended::Part)
            }
            code::UNAVAILABLE_CRITICAL_EXTENSION => refused(
                "; the server can't give results in pages; where it gives everybody in one answer, set page_size = 0",
            ),
            code::OPERATIONS_ERROR | code::INSUFFICIENT_ACCESS | code::STRONGER_AUTH | code::CONFIDENTIALITY => {
                refused("; check the account that asks, its rights, and TLS")
            }
            code::INAPPROPRIATE_AUTH => refused(
                "; the server shows nothing without a name; set bind_dn and its password, or bind = \"external\"",
            ),
            code::UNWILLING => refused("; check that the account is not locked, and `filter`"),
            34 => refused("; check `base`"),
            _ => refused(""),
        }
    }

    /// References to other servers, whose entries are not read.
    fn referred(&mut self, base: &str, references: &[String], ended: Ended) -> Ended {
        let outside = |url: &str| self.options.ignore_referrals.iter().any(|prefix| begins_with(url, prefix));
        let unread: Vec<&String> = references.iter().filter(|url| !outside(url)).collect();
        if unread.is_empty() {
            return ended;
        }
        let mut named: Vec<&str> = unread.iter().take(REFERENCES_NAMED).map(|url| url.as_str()).collect();
        if unread.len() > REFERENCES_NAMED {
            named.push("…");
        }
        let count = match unread.len() {
            1 => "1 referral that was not followed".to_owned(),
            many => format!("{many} referrals that were not followed"),
        };
        self.doubt(format!(
            "the search in {base:?} gave {count}: {}; if none of your people are there, put it into ignore_referrals",
            named.join(", ")
        ));
        Ended::Part
    }

    /// Fetches one page and hands its entries over; `None` if the receiver is closed.
    async fn page(
        &mut self,
        session: &mut Session,
        base: &str,
        cookie: Vec<u8>,
        references: &mut Vec<String>,
    ) -> Result<Option<Page>, SessionFault> {
        let Self { options, asked, messages, batch, .. } = self;
        let search = Search {
            base,
            scope: options.scope,
            filter: &options.filter,
            attributes: asked,
            page: (options.page_size > 0).then_some((options.page_size, cookie)),
        };
        let mut ranged = Vec::new();
        let (mut entries, mut garbled) = (0u64, false);
        let done = session
            .search(search, |item| match item {
                Item::Reference(tag) => {
                    let read = entry::references(tag);
                    garbled |= read.is_none();
                    references.extend(read.unwrap_or_default());
                    !garbled
                }
                Item::Entry(tag) => {
                    let Some(entry) = RawEntry::parse(tag) else {
                        garbled = true;
                        return false;
                    };
                    entries += 1;
                    if entry.attributes.iter().any(|attribute| range::part(&attribute.name).is_some()) {
                        ranged.push(entry);
                        return true;
                    }
                    batch.take(entry, messages)
                }
            })
            .await;
        // What was handed over counts, however the page ended.
        let delivered = batch.flush(messages);
        if garbled {
            return Err(SessionFault::Gone(LdapErrorKind::Garbled.to_string()));
        }
        let done = match done? {
            Some(done) if delivered => done,
            _ => return Ok(None),
        };
        for mut entry in ranged {
            self.complete(session, &mut entry).await?;
            if !self.batch.take(entry, self.messages) {
                return Ok(None);
            }
        }
        Ok(self.batch.flush(self.messages).then_some(Page { done, entries }))
    }

    /// Fetches the values that an entry did not show at once. Where that fails, the entry says so, and the read proves
    /// nothing.
    async fn complete(&mut self, session: &mut Session, entry: &mut RawEntry) -> Result<(), SessionFault> {
        let parts: Vec<(usize, range::ValueRange)> = entry
            .attributes
            .iter()
            .enumerate()
            .filter_map(|(at, attribute)| Some((at, range::part(&attribute.name)?)))
            .collect();
        let mut unread = Vec::new();
        for (at, part) in parts {
            let mut next = part.next;
            while let Some(from) = next {
                match self.values(session, &entry.dn, &part.name, from).await? {
                    Ok((values, following)) if following.is_none_or(|following| following > from) => {
                        entry.bytes += values.iter().map(Vec::len).sum::<usize>();
                        entry.attributes[at].values.extend(values);
                        next = following;
                    }
                    Ok(_) => {
                        unread.push((part.name.clone(), "the server gives the same values again".to_owned()));
                        next = None;
                    }
                    Err(reason) => {
                        unread.push((part.name.clone(), reason));
                        next = None;
                    }
                }
                if next.is_some() && entry.bytes > ENTRY_BYTES_MAX {
                    unread.push((part.name.clone(), "the entry is too large".to_owned()));
                    next = None;
                }
            }
            entry.attributes[at].name = part.name;
        }
        if let Some((name, reason)) = unread.first() {
            self.doubt(format!("not all values of {name} could be read: {reason}"));
        }
        entry.unread = unread;
        Ok(())
    }

    /// The values of an attribute from one on, and where the next begin; or why they can't be had.
    async fn values(
        &self,
        session: &mut Session,
        dn: &str,
        name: &str,
        from: u64,
    ) -> Result<Result<(Vec<Vec<u8>>, Option<u64>), String>, SessionFault> {
        let (done, entry) = look(session, dn, &[range::asked(name, from)]).await?;
        if done.code != code::SUCCESS {
            return Ok(Err(format!("{}{}", code::words(done.code), code::said(&done.text))));
        }
        let is_it = |attribute: &entry::Attribute| {
            let part = range::part(&attribute.name)?;
            part.name.eq_ignore_ascii_case(name).then_some(part.next)
        };
        let found = entry.into_iter().flat_map(|entry| entry.attributes).find_map(|attribute| {
            let next = is_it(&attribute)?;
            Some((attribute.values, next))
        });
        Ok(found.ok_or_else(|| format!("the server does not give those from {from} on")))
    }
}

struct Page {
    done: Done,
    entries: u64,
}

/// Entries on their way.
#[derive(Default)]
struct Batch {
    entries: Vec<RawEntry>,
    bytes: usize,
    /// How many there were, with those that were handed over.
    taken: u64,
}

impl Batch {
    /// Takes an entry; false if the receiver is closed.
    fn take(&mut self, entry: RawEntry, messages: &SyncSender<Message>) -> bool {
        self.bytes += entry.bytes;
        self.taken += 1;
        self.entries.push(entry);
        if self.entries.len() < BATCH_ENTRIES && self.bytes < BATCH_BYTES {
            return true;
        }
        self.flush(messages)
    }

    fn flush(&mut self, messages: &SyncSender<Message>) -> bool {
        self.bytes = 0;
        let entries = std::mem::take(&mut self.entries);
        entries.is_empty() || messages.send(Message::Entries(entries)).is_ok()
    }
}

/// Whether a reference begins with a prefix: the whole of it, its host, or the name of the entry that it is about.
pub(super) fn begins_with(url: &str, prefix: &str) -> bool {
    let (url, prefix) = (url.to_lowercase(), prefix.to_lowercase());
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let dn = rest.split_once('/').map_or("", |(_, dn)| dn);
    let dn = percent_encoding::percent_decode_str(dn).decode_utf8_lossy().into_owned();
    let value = dn.split_once('=').map_or("", |(_, value)| value);
    !prefix.is_empty() && [url.as_str(), rest, &dn, value].iter().any(|text| text.starts_with(&prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_67_a_reference_is_known_by_its_beginning() {
        let url = "ldap://DomainDnsZones.corp.example.com/DC=DomainDnsZones,DC=corp,DC=example,DC=com";
        for (url, prefix, known) in [
            (url, "DomainDnsZones", true),
            (url, "domaindnszones.corp", true),
            (url, "ldap://DomainDnsZones", true),
            (url, "DC=DomainDnsZones", true),
            (url, "ForestDnsZones", false),
            (url, "corp", false),
            (url, "", false),
            ("ldap://corp.example.com/CN=Configuration,DC=corp", "CN=Configuration", true),
            ("ldap://corp.example.com/CN=Configuration,DC=corp", "Configuration", true),
            ("ldap://other.example.com/ou=People%20abroad,dc=x", "ou=people abroad", true),
        ] {
            assert_eq!(begins_with(url, prefix), known, "{url} {prefix}");
        }
    }
}
