//! Sums up what became of the people of one job in a span of time.

use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;

use super::entry::{AuditEvent, Changed};
use super::month::read_since;
use crate::record::{Action, JobName, Key, Value};
use crate::store::Home;

/// Who came, changed and left, each with the name that the audit files show, where they do. A person who came and left in the
/// span is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Who was made.
    pub came: BTreeMap<Key, Option<String>>,
    /// Who was changed, and not made in the same span.
    pub changed: BTreeMap<Key, Option<String>>,
    /// Who was removed.
    pub left: BTreeMap<Key, Option<String>>,
    /// How many runs ended.
    pub runs: u64,
    /// The status of the last run of the span, where it is not `done`, and since when every run ended so.
    pub unwell: Option<(String, Timestamp)>,
}

impl Tally {
    /// Reads what is recorded of a job of a state, after `since` and until `until`. Parts of the job, such as
    /// memberships, are left out: they are no people.
    pub fn read(home: &Home, job: &JobName, since: Timestamp, until: Timestamp) -> io::Result<Self> {
        let mut tally = Self::default();
        let is_within = |at: Timestamp| at > since && at <= until;
        read_since(home, since, |entry| match entry {
            AuditEvent::Change(changed) if changed.job == *job && is_within(changed.at) => tally.add(changed),
            AuditEvent::Run(ended) if ended.job == *job && ended.at <= until => {
                tally.runs += u64::from(is_within(ended.at));
                tally.unwell = match tally.unwell.take() {
                    _ if ended.status == "done" => None,
                    Some((status, since)) if status == ended.status => Some((status, since)),
                    _ => Some((ended.status, ended.started)),
                };
            }
            AuditEvent::Change(_) | AuditEvent::Run(_) | AuditEvent::Decision(_) => {}
        })?;
        Ok(tally)
    }

    fn add(&mut self, changed: Changed) {
        let name = name(&changed);
        let key = changed.key;
        match changed.action {
            Action::Create => {
                self.changed.remove(&key);
                self.came.insert(key, name);
            }
            Action::Update if self.came.contains_key(&key) => {}
            Action::Update => {
                self.changed.insert(key, name);
            }
            Action::Delete => {
                self.left.insert(key, name);
            }
        }
    }
}

/// The name that a change shows: the one that there is then, or was.
fn name(changed: &Changed) -> Option<String> {
    let [from, to] = changed.fields.get("name")?.as_ref()?;
    let shown = |value: &Value| value.as_text().map(str::to_owned);
    shown(to).or_else(|| shown(from))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn people_are_counted_once_and_by_what_became_of_them() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("audit")).unwrap();
        let change = |at: &str, job: &str, key: &str, action: &str, fields: &str| {
            format!(
                r#"{{"what":"change","at":"{at}","run":1,"job":"{job}","key":"{key}","action":"{action}","id":5,"fields":{fields}}}"#
            )
        };
        let run = |at: &str, status: &str| {
            format!(
                r#"{{"what":"run","at":"{at}","run":1,"job":"staff","started":"{at}","status":"{status}","complete":true,"counts":{{}}}}"#
            )
        };
        let month = |name: &str, lines: &[String]| {
            fs::write(dir.path().join("audit").join(name), lines.join("\n") + "\n").unwrap();
        };
        month("2025-11.ndjson", &["not read at all".to_owned()]);
        month(
            "2025-12.ndjson",
            &[change("2025-12-31T00:00:00Z", "staff", "0", "create", "{}"), run("2025-12-31T00:00:00Z", "held")],
        );
        month(
            "2026-01.ndjson",
            &[
                change("2026-01-02T00:00:00Z", "staff", "1", "create", r#"{"name":[null,"Ana"]}"#),
                change("2026-01-02T00:00:01Z", "staff", "1", "update", r#"{"title":["a","b"]}"#),
                change("2026-01-02T00:00:02Z", "staff", "2", "update", r#"{"name":["Bo","Bob"]}"#),
                change("2026-01-02T00:00:03Z", "other", "3", "create", "{}"),
                run("2026-01-02T00:00:04Z", "held"),
                change("2026-01-03T00:00:00Z", "staff", "2", "update", r#"{"title":null}"#),
                change("2026-01-03T00:00:01Z", "staff", "4", "delete", r#"{"name":["Cy",null]}"#),
                run("2026-01-03T00:00:04Z", "held"),
                change("2026-01-09T00:00:00Z", "staff", "5", "create", "{}"),
                run("2026-01-09T00:00:00Z", "done"),
            ],
        );
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let job = JobName::new("staff").unwrap();
        let tally =
            Tally::read(&dir.path().into(), &job, time("2026-01-01T00:00:00Z"), time("2026-01-08T00:00:00Z")).unwrap();
        let listed = |people: &BTreeMap<Key, Option<String>>| {
            people
                .iter()
                .map(|(key, name)| format!("{} {}", key.as_str(), name.as_deref().unwrap_or("-")))
                .collect::<Vec<_>>()
        };
        assert_eq!(listed(&tally.came), ["1 Ana"]);
        assert_eq!(listed(&tally.changed), ["2 -"]);
        assert_eq!(listed(&tally.left), ["4 Cy"]);
        assert_eq!((tally.runs, tally.unwell), (2, Some(("held".to_owned(), time("2025-12-31T00:00:00Z")))));
        let later =
            Tally::read(&dir.path().into(), &job, time("2026-01-08T00:00:00Z"), time("2026-01-10T00:00:00Z")).unwrap();
        assert_eq!((listed(&later.came), later.unwell), (vec!["5 -".to_owned()], None));
    }
}
