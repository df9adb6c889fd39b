//! Whether a file is one that was read before, or an older one than the last.

use jiff::tz::TimeZone;

use crate::reconcile::model::inbox_state::{InboxState, Past};
use crate::source::inbox::{OlderExport, Options, Order, Taken, dated};

/// The last file, if this one is equal and reading it again would have the same result: all of it was used, by the
/// present mapping. A file in which something is to be corrected or decided is read each time that it is dropped.
pub(crate) fn same_as_last<'a>(state: &'a InboxState, taken: &Taken, mapping: &str) -> Option<&'a Past> {
    state.past.last().filter(|last| last.clean && last.content == taken.content && last.mapping == mapping)
}

/// So many years may the date in a name lie ahead of the day on which its file was read: a list may be named after the day on which
/// it counts.
const YEARS_AHEAD_MAX: i16 = 1;

/// How many files may have been used altogether since this very one was, for it to be no older export: a wrong file that
/// was used is put right by the one before it.
const PUT_RIGHT_MAX: usize = 1;

/// Why the file seems to be an older export than the last one: by the dates in their names, else by when they were
/// written where that is the order of the inbox, else because this very file came before several others that were used
/// altogether. Files of which something was held, missing or not used don't count: a person who drops the right file
/// again after wrong ones should not have to wait for an approval.
pub(crate) fn older_export(state: &InboxState, options: &Options, name: &str, taken: &Taken) -> Option<OlderExport> {
    // One wrong year in a name must not make every right file an older one.
    let is_sound = |date: &str, past: &Past| {
        let read = past.read.to_zoned(TimeZone::UTC).year();
        date.get(..4).and_then(|year| year.parse::<i16>().ok()).is_some_and(|year| year <= read + YEARS_AHEAD_MAX)
    };
    let dates =
        state.past.iter().filter_map(|past| Some((dated(&past.name).filter(|date| is_sound(date, past))?, past)));
    let latest = dates.max_by(|one, other| one.0.cmp(&other.0));
    if let (Some(date), Some((latest, past))) = (dated(name), latest) {
        return (date < latest).then(|| OlderExport::OlderName { last: past.name.clone() });
    }
    if options.order == Order::Modified {
        let latest = state.past.iter().filter(|past| past.modified.is_some()).max_by_key(|past| past.modified);
        return latest
            .filter(|past| taken.stamp.modified() < past.modified)
            .map(|past| OlderExport::OlderTime { last: past.name.clone() });
    }
    let is_this = |past: &&Past| !past.content.is_empty() && past.content == taken.content;
    let others: Vec<&Past> = state.past.iter().rev().skip_while(is_this).collect();
    let at = others.iter().position(is_this)?;
    let (since, known) = (&others[..at], others[at]);
    (since.iter().filter(|past| past.clean).count() > PUT_RIGHT_MAX).then(|| {
        let (at, last) = (format!("{:.0}", known.read), since[0].name.clone());
        OlderExport::ReadBefore { at, last }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::source::inbox::Reads;

    fn taken(content: &str) -> Taken {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = crate::source::inbox::Stamp::of(&file.as_file().metadata().unwrap());
        Taken { path: "copy".into(), content: content.into(), stamp, mode: 0o640 }
    }

    fn past(name: &str, content: &str, modified: &str) -> Past {
        let modified: Timestamp = modified.parse().unwrap();
        let read: Timestamp = "2026-11-20T09:00:00Z".parse().unwrap();
        let (name, content) = (name.to_owned(), content.to_owned());
        Past {
            rewritten: false,
            run: 1,
            name,
            content,
            mode: None,
            mapping: "m".into(),
            clean: true,
            modified: Some(modified),
            read,
            doubted: false,
            unjudged: false,
            unfinished: false,
            listed: None,
        }
    }

    /// Files without a date in their names, by their contents; one in capitals was not used altogether.
    fn undated(contents: &str) -> Vec<Past> {
        let file = |content: char| {
            let past = past("s.csv", &content.to_string(), "2020-01-01T00:00:00Z");
            Past { clean: content.is_lowercase(), ..past }
        };
        contents.chars().map(file).collect()
    }

    fn options(order: Order) -> Options {
        Options {
            dir: "inbox".into(),
            patterns: vec!["*.csv".into()],
            order,
            settle: Duration::ZERO,
            size_max: 1,
            kept: Options::KEPT,
            doubt: None,
            reads: Reads::default(),
            others_wait: false,
            repeats: false,
        }
    }

    #[test]
    fn fault_94_an_older_export_is_recognized_by_its_name_its_time_or_its_content() {
        const OLD: &str = "2020-01-01T00:00:00Z";
        const AHEAD: &str = "2999-01-01T00:00:00Z";
        for (order, pasts, name, content, words) in [
            (Order::Name, vec![past("s-2026-11-20.csv", "a", OLD)], "s-2026-11-21.csv", "b", None),
            (
                Order::Name,
                vec![past("s-2026-11-20.csv", "a", OLD)],
                "s-2026-11-19.csv",
                "b",
                Some("the date in its name"),
            ),
            (
                Order::Name,
                vec![past("s-2026-11-20.csv", "a", OLD), past("s.csv", "c", OLD)],
                "s-2026-11-19.csv",
                "b",
                Some("s-2026-11-20.csv"),
            ),
            // Another one of the same day.
            (Order::Name, vec![past("s-2026-11-20.csv", "a", OLD)], "b-2026-11-20.csv", "b", None),
            (Order::Name, vec![past("s-2062-11-19.csv", "a", OLD)], "s-2026-11-20.csv", "b", None),
            (
                Order::Name,
                vec![past("s-2027-01-01.csv", "a", OLD)],
                "s-2026-11-20.csv",
                "b",
                Some("the date in its name"),
            ),
            (Order::Name, vec![past("s.csv", "a", AHEAD)], "s.csv", "b", None),
            (Order::Modified, vec![past("s.csv", "a", AHEAD)], "s.csv", "b", Some("its time of writing")),
            (Order::Modified, vec![past("s.csv", "a", OLD)], "s.csv", "b", None),
            (Order::Modified, vec![past("s-20261120.csv", "a", AHEAD)], "s-20261121.csv", "b", None),
            (Order::Name, undated("abc"), "s.csv", "a", Some("others came since")),
            (Order::Name, undated("abca"), "s.csv", "a", Some("others came since")),
            (Order::Name, undated("abc"), "s.csv", "c", None),
            (Order::Name, undated("abc"), "s.csv", "d", None),
            // The right file again, after one or more wrong ones.
            (Order::Name, undated("ab"), "s.csv", "a", None),
            (Order::Name, undated("aba"), "s.csv", "a", None),
            (Order::Name, undated("aba"), "s.csv", "b", None),
            (Order::Name, undated("abac"), "s.csv", "a", None),
            (Order::Name, undated("aBCD"), "s.csv", "a", None),
            (Order::Name, undated("aBcD"), "s.csv", "a", None),
            (Order::Name, undated("aBcDe"), "s.csv", "a", Some("others came since")),
            (Order::Name, vec![], "s-2020-01-01.csv", "a", None),
        ] {
            let state = InboxState { past: pasts, ..InboxState::default() };
            let found = older_export(&state, &options(order), name, &taken(content));
            assert_eq!(found.is_some(), words.is_some(), "{name}: {found:?}");
            assert!(
                words.is_none_or(|words| found.as_ref().is_some_and(|found| found.to_string().contains(words))),
                "{found:?}"
            );
        }
    }

    #[test]
    fn only_a_file_that_was_used_altogether_is_not_read_again() {
        let clean = past("s.csv", "a", "2020-01-01T00:00:00Z");
        for (last, content, mapping, expected) in [
            (clean.clone(), "a", "m", true),
            (clean.clone(), "b", "m", false),
            (clean.clone(), "a", "n", false),
            (Past { clean: false, ..clean.clone() }, "a", "m", false),
        ] {
            let state = InboxState { past: vec![last], ..InboxState::default() };
            assert_eq!(same_as_last(&state, &taken(content), mapping).is_some(), expected);
        }
    }
}
