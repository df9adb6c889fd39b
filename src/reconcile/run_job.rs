//! One run of a job from end to end.
//!
//! Every run is made of the same steps: [`plan_parts`] works out what each part of the job wants, [`send`] sends what was
//! put into the queue of that, and [`report`] says what it came to. Which of the wanted changes go, and what is stored of
//! the rest, is the business of the run: all of them in [`run_job`], those that a person chose in a plan file, or those
//! that undo an earlier run.

use std::collections::BTreeSet;

use super::approval::{held, wrong_presence};
use super::collect::key_filter::narrowed;
use super::collect::shared_read::read_once;
use super::commit::adopt::{Adoption, adopt_rejected};
use super::commit::enqueue::{commit, left_unknown, parked};
use super::commit::index::{IndexUpdate, save_index};
use super::commit::spoilt_rows::end_earlier;
use super::dropped::last_file;
use super::leavers::{counterparts, job_limit, organization_transfers};
use super::mirrors::Mirrors;
use super::model::context::{Context, KeyFilter, Stage};
use super::model::error::Error;
use super::model::job_plan::{Block, For, JobPlan};
use super::model::job_state::JobState;
use super::model::part_draft::PartDraft;
use super::model::reason::{Reason, ReasonKind};
use super::plan::build::{Digested, draft_plan, finish_plan};
use super::plan::inputs::JobContext;
use super::plan::kept_halves;
use super::push_session::PushSession;
use super::report::job_report::{Part, Report, report};
use super::report::warnings;
use super::started_run::StartedRun;
use super::{freshness, pause};
use crate::config::Job;
use crate::mirror::Removal;
use crate::plan::HoldReason;
use crate::push::{Drained, Outcome, StopReason};
use crate::queue::{self, Change, State, Ticket};
use crate::record::{Action, JobName, Key, RemoteId, Target};
use crate::store::Store;
use crate::text::counted;

/// What a run works out plans for.
#[derive(Clone, Copy)]
pub(crate) enum Intent<'a> {
    /// To show them: nothing is stored, and only reads are sent.
    Plan(For),
    /// To send what all parts of the job want.
    Sync(&'a StartedRun),
    /// To send what one part wants; the others only share its limits.
    SyncPart(&'a StartedRun, &'a JobName),
}

impl Intent<'_> {
    /// The number of the run that sends what a part wants.
    fn run(self, part: &Job) -> Option<u64> {
        match self {
            Self::Sync(begun) => Some(begun.run),
            Self::SyncPart(begun, own) if part.name == *own => Some(begun.run),
            Self::SyncPart(..) | Self::Plan(_) => None,
        }
    }

    fn digested(self) -> Digested {
        match self {
            Self::Plan(For::File) => Digested::All,
            Self::Sync(_) => Digested::Held,
            Self::Plan(_) | Self::SyncPart(..) => Digested::Nothing,
        }
    }
}

/// One part of a job in a run: what it wants, and what became of that.
pub(crate) struct PartRun<'a> {
    pub(crate) part: &'a Job,
    pub(crate) narrow: KeyFilter,
    /// None where nothing of it is sent.
    session: Option<PushSession<'a>>,
    pub(crate) plan: JobPlan,
    /// What is queued and to be sent.
    pub(crate) tickets: Vec<Ticket>,
    /// What is wanted, and was refused by the service before: it is sent where this run takes its obstacle away.
    refused: BTreeSet<Key>,
    /// The entities that had moved when the plan was made.
    moved: BTreeSet<RemoteId>,
    drained: Drained,
    /// Why the rest of it was not sent, besides what blocks the plan.
    blocked: Vec<Reason>,
    /// What waits besides what the plan holds.
    waits: Vec<(Key, HoldReason)>,
}

/// A sync of a job.
pub(crate) async fn run_job(
    context: &Context<'_>,
    job: &Job,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
    begun: &StartedRun,
) -> Result<Report, Error> {
    let kept = match read_once(context, job) {
        Ok(kept) => kept,
        Err(error) => {
            // The presence of people that an earlier process updated is verified all the same (law 10).
            for part in job.parts() {
                PushSession::open(context, part, begun.run).await?;
            }
            return Err(error);
        }
    };
    let job = kept.as_ref().unwrap_or(job);
    let mut parts = plan_parts(context, job, mirrors, narrow, Intent::Sync(begun)).await?;
    let nothing_taken = parts.iter().any(|part| part.plan.is_nothing_taken());
    let mut left = None;
    if !nothing_taken {
        left = commit_and_send(context, job, &mut parts, mirrors).await?;
        for part in &parts {
            part.conclude(context, mirrors)?;
        }
    } else {
        let mut is_ended = false;
        for run in &parts {
            is_ended |= end_earlier(context.store, run.part, &run.plan, &run.narrow)?;
        }
        if is_ended {
            // The file before, dropped once more, says what was ended again.
            let mut state = JobState::load(context.store, &job.name)?;
            state.inbox.past.last_mut().into_iter().for_each(|last| last.clean = false);
            state.save(context.store, &job.name)?;
        }
    }
    let own = parts.iter_mut().find(|run| run.part.name == job.name && !run.narrow.is_narrow());
    let read_in_place = own.and_then(|run| run.plan.updates.read_in_place.take());
    let mut done = Vec::new();
    for run in parts {
        let job = run.part;
        let mut part = run.done(context.store)?;
        let astray = wrong_presence::hold(context.store, job, &mut part.held)?;
        part.notes.splice(0..0, astray);
        done.push(part);
    }
    let mut report = report(job, done, begun.requests(context));
    if narrow.is_narrow() && !nothing_taken {
        // It says nothing about those who were not asked for.
        report.missing = JobState::load(context.store, &job.name)?.missing;
        report.counts.missing = report.missing.as_ref().map_or(0, |missing| missing.people);
    }
    // A list that a limit holds may be a wrong one, and the right one is put back in its place.
    let is_used = report.complete && !nothing_taken && !report.held.iter().any(|(_, reason)| reason.lasts());
    if let Some(read) = read_in_place.filter(|_| is_used) {
        let state = JobState::load(context.store, &job.name)?;
        let used = Some(read.after(state.used.as_ref()));
        if used != state.used {
            JobState { used, ..state }.save(context.store, &job.name)?;
        }
    }
    report.details.nothing_taken = nothing_taken;
    report.details.judged = !nothing_taken;
    report.details.preempted = left.is_some();
    if let Some(left) = left {
        let waits = counted(left, "change waits", "changes wait");
        report.reasons.push(format!("{waits} for the next run: this one was preempted").into());
    }
    Ok(report)
}

/// Works out what each part of a job wants, once it is known what became of what an earlier process left behind; stores
/// what was learned of the service on the way, where anything is to be sent.
pub(crate) async fn plan_parts<'a>(
    context: &'a Context<'a>,
    job: &'a Job,
    mirrors: &mut Mirrors,
    narrow: &KeyFilter,
    intent: Intent<'_>,
) -> Result<Vec<PartRun<'a>>, Error> {
    let mut opened = Vec::new();
    for (part, narrow) in narrowed(context, job, narrow)? {
        let session = match intent.run(part) {
            Some(run) => Some(PushSession::open(context, part, run).await?),
            None => None,
        };
        opened.push((part, narrow, session));
    }
    mirrors.pull(context, job).await?;
    let mut drafts = Vec::new();
    for (part, filter, session) in &opened {
        drafts.push(match session {
            Some(session) => plan_after_recovery(context, (part, filter), session, mirrors, &drafts).await?,
            None => {
                let part = JobContext { context, job: part, mirrors, filter, earlier: &drafts, looks_ahead: false };
                draft_plan(part, &mut |_, _| Ok(()))?
            }
        });
    }
    job_limit::share(context, job, &mut drafts, narrow)?;
    kept_halves::keep(context.store, job, &mut drafts)?;
    let mut parts = Vec::new();
    for ((part, narrow, session), draft) in opened.into_iter().zip(drafts) {
        let plan = finish_plan(draft, mirrors, context.store, intent.digested())?;
        if session.is_some() {
            adopt_rejected(part, &plan, mirrors.of(plan.target), context.store)?;
        }
        let blocked = plan.blocked.iter().cloned().chain(paused(context, job)).collect();
        parts.push(PartRun { narrow, session, ..PartRun::of_plan(part, JobPlan { blocked, ..plan }) });
    }
    Ok(parts)
}

/// Why nothing of a job is sent, where it is paused.
pub(crate) fn paused(context: &Context<'_>, job: &Job) -> Option<Block> {
    pause::reason(context.store.home(), &job.name).map(|reason| Block::Paused(reason.text))
}

async fn plan_after_recovery(
    context: &Context<'_>,
    (part, filter): (&Job, &KeyFilter),
    session: &PushSession<'_>,
    mirrors: &mut Mirrors,
    earlier: &[PartDraft],
) -> Result<PartDraft, Error> {
    let store = context.store;
    let unknown = left_unknown(store, part)?;
    let mirror = mirrors.of_mut(part.mapping.target);
    let unclear = if unknown.is_empty() { Vec::new() } else { session.push().recover(mirror, unknown).await? };
    let mut adoption = Adoption::new(part, store);
    let mut draft = draft_plan(
        JobContext { context, job: part, mirrors, filter, earlier, looks_ahead: false },
        &mut |key, known| adoption.take(key, known),
    )?;
    // Whether an earlier request made them is not known.
    unclear.into_iter().for_each(|(key, reason)| draft.changes.hold_record(key, reason));
    counterparts::keep_absent(context, &mut draft).await?;
    adoption.end()?;
    mirrors.save(store, part)?;
    Ok(draft)
}

/// Puts on disk what the parts want, and sends it unless they are paused. Returns how many changes wait for the next run,
/// where this one was preempted.
async fn commit_and_send(
    context: &Context<'_>,
    job: &Job,
    parts: &mut [PartRun<'_>],
    mirrors: &mut Mirrors,
) -> Result<Option<usize>, Error> {
    let store = context.store;
    // The job itself comes last: once it has run, a part that has not is new to it.
    let (own, others): (Vec<_>, Vec<_>) = parts.iter_mut().partition(|run| run.part.name == job.name);
    for run in others.into_iter().chain(own) {
        let PartRun { part, plan, narrow, .. } = run;
        let committed = commit(store, part, plan, narrow)?;
        (run.tickets, run.refused, run.waits) = (committed.tickets, committed.refused, committed.waits);
        plan.notes.extend(committed.notes);
        if part.name == job.name && job.inbox.is_none() && !narrow.is_narrow() {
            freshness::note(context, job, &plan.updates.content)?;
            last_file::leave_inbox(store, job)?;
        }
    }
    for run in &mut *parts {
        run.moved = mirrors.of(run.plan.target).changed().clone();
    }
    if parts.iter().any(|run| run.plan.is_paused()) {
        let count: usize = parts.iter().map(|part| part.tickets.len()).sum();
        if let Some(own) = parts.iter_mut().find(|run| run.part.name == job.name && count > 0) {
            own.blocked.push(counted(count, "change waits", "changes wait").into());
        }
        return Ok(None);
    }
    send(context, job, parts, mirrors).await?;
    for run in &mut *parts {
        run.drained.notes.extend(warnings::notes(context.client, store, run.part, &run.drained)?);
    }
    let will_resume = context.watch.will_resume();
    let preempted = |run: &mut PartRun<'_>| run.drained.excuse(|reason| *reason == StopReason::Interrupted);
    let left: Vec<usize> =
        parts.iter_mut().filter(|_| will_resume).filter_map(preempted).map(|(_, left)| left).collect();
    Ok((!left.is_empty()).then(|| left.into_iter().sum()))
}

/// Sends what the parts of a job want: who leaves first, what joins two before the two; then each part in its order, so
/// that what another refers to is there before it. A membership that ends for another ends after that one is there.
pub(crate) async fn send(
    context: &Context<'_>,
    job: &Job,
    parts: &mut [PartRun<'_>],
    mirrors: &mut Mirrors,
) -> Result<(), Error> {
    let all = || parts.iter().flat_map(|part| &part.tickets);
    let (changes, requests) = (all().count(), all().map(Ticket::requests).sum());
    context.watch.stage(&job.name, Stage::Sending { changes, requests });
    let ends: Vec<Vec<Ticket>> =
        parts.iter_mut().map(|run| organization_transfers::take_ends(&run.plan, &mut run.tickets)).collect();
    if let [run] = &mut *parts {
        let tickets = std::mem::take(&mut run.tickets);
        run.drain(mirrors, tickets).await?;
    } else {
        for run in parts.iter_mut().rev() {
            let leaving = run.tickets.extract_if(.., |ticket| ticket.action == Action::Delete).collect();
            run.drain_any(mirrors, leaving).await?;
        }
        for run in &mut *parts {
            let others = std::mem::take(&mut run.tickets);
            run.drain_any(mirrors, others).await?;
        }
    }
    for (run, ends) in parts.iter_mut().zip(ends) {
        let ready = organization_transfers::ready(&run.plan, ends, &mut run.drained);
        run.drain_any(mirrors, ready).await?;
        run.drain_freed(mirrors, context.store).await?;
        // A push that a pause ended waits: nothing failed.
        if let Some((pause, _)) = run.drained.excuse(|reason| matches!(reason, StopReason::Paused(_))) {
            run.blocked.push(ReasonKind::Paused.because(pause.to_string()));
        }
        run.wait(context.store)?;
    }
    Ok(())
}

impl<'a> PartRun<'a> {
    /// A part of which nothing is sent yet.
    fn of_plan(part: &'a Job, plan: JobPlan) -> Self {
        let (narrow, drained) = (KeyFilter::default(), Drained::default());
        Self {
            part,
            narrow,
            session: None,
            plan,
            tickets: Vec::new(),
            refused: BTreeSet::new(),
            moved: BTreeSet::new(),
            drained,
            blocked: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// A part of which these changes are sent, whatever its source says.
    pub(crate) fn of_tickets(session: PushSession<'a>, part: &'a Job, plan: JobPlan, tickets: Vec<Ticket>) -> Self {
        Self { session: Some(session), tickets, ..Self::of_plan(part, plan) }
    }

    async fn drain_any(&mut self, mirrors: &mut Mirrors, tickets: Vec<Ticket>) -> Result<(), Error> {
        if tickets.is_empty() { Ok(()) } else { self.drain(mirrors, tickets).await }
    }

    async fn drain(&mut self, mirrors: &mut Mirrors, tickets: Vec<Ticket>) -> Result<(), Error> {
        let session = self.session.as_mut().expect("only parts with a session are sent");
        let drained = session.push().drain(mirrors.of_mut(self.plan.target), &self.part.name, tickets).await?;
        // It has looked at the presence of people once more.
        session.unlooked = None;
        self.drained.add(drained);
        Ok(())
    }

    /// Sends what the service refused, in this run or before, where a write of this run took its obstacle away.
    async fn drain_freed(&mut self, mirrors: &mut Mirrors, store: &Store) -> Result<(), Error> {
        let parked = self.drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::Parked);
        self.refused.extend(parked.map(|(key, ..)| key.clone()));
        while !self.refused.is_empty() {
            let refused: Vec<Key> = self.refused.iter().cloned().collect();
            let mut freed = queue::of(store, &self.part.name, &refused)?;
            freed.retain(|change| change.state == State::Waiting);
            if freed.is_empty() {
                break;
            }
            let keys: BTreeSet<&Key> = freed.iter().map(|change| &change.key).collect();
            self.refused.retain(|key| !keys.contains(key));
            self.drained.outcomes.retain(|(key, ..)| !keys.contains(key));
            self.drain(mirrors, freed.iter().map(Change::ticket).collect()).await?;
        }
        Ok(())
    }

    /// Keeps those as held who wait for something else than a person.
    fn wait(&self, store: &Store) -> Result<(), Error> {
        let on_site = self.drained.outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::OnSite);
        held::wait(store, &self.part.name, on_site.map(|(key, _, _)| key), &HoldReason::OnSite)?;
        for (key, _, outcome) in &self.drained.outcomes {
            if let Outcome::Waits(reason) = outcome {
                held::wait(store, &self.part.name, std::iter::once(key), reason)?;
            }
        }
        Ok(())
    }

    /// Remembers which rows need nothing any more, and which leavers stay.
    fn conclude(&self, context: &Context<'_>, mirrors: &Mirrors) -> Result<(), Error> {
        let Self { part, plan, moved, drained, .. } = self;
        save_index(context.store, &IndexUpdate { job: part, mirror: mirrors.of(plan.target), moved, plan, drained })?;
        held::wait(context.store, &part.name, plan.protected.iter(), &HoldReason::Protected)?;
        for (key, reason) in &plan.moving {
            held::wait(context.store, &part.name, std::iter::once(key), reason)?;
        }
        Ok(())
    }

    /// The same as a run reports it that sends chosen changes only.
    pub(crate) fn of_chosen(self) -> Self {
        Self { plan: self.plan.of_chosen(), ..self }
    }

    /// What it came to.
    pub(crate) fn done(self, store: &Store) -> Result<Part, Error> {
        let held = self.plan.held.iter().map(|held| (held.key.clone(), held.reason.clone())).chain(self.waits);
        Ok(Part {
            held: held.collect(),
            blocked: self.plan.blocked.iter().map(Block::reason).chain(self.blocked).collect(),
            notes: self.session.and_then(|session| session.unlooked).into_iter().collect(),
            plan: self.plan,
            drained: self.drained,
            parked: parked(store, self.part)?,
        })
    }
}

/// Forgets removals that are too old to matter.
pub(crate) fn prune(context: &Context<'_>) -> Result<(), Error> {
    for target in Target::ALL {
        Removal::prune(context.store, *target, context.now_for_leavers())?;
    }
    Ok(())
}
