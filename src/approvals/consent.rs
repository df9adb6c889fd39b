//! Where two people have to approve: the consent of the first.
//!
//! It is bound to the set, to the digest of what was shown, and to the keys that were chosen; it is good for a second person who
//! chooses just the same. It is in memory: at a restart the first is asked again, and nothing is released by that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::access::Person;
use crate::operator::ChosenKey;
use crate::record::JobName;

/// Consents of one job that are kept.
const OF_JOB_MAX: usize = 16;

/// What someone consents to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) set: u64,
    pub(super) digest: String,
    /// What was chosen of it; `None` for all.
    pub(super) keys: Option<BTreeSet<ChosenKey>>,
}

#[derive(Debug)]
struct Consent {
    person: Person,
    subject: Subject,
}

/// The consents that wait for a second one.
#[derive(Debug, Default)]
pub(super) struct Consents(Mutex<BTreeMap<JobName, Vec<Consent>>>);

impl Consents {
    /// Who consented to just this before, where that is someone else; otherwise this consent is kept.
    pub(super) fn join(&self, job: &JobName, person: &Person, subject: &Subject) -> Option<Person> {
        let mut consents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_job = consents.entry(job.clone()).or_default();
        // What is held by another set can't be approved any more.
        of_job.retain(|one| one.subject.set == subject.set && one.subject.digest == subject.digest);
        let other = |one: &Consent| one.person.identity() != person.identity();
        if let Some(at) = of_job.iter().position(|one| other(one) && one.subject == *subject) {
            return Some(of_job.remove(at).person);
        }
        of_job.retain(|one| other(one) || one.subject != *subject);
        if of_job.len() >= OF_JOB_MAX {
            of_job.remove(0);
        }
        of_job.push(Consent { person: person.clone(), subject: subject.clone() });
        None
    }

    /// Who consented to the whole set so far.
    pub(super) fn of(&self, job: &JobName, set: u64, digest: &str) -> Vec<String> {
        let consents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_job = consents.get(job).into_iter().flatten();
        let fits = |one: &&Consent| one.subject.set == set && one.subject.digest == digest;
        let named = |one: &Consent| match &one.subject.keys {
            None => format!("{} (all of it)", one.person.called()),
            Some(keys) => format!("{} ({} of it)", one.person.called(), keys.len()),
        };
        of_job.filter(fits).map(named).collect()
    }

    /// Forgets those of a job: someone rejected.
    pub(super) fn forget(&self, job: &JobName) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approvals::access::tests::person;
    use crate::record::Key;

    #[test]
    fn two_people_consent_to_the_same_or_nothing_is_released() {
        let (consents, job) = (Consents::default(), JobName::new("employees").unwrap());
        let (ana, bo) = (person("ana", &[]), person("bo", &[]));
        let typed_otherwise = person("ANA", &[]);
        let of = |set: u64, digest: &str, keys: &[&str]| Subject {
            set,
            digest: digest.to_owned(),
            keys: (!keys.is_empty())
                .then(|| keys.iter().map(|key| ChosenKey::anywhere(Key::new(key).unwrap())).collect()),
        };
        let join =
            |who: &Person, subject: Subject| consents.join(&job, who, &subject).map(|one| one.called().to_owned());
        assert_eq!(join(&ana, of(1, "a", &[])), None);
        assert_eq!(join(&ana, of(1, "a", &[])), None, "one person is one");
        assert_eq!(join(&typed_otherwise, of(1, "a", &[])), None, "however a proxy passes them on");
        assert_eq!(join(&ana, of(1, "a", &[])), None);
        assert_eq!(join(&bo, of(1, "a", &["P1"])), None, "another choice");
        assert_eq!(consents.of(&job, 1, "a"), ["ana (all of it)", "bo (1 of it)"]);
        assert_eq!(join(&bo, of(1, "a", &[])), Some("ana".to_owned()));
        assert_eq!(join(&bo, of(1, "a", &[])), None, "a consent is good once");
        for (set, digest) in [(2, "a"), (1, "b")] {
            assert_eq!(join(&ana, of(set, digest, &[])), None, "another set, or shown otherwise");
        }
        consents.forget(&job);
        assert!(consents.of(&job, 1, "b").is_empty());
        for number in 0..100 {
            join(&person(&format!("user {number}"), &[]), of(1, "a", &["P1"]));
            join(&ana, of(1, "a", &[&format!("P{number}")]));
        }
        assert!(consents.0.lock().unwrap()[&job].len() <= OF_JOB_MAX);
    }
}
