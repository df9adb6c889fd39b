//! Naming the edits at the service that stay.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use crate::mirror::Mirror;
use crate::reconcile::model::job_state::Counterparts;
use crate::record::{JobName, Key, RemoteId, Sensitive, Target};
use crate::text::counted;

/// How many people a note names; the rest is counted.
const NAMED_MAX: usize = 5;

/// Who was edited at the service, and in which fields; never to what (law 11).
pub(crate) fn drift_note(drift: &BTreeMap<Key, Vec<String>>) -> Option<String> {
    let who = counted(drift.len(), "person was", "people were");
    let named = with_fields(drift);
    let note = format!("on_drift: {who} edited at the service ({named}), which stays until the source changes");
    (!drift.is_empty()).then_some(note)
}

fn with_fields(people: &BTreeMap<Key, Vec<String>>) -> String {
    some(people.iter().map(|(key, fields)| format!("{key}: {}", fields.join(", "))), "; ")
}

fn some(names: impl ExactSizeIterator<Item = String>, between: &str) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let named = names.take(NAMED_MAX).collect::<Vec<_>>().join(between);
    if more > 0 { format!("{named}; and {more} more") } else { named }
}

/// Which organizations stay as the job has them that owns them, by that job.
pub(crate) fn lent_notes(lent: &BTreeMap<JobName, BTreeMap<Key, Vec<String>>>) -> Vec<String> {
    let note = |(job, lent): (&JobName, &BTreeMap<Key, Vec<String>>)| {
        let what = counted(lent.len(), "organization belongs", "organizations belong");
        let stay = if lent.len() == 1 { "stays" } else { "stay" };
        let named = with_fields(lent);
        format!("{what} to job {job} and {stay} as that job has it, though other values are wanted here ({named})")
    };
    lent.iter().map(note).collect()
}

/// Who is at the service twice, as two jobs have them, by the other job.
pub(super) fn both_sides_notes(people: &Counterparts) -> Vec<String> {
    let mut by_job: BTreeMap<&JobName, Vec<String>> = BTreeMap::new();
    for (key, (job, other)) in people {
        by_job.entry(job).or_default().push(format!("{key}, there {other}"));
    }
    let note = |(job, named): (&JobName, Vec<String>)| {
        let who = counted(named.len(), "person is", "people are");
        let named = some(named.into_iter(), "; ");
        format!(
            "{who} in job {job}, too ({named}), which makes two entries of each at the service: leave them out of one of the two jobs, by \
             `include` or its filter, unless they work on both sides, or leave the other job with its next run"
        )
    };
    by_job.into_iter().map(note).collect()
}

/// That lists number their people each by themselves, where several new people have the numbers of others.
pub(super) fn of_others_notes(of_others: &BTreeMap<(String, String), usize>) -> impl Iterator<Item = String> {
    // A single one is a slip, or has the number of someone who is leaving.
    of_others.iter().filter(|(_, count)| **count > 1).map(|((job, field), count)| {
        format!(
            "{count} people have the {field} of someone else in job {job}: where each list numbers its people by itself, make {field} \
             differ in [job.map], as by a word before it"
        )
    })
}

/// Which organizations are made that have the name of another one of the job.
pub(super) fn second_organizations_note(second: &[(&Key, Key)]) -> Option<String> {
    let what = counted(second.len(), "organization is new and has", "organizations are new and have");
    let named = some(second.iter().map(|(new, other)| format!("{new}, as {other}")), "; ");
    let note = format!(
        "{what} the name of another one ({named}): where a number is mistyped, correct it before it is made, since the service removes no \
         organization"
    );
    (!second.is_empty()).then_some(note)
}

/// Who of the source is not at the service, since a person said so.
pub(crate) fn left_out_note(keys: &[Key], target: Target, job: &JobName) -> Option<String> {
    let names = some(keys.iter().map(|key| format!("key {key}")), ", ");
    let (what, name) = (counted(keys.len(), target.noun(), target.plural()), job.root());
    let note = format!(
        "rejected before, so not at the service though the source has them: {what} ({names}); `rosterd approve {name} KEY` makes one \
         after all"
    );
    (!keys.is_empty()).then_some(note)
}

/// Whose photo is gone from the source and stays at the service.
pub(crate) fn photos_note(keys: &BTreeSet<Key>) -> Option<String> {
    let what = counted(keys.len(), "photo is", "photos are");
    let named = some(keys.iter().map(Key::to_string), ", ");
    let note = format!(
        "photo: {what} gone from the source and stays at the service, since the API has no operation that removes one \
         ({named}); remove it there by hand"
    );
    (!keys.is_empty()).then_some(note)
}

/// Who begins so late that the year may be mistyped.
pub(super) fn far_note(early: &[(&Key, Date)], target: Target) -> Option<String> {
    let who = counted(early.len(), target.noun(), target.plural());
    let begin = if early.len() == 1 { "begins" } else { "begin" };
    let named = some(early.iter().map(|(key, day)| format!("key {key} on {day}")), ", ");
    let note = format!("{who} {begin} more than a year from now ({named}): is the year right?");
    (!early.is_empty()).then_some(note)
}

/// That changes wait which take back a run: no plan has them.
pub(crate) fn taken_back_note(changes: usize, job: &JobName) -> Option<String> {
    let job = job.root();
    let what = counted(changes, "change that takes back a run waits", "changes that take back a run wait");
    let note = format!(
        "{what} for a decision: `rosterd approve {job}` or `rosterd reject {job}`; `rosterd explain {job} KEY` shows one"
    );
    (changes > 0).then_some(note)
}

/// That the service's list leaves people out who are there: they count as there.
pub(super) fn unlisted_note(mirror: &Mirror) -> Option<String> {
    let ids = mirror.unlisted();
    let shown = some(ids.iter().map(|id| format!("id {id}")), ", ");
    let target = mirror.target();
    let are = match ids.len() {
        1 => ", which is there by its own page, and counts as there",
        _ => ", which are there by their own pages, and count as there",
    };
    (!ids.is_empty()).then(|| format!("the service's list of {} leaves out {shown}{are}", target.plural()))
}

/// That the service said yes to a removal and did not carry it out.
pub(super) fn not_removed_note(ids: &[RemoteId]) -> Option<String> {
    let shown = some(ids.iter().map(|id| format!("id {id}")), ", ");
    (!ids.is_empty())
        .then(|| format!("the service still has {shown}, though it confirmed the removal; remove them there"))
}

/// That a file of changes says of keys that the job does not know that they are gone.
pub(super) fn unknown_gone_note(keys: &[Key], target: Target) -> Option<String> {
    let (rows, named) = (counted(keys.len(), "row says", "rows say"), some(keys.iter().map(Key::to_string), ", "));
    let note = match target {
        Target::Membership => format!(
            "{rows} of a membership that the job does not know that it is over ({named}); was the key of the person or of the organization \
             mistyped?"
        ),
        _ => format!(
            "{rows} of a key that the job does not know that it is gone ({named}); was a key mistyped, or does the job have its \
             person under another one?"
        ),
    };
    (!keys.is_empty()).then_some(note)
}

/// What a run says of records that it keeps and can't use.
pub(crate) fn unusable_note(count: usize) -> Option<String> {
    let records = if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
    let rest = "of earlier files can't be used any more, since the job's mapping is another now; drop the rows of those who begin \
                later, and those that were not used, once more";
    (count > 0).then(|| format!("{records} {rest}"))
}

/// What a run says of memberships that waited with a row that may have been about another person or organization.
pub(super) fn withdrawn_note(pairs: &BTreeSet<Key>) -> Option<String> {
    let what = counted(pairs.len(), "membership", "memberships");
    let (are, they) = if pairs.len() == 1 { ("is", "it is") } else { ("are", "they are") };
    let named = some(pairs.iter().map(Key::to_string), ", ");
    let note = format!(
        "{what} of a doubtful row {are} wanted no more ({named}), since a later row of that person says \
         otherwise; drop the row once more if {they} right"
    );
    (!pairs.is_empty()).then_some(note)
}

/// What a run says of records for later days that files of changes left, and that a list of everyone overtakes.
pub(crate) fn overtaken_note(count: usize) -> Option<String> {
    let records = if count == 1 { "1 record" } else { &format!("{count} records") };
    let rest = "that files of changes named for later days no longer count, since the source is a list of everyone now";
    (count > 0).then(|| format!("{records} {rest}"))
}

/// The names in `protect` that no one has.
pub(crate) fn unprotected_note(names: &[&str]) -> Option<String> {
    let (one, other) =
        if names.len() == 1 { ("key or email", "its person has") } else { ("keys or emails", "their people have") };
    let listed = some(names.iter().map(|name| Sensitive(name).to_string()), ", ");
    let note = format!(
        "protect: no one has the {one} {listed}, so no one is protected by that; name the key or email that {other} by now"
    );
    (!names.is_empty()).then_some(note)
}

/// The names in `protect` that people had and have no more, with those who are protected by them all the same.
pub(crate) fn renamed_note(names: &[(&str, String)]) -> Option<String> {
    let listed = some(names.iter().map(|(name, now)| format!("{} last ({now} now)", Sensitive(name))), ", ");
    let note =
        format!("protect: who had {listed} has another key or email by now, and is still protected; name them by that");
    (!names.is_empty()).then_some(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::reveal;

    #[test]
    fn some_are_named_and_the_rest_is_counted() {
        let drift = |count: usize| {
            let key = |number: usize| Key::new(&number.to_string()).unwrap();
            (0..count)
                .map(|number| (key(number), vec!["name".to_owned(), "title".to_owned()]))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(drift_note(&drift(0)), None);
        let one = "on_drift: 1 person was edited at the service (0: name, title), which stays until the source changes";
        assert_eq!(reveal(&drift_note(&drift(1)).unwrap()), one);
        let many = drift_note(&drift(7)).unwrap();
        let many = reveal(&many);
        assert!(many.contains("7 people were") && many.contains("4: name, title; and 2 more)"), "{many}");
        let lent = |count| lent_notes(&BTreeMap::from([(JobName::new("sites").unwrap(), drift(count))]));
        let [one, many] = [1, 2].map(|count| reveal(&lent(count).concat()).into_owned());
        assert!(
            one.starts_with("1 organization belongs to job sites and stays as") && one.ends_with("(0: name, title)"),
            "{one}"
        );
        assert!(many.starts_with("2 organizations belong to job sites and stay as"), "{many}");
    }
}
