//! Retention of people's data.

use std::io;

use jiff::{SignedDuration, Timestamp};

use super::entry::{AuditEvent, Changed};
use super::rewrite::{Fate, rewrite};
use crate::store::Home;

/// How long people's data is kept in the audit files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Values before and after a change; then its line names the fields only.
    pub before_images: SignedDuration,
    /// Whole lines.
    pub runs: SignedDuration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { before_images: SignedDuration::from_hours(90 * 24), runs: SignedDuration::from_hours(365 * 24) }
    }
}

impl Retention {
    /// Drops what has grown too old in a state, and returns how many lines that concerned. What can't be read may hold
    /// values: it goes with the values of the lines around it.
    pub fn apply(&self, home: &Home, now: Timestamp) -> io::Result<u64> {
        let own = *self;
        rewrite(home, move |_, entry, latest| own.fate(entry, latest, now))
    }

    fn fate(&self, entry: Option<&AuditEvent>, latest: Option<Timestamp>, now: Timestamp) -> Fate {
        let is_past = |age: SignedDuration| latest.is_some_and(|at| now.duration_since(at) >= age);
        match entry {
            _ if is_past(self.runs) => Fate::Goes,
            None if is_past(self.before_images) => Fate::Goes,
            Some(AuditEvent::Change(changed))
                if is_past(self.before_images) && changed.fields.values().any(Option::is_some) =>
            {
                let fields = changed.fields.keys().map(|field| (field.clone(), None)).collect();
                Fate::Becomes(AuditEvent::Change(Changed { fields, ..changed.clone() }))
            }
            _ => Fate::Stays,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CHANGE: &str = r#"{"what":"change","at":"TIME","run":3,"job":"staff","key":"7","action":"update","id":5,"fields":{"name":["Ana","Bo"]}}"#;
    const BARE: &str = r#"{"what":"change","at":"TIME","run":3,"job":"staff","key":"7","action":"update","id":5,"fields":{"name":null}}"#;
    const DECISION: &str =
        r#"{"what":"decision","at":"TIME","job":"staff","key":"7","decision":"approved","by":"root","more":1}"#;

    #[test]
    fn old_values_go_first_and_old_lines_later() {
        let at = |line: &str, day: &str| line.replace("TIME", &format!("{day}T00:00:00Z"));
        let torn = "{\"what\":\"cha".to_owned();
        let dir = tempfile::tempdir().unwrap();
        let audit = dir.path().join("audit");
        fs::create_dir(&audit).unwrap();
        let put = |month: &str, lines: &[String]| {
            fs::write(audit.join(format!("{month}.ndjson")), lines.join("\n") + "\n").unwrap();
        };
        put("2025-01", &[at(CHANGE, "2025-01-01")]);
        put("2026-01", &[at(DECISION, "2026-01-01"), at(CHANGE, "2026-01-02"), torn.clone()]);
        put("2026-04", &[at(CHANGE, "2026-04-01"), at(CHANGE, "2026-04-20"), torn.clone()]);
        fs::write(audit.join(".2026-04.ndjson.new"), "half of a rewrite that a crash ended").unwrap();
        let now = "2026-07-10T00:00:00Z".parse().unwrap();
        assert_eq!(Retention::default().apply(&dir.path().into(), now).unwrap(), 4);
        let read = |month: &str| fs::read_to_string(audit.join(format!("{month}.ndjson"))).ok();
        assert_eq!(read("2025-01"), None, "a file without lines is no file");
        assert_eq!(
            read("2026-01"),
            Some([at(DECISION, "2026-01-01"), at(BARE, "2026-01-02"), String::new()].join("\n"))
        );
        let young = [at(BARE, "2026-04-01"), at(CHANGE, "2026-04-20"), torn, String::new()].join("\n");
        assert_eq!(read("2026-04"), Some(young), "what can't be read is kept as long as it may be needed");
        assert_eq!(Retention::default().apply(&dir.path().into(), now).unwrap(), 0);
        assert_eq!(fs::read_dir(&audit).unwrap().count(), 3, "two months and the lock");
        let nothing = Retention { before_images: SignedDuration::ZERO, runs: SignedDuration::from_hours(1_000_000) };
        assert_eq!(nothing.apply(&dir.path().into(), now).unwrap(), 2);
        assert!(!read("2026-04").unwrap().contains("Ana"));
    }
}
