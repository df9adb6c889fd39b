//! What is known of the members of memberships when it is judged which memberships end.
//!
//! A pair that vanishes from the source ends its membership if the person is still there. If the person leaves too,
//! their memberships follow the person: only a person who is removed loses them. One who goes to another job of contractors
//! takes them along.

use std::collections::{BTreeMap, BTreeSet};

use super::organization_transfers::{self, NewMemberships};
use crate::config::{Config, Job, Mode};
use crate::mirror::Mirror;
use crate::plan::{Judged as _, LeaverAction, Present, Verdict};
use crate::queue;
use crate::reconcile::approval::held::{HELD, decisions};
use crate::reconcile::collect::collected_rows::CollectedRows;
use crate::reconcile::collect::collector::Collector;
use crate::reconcile::collect::rows;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::candidate::Statement;
use crate::reconcile::model::change_spill::ChangeSpill;
use crate::reconcile::model::context::{Context, KeyFilter};
use crate::reconcile::model::due_pairs::DuePairs;
use crate::reconcile::model::error::Error;
use crate::reconcile::model::job_state::JobState;
use crate::reconcile::model::kept_record::LATER;
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::{Action, Day, DesiredState, Entity, JobName, Key, RemoteId, Target};
use crate::snapshot::{Index, Owner, SYNCED, SyncedRecord};
use crate::store::{self, Store};

/// What is known of the members of memberships.
pub(crate) struct Memberships<'a> {
    /// Whether those who leave are removed.
    are_removed: bool,
    /// Who is gone; none where that is not known of everybody.
    gone: Option<&'a BTreeSet<Key>>,
    /// Those whose own rows say that they are gone.
    stated: Option<&'a BTreeSet<Key>>,
    /// People who are gone but not removed.
    staying: BTreeSet<&'a Key>,
    /// Members who are gone by a row that names another person, which waits for a decision.
    unsure: BTreeSet<&'a Key>,
    /// The lines of all rows that say that a membership is over and name another person.
    misnamed: Option<&'a BTreeSet<u64>>,
    /// Those that another job takes over.
    handed_over: Option<&'a BTreeSet<Key>>,
    /// The entities of those that this run found at the service.
    found: BTreeSet<RemoteId>,
    /// The people at the service.
    members: &'a Mirror,
    store: &'a Store,
    config: &'a Config,
    /// The job as a whole.
    whole: JobName,
    pairs: PairsRead<'a>,
}

/// What a read says of the pairs of members and organizations.
#[derive(Clone, Copy)]
pub(crate) struct PairsRead<'a> {
    /// Memberships that begin.
    pub(crate) begun: &'a NewMemberships,
    /// What the part knows of memberships.
    pub(crate) index: &'a Index,
    /// Which of those are in the read.
    pub(crate) seen: &'a Present,
}

/// Whose a membership is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// This job's, which may end it, also where its member belongs to another job that does not have the pair.
    Own,
    /// It is on its way to another job with its member.
    Open,
    /// Another job's, or that of no one: this one may no longer end it.
    OfAnother,
}

impl<'a> Memberships<'a> {
    /// Of the members of `part`, where that is the memberships of a job; `own` is the part of its people.
    pub(crate) fn of(
        context: &Context<'a>,
        part: &Job,
        mirrors: &'a Mirrors,
        own: Option<&'a PartDraft>,
        pairs: PairsRead<'a>,
    ) -> Option<Self> {
        if part.mapping.target != Target::Membership {
            return None;
        }
        let whole = part.name.root();
        let action = context.config.part(&whole).map(|job| job.leavers.action);
        Some(Self {
            are_removed: action == Some(LeaverAction::Delete),
            gone: own.and_then(|own| own.results.gone.as_ref()),
            stated: own.map(|own| &own.results.stated),
            staying: own
                .map(|own| {
                    let waits = own.rest.protected.iter().chain(own.rest.moving.iter().map(|(key, _)| key));
                    // Nothing removes them: they are protected, or a person rejected it.
                    let stay = own.rest.missed.iter().filter(|one| one.due.is_none()).map(|one| &one.key);
                    let rejected = own.changes.rejected.iter().filter(|one| one.leaves()).map(|one| &one.key);
                    let doubted = own.results.claimed.iter().chain(own.results.doubts.keys());
                    waits.chain(stay).chain(rejected).chain(doubted).collect()
                })
                .unwrap_or_default(),
            unsure: own
                .into_iter()
                .flat_map(|own| &own.changes.held)
                .filter(|held| held.reason.is_of_doubtful_row())
                .map(|held| &held.key)
                .collect(),
            misnamed: own.map(|own| &own.results.misnamed),
            handed_over: own.map(|own| &own.results.handed_over),
            found: own.into_iter().flat_map(|own| own.results.found.values().copied()).collect(),
            members: mirrors.get(Target::Contractor)?,
            store: context.store,
            config: context.config,
            whole,
            pairs,
        })
    }

    /// Whether a membership ends that is gone from the source, or whose row says so (`is_stated`), which counts in any read.
    pub(crate) fn may_end(&self, known: &SyncedRecord, is_stated: bool) -> bool {
        let Some(member) = organization_transfers::member(&known.sent) else { return false };
        let is_gone = match (self.gone, self.stated) {
            (Some(gone), _) => gone.contains(&member),
            (None, Some(stated)) if is_stated => stated.contains(&member),
            (None, _) => return false,
        };
        let is_unsure = !is_stated && self.pairs.begun.is_unsure(&member);
        (self.are_removed || !is_gone)
            && !self.staying.contains(&member)
            && !is_unsure
            && !self.is_of_doubtful_row(known)
    }

    /// Whether its member is gone by a row that names another person: what that row says of a membership is remembered as little as
    /// what it says of its member.
    pub(crate) fn is_of_doubtful_row(&self, known: &SyncedRecord) -> bool {
        organization_transfers::member(&known.sent).is_some_and(|member| self.unsure.contains(&member))
    }

    /// Whether the row on a line names another person than its member: it may be about a membership of theirs.
    pub(crate) fn is_misnamed(&self, line: u64) -> bool {
        self.misnamed.is_some_and(|lines| lines.contains(&line))
    }

    /// Whose a membership is by now that is gone from the source.
    pub(crate) fn standing(&self, known: &SyncedRecord, shown: &Entity) -> Result<Standing, store::Error> {
        let part = self.whole.part(Target::Membership);
        if Owner::of(self.store, Target::Membership, known.id)?.is_some_and(|owner| owner.job != part) {
            return Ok(Standing::OfAnother);
        }
        let member = organization_transfers::member(&known.sent);
        if member.is_some_and(|member| self.handed_over.is_some_and(|all| all.contains(&member))) {
            return Ok(Standing::Open);
        }
        let id = shown.linked(Target::MEMBER);
        let Some(id) = id.filter(|id| !self.found.contains(id)) else { return Ok(Standing::Own) };
        let owner = Owner::of(self.store, Target::Contractor, id)?;
        Ok(match owner {
            // The other job has not taken the person over yet, or does not know where they are.
            Some(owner)
                if owner.offers_to(self.store)?.is_some()
                    || self.is_unsure_elsewhere(&owner)?
                    || self.is_unjoined_elsewhere(&owner)? =>
            {
                Standing::Open
            }
            Some(_) => Standing::Own,
            None if self.members.get(self.store, id)?.is_some() => Standing::Open,
            None => Standing::OfAnother,
        })
    }

    /// Whether the person belongs to another job by now, of whose rows it is not known what all of them say.
    fn is_unsure_elsewhere(&self, owner: &Owner) -> Result<bool, store::Error> {
        let other = owner.job.root();
        if other == self.whole {
            return Ok(false);
        }
        let state = JobState::load(self.store, &other)?;
        // A run of an inbox without a file read nothing, and says nothing of the rows of the file before it.
        let is_cut = state.last.is_some_and(|last| !last.complete && last.counts.records > 0);
        Ok(is_cut || state.rejected.count > 0)
    }

    /// Whether the person belongs to another job by now, which has no membership of theirs at the service so far: without any, no one
    /// can sign in there.
    fn is_unjoined_elsewhere(&self, owner: &Owner) -> Result<bool, store::Error> {
        let part = owner.job.root().part(Target::Membership);
        if owner.job.root() == self.whole || self.config.part(&part).is_none() {
            return Ok(false);
        }
        let mut is_joined = false;
        SYNCED.each_of(self.store, &part, &owner.key.membership_head(), |_, known: SyncedRecord| {
            is_joined |= known.stays();
        })?;
        Ok(!is_joined)
    }

    /// The membership that took the place of one that is gone from the source.
    pub(crate) fn successor(&self, known: &SyncedRecord) -> Option<Key> {
        self.pairs.begun.successor(known, self.pairs.index, self.pairs.seen)
    }
}

/// Those of `left` with a membership that is not over, in a list of everybody: the row that says that one is over is about one of
/// several, and the last one that ends makes a leaver.
pub(crate) fn still_joined(
    context: &Context<'_>,
    job: &Job,
    left: &BTreeMap<Key, Statement>,
) -> Result<BTreeSet<Key>, Error> {
    let of_list = |_: &&Job| job.mode == Mode::Full && !left.is_empty();
    let Some(memberships) = job.memberships.as_deref().filter(of_list) else { return Ok(BTreeSet::new()) };
    let is_left = |pair: &Key| pair.member().is_some_and(|member| left.contains_key(&member));
    let open = OpenPairs::load(context, memberships)?;
    if !open.standing().any(is_left) {
        return Ok(BTreeSet::new());
    }
    let (_, standing) = read_pairs(context, memberships, &open)?;
    Ok(standing.iter().filter(|pair| is_left(pair)).filter_map(Key::member).collect())
}

/// What the pairs of a job of changes come to today; none where it has none.
pub(crate) fn due_pairs(context: &Context<'_>, job: &Job) -> Result<Option<DuePairs>, Error> {
    let Some(memberships) = job.memberships.as_deref().filter(|_| job.mode == Mode::Changes) else { return Ok(None) };
    let open = OpenPairs::load(context, memberships)?;
    let (read, standing) = read_pairs(context, memberships, &open)?;
    let standing: BTreeSet<Key> = standing.iter().filter_map(Key::member).collect();
    let over = read.left.iter().filter(|(_, statement)| statement.line == 0);
    let ended = over.filter_map(|(pair, _)| pair.member()).collect();
    let mut without: BTreeSet<Key> =
        read.left.keys().chain(&open.ending).chain(read.early_keys()).filter_map(Key::member).collect();
    LATER.each_id(context.store, &memberships.name, |pair| {
        without.extend(pair.member());
        Ok(())
    })?;
    without.retain(|member| !standing.contains(member));
    let mut named = BTreeSet::new();
    for pair in read.candidates.iter().map(|one| &one.key) {
        let is_open = open.known.contains(pair) || open.begun.contains(pair);
        if !is_open && queue::DECISIONS.get(context.store, &memberships.name, pair)?.is_none() {
            named.extend(pair.member());
        }
    }
    let unreadable = read.rejected.iter().filter(|row| row.key.is_none()).filter_map(|row| row.line).collect();
    Ok(Some(DuePairs { standing, without, ended, named, unreadable }))
}

/// The pairs of members and organizations before a read.
#[derive(Default)]
struct OpenPairs {
    known: BTreeSet<Key>,
    /// Those that begin once they are decided on or sent.
    begun: BTreeSet<Key>,
    /// Those that end once they are sent.
    ending: BTreeSet<Key>,
}

impl OpenPairs {
    fn load(context: &Context<'_>, memberships: &Job) -> Result<Self, Error> {
        let (store, name) = (context.store, &memberships.name);
        let mut open = Self::default();
        // What is held to end is not decided on, and a read that still says so says it. What waits since its row may be about another
        // company was said all the same: it makes no leaver.
        HELD.each(store, name, |pair, held| {
            let is_doubted = held.action.is_none() && held.reason.doubts_its_row() && held.record.is_some();
            open.begun.extend((held.action == Some(Action::Create) || is_doubted).then_some(pair));
        })?;
        let today = Day::of(memberships.day(context.now_for_leavers()));
        queue::each(store, name, |change| match change.wish.action {
            _ if change.marks.is_over(today) => _ = open.ending.insert(change.key),
            Action::Delete => _ = open.ending.insert(change.key),
            Action::Create => _ = open.begun.insert(change.key),
            Action::Update => {}
        })?;
        SYNCED.each_id(store, name, |pair| {
            open.known.insert(pair);
            Ok(())
        })?;
        Ok(open)
    }

    /// Those that are, or begin.
    fn standing(&self) -> impl Iterator<Item = &Key> {
        self.known.union(&self.begun).filter(|pair| !self.ending.contains(*pair))
    }
}

/// What a read says of the pairs, before the run comes to them, and which of them are, or begin, now or once they are decided on or
/// sent.
fn read_pairs(
    context: &Context<'_>,
    memberships: &Job,
    open: &OpenPairs,
) -> Result<(CollectedRows, BTreeSet<Key>), Error> {
    let (store, name, mapping) = (context.store, &memberships.name, rows::mapping(memberships));
    let index = Index::load(store, name)?;
    let spill = ChangeSpill::new(store.home().spill_dir(), &memberships.match_on, false);
    let found = JobState::load(store, name)?.found;
    let read = Collector::new(memberships, &KeyFilter::default(), &index, &spill)
        .read(context, &mapping, &BTreeSet::new(), found.as_ref())?
        .resolve_duplicates(store)?;
    let early: BTreeSet<&Key> = read.early_keys().filter(|pair| !open.known.contains(*pair)).collect();
    let stands = |pair: &&Key| !read.left.contains_key(*pair) && !early.contains(*pair);
    let mut standing: BTreeSet<Key> = open.standing().filter(stands).cloned().collect();
    standing.extend(read.candidates.iter().map(|one| one.key.clone()).chain(read.unchanged_keys(&index)));
    let today = Day::of(memberships.day(context.now_for_leavers()));
    for (pair, decided) in decisions(store, name)? {
        let stays = match SyncedRecord::get(store, name, &pair)? {
            // Its end was rejected.
            Some(known) => decided.verdict == Verdict::Rejected(DesiredState::removal(known.id).digest()),
            // So was that it begins, and its row is there all the same: it makes no leaver.
            None => decided.is_rejected(today) && stands(&&pair),
        };
        if stays {
            standing.insert(pair);
        }
    }
    Ok((read, standing))
}
