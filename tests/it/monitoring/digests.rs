//! Notices to the recipients of one job, and its summary at set times.

use jiff::{SignedDuration, Timestamp};
use rosterd::status::Snapshot;

use super::notices::Told;
use crate::support::{Config, World, people, row};

const OF_JOB: &str = "[job.notify]\nmail_to = [\"hr@example.com\", \"Lead <lead@example.com>\"]\n";
const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";

/// How things are, seen at another time.
fn seen(told: &Told, at: Timestamp) -> Snapshot {
    Snapshot { at, ..told.world.snapshot() }
}

/// The next Monday at eight, in UTC.
fn monday(after: Timestamp) -> Timestamp {
    let schedule: rosterd::config::Schedule = "0 8 * * 1".parse().unwrap();
    schedule.next_after(after, &jiff::tz::TimeZone::UTC).unwrap()
}

/// The recipients of a mail.
fn recipients(mail: &str) -> Vec<&str> {
    mail.lines().filter_map(|line| line.strip_prefix("RCPT TO:")).map(|to| to.trim_matches(['<', '>', ' '])).collect()
}

#[test]
fn the_recipients_of_a_job_get_its_notices_and_no_others() {
    let other = format!("{}[job.notify]\nmail_to = \"other@example.com\"\n", Config::OTHER_JOB);
    let told = Told::new(&format!("{OF_JOB}{other}"));
    told.world.put("other.csv", people(1..2).as_bytes());
    let mut teller = told.teller();
    told.world.csv(people(1..3) + &row(9, "Clerk").replace("Person 9", ""));
    told.world.run(&["sync", "staff"]).expect(3);
    let now = told.world.snapshot().at;
    let (documents, mails) = told.look(&mut teller, &seen(&told, now), now);
    assert_eq!((documents.len(), mails.len()), (1, 2), "{mails:?}");
    let mut to: Vec<Vec<&str>> = mails.iter().map(|mail| recipients(mail)).collect();
    to.sort_unstable();
    assert_eq!(to, [vec!["hr@example.com", "lead@example.com"], vec!["it@example.com"]]);
    for mail in &mails {
        for text in ["job staff could do only a part", "line 4: ", "What to do: "] {
            assert!(mail.contains(text), "{text:?} is missing: {mail}");
        }
    }
}

#[test]
fn a_summary_comes_once_at_its_time_by_number_and_survives_a_restart() {
    let told = Told::new(&format!("{OF_JOB}digest = \"0 8 * * 1\"\n{LEAVE_AT_ONCE}"));
    let begun = told.world.snapshot().at;
    assert!(told.look(&mut told.teller(), &seen(&told, begun), begun).1.is_empty(), "nothing is summed up at first");
    told.world.sync_of(people(1..6)).expect(0);
    told.world.sync_of(people(2..6) + &row(7, "Clerk")).expect(0);
    told.world.csv(people(2..6) + &row(7, "Boss"));
    told.world.sync().expect(0);
    let due = monday(begun);
    let before = due - SignedDuration::from_secs(1);
    assert!(told.look(&mut told.teller(), &seen(&told, before), before).1.is_empty(), "not before its time");
    // The server is away, the machine is off, and nothing is lost or repeated.
    told.mail.refuse(true);
    assert!(told.look(&mut told.teller(), &seen(&told, due), due).1.is_empty());
    told.mail.refuse(false);
    let later = due + SignedDuration::from_hours(2);
    let (documents, mails) = told.look(&mut told.teller(), &seen(&told, later), later);
    assert_eq!((documents.len(), mails.len()), (0, 1), "{documents:?} {mails:?}");
    assert_eq!(recipients(&mails[0]), ["hr@example.com", "lead@example.com"]);
    let text = mails[0].replace("=\r\n", "").replace("=\n", "");
    assert!(text.contains("summary of job staff") && text.contains("6 came, 0 changed, 1 left"), "{text}");
    assert!(text.contains("nothing waits"), "{text}");
    assert!(!text.contains("Person") && !text.contains("P00007"), "{text}");
    let third = due + SignedDuration::from_hours(15 * 24);
    let (_, mails) = told.look(&mut told.teller(), &seen(&told, third), third);
    assert_eq!(mails.len(), 1, "two were missed and one comes");
    let text = mails[0].replace("=\r\n", "").replace("=\n", "");
    assert!(text.contains("0 came, 0 changed, 0 left") && text.contains("there was no run in that time"), "{text}");
}

#[test]
fn a_summary_says_what_waits_and_names_people_only_where_that_is_asked_for() {
    let approve = format!("{}writes = \"approve\"\n", Config::default().job);
    for names in [false, true] {
        let mut told = Told::new(&format!("{OF_JOB}digest = \"0 8 * * 1\"\ndigest_names = {names}\n"));
        let begun = told.world.snapshot().at;
        told.look(&mut told.teller(), &seen(&told, begun), begun);
        told.world.sync_of(people(1..3)).expect(0);
        told.world.reconfigure(|config| Config { job: approve.clone(), ..config });
        told.world.sync_of(people(1..4)).expect(4);
        let due = monday(begun);
        let (_, mails) = told.look(&mut told.teller(), &seen(&told, due), due);
        let summary = mails.iter().find(|mail| mail.contains("summary of job staff")).unwrap();
        let text = summary.replace("=\r\n", "").replace("=\n", "");
        assert!(text.contains("2 came, 0 changed, 0 left"), "{text}");
        assert!(text.contains("1 changes (set ") && text.contains("rosterd approve staff"), "{text}");
        assert!(text.contains("ended as held"), "{text}");
        assert_eq!(text.contains("Person 1 (P00001)"), names, "{text}");
        let kept = told.world.document("notices.json");
        assert!(!kept.contains("Person") && !kept.contains("P0000"), "{kept}");
    }
}

#[test]
fn recipients_without_a_server_or_a_summary_for_no_one_are_mistakes() {
    for (lines, message) in [
        ("[job.notify]\nmail_to = \"hr@example.com\"\n", "no mail server is configured"),
        ("[job.notify]\ndigest = \"0 8 * * 1\"\n", "no one would get the summary"),
        ("[job.notify]\nmail_to = \"hr\"\n", "is no mail address"),
        ("[job.notify]\nmail_to = \"hr@example.com\"\ndigest = \"8 o'clock\"\n", "digest"),
    ] {
        let world = World::of(Config::rest(lines));
        let ran = world.run(&["check", "--offline"]).expect(2);
        assert!(ran.err.contains(message), "{lines}: {ran:?}");
    }
}
