//! Pulls the service's entities into the mirror.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::certifications::Certifications;
use super::collection::{Locations, PullSet, PullState};
use super::elements::Elements;
use super::entities::{ENTITIES, Mirror, Removal, gather};
use super::error::{Error, ErrorKind};
use super::remote::{LOOK_AGAIN, Remote};
use crate::api::{self, Answered, Api, Client, Element, ForMembers, ForStaff, Location, Walked, list_all};
use crate::clock::Clock;
use crate::crash::term;
use crate::record::{RemoteId, Target};
use crate::snapshot::{OWNERS, SyncedRecord};
use crate::store::{self, BulkLoader, MetaKey, Store};

/// How many entities that a whole listing lacks are asked for one by one; where this number is really gone, the rest is
/// believed.
const GONE_ASKED_MAX: usize = 1000;
/// How many of them are asked for once more.
const GONE_ASKED_AGAIN: usize = 8;
/// Up to this number, or this share of those that are listed, entities that are there may be missing from the list: of more, it lies.
const UNLISTED_MAX: usize = 3;
const UNLISTED_SHARE: usize = 100;

impl Mirror {
    /// Reads what changed at the service, or all of it where a whole listing is due. With `persist`, entities
    /// are stored once all of them were read. Without, nothing in the store changes.
    pub async fn pull(
        client: &Client,
        store: &Store,
        wanted: &PullSet,
        clock: &Clock,
        persist: bool,
    ) -> Result<Self, Error> {
        let fail = |what| move |kind: ErrorKind| Error { what, kind };
        let target = wanted.target;
        let what = what(target);
        let last: PullState =
            store.meta(MetaKey::Pull(target)).map_err(ErrorKind::from).map_err(fail(what))?.unwrap_or_default();
        let shown =
            store.meta(MetaKey::Shown(target)).map_err(ErrorKind::from).map_err(fail(what))?.unwrap_or_default();
        let mut mirror = Self {
            target,
            shown,
            found: BTreeMap::new(),
            persist: persist && !wanted.doubted,
            saved: false,
            fields: wanted.fields.union(&last.fields).cloned().collect(),
            last,
            locations: Locations::default(),
            elements: Elements::default(),
            certifications: Certifications::default(),
            changed: BTreeSet::new(),
            unlisted: BTreeSet::new(),
        };
        if wanted.elements() {
            mirror.pull_elements(client).await.map_err(fail("custom fields"))?;
        }
        if wanted.locations() {
            mirror.pull_locations(client).await.map_err(fail("locations"))?;
        }
        let since = mirror.last.since(wanted, clock.now());
        if since.is_none() {
            // A whole listing is the occasion to forget fields that no job needs any more.
            mirror.fields.clone_from(&wanted.fields);
        }
        mirror
            .pull_entities(client, store, wanted, Listing::new(store, target, since, clock))
            .await
            .map_err(fail(what))?;
        Ok(mirror)
    }

    /// Reads what changed since the last finished pull once more, for looking up what became of a request (law 3). That nothing
    /// changed is believed of the service only, and not of a gateway before it.
    pub async fn refresh(&mut self, client: &Client, store: &Store, clock: &Clock) -> Result<(), Error> {
        let since = self.last.watermark;
        let wanted = PullSet::new(self.target, [], SignedDuration::ZERO);
        let what = what(self.target);
        let listing = Listing { proves_nothing_new: true, ..Listing::new(store, self.target, since, clock) };
        self.pull_entities(client, store, &wanted, listing).await.map_err(|kind| Error { what, kind })
    }

    async fn pull_elements(&mut self, client: &Client) -> Result<(), ErrorKind> {
        let elements = Api::<Element>::root();
        // The service has two lists: that of contractors counts for their organizations too.
        let elements: Option<Vec<Element>> = none_by_404(match self.target {
            Target::Staff => client.send(elements.list_for::<ForStaff>()).await,
            _ => client.send(elements.list_for::<ForMembers>()).await,
        })?;
        self.last.elements = counted(&elements, self.last.elements)?;
        let elements = elements.unwrap_or_default();
        self.elements = Elements::new(elements);
        Ok(())
    }

    async fn pull_locations(&mut self, client: &Client) -> Result<(), ErrorKind> {
        let locations: Option<Vec<Location>> = list_all(client).await?;
        self.last.locations = counted(&locations, self.last.locations)?;
        let locations = locations.unwrap_or_default();
        self.locations = Locations::of(&locations);
        Ok(())
    }

    async fn pull_entities<'s>(
        &mut self,
        client: &Client,
        store: &'s Store,
        wanted: &PullSet,
        mut seen: Listing<'s>,
    ) -> Result<(), ErrorKind> {
        let target = self.target;
        let (date, not_found) = if target == Target::Holder {
            let mut pages = Vec::new();
            let date = self.list_holders(client, store, &wanted.certifications, |_, page| pages.push(page)).await?;
            pages.into_iter().for_each(|page| self.take((client, store), page, &mut seen));
            (date, false)
        } else {
            let is_first = self.last.count == 0 && seen.whole;
            let walked = Remote::walk(client, target, (seen.since, is_first), |page| {
                self.take((client, store), page, &mut seen);
            });
            let walked = walked.await?;
            if walked.ended_by_404 {
                self.believe_404(client, &walked, &seen).await?;
            }
            (walked.date, walked.ended_by_404)
        };
        if let Some(error) = seen.failure {
            return Err(error.into());
        }
        if !seen.is_identified && !seen.listed.is_empty() {
            return Err(ErrorKind::Nameless { count: seen.listed.len(), shows: identified_by(target) });
        }
        seen.rows.commit()?;
        if wanted.doubted {
            self.verify_account(store, &seen.listed)?;
        }
        if seen.whole {
            self.find_gone(client, store, &seen.listed, not_found).await?;
            self.last.count = seen.listed.len() as u64;
            self.last.full_at = Some(seen.now);
            self.last.listed.clear();
            self.last.fields.clone_from(&self.fields);
        }
        if let Some(unshown) = &seen.unshown {
            let (names, is_shown) = (Remote::field_names(target), |name: &str| !unshown.contains(&name));
            self.shown.listed(names, is_shown, seen.whole.then_some(&seen.lacked));
            self.last.listed.extend(names.iter().filter(|name| is_shown(name)).map(|name| (*name).to_owned()));
        }
        self.last.moved(date, seen.newest);
        Ok(())
    }

    /// Fails where the 404 that a list ended with may be that of a gateway, which would have everybody behind it made again.
    async fn believe_404(&self, client: &Client, walked: &Walked, seen: &Listing<'_>) -> Result<(), ErrorKind> {
        let has_none = walked.entities == 0 && self.last.count == 0;
        let is_told = seen.whole && walked.entities == 0 && !has_none;
        if is_told || !(seen.whole || seen.proves_nothing_new) {
            return Ok(());
        }
        if seen.whole && has_none {
            tokio::time::sleep(term(LOOK_AGAIN)).await;
        }
        // Who has none shows none.
        let shows = Remote::shows_anyone(client, self.target).await?;
        if shows != has_none { Ok(()) } else { Err(ErrorKind::Flickers) }
    }

    /// Lays one page over what is stored.
    fn take(&mut self, (client, store): (&Client, &Store), page: Vec<Remote>, seen: &mut Listing<'_>) {
        // By now an answer has shown the service's clock.
        seen.present = client.cautious_now(seen.clock);
        for shown in page {
            seen.newest = seen.newest.max(shown.modified_at());
            if seen.whole {
                seen.listed.insert(shown.id());
            }
            seen.is_identified |= shown.is_identified();
            match &mut seen.unshown {
                None => seen.unshown = Some(shown.unshown().to_vec()),
                Some(unshown) => unshown.retain(|name| shown.unshown().contains(name)),
            }
            seen.lacked.extend(shown.unshown());
            let (id, bytes) = (shown.id(), self.bytes(shown.entity(&self.elements)));
            match self.is_news(store, seen, id, &bytes) {
                Ok(true) => {
                    self.changed.insert(id);
                    self.found.insert(id, Some(bytes));
                }
                Ok(false) => {
                    self.found.remove(&id);
                }
                Err(error) => seen.failure = Some(error),
            }
        }
        if self.persist && seen.failure.is_none() {
            seen.failure = gather(&mut self.found, store, self.target, &mut seen.rows).err();
        }
    }

    /// Whether a page shows an entity otherwise than it is stored, or about to be.
    fn is_news(&self, store: &Store, seen: &Listing<'_>, id: RemoteId, bytes: &[u8]) -> Result<bool, store::Error> {
        let stored = ENTITIES.get_bytes(store, &self.target, &id)?;
        // An entity that changed between two pages was collected as the earlier page showed it.
        let is_collected = self.persist && self.changed.contains(&id);
        if stored.is_some_and(|stored| *stored == *bytes) && !is_collected {
            return Ok(false);
        }
        // A list may show for a while what was removed.
        let removal = Removal::of(store, self.target, id)?;
        Ok(removal.is_none_or(|removal| !removal.lasts(seen.present)))
    }

    /// Fails if a whole listing does not show the known people. An entity of another creation time is another person,
    /// and where most people are missing, the listing is that of another account (law 2).
    fn verify_account(&self, store: &Store, listed: &BTreeSet<RemoteId>) -> Result<(), ErrorKind> {
        let (mut known, mut missing, mut others) = (0u64, 0u64, 0u64);
        for (_, owner) in OWNERS.list::<Vec<_>>(store, &self.target)? {
            let Some(before) = SyncedRecord::get(store, &owner.job, &owner.key)? else { continue };
            known += 1;
            match self.get(store, before.id)?.filter(|_| listed.contains(&before.id)) {
                None => missing += 1,
                Some(now) => others += u64::from(before.is_of_another(&now.created)),
            }
        }
        if others > 0 || missing * 2 > known { Err(ErrorKind::Strangers { known, missing, others }) } else { Ok(()) }
    }

    /// Asks for entities that a whole listing lacks, one by one. Returns those that are there, and what is shown of them; of those that
    /// can't be read, which are not gone, nothing. Fails where they are more than `max`.
    async fn ask_for(
        &self,
        client: &Client,
        store: &Store,
        ids: &[RemoteId],
        max: usize,
    ) -> Result<BTreeMap<RemoteId, Option<Remote>>, ErrorKind> {
        let mut there = BTreeMap::new();
        for id in ids {
            let Some(at) = self.at(store, *id)? else { continue };
            match Remote::get(client, at).await {
                Ok(answered) => there.extend(answered.value.map(|shown| (*id, Some(shown)))),
                Err(error) if error.permission() || error.code().is_some_and(|code| code >= 500) => {
                    there.insert(*id, None);
                }
                Err(error) => return Err(error.into()),
            }
            if there.len() > max {
                return Err(ErrorKind::Lacks { id: *id, more: there.len() - 1 });
            }
        }
        Ok(there)
    }

    /// Finds stored entities that a whole listing lacks, and checks some of them at the service. Where a few are there all the
    /// same, they are taken as their own answers show them: a list may leave out people who were disabled there, and they keep no one
    /// else from being read (law 8). Where many are, the list lies.
    async fn find_gone(
        &mut self,
        client: &Client,
        store: &Store,
        listed: &BTreeSet<RemoteId>,
        not_found: bool,
    ) -> Result<(), ErrorKind> {
        let mut stored = 0;
        let mut lacking = BTreeSet::new();
        ENTITIES.each_id(store, &self.target, |id| {
            stored += 1;
            lacking.extend(Some(id).filter(|id| !listed.contains(id)));
            Ok(())
        })?;
        // A person that a job knows has an entity, or must be looked at, whatever became of what was stored of it.
        OWNERS.each_id(store, &self.target, |id| {
            lacking.extend(Some(id).filter(|id| !listed.contains(id)));
            Ok(())
        })?;
        lacking.extend(unlisted_before(store, self.target, listed)?);
        if listed.is_empty() && stored > 0 && self.target != Target::Holder {
            return Err(ErrorKind::Emptied { before: stored, not_found });
        }
        let asked: Vec<RemoteId> = lacking.iter().take(GONE_ASKED_MAX).copied().collect();
        let there = self.ask_for(client, store, &asked, UNLISTED_MAX.max(listed.len() / UNLISTED_SHARE)).await?;
        let gone = asked.into_iter().filter(|id| !there.contains_key(id));
        let again: Vec<RemoteId> = gone.take(GONE_ASKED_AGAIN).collect();
        if !again.is_empty() {
            // So long a gateway may answer for the service.
            tokio::time::sleep(term(LOOK_AGAIN)).await;
            self.ask_for(client, store, &again, 0).await?;
        }
        lacking.retain(|id| !there.contains_key(id));
        self.unlisted = there.keys().copied().collect();
        for (id, shown) in there {
            let Some(shown) = shown else { continue };
            let bytes = self.bytes(shown.entity(&self.elements));
            if ENTITIES.get_bytes(store, &self.target, &id)?.is_none_or(|stored| *stored != *bytes) {
                self.changed.insert(id);
                self.found.insert(id, Some(bytes));
            }
        }
        self.changed.extend(&lacking);
        self.found.extend(lacking.into_iter().map(|id| (id, None)));
        Ok(())
    }
}

/// What a pull has seen so far.
struct Listing<'s> {
    since: Option<Timestamp>,
    clock: &'s Clock,
    now: Timestamp,
    /// The same where this machine's clock is not far ahead of the service's.
    present: Timestamp,
    whole: bool,
    /// The ids of a whole listing.
    listed: BTreeSet<RemoteId>,
    /// Whether some entity shows what identifies it.
    is_identified: bool,
    newest: Option<Timestamp>,
    /// The service's names of fields that no entity showed so far; none before the first one.
    unshown: Option<Vec<&'static str>>,
    /// Those of fields that some entity did not show.
    lacked: BTreeSet<&'static str>,
    /// Whether that nothing changed decides what is sent.
    proves_nothing_new: bool,
    /// What is stored at the end.
    rows: BulkLoader<'s>,
    failure: Option<store::Error>,
}

impl<'s> Listing<'s> {
    fn new(store: &'s Store, target: Target, since: Option<Timestamp>, clock: &'s Clock) -> Self {
        let now = clock.now();
        // The holders of a certification come as a whole each time.
        let whole = since.is_none() || target == Target::Holder;
        Self {
            since,
            clock,
            now,
            present: now,
            whole,
            listed: BTreeSet::new(),
            is_identified: false,
            newest: None,
            unshown: None,
            lacked: BTreeSet::new(),
            proves_nothing_new: false,
            rows: store.bulk_load(),
            failure: None,
        }
    }
}

/// Of what the service had before its rows were dropped, what the list lacks and is to be asked for. Where it lacks most of it, the list
/// lies, or the account is another one: a few of them tell.
fn unlisted_before(store: &Store, target: Target, listed: &BTreeSet<RemoteId>) -> Result<Vec<RemoteId>, store::Error> {
    let before: Vec<RemoteId> = store.meta(MetaKey::Listed(target))?.unwrap_or_default();
    let mut unlisted: Vec<RemoteId> = before.iter().filter(|id| !listed.contains(id)).copied().collect();
    if unlisted.len() * 2 > before.len() {
        unlisted.truncate(GONE_ASKED_AGAIN);
    }
    Ok(unlisted)
}

/// What is read, as errors call it.
fn what(target: Target) -> &'static str {
    match target {
        Target::Staff => "staff",
        Target::Contractor => "contractor members",
        Target::Organization => "contractor organizations",
        Target::Membership => "memberships of contractors",
        Target::Holder => "holders of certifications",
    }
}

/// What identifies entities, as errors call it.
fn identified_by(target: Target) -> &'static str {
    match target {
        Target::Staff | Target::Contractor | Target::Organization => "name",
        Target::Membership => "member and organization",
        Target::Holder => "person",
    }
}

/// Treats 404 as no list. The service may be wrong about it, so the caller compares with the previous size.
fn none_by_404<R>(answer: Result<Answered<Vec<R>>, api::Error>) -> Result<Option<Vec<R>>, ErrorKind> {
    match answer {
        Ok(answered) => Ok(Some(answered.value)),
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The number of a list's entries; a list that held some before must not hold none (law 1).
fn counted<R>(list: &Option<Vec<R>>, before: u64) -> Result<u64, ErrorKind> {
    let now = list.as_ref().map_or(0, Vec::len);
    if now == 0 && before > 0 {
        return Err(ErrorKind::Emptied { before, not_found: list.is_none() });
    }
    Ok(now as u64)
}
