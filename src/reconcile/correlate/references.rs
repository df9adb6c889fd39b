//! References of records to other entities: the two ends of a membership, a certification and its holder.
//!
//! Members and organizations of a contractor job are named by their keys, since they may be made in the same run; what a
//! holder names must be there already, and its record is rejected where it is not.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use crate::config::Job;
use crate::mirror::pair;
use crate::plan::{Match, Matcher};
use crate::reconcile::correlate::fit::Fault;
use crate::reconcile::mirrors::Mirrors;
use crate::reconcile::model::job_fields::found_by;
use crate::reconcile::model::part_draft::PartDraft;
use crate::record::{Entity, Key, Record, RemoteId, RowDefect, Target, Value};
use crate::snapshot::Links;
use crate::store::{self, Store};

/// Finds out what the records of one part of a job name.
pub(crate) struct References<'a> {
    job: &'a Job,
    store: &'a Store,
    mirrors: &'a Mirrors,
    /// People that earlier parts of this run found for the first time.
    found: BTreeMap<(Target, &'a Key), RemoteId>,
    /// Holders by kind.
    holders: BTreeMap<Target, Matcher>,
}

/// What joins entities of which the service does not have all any more.
pub(crate) fn orphans(mirrors: &Mirrors, store: &Store, target: Target) -> Result<BTreeSet<RemoteId>, store::Error> {
    let mut orphans = BTreeSet::new();
    if !matches!(target, Target::Membership | Target::Holder) {
        return Ok(orphans);
    }
    let mut failed = None;
    mirrors.of(target).each(store, |entity| match is_orphan(mirrors, store, target, entity) {
        Ok(is_orphan) => orphans.extend(is_orphan.then_some(entity.id)),
        Err(error) => failed = Some(error),
    })?;
    failed.map_or(Ok(orphans), Err)
}

/// Whether an entity joins one that the service does not have any more: what it joined was removed, and perhaps made again under
/// another id.
fn is_orphan(mirrors: &Mirrors, store: &Store, target: Target, entity: &Entity) -> Result<bool, store::Error> {
    let of_staff = entity.value("record_type").as_text() == Some("staff");
    let links: &[(&str, Target)] = match target {
        Target::Membership => &[(Target::MEMBER, Target::Contractor), (Target::ORGANIZATION, Target::Organization)],
        Target::Holder if of_staff => &[("holder", Target::Staff)],
        Target::Holder => &[("holder", Target::Contractor)],
        Target::Staff | Target::Contractor | Target::Organization => &[],
    };
    for (field, target) in links {
        let id = entity.linked(field);
        if let (Some(id), Some(mirror)) = (id, mirrors.get(*target))
            && mirror.get(store, id)?.is_none()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

impl<'a> References<'a> {
    /// Whether this run found a contractor for the first time.
    pub(crate) fn has_found(&self, member: RemoteId) -> bool {
        self.found.iter().any(|((target, _), id)| *target == Target::Contractor && *id == member)
    }

    /// Whether an entity joins one that is gone.
    pub(crate) fn is_orphan(&self, entity: &Entity) -> Result<bool, store::Error> {
        is_orphan(self.mirrors, self.store, self.job.mapping.target, entity)
    }

    pub(crate) fn new(
        job: &'a Job,
        store: &'a Store,
        mirrors: &'a Mirrors,
        earlier: &'a [PartDraft],
    ) -> Result<Self, store::Error> {
        let found =
            earlier.iter().flat_map(|part| part.results.found.iter().map(|(key, id)| ((part.target(), key), *id)));
        let mut resolver = Self { job, store, mirrors, found: found.collect(), holders: BTreeMap::new() };
        if job.mapping.target == Target::Holder {
            for target in [Target::Staff, Target::Contractor] {
                let Some(mirror) = mirrors.get(target) else { continue };
                let by: Vec<_> = found_by(target).iter().map(|field| SmolStr::new_static(field)).collect();
                let mut matcher = Matcher::empty(&by);
                mirror.each(store, |entity| matcher.add(entity))?;
                resolver.holders.insert(target, matcher.finish());
            }
        }
        Ok(resolver)
    }

    /// Whether records name another entity, so that [`References::resolve`] alters them.
    pub(crate) fn resolves(&self) -> bool {
        match self.job.mapping.target {
            Target::Staff | Target::Contractor | Target::Organization => false,
            Target::Membership | Target::Holder => true,
        }
    }

    /// Puts into a record what its entity is found by; else the field that can't be resolved, and why.
    pub(crate) fn resolve(&self, record: &mut Record) -> Result<Option<Fault>, store::Error> {
        match self.job.mapping.target {
            Target::Staff | Target::Contractor | Target::Organization => Ok(None),
            Target::Membership => {
                self.resolve_membership(record)?;
                Ok(None)
            }
            Target::Holder => Ok(self.resolve_holder(record).err()),
        }
    }

    fn resolve_membership(&self, record: &mut Record) -> Result<(), store::Error> {
        let Some(links) = Links::of(self.store, &self.job.name, &record.fields)? else { return Ok(()) };
        let found = |target, key| self.found.get(&(target, key)).copied();
        let member = found(Target::Contractor, &links.member).or(links.member_id);
        let organization = found(Target::Organization, &links.organization).or(links.organization_id);
        if let (Some(member), Some(organization)) = (member, organization) {
            record.fields.insert(Target::COMPOSITE.into(), pair(&[member.to_string(), organization.to_string()]));
        }
        Ok(())
    }

    fn resolve_holder(&self, record: &mut Record) -> Result<(), Fault> {
        let text = |field: &str| record.fields.get(field).map(Value::shown).unwrap_or_default();
        let fault = |field: &str, reason: &str| (field.to_owned(), RowDefect::from(reason));
        let certifications = self.mirrors.of(Target::Holder).certifications();
        let certification =
            certifications.resolve(&text("certification")).map_err(|reason| fault("certification", reason))?;
        let record_type = text("record_type").to_lowercase();
        let (target, who) = match record_type.as_str() {
            "staff" => (Target::Staff, "employee"),
            "sp" => (Target::Contractor, "contractor"),
            _ => return Err(fault("record_type", "is neither staff nor sp")),
        };
        let matcher = self.holders.get(&target).ok_or_else(|| fault("record_type", "the job maps another"))?;
        let named = text("holder");
        let fields = found_by(target).iter().map(|field| ((*field).into(), Value::text(named.as_str()))).collect();
        let id = match matcher.find(&fields) {
            Match::One { id, .. } => id,
            Match::Many { by, ids } => {
                let ids: Vec<String> = ids.iter().map(RemoteId::to_string).collect();
                let reason = format!("{by} fits several people at the service (ids {})", ids.join(", "));
                return Err(("holder".to_owned(), reason.into()));
            }
            Match::None => {
                let reason = format!("no {who} at the service has this id or email");
                return Err(("holder".to_owned(), reason.into()));
            }
        };
        let (certification, id) = (certification.to_string(), id.to_string());
        let pair = pair(&[certification.clone(), record_type.clone(), id.clone()]);
        for (field, value) in [
            ("certification", Value::text(certification)),
            ("record_type", Value::text(record_type)),
            ("holder", Value::text(id)),
            (Target::COMPOSITE, pair),
        ] {
            record.fields.insert(field.into(), value);
        }
        Ok(())
    }
}
