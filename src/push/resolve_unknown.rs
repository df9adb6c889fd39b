//! Looking up what became of a create (law 3).
//!
//! An entity that fits is taken only where nothing says that it is another person: a field that is matched by earlier, name and
//! email together, or a person who rejected it (law 6).

use std::collections::BTreeSet;

use smol_str::SmolStr;

use super::commit::Written;
use super::error::Error;
use super::taken::rewritten;
use super::{Outcome, Progress, Push};
use crate::crash::term;
use crate::fault::chain;
use crate::mirror::{LOOK_AGAIN, Mirror, Removal};
use crate::plan::{HoldReason, Match, Matcher, contradicted, is_another_person};
use crate::queue::{self, Change, State};
use crate::record::{Action, Entity, FieldKind, RemoteId, Target, Value, Values};
use crate::snapshot::Owner;
use crate::store;

/// In so many runs a create is tried that the service refuses while someone's removal may not be through. Then it is parked: where people
/// are removed often, its file would hold up those behind it for ever (law 8).
const TRIES_MAX: u32 = 10;

/// What became of creates of unknown fate.
#[derive(Default)]
pub(super) struct Looked {
    /// The service has them. The snapshot knows those that were sent by now; of those that were not, the rest is still to be sent.
    pub(super) found: Vec<Change>,
    /// Several entities fit.
    pub(super) unclear: Vec<(Change, HoldReason)>,
    /// The service does not have them.
    pub(super) absent: Vec<Change>,
}

/// What one look at the service says about one create.
enum LookupResult {
    Nobody,
    One(Entity),
    Several(Vec<RemoteId>),
    /// One fits by the first of these fields, and the other one says that it is another person.
    Doubtful(Entity, SmolStr, String),
}

impl Push<'_> {
    /// Looks up creates of unknown fate: once, and those that were not found once more after 3 seconds.
    pub(super) async fn look_up(&self, mirror: &mut Mirror, unknown: Vec<Change>) -> Result<Looked, Error> {
        let mut looked = Looked { absent: unknown, ..Looked::default() };
        for again in [false, true] {
            if looked.absent.is_empty() {
                break;
            }
            if again {
                tokio::time::sleep(term(LOOK_AGAIN)).await;
            }
            mirror.refresh(self.client, self.store, self.clock).await?;
            let mut taken = BTreeSet::new();
            let finder = Finder::new(self, mirror)?;
            for change in std::mem::take(&mut looked.absent) {
                match finder.find(&change, &taken)? {
                    LookupResult::Nobody => looked.absent.push(change),
                    LookupResult::Several(ids) => {
                        let ids: Vec<String> = ids.iter().map(RemoteId::to_string).collect();
                        let (many, ids) = (self.target.plural().to_owned(), ids.join(", "));
                        let reason = HoldReason::SeveralFit { many, ids };
                        looked.unclear.push((change, reason));
                    }
                    // Those who are found meanwhile may own it.
                    LookupResult::Doubtful(..) if !again => looked.absent.push(change),
                    LookupResult::Doubtful(entity, field, other) => {
                        let (one, field) = (self.target.noun().to_owned(), field.to_string());
                        let reason = HoldReason::PerhapsMade { field, one, id: entity.id, other };
                        looked.unclear.push((change, reason));
                    }
                    LookupResult::One(entity) if change.state == State::Waiting => {
                        taken.insert(entity.id);
                        let mut change = change;
                        self.becomes_update(&mut change, entity.id)?;
                        looked.found.push(change);
                    }
                    LookupResult::One(entity) => {
                        taken.insert(entity.id);
                        self.confirm(mirror, &change, Written::found(None, entity))?;
                        looked.found.push(change);
                    }
                }
            }
        }
        for change in &mut looked.absent {
            self.wait(change)?;
        }
        Ok(looked)
    }

    /// Makes an update of the create of someone who exists, though nothing made them for it.
    fn becomes_update(&self, change: &mut Change, id: RemoteId) -> Result<(), Error> {
        change.wish.action = Action::Update;
        change.wish.id = Some(id);
        // What is set at a creation only is theirs.
        change.wish.fields.retain(|field, _| !self.seed_only.contains(field));
        change.state = State::Waiting;
        self.keep(change)
    }

    /// Whether someone was removed so short a while ago that the service may still have them.
    fn removal_lasts(&self) -> Result<bool, store::Error> {
        let now = self.client.cautious_now(self.clock);
        let removals = Removal::list(self.store, self.target)?;
        Ok(removals.iter().any(|(_, removal)| removal.lasts(now)))
    }

    /// Takes over people that exist already according to the service, if one of them certainly fits; the others are
    /// parked.
    pub(super) async fn adopt(
        &self,
        mirror: &mut Mirror,
        conflicts: Vec<(Change, u16, String)>,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        if conflicts.is_empty() {
            return Ok(());
        }
        if let Err(error) = mirror.refresh(self.client, self.store, self.clock).await {
            let reason = format!("who exists already could not be looked up: {}", chain(&error));
            progress.breaker.stop(reason.clone());
            for (mut change, _, _) in conflicts {
                self.wait(&mut change)?;
                progress.note(self, change, Outcome::Undelivered(reason.clone().into()));
            }
            return Ok(());
        }
        let mut taken = BTreeSet::new();
        let finder = Finder::new(self, mirror)?;
        let removal_lasts = self.removal_lasts()?;
        for (mut change, status, words) in conflicts {
            let words = match finder.find(&change, &taken)? {
                LookupResult::One(entity) => {
                    taken.insert(entity.id);
                    self.becomes_update(&mut change, entity.id)?;
                    progress.adopted.push(change.ticket());
                    continue;
                }
                LookupResult::Doubtful(entity, field, other) => {
                    let (one, id) = (self.target.noun(), entity.id);
                    format!("{words} ({field} fits the {one} with id {id}, whose {other} is another)")
                }
                // Who is in the way may be someone whose removal is not through yet (specification, Conventions).
                LookupResult::Nobody if removal_lasts && change.failures < TRIES_MAX => {
                    self.fall_back(&mut change)?;
                    let reason = format!("{words}; someone was removed a short while ago, so it is tried again");
                    progress.note(self, change, Outcome::Undelivered(reason.into()));
                    continue;
                }
                LookupResult::Nobody | LookupResult::Several(_) => words,
            };
            let outcome = self.park(&mut change, status, &words)?;
            progress.note(self, change, outcome);
        }
        Ok(())
    }
}

/// Finds the entity of a create among those without an owner.
struct Finder<'a> {
    push: &'a Push<'a>,
    mirror: &'a Mirror,
    matcher: Matcher,
}

impl<'a> Finder<'a> {
    fn new(push: &'a Push<'a>, mirror: &'a Mirror) -> Result<Self, store::Error> {
        let mut matcher = Matcher::empty(push.match_on);
        mirror.each(push.store, |entity| matcher.add(entity))?;
        Ok(Self { push, mirror, matcher: matcher.finish() })
    }

    fn find(&self, change: &Change, taken: &BTreeSet<RemoteId>) -> Result<LookupResult, store::Error> {
        let fields = self.push.findable(change)?;
        let (by, hits) = match self.matcher.find(&fields) {
            Match::One { by, id } => (Some(by), vec![id]),
            Match::Many { by, ids } => (Some(by), ids),
            Match::None if self.can_match(&fields) => (None, Vec::new()),
            // What joins two that are not there both can't be there.
            Match::None if change.target == Target::Membership => (None, Vec::new()),
            Match::None => (None, self.equal(change)?),
        };
        // A person said of that one that the record is someone else.
        let decided = queue::DECISIONS.get(self.push.store, &change.job, &change.key)?;
        let rejected = decided.and_then(|decided| decided.doubt);
        let mut free = Vec::new();
        for id in hits.into_iter().filter(|id| Some(*id) != rejected) {
            let other = Owner::besides(self.push.store, change.target, id, (&change.job, &change.key))?;
            if other.is_none() && !taken.contains(&id) {
                free.push(id);
            }
        }
        let [id] = free.as_slice() else {
            return Ok(if free.is_empty() { LookupResult::Nobody } else { LookupResult::Several(free) });
        };
        let Some(entity) = self.mirror.get(self.push.store, *id)? else { return Ok(LookupResult::Nobody) };
        let other = by.and_then(|by| Some((self.someone_else(&by, &fields, &entity)?, by)));
        Ok(match other {
            Some((other, by)) => LookupResult::Doubtful(entity, by, other),
            None => LookupResult::One(entity),
        })
    }

    /// The field that says that an entity is not the record that fits it by another one (law 6).
    fn someone_else(&self, by: &str, fields: &Values, entity: &Entity) -> Option<String> {
        let is_phone =
            |name: &str| self.push.fields.iter().any(|field| field.name == name && field.kind == FieldKind::Phone);
        // The service writes a number in its own way.
        let is_spelt =
            |name: &str| is_phone(name) && fields.get(name).is_some_and(|to| rewritten(to, entity.value(name)));
        let contradicted = contradicted(self.push.match_on, by, fields, entity).filter(|name| !is_spelt(name));
        let is_another = || self.push.target.has_presence() && is_another_person(&entity.fields, fields);
        contradicted.or_else(|| is_another().then_some(Target::NAME)).map(str::to_owned)
    }

    /// Whether the record has a value in any field that people are matched by.
    fn can_match(&self, fields: &Values) -> bool {
        self.push.match_on.iter().any(|field| fields.get(field).is_some_and(|value| !value.is_empty()))
    }

    /// The entities that hold all that was sent.
    fn equal(&self, change: &Change) -> Result<Vec<RemoteId>, store::Error> {
        let mut ids = Vec::new();
        self.mirror.each(self.push.store, |entity| {
            let holds = self.push.fields.iter().all(|field| {
                let wanted = change.wish.fields.get(&field.name).unwrap_or(&Value::Empty);
                wanted.is_empty() || field.kind.same(wanted, entity.value(&field.name))
            });
            if holds {
                ids.push(entity.id);
            }
        })?;
        Ok(ids)
    }
}
