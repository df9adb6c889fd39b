//! Taking a person out of the audit files.

use std::io;

use super::entry::{AuditEvent, Decided, Ended};
use super::rewrite::{Fate, rewrite};
use crate::record::{Key, erase_key};
use crate::store::Home;

/// Takes every line about a key out of the audit files of a state, whatever its job, and its name out of
/// the others; returns how many lines that concerned. What can't be read stays unless the key is in it.
pub fn forget(home: &Home, key: &Key) -> io::Result<u64> {
    let key = key.clone();
    rewrite(home, move |line, entry, _| fate(line, entry, &key))
}

pub(super) fn fate(line: &[u8], entry: Option<&AuditEvent>, key: &Key) -> Fate {
    let without = |reason: &Option<String>| reason.as_ref().and_then(|reason| erase_key(reason, key));
    match entry {
        Some(AuditEvent::Change(changed)) if changed.key.is_about(&changed.job, key) => Fate::Goes,
        Some(AuditEvent::Decision(decided)) if is_about(decided, key) => Fate::Goes,
        Some(AuditEvent::Decision(decided)) => match without(&decided.why) {
            Some(why) => Fate::Becomes(AuditEvent::Decision(Decided { why: Some(why), ..decided.clone() })),
            None => Fate::Stays,
        },
        Some(AuditEvent::Run(ended)) => match without(&ended.reason) {
            Some(reason) => Fate::Becomes(AuditEvent::Run(Ended { reason: Some(reason), ..ended.clone() })),
            None => Fate::Stays,
        },
        Some(_) => Fate::Stays,
        None if String::from_utf8_lossy(line).contains(key.as_str()) => Fate::Goes,
        None => Fate::Stays,
    }
}

fn is_about(decided: &Decided, key: &Key) -> bool {
    let about = |own: &Key| decided.job.as_ref().map_or(own == key, |job| own.is_about(job, key));
    decided.key.as_ref().is_some_and(about)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
            run(&format!("of key {}", Key::new("E7").unwrap())),
            run(&format!("of key {}", Key::new("E7 or so").unwrap())),
            run("12 people"),
        ];
        let after = [
            change("E77"),
            "{torn".into(),
            decided("E8"),
            run(&format!("of key {}", Key::new("(forgotten)").unwrap())),
            run(&format!("of key {}", Key::new("E7 or so").unwrap())),
            run("12 people"),
            String::new(),
        ];
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(forget(&dir.path().into(), &Key::new("E7").unwrap()).unwrap(), 0);
        fs::create_dir(dir.path().join("audit")).unwrap();
        let path = dir.path().join("audit/2026-01.ndjson");
        fs::write(&path, before.join("\n") + "\n").unwrap();
        assert_eq!(forget(&dir.path().into(), &Key::new("E7").unwrap()).unwrap(), 4);
        assert_eq!(fs::read_to_string(&path).unwrap(), after.join("\n"));
    }
}
