//! Taking a person out of the audit files.

use std::io;
use std::path::Path;

use super::audit::{folder, lock};
use super::entry::{Decided, Ended, Entry};
use super::month::months;
use super::rewrite::{Fate, rewrite};
use crate::record::Key;

/// What stands for a key that was forgotten.
const FORGOTTEN: &str = "(forgotten)";

/// Takes every line about a key out of the audit files under the state folder `dir`, whatever its job, and its name out of
/// the others; returns how many lines that concerned. What can't be read stays unless the key is in it.
pub fn forget(dir: &Path, key: &Key) -> io::Result<u64> {
    let mut changed = 0;
    if months(dir)?.is_empty() {
        return Ok(0);
    }
    let _alone = lock(&folder(dir))?;
    for month in months(dir)? {
        changed += rewrite(&month, &|line, entry, _| fate(line, entry, key))?;
    }
    Ok(changed)
}

fn fate(line: &[u8], entry: Option<&Entry>, key: &Key) -> Fate {
    match entry {
        Some(Entry::Change(changed)) if changed.key.is_about(&changed.job, key) => Fate::Goes,
        Some(Entry::Decision(decided)) if is_about(decided, key) => Fate::Goes,
        Some(Entry::Run(ended)) => match ended.reason.as_ref().and_then(|reason| without(reason, key)) {
            Some(reason) => Fate::Becomes(Entry::Run(Ended { reason: Some(reason), ..ended.clone() })),
            None => Fate::Stays,
        },
        Some(_) => Fate::Stays,
        None if String::from_utf8_lossy(line).contains(key.as_str()) => Fate::Goes,
        None => Fate::Stays,
    }
}

fn is_about(decided: &Decided, key: &Key) -> bool {
    let about = |own: &Key| own == key || decided.job.as_ref().is_some_and(|job| own.is_about(job, key));
    decided.key.as_ref().is_some_and(about)
}

/// A reason that names a record as `key KEY`, without that name; `None` where it does not.
pub fn without(reason: &str, key: &Key) -> Option<String> {
    let name = format!("key {}", key.as_str());
    let mut rest = reason;
    let mut told = String::new();
    let mut found = false;
    while let Some(at) = rest.find(&name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let whole = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '@' | '/'));
        told.push_str(before);
        if whole(after.chars().next()) && whole(before.chars().next_back()) {
            found = true;
            told.push_str(&format!("key {FORGOTTEN}"));
        } else {
            told.push_str(&name);
        }
        rest = after;
    }
    told.push_str(rest);
    found.then_some(told)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_reason_loses_the_name_of_one_key_only() {
        let key = Key::new("E7").unwrap();
        for (reason, expected) in [
            (
                "email fits id 3, who belongs to key E7 of job staff",
                Some("email fits id 3, who belongs to key (forgotten) of job staff"),
            ),
            ("this new record and that of key E7", Some("this new record and that of key (forgotten)")),
            ("that of key E77 and key E7, both", Some("that of key E77 and key (forgotten), both")),
            ("that of key E77", None),
            ("monkey E7", None),
            ("E7 people", None),
        ] {
            assert_eq!(without(reason, &key).as_deref(), expected, "{reason}");
        }
    }

    #[test]
    fn fault_114_every_line_of_a_key_goes_and_the_others_stay_as_they_are() {
        let line = |what: &str, rest: &str| format!("{{\"what\":\"{what}\",\"at\":\"2026-01-01T00:00:00Z\",{rest}}}");
        let change = |key: &str| {
            line(
                "change",
                &format!(
                    "\"run\":3,\"job\":\"a\",\"key\":\"{key}\",\"action\":\"update\",\"id\":5,\"fields\":{{}},\"x\":1"
                ),
            )
        };
        let decided = |key: &str| {
            line("decision", &format!("\"job\":\"b\",\"key\":\"{key}\",\"decision\":\"approved\",\"by\":\"root\""))
        };
        let run = |reason: &str| {
            let head = "\"run\":3,\"job\":\"a\",\"started\":\"2026-01-01T00:00:00Z\",\"status\":\"held\"";
            line("run", &format!("{head},\"complete\":true,\"counts\":{{}},\"reason\":\"{reason}\""))
        };
        let before = [
            change("E7"),
            change("E77"),
            "{E7 torn".into(),
            "{torn".into(),
            decided("E7"),
            decided("E8"),
            run("of key E7"),
            run("12 people"),
        ];
        let after =
            [change("E77"), "{torn".into(), decided("E8"), run("of key (forgotten)"), run("12 people"), String::new()];
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(forget(dir.path(), &Key::new("E7").unwrap()).unwrap(), 0);
        fs::create_dir(dir.path().join("audit")).unwrap();
        let path = dir.path().join("audit/2026-01.ndjson");
        fs::write(&path, before.join("\n") + "\n").unwrap();
        assert_eq!(forget(dir.path(), &Key::new("E7").unwrap()).unwrap(), 4);
        assert_eq!(fs::read_to_string(&path).unwrap(), after.join("\n"));
    }
}
