//! Rewriting the audit files. The only reason for it is that people's data must be removed from them.

use std::io;

use jiff::Timestamp;

use super::entry::AuditEvent;
use crate::store::{Home, LineFate, LineJudge, Log};

/// What becomes of one line.
pub(super) enum Fate {
    /// It stays, byte for byte.
    Stays,
    /// It stays as this.
    Becomes(AuditEvent),
    /// It goes.
    Goes,
}

/// Rewrites the lines of a state. `judge` is shown each line, with what it says (`None` where it can't be read) and its time,
/// or that of the line before it that could be read. Returns how many lines changed or were removed.
pub(super) fn rewrite<J>(home: &Home, judge: J) -> io::Result<u64>
where
    J: Fn(&[u8], Option<&AuditEvent>, Option<Timestamp>) -> Fate + Clone + 'static,
{
    Log::of(home).rewrite(|| {
        let judge = judge.clone();
        let mut latest = None;
        let judged: Box<LineJudge<'static>> = Box::new(move |line| {
            let entry: Option<AuditEvent> = serde_json::from_slice(line).ok();
            latest = entry.as_ref().map(AuditEvent::at).or(latest);
            match judge(line, entry.as_ref(), latest) {
                Fate::Stays => LineFate::Stays,
                Fate::Becomes(entry) => {
                    LineFate::Becomes(serde_json::to_vec(&entry).expect("an entry is made of types that JSON holds"))
                }
                Fate::Goes => LineFate::Goes,
            }
        });
        judged
    })
}
