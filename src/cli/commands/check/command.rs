//! `rosterd check`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use nix::unistd::geteuid;

use super::earlier::EarlierRuns;
use super::finding::{self, Finding, Verdict};
use super::source::{Having, Places, by_unit, is_place, job_with_lookups, source};
use crate::api::{
    self, Api, BudgetPlace, Certification, Client, Element, ForMembers, ForStaff, Location, Member, Membership,
    Organization, Query, Staff, Walkable, list_all,
};
use crate::approvals;
use crate::cli::args::CheckArgs;
use crate::cli::backend::startup_failure::of_account;
use crate::cli::backend::{Backend, session};
use crate::cli::ui::{Exit, Failure, OTHER_ACCOUNT_HINT, Ui, sanitize};
use crate::clock::Clock;
use crate::config::{Config, Job};
use crate::daemon::{StartError, client_for_command};
use crate::fault::chain;
use crate::history::user_of;
use crate::mirror::{Elements, EntityRef, Locations};
use crate::notify::{self, ChannelTest};
use crate::push;
use crate::reconcile;
use crate::record::{RemoteId, Target};
use crate::source::inbox::{self, Folder};
use crate::source::{Access, RefusedLogins};
use crate::store::{self, Store};
use crate::text::some_of;

/// How many names of a source that the service does not know are listed.
const STRANGE_MAX: usize = 10;
const LOCATIONS: &str = "locations";

pub(crate) async fn run(ui: &Ui, host: &Backend, args: &CheckArgs) -> Result<Exit, Failure> {
    let (config, files) = session::configuration_and_files(ui, host)?;
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
    findings.extend(files.iter().filter_map(|file| unreadable(file)));
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
        let earlier = if can_have_state { EarlierRuns::of(&config) } else { EarlierRuns::Unknown };
        if let Some(foreign) = earlier.foreign() {
            let text = format!("{foreign}; {OTHER_ACCOUNT_HINT}");
            findings.push(Finding::new("account of the state", Verdict::Wrong, text));
        }
        let unconfigured = earlier.unconfigured().iter().filter(|_| earlier.foreign().is_none());
        findings.extend(unconfigured.map(|job| Finding::new("people", Verdict::Doubtful, job.to_string())));
        for job in &config.jobs {
            let joined = job_with_lookups(job, access, &mut findings);
            let job = &joined;
            let mut found = None;
            findings.push(source(job, (access, earlier.found(&job.name)), &mut places, &mut found));
            findings.extend(found.and_then(|now| by_unit(job, &now, earlier.found(&job.name))));
        }
        config.jobs.iter().for_each(|job| findings.extend(inbox(job, &earlier)));
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

/// That the account of the daemon may not read a file, which root has read: a daemon that is this account from its start can't.
fn unreadable(path: &Path) -> Option<Finding> {
    let is_denied = File::open(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    is_denied.then(|| {
        let (shown, user) = (path.display(), own_name());
        let text = format!(
            "root may read {shown}, and the account {user} may not: under systemd, where the daemon is {user} from its start, it can't \
             start; `chown {user} {shown}`"
        );
        Finding::new("configuration", Verdict::Doubtful, text)
    })
}

/// The account of this process, as commands take it.
fn own_name() -> String {
    let number = geteuid().as_raw();
    user_of(number).unwrap_or_else(|| number.to_string())
}

/// Whether what lies on this machine can be written: the state, or beside a database what may be lost.
fn state_folder(config: &Config) -> Finding {
    let home = &config.state.home;
    let what = if home.folder().is_some() { "state folder" } else { "spill folder" };
    let fits = || home.spill_dir().display().to_string();
    Finding::of(what, home.check().map(|()| fits()).map_err(|error| chain(&error)))
}

/// Whether a job's inbox is what runs have used, where that is known, and who may change more of it than they need to.
fn inbox(job: &Job, earlier: &EarlierRuns) -> Vec<Finding> {
    let Some(options) = &job.inbox else { return Vec::new() };
    let before = earlier.inbox(&job.name, &options.dir);
    let finding = |verdict, text| Finding::new(format!("inbox of {}", job.name), verdict, text);
    match Folder::open_known(&options.dir, before.unwrap_or_default()) {
        Err(error @ inbox::Error::Unmarked(_)) => vec![finding(Verdict::Wrong, chain(&error))],
        // What is read of the source has said so.
        Err(_) => Vec::new(),
        Ok(folder) => {
            let is_doubtful = before.is_none() && !folder.is_marked();
            let unmarked = "it has no processed/: no run has used it yet, or its share is not mounted".to_owned();
            let doubts = is_doubtful.then_some(unmarked).into_iter().chain(folder.open_to_others());
            let mut findings: Vec<Finding> = doubts.map(|text| finding(Verdict::Doubtful, text)).collect();
            let (path, user) = (options.dir.display(), own_name());
            if folder.is_closed_to_own_account() {
                let text = format!(
                    "the account {user} may not write to {path}: what is read there can't be filed, and no one gets a report; \
                     `chown {user} {path}`"
                );
                findings.insert(0, finding(Verdict::Wrong, text));
            } else if let Some(group) = folder.strange_group() {
                let text = format!(
                    "{path} is for the group {group}, and the account {user} is not in it: files that only that group may read are \
                     refused, and it can't read the reports; `usermod -aG {group} {user}`, then start rosterd again"
                );
                findings.push(finding(Verdict::Doubtful, text));
            }
            findings
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
        findings.push(Finding::of(format!("service at {}", config.api.base_url), read.map_err(|error| unread(&error))));
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

/// Why a list can't be read. Each account has these lists, so where there is none the address is another one's.
fn unread(error: &api::Error) -> String {
    let is_nowhere = matches!(error.kind, api::ErrorKind::Status { code: 404, .. });
    let hint = if is_nowhere { "; check base_url" } else { "" };
    chain(error) + hint
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
