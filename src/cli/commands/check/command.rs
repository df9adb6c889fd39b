//! `rosterd check`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::civil::Date;
use xxhash_rust::xxh3::xxh3_64;

use super::finding::{Finding, Verdict};
use super::{finding, units};
use crate::api::{
    self, Api, BudgetPlace, Certification, Client, Element, ForMembers, ForStaff, Location, Member, Membership,
    Organization, Query, Staff, Walkable, list_all,
};
use crate::approvals;
use crate::cli::args::CheckArgs;
use crate::cli::backend::startup_failure::of_account;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{Config, Job};
use crate::daemon::{StartError, client_for_command};
use crate::fault::chain;
use crate::lookup::{self, Lookup};
use crate::mapping::{Bound, Mapped, Mapping, OnBadValue};
use crate::mirror::{Elements, EntityRef, Locations};
use crate::notify::{self, ChannelTest};
use crate::push;
use crate::reconcile::{self, mapping, peek, rows};
use crate::record::{FieldKind, Key, Record, Rejected, RemoteId, Target, Value};
use crate::source::inbox::Folder;
use crate::source::{Access, Read, RefusedLogins, Row, SourceState, csv};
use crate::store::{self, Store};
use crate::text::some_of;

/// The names of locations in the sources, and what has each.
type Places = BTreeMap<String, Having>;

/// How many records have a name of a location.
#[derive(Clone, Copy, Default)]
struct Having {
    /// All of them.
    records: u64,
    /// Those of which nothing is used where the name is not known.
    whole: u64,
}

/// How many names of a source that the service does not know are listed.
const STRANGE_MAX: usize = 10;
const LOCATIONS: &str = "locations";

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &CheckArgs) -> Result<Exit, Failure> {
    let config = session::configuration(ui, host)?;
    let jobs = config.jobs.len();
    let plural = if jobs == 1 { "" } else { "s" };
    let fits = format!("{jobs} job{plural}, mapping and permissions fit");
    // Who reads lines has them before this one.
    let listed = if ui.json { format!(": {}", config.warnings.join("; ")) } else { String::new() };
    let mut findings = vec![match config.warnings.len() {
        0 => Finding::new("configuration", Verdict::Good, fits),
        1 => Finding::new("configuration", Verdict::Doubtful, format!("{fits}; 1 warning{listed}")),
        many => Finding::new("configuration", Verdict::Doubtful, format!("{fits}; {many} warnings{listed}")),
    }];
    findings.push(state_folder(&config));
    for ChannelTest { what, result } in notify::trials(&config.notify, !args.offline).await {
        findings.push(Finding::of(what, result));
    }
    if let Some(approvals) = &config.approvals {
        let tried = approvals::trials(approvals, !args.offline).await;
        findings.extend(tried.into_iter().map(|result| Finding::of("approvals", result)));
    }
    if !args.offline {
        let before = findings.len();
        #[cfg(feature = "postgres")]
        findings.extend(super::database::findings(&config, &Clock::system()));
        let can_have_state = findings[before..].iter().all(|finding| finding.verdict != Verdict::Wrong);
        let mut places = Places::new();
        let (clock, logins) = (Clock::system(), RefusedLogins::of_a_person(config.state.home.spill_dir()));
        let scratch = session::scratch(&config);
        let access = Access::of_a_person(&clock, &logins, &scratch);
        let last = if can_have_state { units::last_found(&config) } else { BTreeMap::new() };
        for job in &config.jobs {
            let joined = job_with_lookups(job, access, &mut findings);
            let job = &joined;
            let mut found = None;
            findings.push(source(job, access, &mut places, &mut found));
            findings.extend(found.and_then(|now| by_unit(job, &now, last.get(&job.name))));
        }
        config.jobs.iter().for_each(|job| findings.extend(inbox(job)));
        if can_have_state {
            if !config.api.further.is_empty() {
                ui.note("asking the service; the first time, further credentials wait for a minute");
            }
            service(&config, &places, &mut findings).await?;
        } else {
            let text = "not asked: only who has the account asks, and this database can't say who has it".to_owned();
            findings.push(Finding::new(format!("service at {}", config.api.base_url), Verdict::Doubtful, text));
        }
    }
    finding::show(ui, &findings);
    let fails = |finding: &Finding| match finding.verdict {
        Verdict::Good => false,
        Verdict::Doubtful => args.strict,
        Verdict::Wrong => true,
    };
    Ok(if findings.iter().any(fails) { Exit::Failed } else { Exit::Done })
}

/// Whether what lies on this machine can be written: the state, or beside a database what may be lost.
fn state_folder(config: &Config) -> Finding {
    let home = &config.state.home;
    let what = if home.folder().is_some() { "state folder" } else { "spill folder" };
    let fits = || home.spill_dir().display().to_string();
    Finding::of(what, home.check().map(|()| fits()).map_err(|error| chain(&error)))
}

/// Who may change more of a job's inbox than they need to.
fn inbox(job: &Job) -> Vec<Finding> {
    let folder = job.inbox.as_ref().and_then(|inbox| Folder::open(&inbox.dir).ok());
    let open = folder.map(|folder| folder.open_to_others()).unwrap_or_default();
    open.into_iter().map(|text| Finding::new(format!("inbox of {}", job.name), Verdict::Doubtful, text)).collect()
}

/// Where the entries of a directory lie.
fn by_unit(job: &Job, now: &SourceState, last: Option<&SourceState>) -> Option<Finding> {
    let SourceState::Ldap(now) = now else { return None };
    let (verdict, text) = units::compared(now, last)?;
    Some(Finding::new(format!("entries of {} by organizational unit", job.name), verdict, text))
}

/// Reads each lookup of a job to its end; the job with what they hold.
fn job_with_lookups(job: &Job, access: Access<'_>, findings: &mut Vec<Finding>) -> Job {
    let mappings: Vec<Mapping> = job.parts().map(mapping).collect();
    let mappings: Vec<&Mapping> = mappings.iter().collect();
    let mut lookups = Vec::new();
    for lookup in job.lookups.iter().filter(|own| mappings.iter().any(|mapping| mapping.names_lookup(&own.name))) {
        let loaded = lookup::load(&lookup.name, &lookup.source, &mappings, access);
        let what = format!("lookup {} of {}", lookup.name, job.name);
        let keyless = match loaded.keyless {
            0 => String::new(),
            keyless => format!(", {keyless} without a key left out"),
        };
        findings.push(match &loaded.table {
            Ok(table) => Finding::new(what, Verdict::Good, format!("{}: {} rows{keyless}", lookup.source, table.len())),
            Err(reason) => Finding::new(what, Verdict::Wrong, format!("{}: {reason}", lookup.source)),
        });
        lookups.push(Lookup { loaded: Some(Arc::new(loaded)), ..lookup.clone() });
    }
    let (organizations, memberships) = (job.organizations.clone(), job.memberships.clone());
    Job { lookups, organizations, memberships, ..job.clone() }
}

/// Reads a job's source to its end and maps it; `found` takes what the read found out.
fn source(job: &Job, access: Access<'_>, places: &mut Places, found: &mut Option<SourceState>) -> Finding {
    let what = format!("source of {}", job.name);
    let next = match peek(job, None, access.clock) {
        Ok(next) => next,
        Err(error) => return Finding::new(what, Verdict::Wrong, chain(&error)),
    };
    let inbox = next.waiting.as_ref().map(|_| format!("{}: ", next.describe())).unwrap_or_default();
    let Some(job) = next.job() else { return Finding::new(what, Verdict::Good, next.describe()) };
    let (mut fits, mut seeks) = (0u64, 0u64);
    let (mut records, mut dropped, mut rejected, mut bad_values) = (0u64, 0u64, Vec::new(), Vec::new());
    let mut sample = None;
    let mut keys = SharedKeys::default();
    let today = job.day(access.clock.now());
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        let reading = bound.read(row, Some(today));
        seeks += row.joins().len() as u64;
        fits += row.joins().iter().filter(|joined| joined.place.is_some()).count() as u64;
        bad_values.extend(reading.bad_values);
        match reading.mapped {
            Mapped::Record(record) => {
                let fields = record.fields.iter();
                for (_, value) in fields.filter(|(field, _)| is_place(job.mapping.target, field)) {
                    let mut found = |name: &str| {
                        let having = places.entry(name.to_owned()).or_default();
                        having.records += 1;
                        having.whole += u64::from(job.mapping.on_bad_value == OnBadValue::Row);
                    };
                    match value {
                        Value::Text(name) => found(name),
                        Value::List(names) => names.iter().for_each(|name| found(name)),
                        _ => {}
                    }
                }
                keys.take(&record);
                sample.get_or_insert(record.key);
                records += 1;
            }
            Mapped::Left(_) | Mapped::Dropped => dropped += 1,
            Mapped::Rejected(row) => rejected.push(row),
        }
        ControlFlow::Continue(())
    };
    let read = match rows(job, &mapping(job), access, &mut visit) {
        Ok(read) => read,
        Err(error) => return Finding::new(what, Verdict::Wrong, chain(&error)),
    };
    *found = Some(read.found.clone());
    rejected.extend(read.rejected.iter().cloned());
    for part in job.parts().filter(|part| part.name != job.name) {
        if let Err(error) = unusable(part, access, today, &mut rejected) {
            return Finding::new(what, Verdict::Wrong, chain(&error));
        }
    }
    let sample = sample.filter(|_| !job.source.has_lines());
    let such_as = sample.map(|key| format!(" (such as key {key})")).unwrap_or_default();
    let seen = format!(
        "{inbox}{}: {records} records{such_as}, {dropped} not included, {} rejected{}",
        described(job, &read),
        rejected.len(),
        match bad_values.len() {
            0 => String::new(),
            1 => ", 1 value can't be used".to_owned(),
            many => format!(", {many} values can't be used"),
        }
    );
    let seen = if seeks == 0 { seen } else { format!("{seen}, {fits} of {seeks} found in lookups") };
    if let Some(reason) = read.incomplete().first() {
        return Finding::new(what, Verdict::Wrong, format!("{seen}; incomplete: {reason}"));
    }
    let shared = keys.found();
    let seen = format!("{seen}{}", shared.as_deref().unwrap_or_default());
    match rejected.first().or(bad_values.first()) {
        None if shared.is_some() => {
            let hint = format!("`rosterd plan {}` shows what becomes of them", job.name);
            Finding::new(what, Verdict::Doubtful, format!("{seen}; {hint}"))
        }
        None => Finding::new(what, Verdict::Good, seen),
        Some(row) => {
            let mut line = match (row.line, &row.key) {
                (Some(line), _) => format!("line {line}: "),
                (None, Some(key)) => format!("key {key}: "),
                (None, None) => String::new(),
            };
            line.extend(row.field.iter().map(|field| format!("{field}: ")));
            // The others go on; but where no row can be used, the mapping is at fault.
            let verdict = if records == 0 { Verdict::Wrong } else { Verdict::Doubtful };
            Finding::new(what, verdict, format!("{seen}; {line}{}", row.reason))
        }
    }
}

/// Adds the rows that another part of a job can't use, as far as they are not among those that are known.
fn unusable(part: &Job, access: Access<'_>, today: Date, rejected: &mut Vec<Rejected>) -> Result<(), reconcile::Error> {
    let known: BTreeSet<Option<u64>> = rejected.iter().map(|row| row.line).filter(Option::is_some).collect();
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        if let Mapped::Rejected(row) = bound.read(row, Some(today)).mapped
            && !known.contains(&row.line)
        {
            rejected.push(row);
        }
        ControlFlow::Continue(())
    };
    rows(part, &mapping(part), access, &mut visit).map(drop)
}

/// The keys that several records have, with other values in each: it is not certain which of them is right.
#[derive(Default)]
struct SharedKeys {
    /// By the digest of a key: the digest of its first record, how many there are, and whether others differ.
    records: HashMap<u64, (u64, u64, bool)>,
    such_as: Option<Key>,
}

impl SharedKeys {
    fn take(&mut self, record: &Record) {
        let fields = xxh3_64(&serde_json::to_vec(&record.fields).expect("plain values"));
        let (first, count, differ) =
            self.records.entry(xxh3_64(record.key.as_str().as_bytes())).or_insert((fields, 0, false));
        *count += 1;
        if *first != fields {
            *differ = true;
            self.such_as.get_or_insert_with(|| record.key.clone());
        }
    }

    /// What was found, as a further part of a sentence.
    fn found(&self) -> Option<String> {
        let key = self.such_as.as_ref()?;
        let count: u64 = self.records.values().filter(|(_, _, differ)| *differ).map(|(_, count, _)| count).sum();
        Some(format!(", {count} of the records share keys and have other values (such as key {key})"))
    }
}

/// How a source looks.
fn described(job: &Job, read: &Read) -> String {
    let origin = if job.source.is_remote() { format!("{}, ", job.source) } else { String::new() };
    match &read.found {
        SourceState::Csv(csv::DetectedFormat { sheet: Some(sheet), columns, header_line, .. }) => {
            format!("{origin}workbook, sheet {sheet:?}, {} columns, header on line {header_line}", columns.len())
        }
        SourceState::Csv(found) => format!(
            "{origin}{}, {} columns by {}, header on line {}",
            found.encoding,
            found.columns.len(),
            csv::delimiter_name(found.delimiter),
            found.header_line
        ),
        // Nothing is remembered of a read that was not whole.
        SourceState::Ldap(found) if found.server.is_empty() => format!("{}, {} entries", job.source, read.rows),
        SourceState::Ldap(found) => {
            let bases: Vec<String> =
                found.entries.iter().map(|(base, count)| format!("{count} entries in {base}")).collect();
            let unused = found.attributes.iter().filter(|(_, count)| **count == 0).map(|(name, _)| name.as_str());
            let unused = match unused.collect::<Vec<_>>() {
                none if none.is_empty() => String::new(),
                names => format!(", none of them with {}", names.join(", ")),
            };
            let blind = match &read.span {
                Some(span) if !span.began.tells() => {
                    "; the server does not show how far it is: where it is behind another, or laid back from a copy, that can't \
                     be noticed"
                }
                _ => "",
            };
            format!("{}, {}{unused}{blind}", found.server, bases.join(", "))
        }
    }
}

/// What asks the service; where several workers share the state, as the one that has the account.
fn client(config: &Config, store: Option<&Store>, is_there: bool) -> Result<Client, StartError> {
    let clock = Clock::system();
    if let Some(store) = store {
        return client_for_command(config, store, &clock);
    }
    let mut options = config.api.clone();
    // What is asked counts with what was asked before; where there is no state nothing was, and none is made for this.
    if !is_there {
        options.send_guard = None;
        options.budget = BudgetPlace::Own;
        options.further.iter_mut().for_each(|further| further.budget = BudgetPlace::Own);
    }
    Ok(Client::new(&options, &clock)?)
}

/// Asks the service for one of everything that the jobs read; never tries a write.
async fn service(config: &Config, places: &Places, findings: &mut Vec<Finding>) -> Result<(), Failure> {
    // Where the state lies in a database, only who has the account sends: this process has it while it asks. An account that is
    // not there yet has sent nothing, and is not made for this.
    let is_there = config.state.home.exists()?;
    let shared = config.state.home.relay().filter(|_| is_there);
    let store = match shared.map(|_| reconcile::open_store(config)).transpose() {
        Ok(store) => store,
        Err(store::Error { kind: store::ErrorKind::Leased { node }, .. }) => {
            let text = format!("not asked: {node} has the account, and alone knows how much of the rate limit is used");
            findings.push(Finding::new(format!("service at {}", config.api.base_url), Verdict::Doubtful, text));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let client = match client(config, store.as_ref(), is_there) {
        Err(error @ StartError::Conflict(_)) => {
            let text = format!("not asked: {error}");
            findings.push(Finding::new(format!("service at {}", config.api.base_url), Verdict::Wrong, text));
            return Ok(());
        }
        client => client.map_err(of_account)?,
    };
    let targets: BTreeSet<Target> = config.parts().map(|part| part.mapping.target).collect();
    // An account without jobs yet is asked for its staff.
    let targets = if targets.is_empty() { BTreeSet::from([Target::Staff]) } else { targets };
    for target in &targets {
        let read = readable(&client, *target).await;
        let reached = read.is_ok();
        let read = read.map(|_| format!("the credential may read {}", target.collection()));
        findings.push(Finding::of(format!("service at {}", config.api.base_url), read.map_err(|error| chain(&error))));
        if !reached {
            return Ok(());
        }
        let further = client.further();
        // All at once: each waits for a minute where nothing is known of its last one.
        let looked = futures_util::future::join_all(further.iter().map(|further| looks(&client, further, *target)));
        for ((number, further), looked) in (1..).zip(&further).zip(looked.await) {
            findings.push(Finding::of(format!("further credential {number} ({})", further.credential()), looked));
        }
    }
    for (contractors, what) in [(false, "custom fields"), (true, "custom fields of contractors")] {
        let of = |target: Target| (target != Target::Staff) == contractors;
        let parts = config.parts().filter(|part| of(part.mapping.target));
        let fields: BTreeSet<&String> = parts.flat_map(|part| part.mapping.fields.keys()).collect();
        let titles: Vec<&str> = fields.iter().filter_map(|field| field.strip_prefix(Target::CUSTOM)).collect();
        if titles.is_empty() {
            continue;
        }
        let elements = Api::<Element>::root();
        let answered = match contractors {
            false => client.send(elements.list_for::<ForStaff>()).await,
            true => client.send(elements.list_for::<ForMembers>()).await,
        };
        let result = answered.map_err(|error| chain(&error)).and_then(|answered| {
            let elements = Elements::new(answered.value);
            let wrong = titles.iter().filter_map(|title| elements.resolve(title).err()).map(|error| error.to_string());
            let wrong: Vec<String> = wrong.collect();
            if wrong.is_empty() { Ok(format!("{} mapped, all there", titles.len())) } else { Err(wrong.join("; ")) }
        });
        findings.push(Finding::of(what, result));
    }
    let mut fields = config.parts().flat_map(|part| part.mapping.fields.keys().map(|name| (part.mapping.target, name)));
    if fields.any(|(target, name)| is_place(target, name)) {
        findings.push(match list_all(&client).await {
            Ok(locations) => known(places, locations.unwrap_or_default()),
            Err(error) => Finding::new(LOCATIONS, Verdict::Wrong, chain(&error)),
        });
    }
    Ok(())
}

/// Whether a field holds names of locations.
fn is_place(target: Target, field: &str) -> bool {
    target.field(field).is_some_and(|field| matches!(field.kind, FieldKind::Location | FieldKind::Places))
}

/// The service's locations, which those of the sources must be among: of a row with another that value is not used, or
/// nothing.
fn known(places: &Places, locations: Vec<Location>) -> Finding {
    let there = Locations::of(&locations);
    let names: Vec<String> = locations.into_iter().filter_map(|location| location.name).collect();
    let seen = format!("{}: {}", names.len(), names.join(", "));
    let strange = || places.iter().filter(|(name, _)| there.fault(name).is_some());
    let (records, whole) =
        strange().fold((0, 0), |(records, whole), (_, having)| (records + having.records, whole + having.whole));
    let fate = match whole {
        0 => "the value is not used: the field stays as it is, or empty for a new person",
        _ if whole == records => "these records will be rejected (on_bad_value = \"row\")",
        _ => "the value is not used, and where on_bad_value is \"row\" the record will be rejected",
    };
    let strange: Vec<String> = strange()
        .map(|(name, Having { records, .. })| {
            format!("{} ({records} record{})", sanitize(name), if *records == 1 { "" } else { "s" })
        })
        .collect();
    if strange.is_empty() {
        return Finding::new(LOCATIONS, Verdict::Good, seen);
    }
    let listed = some_of(strange.into_iter(), STRANGE_MAX);
    let text = format!(
        "the service has none, or several, of the name {listed}: {fate}; a table and `lookup` turn codes into \
         names; it has {seen}"
    );
    Finding::new(LOCATIONS, Verdict::Doubtful, text)
}

/// How a further credential looks: it reads, and shows what the first one shows.
async fn looks(first: &Client, further: &Client, target: Target) -> Result<String, String> {
    let shown = readable(further, target).await.map_err(|error| chain(&error))?;
    let may = format!("it may read {}", target.collection());
    let Some(id) = shown else { return Ok(may) };
    push::same_account(first, further, EntityRef { target, id, below: None }).await?;
    Ok(format!("{may}, and shows the same account"))
}

/// Asks for one entity of a target, and returns its id. For holders it is asked for the certifications.
async fn readable(client: &Client, target: Target) -> Result<Option<RemoteId>, api::Error> {
    match target {
        Target::Staff => one::<Staff>(client).await,
        Target::Contractor => one::<Member>(client).await,
        Target::Organization => one::<Organization>(client).await,
        Target::Membership => one::<Membership>(client).await,
        Target::Holder => {
            let asked = client.send(Api::<Certification>::root().list(&Query::default())).await;
            asked.map(|_| None)
        }
    }
}

async fn one<R: Walkable>(client: &Client) -> Result<Option<RemoteId>, api::Error> {
    let answered = client.send(Api::<R>::root().list(&Query::default().ascending("id").limit(1))).await?;
    Ok(answered.value.first().map(api::Entity::id))
}
