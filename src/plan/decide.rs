//! Decides what one record needs.

use super::correlation::Correlation;
use super::rules::{OnDrift, Rules};
use super::{Change, Delta, Deltas, Held, HoldReason};
use crate::record::{
    Action, DesiredState, Entity, Field, FieldKind, Record, RemoteId, RowMetadata, Target, Value, Values,
};
use crate::snapshot::SyncedRecord;

/// A record as its row says it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The record.
    pub record: Record,
    /// The line of its row, where the source has lines.
    pub line: Option<u64>,
    /// What its row says about itself.
    pub marks: RowMetadata,
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
pub fn decide(subject: Subject, correlation: Correlation, rules: Rules<'_>) -> Decision {
    match correlation {
        Correlation::Mine { known, entity } => {
            let before = Before { is_of_this_key: true, ..Before::of(&known, &subject, &entity, rules) };
            synced(subject, &entity, Some(&before), rules)
        }
        Correlation::Matched { entity, earlier, .. } => {
            let before = earlier.as_deref().map(|known| Before::of(known, &subject, &entity, rules));
            synced(subject, &entity, before.as_ref(), rules)
        }
        Correlation::Borrowed { entity } => {
            let remember = SyncedRecord { borrowed: true, ..SyncedRecord::of(entity.id, entity.created) };
            Decision::Settled { remember: Some(remember) }
        }
        Correlation::Vanished { .. } => Decision::Change(Change { known: true, ..subject.create() }),
        Correlation::New => Decision::Change(subject.create()),
        Correlation::Unclear(unclear) => Decision::Held(Held {
            key: subject.record.key.clone(),
            reason: unclear.reason(rules.target),
            change: unclear.may_be_new().then(|| subject.create()),
            other: None,
        }),
        Correlation::Doubtful { reason, entity, earlier } => {
            let rejected = HoldReason::NotThis { one: rules.target.noun().to_owned(), id: entity.id };
            let new = Held::change(subject.clone().create(), &rejected);
            let before = earlier.as_deref().map(|known| Before::of(known, &subject, &entity, rules));
            let deltas = deltas(&subject.record, &entity, before.as_ref(), rules);
            let held = Held::change(subject.update(entity.id, deltas, before.as_ref(), rules), &reason);
            Decision::Held(Held { other: Some(Box::new(new)), ..held })
        }
    }
}

/// What is known of a record, and which of its fields keep edits made at the service.
struct Before<'a> {
    known: &'a SyncedRecord,
    drifted: Vec<&'a str>,
    /// Whether it is known under the key of the record, and not under one that its person had before.
    is_of_this_key: bool,
}

impl<'a> Before<'a> {
    /// What is known under an earlier key.
    fn of(known: &'a SyncedRecord, subject: &Subject, entity: &Entity, rules: Rules<'a>) -> Self {
        let drifted = rules.drifted(&subject.record.fields, known, entity);
        Self { known, drifted, is_of_this_key: false }
    }
}

/// What a record needs whose entity is there.
fn synced(subject: Subject, entity: &Entity, before: Option<&Before<'_>>, rules: Rules<'_>) -> Decision {
    let deltas = deltas(&subject.record, entity, before, rules);
    let is_photo = deltas.len() == 1 && deltas.contains_key(Target::PHOTO);
    if !deltas.is_empty() && !is_photo {
        return Decision::Change(subject.update(entity.id, deltas, before, rules));
    }
    let remember = remembered(&subject, entity, before, rules);
    let is_known = |before: &Before<'_>| before.is_of_this_key && remember == *before.known;
    let remember = (!before.is_some_and(is_known)).then_some(remember);
    if deltas.is_empty() {
        return Decision::Settled { remember };
    }
    // The first photo is none of the updates that the guard counts: nothing is known that it would change.
    let was_sent = before.is_some_and(|before| before.known.sent.contains_key(Target::PHOTO));
    let wanted = deltas.iter().map(|(field, delta)| (field.clone(), delta.to.clone())).collect();
    let change = subject.change(Action::Update, Some(entity.id), wanted);
    Decision::Photo { change: Change { fields: deltas, known: was_sent, ..change }, remember }
}

fn deltas(record: &Record, entity: &Entity, before: Option<&Before<'_>>, rules: Rules<'_>) -> Deltas {
    rules
        .owned()
        .filter_map(|field| {
            let wanted = record.fields.get(&field.name)?;
            let value = entity.value(&field.name);
            let settled = match before {
                Some(Before { known, drifted, .. }) => {
                    drifted.contains(&field.name.as_str()) || known.is_in_sync(&field.name, field.kind, wanted, value)
                }
                None => field.kind.same(wanted, value),
            };
            let value = before.map_or(value, |before| last_known(field, before.known, value));
            (!settled).then(|| (field.name.clone(), Delta { from: value.clone(), to: wanted.clone() }))
        })
        .collect()
}

/// What is remembered of a record whose entity needs nothing: what was wanted, and what the service changed it into
/// where that differs. An edit made at the service does not count as such a change.
fn remembered(subject: &Subject, entity: &Entity, before: Option<&Before<'_>>, rules: Rules<'_>) -> SyncedRecord {
    let fields = &subject.record.fields;
    let echo = rules
        .owned()
        .filter_map(|field| {
            let name = field.name.as_str();
            if !fields.contains_key(name)
                && let Some(before) = before
            {
                // Nothing is known of it in this read: what was known stays so.
                return Some((field.name.clone(), before.known.echo.get(name)?.clone()));
            }
            let value = match before {
                Some(Before { known, drifted, .. }) if drifted.contains(&name) => known.echo.get(name)?,
                _ => entity.value(name),
            };
            (fields.get(name).unwrap_or(&Value::Empty) != value).then(|| (field.name.clone(), value.clone()))
        })
        .filter(|(name, _)| name != Target::PHOTO)
        .collect();
    let before = before.map(|before| before.known);
    let created = before.map_or(&entity.created, |known| &known.created).clone();
    let (mut sent, marks) = (seedless(fields.clone(), rules), subject.marks.clone());
    for field in rules.owned().filter(|field| !fields.contains_key(&field.name)) {
        sent.extend(before.and_then(|known| Some((field.name.clone(), known.sent.get(&field.name)?.clone()))));
    }
    SyncedRecord { sent, echo, marks, ..SyncedRecord::of(entity.id, created) }.with_photo_of(before)
}

/// What the service holds in a field as far as it is known: of a photo, what was last sent.
fn last_known<'a>(field: &Field, known: &'a SyncedRecord, value: &'a Value) -> &'a Value {
    if field.kind == FieldKind::Photo { known.sent.get(&field.name).unwrap_or(value) } else { value }
}

impl Subject {
    fn create(mut self) -> Change {
        let fields = std::mem::take(&mut self.record.fields);
        self.change(Action::Create, None, fields)
    }

    fn update(mut self, id: RemoteId, fields: Deltas, before: Option<&Before<'_>>, rules: Rules<'_>) -> Change {
        let mut wanted = seedless(std::mem::take(&mut self.record.fields), rules);
        if rules.on_drift != OnDrift::Overwrite && before.is_none_or(|before| before.known.left.is_none()) {
            // A field that is edited at the service before this is sent keeps that edit too. What is known of the rest makes no other
            // wish of it: a decision on it counts after a rebuild, too.
            wanted.retain(|field, _| fields.contains_key(field));
        }
        Change { fields, known: true, ..self.change(Action::Update, Some(id), wanted) }
    }

    /// A change that sets these fields, of someone who was not known before.
    fn change(self, action: Action, id: Option<RemoteId>, fields: Values) -> Change {
        let Self { record: Record { key, .. }, line, marks } = self;
        let wish = DesiredState { action, id, fields, leaver: false };
        Change { key, wish, fields: Deltas::new(), line, known: false, approved: false, marks }
    }
}

/// The fields that stay the job's own.
fn seedless(mut fields: Values, rules: Rules<'_>) -> Values {
    fields.retain(|field, _| !rules.seed_only.contains(field));
    fields
}

#[cfg(test)]
mod tests {
    use smol_str::SmolStr;

    use super::*;
    use crate::plan::Unclear;
    use crate::record::Key;

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

    fn moved(correlation: Correlation, wanted: &[(&str, &str)]) -> Vec<String> {
        under(OnDrift::Overwrite, &[], correlation, wanted)
    }

    fn under(on_drift: OnDrift, seed_only: &[&str], correlation: Correlation, wanted: &[(&str, &str)]) -> Vec<String> {
        let subject = Subject { record: record(wanted), line: Some(2), marks: RowMetadata::default() };
        let seed_only: Vec<_> = seed_only.iter().copied().map(SmolStr::from).collect();
        let fields = [field("name"), field("mobile"), field("email")];
        match decide(
            subject,
            correlation,
            Rules { target: Target::Staff, fields: &fields, seed_only: &seed_only, on_drift },
        ) {
            Decision::Settled { .. } => vec![],
            Decision::Change(change) | Decision::Photo { change, .. } => {
                change.moves().map(|(field, ..)| field.to_owned()).collect()
            }
            Decision::Held(held) => vec![crate::record::reveal(&held.reason.to_string()).into_owned()],
        }
    }

    #[test]
    fn law_4_what_the_service_made_of_a_wish_counts_as_the_wish() {
        let wanted = [("email", "Ana@example.com"), ("mobile", "+64 21 5"), ("name", "Ana  O'Hara")];
        let holds = entity(&[("email", "ana@example.com"), ("mobile", "64 215"), ("name", "Ana O'Hara")]);
        let before = known(&wanted, &[("name", "Ana O'Hara")]);
        assert_eq!(moved(Correlation::Mine { known: before.clone(), entity: holds.clone() }, &wanted), [""; 0]);
        // The same remote text is a difference where another wish led to it.
        let other = [("email", "ana@example.com"), ("mobile", "+64 21 5"), ("name", "Ana   O'Hara")];
        assert_eq!(moved(Correlation::Mine { known: before, entity: holds.clone() }, &other), ["name"]);
        assert_eq!(moved(Correlation::Matched { by: "email".into(), entity: holds, earlier: None }, &wanted), ["name"]);
    }

    #[test]
    fn law_6_what_is_not_sure_is_held() {
        let ids = [3, 4].map(|id| RemoteId::new(id).unwrap()).to_vec();
        let reasons = moved(Correlation::Unclear(Unclear::Ambiguous { by: "email".into(), ids }), &[("name", "Ana")]);
        assert_eq!(reasons, ["email fits several people at the service (ids 3, 4); make it unique there"]);
        let taken = Correlation::Unclear(Unclear::Taken {
            by: "email".into(),
            id: RemoteId::new(3).unwrap(),
            job: "visitors".into(),
            key: Key::new("9").unwrap(),
        });
        assert_eq!(
            moved(taken, &[("name", "Ana")]),
            ["email fits the person with id 3, who belongs to key 9 of job visitors until that job has let them go"]
        );
    }

    #[test]
    fn a_remote_edit_of_an_owned_field_is_a_difference_and_of_another_is_none() {
        let wanted = [("email", "a@example.com"), ("mobile", ""), ("name", "Ana")];
        let holds = entity(&[("email", "b@example.com"), ("mobile", ""), ("name", "Ana"), ("title", "Chief")]);
        assert_eq!(moved(Correlation::Mine { known: known(&wanted, &[]), entity: holds }, &wanted), ["email"]);
    }

    #[test]
    fn an_empty_value_clears_an_owned_field() {
        let holds = entity(&[("email", "a@example.com"), ("mobile", "64 21"), ("name", "Ana")]);
        let wanted = [("email", "a@example.com"), ("mobile", ""), ("name", "Ana")];
        assert_eq!(moved(Correlation::Mine { known: known(&wanted, &[]), entity: holds }, &wanted), ["mobile"]);
    }
    #[test]
    fn an_edit_at_the_service_stays_until_the_sources_own_value_changes() {
        let sent = [("email", "a@example.com"), ("mobile", "21"), ("name", "Ana")];
        let holds = || entity(&[("email", "a@example.com"), ("mobile", "99"), ("name", "Ana")]);
        let mine = |known: SyncedRecord| Correlation::Mine { known, entity: holds() };
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
    fn another_photo_counts_as_an_update_and_the_first_one_does_not() {
        let fields = [field("name"), field(Target::PHOTO)];
        let rules = Rules { target: Target::Staff, fields: &fields, seed_only: &[], on_drift: OnDrift::Overwrite };
        let wanted = [("name", "Ana"), (Target::PHOTO, "new")];
        for (sent, is_known) in [(&[("name", "Ana")][..], false), (&[("name", "Ana"), (Target::PHOTO, "old")], true)] {
            let correlation = Correlation::Mine { known: known(sent, &[]), entity: entity(&[("name", "Ana")]) };
            let subject = Subject { record: record(&wanted), line: None, marks: RowMetadata::default() };
            match decide(subject, correlation, rules) {
                Decision::Photo { change, .. } => assert_eq!(change.known, is_known, "{sent:?}"),
                other => panic!("{sent:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn law_4_an_edit_that_stays_is_not_taken_for_the_services_spelling() {
        let fields = [field("name"), field("mobile"), field("email")];
        let rules = Rules { target: Target::Staff, fields: &fields, seed_only: &[], on_drift: OnDrift::Keep };
        let wanted = [("email", "a@example.com"), ("mobile", "21"), ("name", "Ana  B")];
        let before = known(&wanted, &[("name", "Ana B")]);
        let holds = entity(&[("email", "edited@example.com"), ("mobile", "21"), ("name", "Ana B")]);
        let correlation = Correlation::Mine { known: before, entity: holds };
        let subject = Subject { record: record(&wanted), line: None, marks: RowMetadata::default() };
        assert!(matches!(decide(subject, correlation, rules), Decision::Settled { remember: None }));
    }
}
