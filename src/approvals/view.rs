//! What the pages show, as plain data for their templates.

use crate::text::clock_time;
use reqwest::Url;
use serde::{Deserialize, Deserializer, Serialize};

use super::about::About;
use super::access::{Allowed, Rights};
use crate::config::{Job, Right};
use crate::operator::{ChosenKey, HeldChange, HeldSet};
use crate::reconcile::{self, JobState, Pause, PauseScope, RecentRuns};
use crate::record::{Action, Key, Value, reveal};
use crate::store::{self, Store};
use crate::web::chart;

/// Changes on one page.
const CHANGES_MAX: usize = 500;
/// Reasons that the first page lists of a job.
const REASONS_MAX: usize = 10;
const HIDDEN: &str = "***";
const NOTHING: &str = "(empty)";

/// A job as the first page shows it.
#[derive(Serialize)]
pub(super) struct JobRow {
    name: String,
    held: usize,
    set: u64,
    /// Why, and how many each; empty for who may not see that.
    reasons: Vec<(String, usize)>,
    /// When the run ended after which it was so.
    since: Option<String>,
    paused: Option<String>,
    /// Whether it is paused by itself: who may pause it lets it go on. A pause of all jobs is lifted at the terminal.
    is_paused_alone: bool,
    may: May,
}

/// What someone may do with a job.
#[derive(Clone, Copy, Serialize)]
pub(super) struct May {
    see: bool,
    approve: bool,
    reject: bool,
    pause: bool,
}

/// What a job holds, as its page shows it.
#[derive(Serialize)]
pub(super) struct HeldPage {
    job: String,
    about: About,
    pub(super) set: u64,
    pub(super) digest: String,
    /// How many changes are held, and how many of them can be decided on.
    held: usize,
    open: usize,
    leavers: usize,
    /// What all of it does, a line for each kind.
    summary: Vec<String>,
    /// The last runs of the job, drawn.
    chart: String,
    /// When the last of them ended, and how.
    last: Option<(String, &'static str)>,
    groups: Vec<ReasonGroup>,
    /// What a key or a name is to hold, and how many changes that are; empty for all.
    sought: String,
    /// The same in an address.
    query: String,
    found: usize,
    /// Which part of the changes this is, of how many.
    page: usize,
    pages: usize,
    paused: Option<String>,
    may: May,
}

/// Changes that wait for the same.
#[derive(Serialize)]
struct ReasonGroup {
    reason: String,
    changes: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    key: String,
    /// What its tick says.
    tick: String,
    /// The key in an address.
    query: String,
    name: Option<String>,
    action: &'static str,
    leaves: bool,
    is_open: bool,
    fields: Vec<FieldRow>,
    /// Whether a value is hidden that could be shown.
    hides: bool,
}

#[derive(Serialize)]
struct FieldRow {
    name: String,
    from: String,
    to: String,
}

/// Which part of what is held someone asks for.
#[derive(Clone, Default, Deserialize)]
pub(super) struct PageQuery {
    #[serde(default, deserialize_with = "number")]
    page: Option<usize>,
    q: Option<String>,
}

/// A number; none where there is none, or something else.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    Ok(String::deserialize(deserializer)?.parse().ok())
}

impl PageQuery {
    pub(super) fn new(page: Option<usize>, q: Option<String>) -> Self {
        Self { page, q }
    }

    fn sought(&self) -> &str {
        self.q.as_deref().map(str::trim).unwrap_or_default()
    }

    fn query(&self) -> String {
        query(&[("q", self.sought())])
    }

    /// The changes that are sought: their key or their name holds the text, whatever the case.
    fn found<'a>(&self, set: &'a HeldSet) -> Vec<&'a HeldChange> {
        let sought = self.sought().to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&sought);
        let has = |change: &&HeldChange| holds(change.key.as_str()) || change.name.as_deref().is_some_and(holds);
        set.changes.iter().filter(has).collect()
    }
}

/// Whose hidden values are shown.
pub(super) enum Revealed {
    None,
    One(Key),
    All,
}

impl May {
    pub(super) fn of(rights: &Rights) -> Self {
        Self {
            see: rights.allow(Right::See),
            approve: rights.allow(Right::Approve),
            reject: rights.allow(Right::Reject),
            pause: rights.allow(Right::Pause),
        }
    }
}

/// The row of a job.
pub(super) fn job_row(store: &Store, job: &Job, rights: &Rights) -> Result<JobRow, store::Error> {
    let may = May::of(rights);
    let mut reasons: Vec<(String, usize)> = Vec::new();
    let (mut held, mut set) = (0, 0);
    for part in job.parts() {
        for change in reconcile::held(store, &part.name)?.into_values() {
            held += 1;
            // The first page names no person, not even by key.
            let reason = crate::record::redact(&change.reason.to_string());
            let known = reasons.iter().position(|(other, _)| *other == reason);
            match known {
                Some(at) => reasons[at].1 += 1,
                None if reasons.len() < REASONS_MAX => reasons.push((reason, 1)),
                None => {}
            }
        }
        set += JobState::load(store, &part.name)?.held_set;
    }
    if !may.see {
        reasons.clear();
    }
    let last = JobState::load(store, &job.name)?.last;
    let since = last.filter(|_| held > 0).map(|last| time(job, last.ended));
    let pauses = pauses(store, job);
    let is_paused_alone = pauses.iter().any(|pause| matches!(pause.scope, PauseScope::Job(_)));
    let name = job.name.to_string();
    Ok(JobRow { name, held, set, reasons, since, paused: paused(job, pauses), is_paused_alone, may })
}

/// The page of what a job holds.
pub(super) fn held_page(
    store: &Store,
    allowed: &Allowed,
    set: &HeldSet,
    part: &PageQuery,
    revealed: &Revealed,
) -> Result<HeldPage, store::Error> {
    let job = allowed.job();
    let recent = RecentRuns::load(store, &job.name)?;
    let found = part.found(set);
    let pages = found.len().div_ceil(CHANGES_MAX).max(1);
    let page = part.page.unwrap_or(1).clamp(1, pages);
    let mut groups: Vec<ReasonGroup> = Vec::new();
    for change in found.iter().skip((page - 1) * CHANGES_MAX).take(CHANGES_MAX) {
        let (reason, row) = (reveal(&change.reason).into_owned(), Row::of(job, change, revealed));
        match groups.iter_mut().find(|group| group.reason == reason) {
            Some(group) => group.changes.push(row),
            None => groups.push(ReasonGroup { reason, changes: vec![row] }),
        }
    }
    Ok(HeldPage {
        job: job.name.to_string(),
        about: About::load(store, &allowed.config, job)?,
        set: set.number,
        digest: set.digest(),
        held: set.changes.len(),
        open: set.changes.iter().filter(|change| change.is_open()).count(),
        leavers: set.leavers(|_| true),
        summary: set.summary().lines(|field| !set.changes.iter().any(|change| change.target.is_sensitive(field))),
        chart: if recent.iter().len() > 1 { chart(&recent.bars(|at| time(job, at))) } else { String::new() },
        last: recent.iter().last().map(|run| (time(job, run.ended), run.status.name())),
        groups,
        sought: part.sought().to_owned(),
        query: part.query(),
        found: found.len(),
        page,
        pages,
        paused: paused(job, pauses(store, job)),
        may: May::of(&allowed.rights),
    })
}

impl Row {
    fn of(job: &Job, change: &HeldChange, revealed: &Revealed) -> Self {
        let shows = match revealed {
            Revealed::None => false,
            Revealed::One(key) => *key == change.key,
            Revealed::All => true,
        };
        let field = |field: &crate::operator::HeldField| {
            let hidden = field.sensitive && !shows;
            FieldRow { name: field.name.clone(), from: shown(&field.from, hidden), to: shown(&field.to, hidden) }
        };
        let fields: Vec<FieldRow> = change.fields.iter().map(field).collect();
        Self {
            key: change.key.as_str().to_owned(),
            tick: ChosenKey::text(job, &change.part, &change.key),
            query: query(&[("key", change.key.as_str())]),
            name: change.name.clone(),
            action: change.action.map_or("mend", Action::name),
            leaves: change.leaves,
            is_open: change.is_open(),
            hides: fields.iter().any(|field| field.from == HIDDEN || field.to == HIDDEN),
            fields,
        }
    }
}

/// The query of an address.
fn query(values: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("x:", values);
    url.ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

/// A value as a page shows it.
pub(super) fn shown(value: &Value, is_hidden: bool) -> String {
    match value {
        value if value.is_empty() => NOTHING.to_owned(),
        _ if is_hidden => HIDDEN.to_owned(),
        value => value.shown(),
    }
}

/// The pauses that stop a job.
pub(super) fn pauses(store: &Store, job: &Job) -> Vec<Pause> {
    let mut pauses = reconcile::pauses(store.home()).unwrap_or_default();
    pauses.retain(|pause| pause.scope.stops(&job.name));
    pauses
}

/// Why nothing of a job is sent, in words for people without a shell.
pub(super) fn paused(job: &Job, pauses: Vec<Pause>) -> Option<String> {
    let each = pauses.into_iter().map(|pause| {
        let by = pause.note.map(|note| format!(" since {} by {}", time(job, note.since), note.by)).unwrap_or_default();
        match pause.scope {
            PauseScope::Job(_) => format!("paused{by}"),
            PauseScope::All => format!("all jobs are paused{by}; who keeps rosterd lets them go on"),
            PauseScope::Alarm => format!("all jobs are stopped{by}; who keeps rosterd has to look at why"),
        }
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// A time in the zone of a job.
pub(super) fn time(job: &Job, at: jiff::Timestamp) -> String {
    clock_time(at, &job.time_zone)
}
