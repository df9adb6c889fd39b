//! A directory as it looks without a mapping, for a first configuration.

use std::collections::BTreeMap;

use super::attribute::IDENTITIES;
use super::code;
use super::entry::RawEntry;
use super::error::{Error, LdapErrorKind};
use super::look::{entries, look};
use super::options::{Options, SearchScope, Server};
use super::session::{Search, Session, SessionFault};
use crate::clock::Clock;
use crate::source::RefusedLogins;

/// How many entries are looked at with all that they have.
const SAMPLES: i32 = 50;
/// How many people are counted at most, and how many at once.
const COUNTED_MAX: usize = 10_000;
const PAGE_SIZE: i32 = 500;
/// The attributes that distinguish people from other accounts, and those that identify them.
const COUNTED: [&str; 7] = ["displayName", "givenName", "sn", "mail", "employeeID", "employeeNumber", "ipaUniqueID"];
/// The tells of Active Directory among `supportedCapabilities`.
const ACTIVE_DIRECTORY: [&str; 2] = ["1.2.840.113556.1.4.800", "1.2.840.113556.1.4.1851"];

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryFlavour {
    /// Active Directory, or what says that it is.
    ActiveDirectory,
    /// FreeIPA.
    FreeIpa,
    /// 389 Directory Server without FreeIPA.
    Directory389,
    /// OpenLDAP.
    OpenLdap,
    /// Another.
    Other,
}

impl DirectoryFlavour {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ActiveDirectory => "Active Directory",
            Self::FreeIpa => "FreeIPA",
            Self::Directory389 => "389 Directory Server",
            Self::OpenLdap => "OpenLDAP",
            Self::Other => "an LDAP server",
        }
    }

    /// Who is a person there.
    pub fn filter(self) -> &'static str {
        match self {
            Self::ActiveDirectory => "(&(objectCategory=person)(objectClass=user))",
            Self::FreeIpa => "(objectClass=person)",
            _ => "(objectClass=inetOrgPerson)",
        }
    }

    /// Who of them is counted: no disabled accounts, where the server can tell.
    fn counted(self) -> &'static str {
        match self {
            Self::ActiveDirectory => {
                "(&(objectCategory=person)(objectClass=user)(!(userAccountControl:1.2.840.113556.1.4.803:=2)))"
            }
            _ => self.filter(),
        }
    }

    /// Who of them is looked at closely: where accounts of machines lie among people, those with a name for people.
    fn sampled(self) -> &'static str {
        match self {
            Self::ActiveDirectory => "(&(objectCategory=person)(objectClass=user)(displayName=*))",
            _ => self.filter(),
        }
    }
}

/// A directory as it looks without a mapping.
#[derive(Clone)]
pub struct Probe {
    /// What kind of server it is.
    pub kin: DirectoryFlavour,
    /// The base that was looked in.
    pub base: Option<String>,
    /// How many people were looked at there.
    pub people: usize,
    /// By attribute, as the server spells it: how many of them have it.
    pub attributes: BTreeMap<String, usize>,
    /// Everybody who was counted, by name of the entry and with the attributes of interest that it has.
    pub counted: Vec<Counted>,
    /// Whether there are more people than were counted.
    pub has_more: bool,
    /// Everything that is in doubt, as sentences for a person.
    pub doubts: Vec<String>,
}

/// An entry that was counted.
#[derive(Clone)]
pub struct Counted {
    /// Its name.
    pub dn: String,
    /// Of the attributes that are counted, those that it has.
    has: Vec<&'static str>,
}

impl Counted {
    /// Whether it has an attribute; `name` is one of those that are counted.
    pub fn has(&self, name: &str) -> bool {
        self.has.contains(&name)
    }
}

/// Looks at a directory without a mapping: what it says of itself, and a sample of its people. `base` is where they are looked
/// for; without one, where the server says that its entries begin.
///
/// # Errors
///
/// The server can't be reached, or refuses the bind.
pub async fn probe(options: &Options, base: Option<&str>) -> Result<Probe, Error> {
    let server = &options.servers[0];
    let error = |fault: SessionFault| Error {
        server: server.url.clone(),
        kind: match fault {
            SessionFault::Final(kind) => kind,
            SessionFault::Gone(reason) => LdapErrorKind::Unreachable(vec![(server.url.clone(), reason)]),
        },
    };
    let mut session =
        Session::open(options, server, &RefusedLogins::unremembered(), &Clock::system()).await.map_err(error)?;
    let probe = look_around(&mut session, server, base, options).await.map_err(error);
    session.close().await;
    probe
}

async fn look_around(
    session: &mut Session,
    server: &Server,
    base: Option<&str>,
    options: &Options,
) -> Result<Probe, SessionFault> {
    let asked = ["defaultNamingContext", "namingContexts", "objectClass", "supportedCapabilities", "vendorName"];
    let (_, root) = look(session, "", &asked.map(str::to_owned)).await?;
    let mut doubts = Vec::new();
    if !server.tls && !options.start_tls && !server.is_loopback() {
        doubts.push("the connection is not encrypted; use ldaps:// or start_tls = true".to_owned());
    }
    let mut kin = root.as_ref().map_or(DirectoryFlavour::Other, kin_of);
    let found = root.as_ref().and_then(|root| {
        let named = root.texts("defaultNamingContext").into_iter().next();
        named.or_else(|| root.texts("namingContexts").into_iter().find(|suffix| suffix.to_lowercase() != "o=ipaca"))
    });
    let given = base.filter(|base| !base.is_empty()).map(str::to_owned);
    let mut base = given.clone().or_else(|| found.clone());
    if let (DirectoryFlavour::Directory389, Some(suffix)) = (kin, found.or_else(|| base.clone())) {
        let users = format!("cn=users,cn=accounts,{suffix}");
        // To an account that may read nothing there, the server answers success without an entry.
        if look(session, &users, &["1.1".to_owned()]).await?.1.is_some() {
            (kin, base) = (DirectoryFlavour::FreeIpa, given.or(Some(users)));
        }
    }
    let (attributes, counted) = (BTreeMap::new(), Vec::new());
    let mut probe = Probe { kin, base, people: 0, attributes, counted, has_more: false, doubts };
    let Some(base) = probe.base.clone() else {
        probe.doubts.push("the server does not say where its entries begin; name the base".to_owned());
        return Ok(probe);
    };
    let sure = probe.doubts.len();
    sample(session, &base, kin.sampled(), &mut probe).await?;
    if probe.people == 0 && kin.sampled() != kin.filter() {
        probe.doubts.truncate(sure);
        sample(session, &base, kin.filter(), &mut probe).await?;
    }
    if probe.people > 0 {
        count(session, &base, &mut probe).await?;
    }
    Ok(probe)
}

/// Looks at the first people below a base.
async fn sample(session: &mut Session, base: &str, filter: &str, probe: &mut Probe) -> Result<(), SessionFault> {
    let attributes: Vec<String> = ["*", "entryUUID", "nsUniqueId", "nsAccountLock"].map(str::to_owned).to_vec();
    let page = Some((SAMPLES, Vec::new()));
    let search = Search { base, scope: SearchScope::Subtree, filter, attributes: &attributes, page };
    let (done, people) = entries(session, search).await?;
    probe.people = people.len();
    for attribute in people.iter().flat_map(|entry| &entry.attributes) {
        *probe.attributes.entry(attribute.name.clone()).or_default() += 1;
    }
    match done.code {
        code::SUCCESS if probe.people > 0 => {}
        code::SUCCESS => probe.doubts.push(format!(
            "{filter} finds no entries below {base:?}; an account that may read people is needed, most likely"
        )),
        code => {
            let said = format!("{}{}", code::words(code), code::said(&done.text));
            probe.doubts.push(format!("the people below {base:?} can't be seen: {said}"));
        }
    }
    Ok(())
}

/// Counts the people below a base by what few of their attributes tell. What can't be counted is not needed either.
async fn count(session: &mut Session, base: &str, probe: &mut Probe) -> Result<(), SessionFault> {
    let names: Vec<&'static str> = COUNTED.into_iter().chain(IDENTITIES).collect();
    let attributes: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let (scope, filter) = (SearchScope::Subtree, probe.kin.counted());
    let mut cookie = Vec::new();
    while probe.counted.len() < COUNTED_MAX {
        let search = Search { base, scope, filter, attributes: &attributes, page: Some((PAGE_SIZE, cookie)) };
        let (done, found) = entries(session, search).await?;
        probe.counted.extend(found.into_iter().map(|entry| {
            let has = names.iter().copied().filter(|name| entry.values(name).next().is_some()).collect();
            Counted { dn: entry.dn, has }
        }));
        match done.cookie {
            Some(next) if done.code == code::SUCCESS && !next.is_empty() => cookie = next,
            _ if done.code == code::SUCCESS => return Ok(()),
            _ => break,
        }
    }
    probe.has_more = true;
    Ok(())
}

fn kin_of(root: &RawEntry) -> DirectoryFlavour {
    let has = |name: &str, wanted: &str| root.texts(name).iter().any(|value| value.eq_ignore_ascii_case(wanted));
    match () {
        () if ACTIVE_DIRECTORY.iter().any(|capability| has("supportedCapabilities", capability)) => {
            DirectoryFlavour::ActiveDirectory
        }
        () if has("objectClass", "OpenLDAProotDSE") => DirectoryFlavour::OpenLdap,
        () if root.texts("vendorName").iter().any(|vendor| vendor.contains("389")) => DirectoryFlavour::Directory389,
        () => DirectoryFlavour::Other,
    }
}

/// Leaves nothing of a person (law 11): names of attributes are none's.
impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").field("kin", &self.kin).field("people", &self.people).finish_non_exhaustive()
    }
}

/// Leaves nothing of a person (law 11).
impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted").field("has", &self.has).finish_non_exhaustive()
    }
}
