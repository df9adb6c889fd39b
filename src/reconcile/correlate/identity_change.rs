//! Updates that may turn one person into another (law 6).
//!
//! One key stays one person. An update waits for a person where it leaves nothing of both name and email, or gives
//! someone a name, an email or a number that another person at the service has. Columns that were sorted separately or
//! shifted look like that, and so does a number that was given to a new person.
//!
//! Only changes of the source are questioned: an edit made at the service is set back to what the source says.

use smol_str::SmolStr;

use super::correlator::CorrelationContext;
use crate::plan::{Match, Matcher, Rules, Standing, is_somebody_else};
use crate::reconcile::model::error::Error;
use crate::record::{Entity, Field, FieldKind, Record, RemoteId, Target, Value, Values, normalize};
use crate::snapshot::SyncedRecord;

/// Who has which name, email and number at the service.
pub(crate) struct People<'a> {
    rules: Rules<'a>,
    /// The fields in which two entities must not become one.
    fields: Vec<SmolStr>,
    /// One index a field, made when the first update asks for it.
    holders: Option<Vec<Matcher>>,
}

impl<'a> People<'a> {
    pub(crate) fn new(match_on: &[SmolStr], rules: Rules<'a>) -> Self {
        let names = |field: &&Field| match_on.contains(&field.name) || Target::IDENTITY.contains(&field.name.as_str());
        let plain = |field: &&Field| !matches!(field.kind, FieldKind::Link | FieldKind::Photo);
        let fields = rules.owned().filter(names).filter(plain).map(|field| field.name.clone()).collect();
        Self { rules, fields, holders: None }
    }

    /// Why an update of the matched entity may turn it into another person; `None` if nothing suggests that.
    pub(crate) fn somebody_else(
        &mut self,
        record: &Record,
        standing: &Standing,
        identity: &CorrelationContext<'_>,
    ) -> Result<Option<String>, Error> {
        let (entity, sent) = match standing {
            Standing::Mine { known, entity } => (entity, sent(known)),
            Standing::Matched { entity, .. } => (entity, None),
            _ => return Ok(None),
        };
        if self.rules.target.has_presence() && replaces(record, entity, sent) {
            let reason = "name and email both become others: the key may have been given to another person, or columns were \
                          sorted apart; approve it if it is the same person";
            return Ok(Some(reason.to_owned()));
        }
        for at in 0..self.fields.len() {
            let field = self.fields[at].clone();
            if let Some(id) = self.other_holder(at, record, entity, sent, identity)? {
                let whose = match identity.owner(id, &record.key)? {
                    Some(owner) if owner.job == *identity.job => format!("key {}", owner.key),
                    Some(owner) => format!("key {} of job {}", owner.key, owner.job),
                    None => format!("the {} with id {id} at the service", self.rules.target.noun()),
                };
                return Ok(Some(format!(
                    "it would get the {field} that {whose} has; were columns sorted apart, or is a row mistyped? approve it if \
                     this is right"
                )));
            }
        }
        Ok(None)
    }

    /// Another entity that has the value that a record would get in a field.
    fn other_holder(
        &mut self,
        at: usize,
        record: &Record,
        entity: &Entity,
        sent: Option<&Values>,
        identity: &CorrelationContext<'_>,
    ) -> Result<Option<RemoteId>, Error> {
        let field = self.fields[at].as_str();
        let Some(wanted) = text(record.fields.get(field)) else { return Ok(None) };
        let is_as_before = text(Some(entity.value(field))).as_ref() == Some(&wanted)
            || sent.is_some_and(|sent| text(sent.get(field)).as_ref() == Some(&wanted));
        if is_as_before {
            return Ok(None);
        }
        let field = self.fields[at].clone();
        let others = match self.holders(identity)?[at].find(&record.fields) {
            Match::None => Vec::new(),
            Match::One { id, .. } => vec![id],
            Match::Many { ids, .. } => ids,
        };
        for id in others.into_iter().filter(|id| *id != entity.id) {
            let other = identity.mirror.get(identity.store, id)?;
            if other.is_some_and(|other| text(Some(other.value(&field))).as_ref() == Some(&wanted)) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn holders(&mut self, identity: &CorrelationContext<'_>) -> Result<&[Matcher], Error> {
        if self.holders.is_none() {
            let mut all: Vec<Matcher> =
                self.fields.iter().map(|field| Matcher::empty(std::slice::from_ref(field))).collect();
            identity.mirror.each(identity.store, |entity| all.iter_mut().for_each(|matcher| matcher.add(entity)))?;
            self.holders = Some(all.into_iter().map(Matcher::finish).collect());
        }
        Ok(self.holders.as_deref().expect("they were just made"))
    }
}

/// What was last sent, where that is known.
fn sent(known: &SyncedRecord) -> Option<&Values> {
    Some(&known.sent).filter(|sent| !sent.is_empty())
}

/// Whether a record leaves nothing of who its entity is, nor of who the source said it is.
fn replaces(record: &Record, entity: &Entity, sent: Option<&Values>) -> bool {
    let of_sent =
        |sent: &Values| is_somebody_else(|field| sent.get(field).cloned().unwrap_or(Value::Empty), &record.fields);
    is_somebody_else(|field| entity.value(field).clone(), &record.fields) && sent.is_none_or(of_sent)
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_text).map(normalize).filter(|text| !text.is_empty())
}
