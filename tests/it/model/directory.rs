//! A directory of several servers, and what each shows of how far it is.
//!
//! People write to the first server. Each other one has the first so many of its changes, or is being imported again
//! and does not hold everybody yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::scripted::{Asked, Said, code, done, entry, vector};

/// How many servers there are.
pub(super) const SERVERS: u8 = 3;
/// How many people there may be. The first of them never leaves: an empty directory is not believed.
pub(super) const PEOPLE: u8 = 6;
/// Entries of one page.
const PAGE: usize = 2;
const SUFFIX: &str = "dc=example,dc=org";

/// What a directory shows of how far its servers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `contextCSN`.
    OpenLdap,
    /// What each controller has of the others.
    ActiveDirectory,
    /// The same to an account that may see but each controller's own count.
    Blind,
    /// `nsds50ruv`.
    Replicated389,
    /// `lastUSN`, which each server counts for itself.
    Alone389,
    /// Nothing.
    Silent,
}

impl Kind {
    /// Whether a server can tell that it was laid back, or does not hold everybody yet.
    pub(super) fn tells(self) -> bool {
        self != Self::Silent
    }

    /// Whether a server that is being imported shows nothing of itself. The others show a count, under an identity that is
    /// new since the import.
    pub(super) fn is_silent_in_imports(self) -> bool {
        matches!(self, Self::OpenLdap | Self::Replicated389)
    }

    /// Whether servers that answer under one address can be distinguished.
    pub(super) fn tells_apart(self) -> bool {
        !matches!(self, Self::Silent | Self::Alone389)
    }
}

/// A person gets a title, or is removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) person: u8,
    pub(super) title: Option<u8>,
}

/// What goes wrong in a read, from a page on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection breaks.
    Cut,
    /// A limit on the number of entries.
    Limit,
    /// The server has lost the place.
    Lost,
}

/// A read to come.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// Which server answers, before all others.
    pub(super) server: u8,
    /// Only this person.
    pub(super) only: Option<u8>,
    /// What goes wrong, and at which page.
    pub(super) trouble: Option<(u8, Trouble)>,
    /// What happens meanwhile, and at which page.
    pub(super) meanwhile: Option<(u8, Change)>,
}

/// What was read in the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pages: u8,
    /// How many changes the server had before and after; `None` while it did not hold everybody.
    pub(super) began: Option<usize>,
    pub(super) ended: usize,
    /// Whether the server showed how far it is, before or after.
    pub(super) tells: bool,
    pub(super) people: BTreeSet<u8>,
    /// Whether nothing went wrong.
    pub(super) is_whole: bool,
}

struct Server {
    /// Another one after it was laid back as it should be.
    identity: u8,
    /// How many changes it has.
    has: usize,
    /// If it is being imported again, it holds the people below this one so far.
    importing: Option<u8>,
    /// By identity: up to which of their own counts it has the others.
    vector: BTreeMap<u8, u64>,
}

pub(super) struct Directory {
    kind: Kind,
    one_name: bool,
    changes: Vec<Change>,
    servers: Vec<Server>,
    identities: u8,
    read: Option<Read>,
    pub(super) seen: Seen,
}

impl Directory {
    /// Everybody is there, on each server.
    pub(super) fn new(kind: Kind, one_name: bool) -> Self {
        let changes: Vec<Change> = (0..PEOPLE).map(|person| Change { person, title: Some(0) }).collect();
        let server = |identity| Server { identity, has: changes.len(), importing: None, vector: BTreeMap::new() };
        let servers = (0..SERVERS).map(server).collect();
        let seen = Seen::default();
        let mut new = Self { kind, one_name, changes, servers, identities: SERVERS, read: None, seen };
        new.all_catch_up();
        new
    }

    /// Who is there after so many changes, with their titles.
    pub(super) fn people(&self, changes: usize) -> BTreeMap<u8, u8> {
        let mut people = BTreeMap::new();
        for change in &self.changes[..changes] {
            match change.title {
                Some(title) => people.insert(change.person, title),
                None => people.remove(&change.person),
            };
        }
        people
    }

    /// Who really is there.
    pub(super) fn truth(&self) -> BTreeMap<u8, u8> {
        self.people(self.changes.len())
    }

    pub(super) fn change(&mut self, change: Change) {
        self.changes.push(change);
        self.servers[0].has = self.changes.len();
    }

    /// A server gets so many further changes; a server that has as many as another one knows that.
    pub(super) fn catch_up(&mut self, server: u8, by: u8) {
        let all = self.changes.len();
        let one = &mut self.servers[usize::from(server)];
        one.has = if one.importing.take().is_some() { all } else { all.min(one.has + usize::from(by)) };
        for other in 0..SERVERS {
            self.tell(other, server);
            self.tell(server, other);
        }
    }

    pub(super) fn all_catch_up(&mut self) {
        // Twice, so that each knows of the last what the last knows.
        for server in (0..SERVERS).chain(0..SERVERS) {
            self.catch_up(server, u8::MAX);
        }
    }

    /// One server learns how far another is, where it has as much.
    fn tell(&mut self, to: u8, of: u8) {
        let (other, to) = (&self.servers[usize::from(of)], usize::from(to));
        if self.servers[to].importing.is_some() || other.importing.is_some() || self.servers[to].has < other.has {
            return;
        }
        let own = (other.identity, self.count(of));
        let all: Vec<(u8, u64)> = other.vector.iter().map(|(id, usn)| (*id, *usn)).chain([own]).collect();
        for (identity, usn) in all {
            let known = self.servers[to].vector.entry(identity).or_default();
            *known = usn.max(*known);
        }
    }

    /// A server is laid back by so many changes, under its identity or a new one.
    pub(super) fn restore(&mut self, server: u8, back: u8, new_identity: bool) {
        let count = self.count(server);
        let identity = self.identities;
        let one = &mut self.servers[usize::from(server)];
        one.has = one.has.saturating_sub(usize::from(back));
        one.vector.clear();
        if new_identity {
            one.vector.insert(one.identity, count.saturating_sub(u64::from(back)));
            one.identity = identity;
            self.identities += 1;
        }
    }

    /// A server is imported again, and holds those below `shows` so far.
    pub(super) fn import(&mut self, server: u8, shows: u8) {
        let all = self.changes.len();
        let one = &mut self.servers[usize::from(server)];
        *one = Server { identity: self.identities, has: all, importing: Some(shows), vector: BTreeMap::new() };
        self.identities += 1;
    }

    /// What a server counts by itself.
    fn count(&self, server: u8) -> u64 {
        1000 * u64::from(server + 1) + self.servers[usize::from(server)].has as u64
    }

    /// The next read.
    pub(super) fn is_read(&mut self, read: &Read) {
        self.seen = Seen { is_whole: true, ..Seen::default() };
        self.read = Some(read.clone());
    }

    /// What the server of an address answers.
    pub(super) fn answer(&mut self, address: u8, asked: &Asked) -> Vec<Said> {
        let Some(read) = self.read.clone() else { return vec![Said::Close] };
        let server = if self.one_name { read.server } else { address };
        if server != read.server {
            return vec![Said::Close];
        }
        if asked.is_page() {
            return self.page(server, &read, asked);
        }
        let is_root = asked.attributes.iter().any(|name| name == "namingContexts");
        if is_root && self.seen.pages == 0 {
            let one = &self.servers[usize::from(server)];
            let began = one.importing.is_none().then_some(one.has);
            (self.seen.began, self.seen.ended) = (began, one.has);
            self.seen.tells = self.shows(server);
        } else if is_root {
            self.happens(&read, u8::MAX);
            self.seen.ended = self.servers[usize::from(server)].has;
            self.seen.tells |= self.shows(server);
        }
        let values = self.standing(server, asked);
        let entry = (!values.is_empty()).then(|| {
            let attributes = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            Said::Entry(asked.name.clone(), attributes)
        });
        entry.into_iter().chain([code(0, "")]).collect()
    }

    /// Whether a server shows how far it is.
    fn shows(&self, server: u8) -> bool {
        let is_importing = self.servers[usize::from(server)].importing.is_some();
        self.kind.tells() && !(is_importing && self.kind.is_silent_in_imports())
    }

    /// What happens meanwhile. A read that breaks does not show how far its server was in the end, so nothing happens in one.
    fn happens(&mut self, read: &Read, page: u8) {
        let is_cut = read.trouble.is_some_and(|(_, trouble)| trouble == Trouble::Cut);
        if let Some((at, change)) = read.meanwhile.filter(|_| !is_cut)
            && page >= at
        {
            self.read.as_mut().expect("it is read").meanwhile = None;
            self.change(change);
            self.catch_up(read.server, 1);
        }
    }

    fn page(&mut self, server: u8, read: &Read, asked: &Asked) -> Vec<Said> {
        let page = self.seen.pages;
        self.seen.pages += 1;
        self.happens(read, page);
        let cookie = asked.cookie.as_deref().and_then(|cookie| cookie.first().copied());
        if cookie.is_none() {
            self.seen.people.clear();
        }
        let one = &self.servers[usize::from(server)];
        let shows = one.importing.unwrap_or(PEOPLE);
        let mut rest = self
            .people(one.has)
            .into_iter()
            .filter(|(person, _)| *person < shows && cookie.is_none_or(|last| *person > last));
        let shown: Vec<(u8, u8)> = rest.by_ref().take(PAGE).collect();
        let next = if rest.next().is_some() { vec![shown[PAGE - 1].0] } else { Vec::new() };
        self.seen.people.extend(shown.iter().map(|(person, _)| *person));
        let said = shown
            .into_iter()
            .map(|(person, title)| entry(usize::from(person), &[("title", &[format!("Title {title}").as_bytes()])]));
        match read.trouble.filter(|(at, _)| *at == page) {
            Some((_, Trouble::Cut)) => {
                self.seen.is_whole = false;
                said.chain([Said::Close]).collect()
            }
            Some((_, Trouble::Limit)) => {
                self.seen.is_whole = false;
                said.chain([code(4, "")]).collect()
            }
            Some((_, Trouble::Lost)) if cookie.is_some() => vec![code(53, "")],
            _ => said.chain([done(&next)]).collect(),
        }
    }

    /// What a server says of itself.
    fn standing(&self, server: u8, asked: &Asked) -> Vec<(&'static str, Vec<Vec<u8>>)> {
        let one = &self.servers[usize::from(server)];
        let is_importing = one.importing.is_some();
        let wants = |wanted: &str| asked.attributes.iter().any(|name| name == wanted);
        let text = |text: String| vec![text.into_bytes()];
        let is_root = asked.name.is_empty();
        let mut values = if is_root { vec![("namingContexts", text(SUFFIX.to_owned()))] } else { Vec::new() };
        match self.kind {
            Kind::OpenLdap if wants("contextCSN") && !is_importing => {
                values.push(("contextCSN", text(format!("20260302080000.{:06}Z#000000#000#000000", one.has))));
            }
            Kind::ActiveDirectory | Kind::Blind if is_root => {
                values.push(("highestCommittedUSN", text(self.count(server).to_string())));
                values.push(("dsServiceName", text(format!("CN=NTDS Settings,CN=Server {server}"))));
            }
            Kind::ActiveDirectory | Kind::Blind if wants("invocationId") => {
                values.push(("invocationId", vec![vec![one.identity; 16]]));
            }
            Kind::ActiveDirectory if wants("replUpToDateVector") && !is_importing => {
                let primary = (server > 0).then(|| (self.servers[0].identity, 1000 + one.has as u64));
                let others = one.vector.iter().map(|(id, usn)| (*id, *usn)).filter(|(id, _)| *id != 0);
                values.push(("replUpToDateVector", vec![vector(&others.chain(primary).collect::<Vec<_>>())]));
            }
            Kind::Replicated389 | Kind::Alone389 if is_root => {
                values.push(("vendorName", text("389 Project".to_owned())));
                if self.kind == Kind::Alone389 {
                    let last = if is_importing { "-1".to_owned() } else { self.count(server).to_string() };
                    values.push(("lastusn;userroot", text(last)));
                }
            }
            Kind::Replicated389 if wants("nsds50ruv") && !is_importing => {
                let last = format!("{{replica 1 ldap://a:389}} {:020x} {:020x}", 0, one.has);
                values.push(("nsds50ruv", text(last)));
            }
            _ => {}
        }
        values
    }
}
