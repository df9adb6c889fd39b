//! Makes the decisions, as the commands of the terminal do.

use std::io;

use jiff::Timestamp;

use super::access::Person;
use super::consent::Subject;
use super::provider::FRESH_LOGIN;
use super::site::Site;
use crate::config::{Job, Login, Right};
use crate::history::{Audit, Decided, on_page_for};
use crate::operator::{self, Chosen, ChosenKey, DecisionError, HeldChange, HeldSet};
use crate::reconcile;
use crate::record::{JobName, Key};
use crate::store::Store;

/// What someone decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    Approve,
    Reject,
}

/// A decision of someone who may make it.
pub(super) struct Decision {
    pub(super) ruling: Ruling,
    /// What they saw and chose.
    pub(super) subject: Subject,
    pub(super) person: Person,
    /// When they showed who they are, where that is known.
    pub(super) logged_in: Option<Timestamp>,
}

/// What came of a decision.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was made, about so many changes. Of those that it releases, some wait until a grace is over, or none does.
    Done { count: usize, has_grace: bool },
    /// A second person has to decide the same.
    Consented,
    /// Something else is held by now than what was seen.
    Changed,
    /// For so many leavers the login is too old.
    LoginIsOld { leavers: usize },
    /// None of them can be decided on.
    Nothing,
}

/// Sets or lifts a pause.
pub(super) type Halt = fn(&Site, &JobName, &Person) -> io::Result<()>;

impl Ruling {
    /// What it takes.
    pub(super) fn right(self) -> Right {
        match self {
            Self::Approve => Right::Approve,
            Self::Reject => Right::Reject,
        }
    }

    /// What happened then, as the end of a sentence.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Approve => "released: sent at once if still wanted, or once no pause stands in the way",
            Self::Reject => "rejected",
        }
    }
}

/// Decides on what a person saw.
pub(super) fn decide(site: &Site, store: &Store, job: &Job, decision: &Decision) -> Result<Outcome, DecisionError> {
    let Decision { ruling, subject, person, logged_in } = decision;
    let held = HeldSet::load(store, job)?;
    if held.number != subject.set || held.digest() != subject.digest {
        return Ok(Outcome::Changed);
    }
    let is_chosen =
        |change: &HeldChange| subject.keys.as_ref().is_none_or(|keys| ChosenKey::are(keys, &change.part, &change.key));
    if !held.changes.iter().any(|change| change.is_open() && is_chosen(change)) {
        return Ok(Outcome::Nothing);
    }
    let mut by = person.described();
    if *ruling == Ruling::Approve {
        let leavers = held.leavers(is_chosen);
        if leavers as u64 > site.approvals.fresh_login_leavers && !is_fresh(site, *logged_in) {
            return Ok(Outcome::LoginIsOld { leavers });
        }
        if site.approvals.people > 1 {
            match site.consents.join(&job.name, person, subject) {
                Some(first) => by = format!("{by} after {}", first.described()),
                None => return consent(site, store, job, decision),
            }
        }
    }
    let clock = site.engine.clock();
    let chosen = Chosen { keys: subject.keys.as_ref(), set: Some(subject.set), digest: Some(&subject.digest) };
    let made = on_page_for(by.clone(), || match ruling {
        Ruling::Approve => operator::approve(store, clock, job, &chosen),
        Ruling::Reject => operator::reject(store, clock, job, &chosen),
    });
    let keys = match made {
        Err(DecisionError::Changed { .. }) => return Ok(Outcome::Changed),
        made => made?,
    };
    site.consents.forget(&job.name);
    site.engine.decided(Some(&job.name));
    let (name, count) = (job.name.as_str(), keys.len());
    tracing::info!(job = name, by, count, "{name}: on a page, {by} decided on {count} held changes");
    let has_grace =
        *ruling == Ruling::Approve && held.changes.iter().any(|change| change.has_grace && is_chosen(change));
    Ok(if keys.is_empty() { Outcome::Nothing } else { Outcome::Done { count, has_grace } })
}

/// Whether someone logged in just now. A proxy says not when; it asks for a login as it is configured to.
fn is_fresh(site: &Site, logged_in: Option<Timestamp>) -> bool {
    let now = site.engine.clock().now();
    match site.approvals.login {
        Login::Proxy(_) => true,
        Login::Provider(_) => logged_in.is_some_and(|at| now.duration_since(at) <= FRESH_LOGIN),
    }
}

/// Writes down that the first of two people consented.
fn consent(site: &Site, store: &Store, job: &Job, decision: &Decision) -> Result<Outcome, DecisionError> {
    let Subject { set, keys, .. } = &decision.subject;
    let many = keys.as_ref().map_or("all".to_owned(), |keys| keys.len().to_string());
    let why = format!("{many} of held set {set}; a second person has to approve the same");
    let written = on_page_for(decision.person.described(), || {
        let (job, why) = (Some(job.name.clone()), Some(why));
        Audit::new(store.home()).append(Decided { job, why, ..Decided::new(site.engine.clock().now(), "consented") })
    });
    written.map_err(DecisionError::Audit)?;
    site.engine.decided(None);
    Ok(Outcome::Consented)
}

/// Writes down that someone looks at hidden values: of one record, or of all that are held.
pub(super) fn note_look(
    site: &Site,
    store: &Store,
    job: &JobName,
    person: &Person,
    key: Option<Key>,
) -> io::Result<()> {
    on_page_for(person.described(), || {
        let decided = Decided::new(site.engine.clock().now(), "looked at hidden values");
        Audit::new(store.home()).append(Decided { job: Some(job.clone()), key, ..decided })
    })
}

/// Pauses a job.
pub(super) fn pause(site: &Site, job: &JobName, person: &Person) -> io::Result<()> {
    let config = site.engine.config();
    on_page_for(person.described(), || reconcile::pause(&config.state.home, site.engine.clock(), Some(job)))?;
    site.engine.decided(None);
    Ok(())
}

/// Lets a job go on.
pub(super) fn resume(site: &Site, job: &JobName, person: &Person) -> io::Result<()> {
    let config = site.engine.config();
    on_page_for(person.described(), || reconcile::resume(&config.state.home, site.engine.clock(), Some(job)))?;
    site.engine.decided(Some(job));
    Ok(())
}
