//! Decides what one record needs.

use smol_str::SmolStr;

use super::rules::{OnDrift, Rules};
use super::{Change, Delta, Deltas, Held, HoldReason};
use crate::record::{
    Action, DesiredState, Entity, Field, FieldKind, Key, Record, RemoteId, RowMetadata, Target, Value, Values,
};
use crate::snapshot::SyncedRecord;

/// A record and its correlation.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The record.
    pub record: Record,
    /// The line of its row, where the source has lines.
    pub line: Option<u64>,
    /// What its row says about itself.
    pub marks: RowMetadata,
    /// Its correlation.
    pub standing: Standing,
}

/// What is known of a record's entity.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It was confirmed before and is there.
    Mine {
        /// What was confirmed.
        known: SyncedRecord,
        /// What the service holds.
        entity: Entity,
    },
    /// It was confirmed before, and the service has it no more: a request for just this entity said so.
    Vanished {
        /// What was confirmed.
        known: SyncedRecord,
    },
    /// It was found by a field, the first time.
    Matched {
        /// The field.
        by: SmolStr,
        /// What the service holds.
        entity: Entity,
    },
    /// The service has none.
    New,
    /// Several entities fit.
    Ambiguous {
        /// The field.
        by: SmolStr,
        /// The entities.
        ids: Vec<RemoteId>,
    },
    /// The entity that fits belongs to another record.
    Taken {
        /// The field.
        by: SmolStr,
        /// The entity.
        id: RemoteId,
        /// The job that owns it.
        job: String,
        /// The key that it belongs to.
        key: Key,
    },
    /// The organization that fits belongs to another job: people are joined to it as it is.
    Borrowed {
        /// What the service holds.
        entity: Entity,
    },
    /// An entity was found, and something speaks against it.
    Doubtful {
        /// What speaks against it.
        reason: String,
        /// What the service holds.
        entity: Entity,
    },
    /// The entity that fits belongs to a record that is there too, and only a field that people may share says so.
    Shared {
        /// The field.
        by: SmolStr,
        /// The other key.
        key: Key,
        /// Whether a row of this read has it; else the read proves nothing about it.
        seen: bool,
    },
    /// The service has none by which it could be found again, for the record has nothing in the fields that people are
    /// matched by.
    Unfindable,
    /// The service has none, and another new record of the same read has the same value in a field that people are
    /// matched by: one person under two keys, or two who share it.
    Twin {
        /// The field.
        by: SmolStr,
        /// The other key.
        key: Key,
    },
    /// The service has none, but a person of the same name whose id matches no record.
    Namesake {
        /// The entity.
        id: RemoteId,
    },
    /// Another record of the same read fits the same entity.
    Contested {
        /// The entity.
        id: RemoteId,
        /// The other key.
        key: Key,
    },
}

/// What one record needs.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Nothing is to be sent; what was found is to be remembered, where it is new.
    Settled {
        /// What is to be remembered.
        remember: Option<SyncedRecord>,
    },
    /// A change.
    Change(Change),
    /// A photo only: all else is as it should be, and is to be remembered where that is new.
    Photo {
        /// The change.
        change: Change,
        /// What is to be remembered.
        remember: Option<SyncedRecord>,
    },
    /// A person.
    Held(Held),
}

/// Decides what one record needs.
pub fn decide(subject: Subject, rules: Rules<'_>) -> Decision {
    let Subject { record, line, marks, standing } = subject;
    let one = rules.target.noun();
    let is_new = |record: Record, known| create(record, line, marks.clone(), known);
    match standing {
        Standing::Mine { known, entity } => {
            let drifted = rules.drifted(&record.fields, &known, &entity);
            let deltas = deltas(&record, &entity, rules, Some((&known, &drifted)));
            if deltas.is_empty() {
                let remember = remembered(&record, &entity, rules, marks, Some((&known, &drifted)));
                Decision::Settled { remember: (remember != known).then_some(remember) }
            } else if is_photo(&deltas) {
                let remember = remembered(&record, &entity, rules, marks.clone(), Some((&known, &drifted)));
                let change = photo(record, entity.id, deltas, line, marks, Some(&known));
                Decision::Photo { change, remember: (remember != known).then_some(remember) }
            } else {
                let mut change = update(record, entity.id, deltas, line, marks, rules);
                if rules.on_drift != OnDrift::Overwrite && known.left.is_none() {
                    // A field that is edited at the service before this is sent keeps that edit too.
                    change.wish.fields.retain(|field, _| change.fields.contains_key(field));
                }
                Decision::Change(change)
            }
        }
        Standing::Matched { entity, .. } => {
            let deltas = deltas(&record, &entity, rules, None);
            if deltas.is_empty() {
                Decision::Settled { remember: Some(remembered(&record, &entity, rules, marks, None)) }
            } else if is_photo(&deltas) {
                let remember = Some(remembered(&record, &entity, rules, marks.clone(), None));
                Decision::Photo { change: photo(record, entity.id, deltas, line, marks, None), remember }
            } else {
                Decision::Change(update(record, entity.id, deltas, line, marks, rules))
            }
        }
        Standing::Borrowed { entity } => {
            let remember = SyncedRecord { borrowed: true, ..SyncedRecord::of(entity.id, entity.created) };
            Decision::Settled { remember: Some(remember) }
        }
        Standing::Vanished { .. } => Decision::Change(is_new(record, true)),
        Standing::New => Decision::Change(is_new(record, false)),
        Standing::Ambiguous { by, ids } => {
            let ids: Vec<String> = ids.iter().map(RemoteId::to_string).collect();
            held(
                record.key,
                format!(
                    "{by} fits several {} at the service (ids {}); make it unique there",
                    rules.target.plural(),
                    ids.join(", ")
                ),
            )
        }
        Standing::Taken { by, id, job, key } => {
            held(record.key, format!("{by} fits the {one} with id {id}, who belongs to key {key} of job {job}"))
        }
        Standing::Doubtful { reason, entity } => {
            let key = record.key.clone();
            let deltas = deltas(&record, &entity, rules, None);
            let new = Held {
                key: key.clone(),
                reason: format!(
                    "it was rejected that this new record is the {one} with id {}; approve it to create a new person",
                    entity.id
                )
                .into(),
                change: Some(is_new(record.clone(), false)),
                other: None,
            };
            let change = Some(update(record, entity.id, deltas, line, marks, rules));
            Decision::Held(Held { key, reason: reason.into(), change, other: Some(Box::new(new)) })
        }
        Standing::Unfindable => {
            let reason = "this new record is empty in every field of match_on, so it is unknown whether this person \
                          exists already; approve it if they don't"
                .to_owned();
            held_new(is_new(record, false), reason)
        }
        Standing::Shared { by, key, seen } => {
            let where_is = match seen {
                true => "who is in the source too",
                false => "which no row of this read has, and it may be the same person under a mistyped key",
            };
            let reason =
                format!("this new record has the {by} of key {key}, {where_is}; approve it if they are two people");
            held_new(is_new(record, false), reason)
        }
        Standing::Twin { by, key } => {
            let reason = format!(
                "this new record and that of key {key} have the same {by}: one person under two keys would be made twice; \
                 approve those who are different people"
            );
            held_new(is_new(record, false), reason)
        }
        Standing::Namesake { id } => {
            let reason = format!(
                "this new record has the name of somebody at the service whom no record matches (id {id}), and on a job's \
                 first run they may be the same person; approve it to create a new person, or make match_on fit them"
            );
            Decision::Held(Held::change(is_new(record, false), &HoldReason::SameName(reason.into())))
        }
        Standing::Contested { id, key } => {
            held(record.key, format!("this record and that of key {key} both fit the {one} with id {id}"))
        }
    }
}

fn held(key: Key, reason: String) -> Decision {
    Decision::Held(Held { key, reason: reason.into(), change: None, other: None })
}

fn held_new(change: Change, reason: String) -> Decision {
    Decision::Held(Held::change(change, &reason.into()))
}

/// What is known of a record, and which of its fields keep edits made at the service.
type Before<'a> = Option<(&'a SyncedRecord, &'a [&'a str])>;

fn deltas(record: &Record, entity: &Entity, rules: Rules<'_>, before: Before<'_>) -> Deltas {
    rules
        .owned()
        .filter_map(|field| {
            let wanted = record.fields.get(&field.name)?;
            let value = entity.value(&field.name);
            let settled = match before {
                Some((known, drifted)) => {
                    drifted.contains(&field.name.as_str()) || known.is_in_sync(&field.name, field.kind, wanted, value)
                }
                None => field.kind.same(wanted, value),
            };
            let value = before.map_or(value, |(known, _)| last_known(field, known, value));
            (!settled).then(|| (field.name.clone(), Delta { from: value.clone(), to: wanted.clone() }))
        })
        .collect()
}

/// What is remembered of a record whose entity needs nothing: what was wanted, and what the service changed it into
/// where that differs. An edit made at the service does not count as such a change.
fn remembered(
    record: &Record,
    entity: &Entity,
    rules: Rules<'_>,
    marks: RowMetadata,
    before: Before<'_>,
) -> SyncedRecord {
    let drifted = before.map_or(&[][..], |(_, drifted)| drifted);
    let echo = rules
        .owned()
        .filter_map(|field| {
            let name = field.name.as_str();
            let value = match before {
                Some((known, _)) if drifted.contains(&name) => known.echo.get(name)?,
                _ => entity.value(name),
            };
            (record.fields.get(name).unwrap_or(&Value::Empty) != value).then(|| (field.name.clone(), value.clone()))
        })
        .filter(|(name, _)| name != Target::PHOTO)
        .collect();
    let created = before.map_or_else(|| entity.created.clone(), |(known, _)| known.created.clone());
    let sent = seedless(record.fields.clone(), rules);
    let known = SyncedRecord { sent, echo, marks, ..SyncedRecord::of(entity.id, created) };
    known.with_photo_of(before.map(|(known, _)| known))
}

/// What the service holds in a field as far as it is known: of a photo, what was last sent.
fn last_known<'a>(field: &Field, known: &'a SyncedRecord, value: &'a Value) -> &'a Value {
    if field.kind == FieldKind::Photo { known.sent.get(&field.name).unwrap_or(value) } else { value }
}

/// Whether nothing but the photo differs.
fn is_photo(deltas: &Deltas) -> bool {
    deltas.len() == 1 && deltas.contains_key(Target::PHOTO)
}

/// A photo that is to be sent. The first one is none of the updates that the guard counts: nothing is known that it would
/// change.
fn photo(
    record: Record,
    id: RemoteId,
    fields: Deltas,
    line: Option<u64>,
    marks: RowMetadata,
    known: Option<&SyncedRecord>,
) -> Change {
    let wanted = fields.iter().map(|(field, delta)| (field.clone(), delta.to.clone())).collect();
    let wish = DesiredState { action: Action::Update, id: Some(id), fields: wanted, leaver: false };
    let was_sent = known.is_some_and(|known| known.sent.contains_key(Target::PHOTO));
    Change { key: record.key, wish, fields, line, known: was_sent, approved: false, marks }
}

fn update(
    record: Record,
    id: RemoteId,
    fields: Deltas,
    line: Option<u64>,
    marks: RowMetadata,
    rules: Rules<'_>,
) -> Change {
    let wanted = seedless(record.fields, rules);
    let wish = DesiredState { action: Action::Update, id: Some(id), fields: wanted, leaver: false };
    Change { key: record.key, wish, fields, line, known: true, approved: false, marks }
}

/// The fields that stay the job's own.
fn seedless(mut fields: Values, rules: Rules<'_>) -> Values {
    fields.retain(|field, _| !rules.seed_only.contains(field));
    fields
}

fn create(record: Record, line: Option<u64>, marks: RowMetadata, known: bool) -> Change {
    let wish = DesiredState { action: Action::Create, id: None, fields: record.fields, leaver: false };
    Change { key: record.key, wish, fields: Deltas::new(), line, known, approved: false, marks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str) -> Field {
        Target::Staff.field(name).unwrap()
    }

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).into(), Value::text(*value))).collect()
    }

    fn entity(pairs: &[(&str, &str)]) -> Entity {
        Entity { id: RemoteId::new(5).unwrap(), created: "then".into(), fields: values(pairs) }
    }

    fn record(pairs: &[(&str, &str)]) -> Record {
        Record { key: Key::new("42").unwrap(), fields: values(pairs) }
    }

    fn known(sent: &[(&str, &str)], echo: &[(&str, &str)]) -> SyncedRecord {
        let id = RemoteId::new(5).unwrap();
        SyncedRecord { sent: values(sent), echo: values(echo), ..SyncedRecord::of(id, "then".into()) }
    }

    fn moved(standing: Standing, wanted: &[(&str, &str)]) -> Vec<String> {
        under(OnDrift::Overwrite, &[], standing, wanted)
    }

    fn under(on_drift: OnDrift, seed_only: &[&str], standing: Standing, wanted: &[(&str, &str)]) -> Vec<String> {
        let subject = Subject { record: record(wanted), line: Some(2), marks: RowMetadata::default(), standing };
        let seed_only: Vec<_> = seed_only.iter().copied().map(SmolStr::from).collect();
        let fields = [field("name"), field("mobile"), field("email")];
        match decide(subject, Rules { target: Target::Staff, fields: &fields, seed_only: &seed_only, on_drift }) {
            Decision::Settled { .. } => vec![],
            Decision::Change(change) | Decision::Photo { change, .. } => {
                change.moves().map(|(field, ..)| field.to_owned()).collect()
            }
            Decision::Held(held) => vec![crate::record::reveal(held.reason.text()).into_owned()],
        }
    }

    #[test]
    fn law_4_what_the_service_made_of_a_wish_counts_as_the_wish() {
        let wanted = [("email", "Ana@example.com"), ("mobile", "+64 21 5"), ("name", "Ana  O'Hara")];
        let holds = entity(&[("email", "ana@example.com"), ("mobile", "64 215"), ("name", "Ana O'Hara")]);
        let before = known(&wanted, &[("name", "Ana O'Hara")]);
        assert_eq!(moved(Standing::Mine { known: before.clone(), entity: holds.clone() }, &wanted), [""; 0]);
        // The same remote text is a difference where another wish led to it.
        let other = [("email", "ana@example.com"), ("mobile", "+64 21 5"), ("name", "Ana   O'Hara")];
        assert_eq!(moved(Standing::Mine { known: before, entity: holds.clone() }, &other), ["name"]);
        assert_eq!(moved(Standing::Matched { by: "email".into(), entity: holds }, &wanted), ["name"]);
    }

    #[test]
    fn law_6_what_is_not_sure_is_held() {
        let ids = [3, 4].map(|id| RemoteId::new(id).unwrap()).to_vec();
        let reasons = moved(Standing::Ambiguous { by: "email".into(), ids }, &[("name", "Ana")]);
        assert_eq!(reasons, ["email fits several people at the service (ids 3, 4); make it unique there"]);
        let taken = Standing::Taken {
            by: "email".into(),
            id: RemoteId::new(3).unwrap(),
            job: "visitors".into(),
            key: Key::new("9").unwrap(),
        };
        assert_eq!(
            moved(taken, &[("name", "Ana")]),
            ["email fits the person with id 3, who belongs to key 9 of job visitors"]
        );
    }

    #[test]
    fn a_remote_edit_of_an_owned_field_is_a_difference_and_of_another_is_none() {
        let wanted = [("email", "a@example.com"), ("mobile", ""), ("name", "Ana")];
        let holds = entity(&[("email", "b@example.com"), ("mobile", ""), ("name", "Ana"), ("title", "Chief")]);
        assert_eq!(moved(Standing::Mine { known: known(&wanted, &[]), entity: holds }, &wanted), ["email"]);
    }

    #[test]
    fn an_empty_value_clears_an_owned_field() {
        let holds = entity(&[("email", "a@example.com"), ("mobile", "64 21"), ("name", "Ana")]);
        let wanted = [("email", "a@example.com"), ("mobile", ""), ("name", "Ana")];
        assert_eq!(moved(Standing::Mine { known: known(&wanted, &[]), entity: holds }, &wanted), ["mobile"]);
    }
    #[test]
    fn an_edit_at_the_service_stays_until_the_sources_own_value_changes() {
        let sent = [("email", "a@example.com"), ("mobile", "21"), ("name", "Ana")];
        let holds = || entity(&[("email", "a@example.com"), ("mobile", "99"), ("name", "Ana")]);
        let mine = |known: SyncedRecord| Standing::Mine { known, entity: holds() };
        let same = &sent[..];
        let other_name = &[("email", "a@example.com"), ("mobile", "21"), ("name", "Bo")][..];
        let other_mobile = &[("email", "a@example.com"), ("mobile", "22"), ("name", "Ana")][..];
        let left = SyncedRecord {
            left: Some(crate::snapshot::Left { at: jiff::Timestamp::UNIX_EPOCH, approved: false }),
            ..known(&sent, &[])
        };
        for (on_drift, seed_only, known, wanted, moved) in [
            (OnDrift::Overwrite, &[][..], known(&sent, &[]), same, &["mobile"][..]),
            (OnDrift::Keep, &[], known(&sent, &[]), same, &[]),
            (OnDrift::Report, &[], known(&sent, &[]), same, &[]),
            (OnDrift::Keep, &[], known(&sent, &[]), other_name, &["name"]),
            (OnDrift::Keep, &[], known(&sent, &[]), other_mobile, &["mobile"]),
            (OnDrift::Keep, &[], known(&sent, &[("mobile", "99")]), same, &[]),
            (OnDrift::Keep, &[], left, same, &["mobile"]),
            (OnDrift::Overwrite, &["mobile"], known(&sent, &[]), same, &[]),
            (OnDrift::Overwrite, &["mobile"], known(&sent, &[]), other_mobile, &[]),
        ] {
            assert_eq!(under(on_drift, seed_only, mine(known), wanted), moved, "{on_drift:?} {seed_only:?}");
        }
    }

    #[test]
    fn law_4_an_edit_that_stays_is_not_taken_for_the_services_spelling() {
        let fields = [field("name"), field("mobile"), field("email")];
        let rules = Rules { target: Target::Staff, fields: &fields, seed_only: &[], on_drift: OnDrift::Keep };
        let wanted = [("email", "a@example.com"), ("mobile", "21"), ("name", "Ana  B")];
        let before = known(&wanted, &[("name", "Ana B")]);
        let holds = entity(&[("email", "edited@example.com"), ("mobile", "21"), ("name", "Ana B")]);
        let standing = Standing::Mine { known: before, entity: holds };
        let subject = Subject { record: record(&wanted), line: None, marks: RowMetadata::default(), standing };
        assert!(matches!(decide(subject, rules), Decision::Settled { remember: None }));
    }
}
