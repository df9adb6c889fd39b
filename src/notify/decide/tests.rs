use jiff::tz::TimeZone;

use super::*;
use crate::reconcile::{Counts, LastRun, RejectedRows};
use crate::record::{Key, Target};
use crate::status::{Budget, OnSite, Process, Refused};

fn at(hour: i64) -> Timestamp {
    let begin: Timestamp = "2027-06-10T00:00:00Z".parse().unwrap();
    begin + SignedDuration::from_hours(hour)
}

fn row(line: u64, mark: u64) -> RejectedRow {
    RejectedRow { line: Some(line), field: Some("email".to_owned()), reason: "is empty".to_owned(), mark }
}

fn job(name: &str, status: Status, reasons: &[&str]) -> JobView {
    let mut job = JobView::idle(JobName::new(name).unwrap(), Target::Staff, TimeZone::UTC);
    job.reasons = reasons.iter().map(|reason| (*reason).to_owned().into()).collect();
    job.last = Some(LastRun {
        run: 7,
        started: at(0),
        ended: at(0),
        status,
        complete: true,
        counts: Counts::default(),
        reason: None,
    });
    job
}

fn snapshot(hour: i64, jobs: impl IntoIterator<Item = JobView>) -> Snapshot {
    let budget = Budget { used: 0, limit: 100, blocked_until: None, finish: None };
    let jobs = jobs.into_iter().collect();
    let process = Process::default();
    Snapshot {
        at: at(hour),
        unconfigured: Vec::new(),
        jobs,
        budget,
        is_full: false,
        unheard: Vec::new(),
        refused: None,
        unserved: None,
        no_decisions: None,
        process,
    }
}

/// Looks at one state after the other, and returns the kinds of the notices at each.
fn notices(snapshots: impl IntoIterator<Item = Snapshot>) -> Vec<Vec<NoticeKind>> {
    let mut told = NotifiedState::default();
    let tell = |snapshot: Snapshot| {
        let (next, notices) = decide(&told, &snapshot);
        // What is on disk is what is known: nothing is lost on the way.
        told = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
        assert_eq!(told, next);
        notices.into_iter().map(|notice| notice.event).collect()
    };
    snapshots.into_iter().map(tell).collect()
}

fn of(states: &[Status]) -> Vec<Vec<NoticeKind>> {
    notices(states.iter().enumerate().map(|(hour, status)| snapshot(hour as i64, [job("staff", *status, &[])])))
}

#[test]
fn a_status_page_that_is_not_served_is_notified_once_and_so_is_its_return() {
    for (kind, of_decisions) in [(NoticeKind::NoPage, false), (NoticeKind::NoDecisions, true)] {
        let page = |hour: i64, reason: Option<&str>| {
            let taken = reason.map(|reason| crate::status::Unserved { since: at(0), reason: reason.to_owned() });
            let (unserved, no_decisions) = if of_decisions { (None, taken) } else { (taken, None) };
            Snapshot { unserved, no_decisions, ..snapshot(hour, []) }
        };
        assert_eq!(
            notices([page(0, None), page(1, Some("taken")), page(2, Some("taken")), page(3, None), page(4, None)]),
            [vec![], vec![kind], vec![], vec![NoticeKind::Recovered], vec![]]
        );
    }
}

#[test]
fn a_change_is_notified_once_and_a_recovery_once() {
    use Status::{Done, Failed, Held, Partial};
    assert_eq!(of(&[Done, Done]), [vec![], vec![]], "nothing to tell of what was always well");
    assert_eq!(
        of(&[Failed, Failed, Done, Done, Failed]),
        [vec![NoticeKind::Failed], vec![], vec![NoticeKind::Recovered], vec![], vec![NoticeKind::Failed]]
    );
    assert_eq!(
        of(&[Partial, Held, Failed, Partial]),
        [[NoticeKind::Partial], [NoticeKind::Held], [NoticeKind::Failed], [NoticeKind::Partial]]
    );
}

#[test]
fn a_job_whose_last_file_was_refused_is_not_well_again_before_a_file_is_used() {
    let unused = |hour, status, file: Option<&str>| {
        let mut job = job("staff", status, &[]);
        job.unused_file = file.map(str::to_owned);
        snapshot(hour, [job])
    };
    let told = notices([
        unused(0, Status::Failed, Some("a.xls")),
        unused(1, Status::Done, Some("a.xls")),
        unused(2, Status::Held, Some("a.xls")),
        unused(3, Status::Partial, Some("a.xls")),
        unused(4, Status::Done, None),
    ]);
    let kinds = [NoticeKind::Failed, NoticeKind::Held, NoticeKind::Failed, NoticeKind::Recovered];
    assert_eq!(told, [vec![kinds[0]], vec![], vec![kinds[1]], vec![kinds[2]], vec![kinds[3]]]);
}

#[test]
fn two_jobs_don_t_mix() {
    let both = |hour, one, other| snapshot(hour, [job("one", one, &[]), job("other", other, &[])]);
    let told = notices([
        both(0, Status::Failed, Status::Done),
        both(1, Status::Failed, Status::Failed),
        both(2, Status::Done, Status::Failed),
    ]);
    assert_eq!(told, [[NoticeKind::Failed], [NoticeKind::Failed], [NoticeKind::Recovered]]);
}

#[test]
fn another_rejected_row_is_notified_and_one_that_moved_is_not() {
    let partial = |hour, rows: &[(u64, u64)]| {
        let mut job = job("staff", Status::Partial, &[]);
        job.rejected.first = rows.iter().map(|(line, mark)| row(*line, *mark)).collect();
        snapshot(hour, [job])
    };
    let (first, same, other) = (partial(0, &[(4, 1)]), partial(1, &[(9, 1)]), partial(2, &[(9, 1), (5, 2)]));
    let (told, _) = decide(&NotifiedState::default(), &first);
    let (told, nothing) = decide(&told, &same);
    assert_eq!(nothing, []);
    let (_, notices) = decide(&told, &other);
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].rows, [RowNote { line: Some(5), reason: "email: is empty".to_owned() }]);
    let failed = snapshot(3, [job("staff", Status::Failed, &[])]);
    let kinds = self::notices([first, failed, same]);
    assert_eq!(
        kinds,
        [[NoticeKind::Partial], [NoticeKind::Failed], [NoticeKind::Partial]],
        "the state changed, though no row did"
    );
}

#[test]
fn another_held_set_is_notified_with_its_number() {
    let held = |hour, set| {
        let mut job = job("staff", Status::Held, &["max_leavers: 9 people would leave, 3 are allowed"]);
        (job.held, job.held_set) = (9, set);
        snapshot(hour, [job])
    };
    let (told, notices) = decide(&NotifiedState::default(), &held(0, 1));
    assert_eq!(notices[0].held_set, Some(1));
    assert!(notices[0].text.starts_with("job staff holds 9 changes (set 1) until"), "{notices:?}");
    let (told, nothing) = decide(&told, &held(1, 1));
    assert_eq!(nothing, []);
    let (_, notices) = decide(&told, &held(2, 2));
    assert_eq!(notices[0].held_set, Some(2));
}

#[test]
fn an_overdue_job_is_notified_besides_how_its_last_run_ended() {
    let late = |hour, status, overdue: bool| {
        let mut job = job("staff", status, &[]);
        job.overdue =
            overdue.then(|| crate::reconcile::ReasonKind::Stale.because("overdue: no new content since then"));
        snapshot(hour, [job])
    };
    let told = notices([
        late(0, Status::Done, true),
        late(1, Status::Partial, true),
        late(2, Status::Partial, false),
        late(3, Status::Done, false),
    ]);
    assert_eq!(told, [vec![NoticeKind::Overdue], vec![NoticeKind::Partial], vec![], vec![NoticeKind::Recovered]]);
}

#[test]
fn a_leaver_on_site_for_a_week_is_notified_once() {
    let waits = |hour, since: Option<i64>| {
        let mut job = job("staff", Status::Done, &[]);
        job.on_site = vec![OnSite { mark: 5, since: since.map(at) }];
        snapshot(hour, [job])
    };
    let week = 7 * 24;
    let known =
        notices([waits(0, Some(-1)), waits(week - 2, Some(-1)), waits(week - 1, Some(-1)), waits(week, Some(-1))]);
    assert_eq!(known, [vec![], vec![], vec![NoticeKind::OnSite], vec![]]);
    let noticed = notices([waits(0, None), waits(week - 1, None), waits(week, None), waits(2 * week, None)]);
    assert_eq!(noticed, [vec![], vec![], vec![NoticeKind::OnSite], vec![]], "it counts from when it was noticed");
}

#[test]
fn a_full_disk_is_notified_once() {
    let full = |hour, is_full| Snapshot { is_full, ..snapshot(hour, []) };
    let told = notices([full(0, false), full(1, true), full(2, true), full(3, false)]);
    assert_eq!(told, [vec![], vec![NoticeKind::DiskFull], vec![], vec![NoticeKind::Recovered]]);
}

#[test]
fn law_11_no_notice_names_a_key() {
    let key = Key::new("Canary").unwrap();
    let reason = format!("moves to job b as key {key}, and leaves here once they are there");
    let mut job = job("staff", Status::Held, &[&reason]);
    job.rejected.first = vec![RejectedRow { reason: format!("fits that of key {key}"), ..row(4, 1) }];
    let (_, notices) = decide(&NotifiedState::default(), &snapshot(0, [job]));
    let text = format!("{notices:?}{}", notices[0].document("host", &crate::config::Notify::default()));
    assert!(!text.contains("Canary"), "{text}");
    assert!(text.contains("moves to job b as key …, and leaves here"), "{text}");
}

fn down(kind: &'static str, minutes: i64) -> Outage {
    Outage {
        kind,
        patience: SignedDuration::from_mins(minutes),
        ..Outage::at_start(kind, vec![format!("it is {kind}")])
    }
}

#[test]
fn what_keeps_everything_from_working_is_notified_once_a_kind_and_once_when_it_works_again() {
    let mut told = NotifiedState::default();
    let mut tell = |trouble: Option<Outage>, hour: i64| {
        let (next, kinds) = match trouble {
            Some(trouble) => {
                let (next, notice) = decide_down(&told, &trouble, at(hour));
                (next, notice.into_iter().map(|notice| notice.event).collect::<Vec<_>>())
            }
            None => {
                let (next, notices) = decide(&told, &snapshot(hour, [job("staff", Status::Done, &[])]));
                (next, notices.into_iter().map(|notice| notice.event).collect())
            }
        };
        told = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
        kinds
    };
    assert_eq!(tell(Some(down("damaged", 0)), 0), [NoticeKind::Down]);
    assert_eq!(tell(Some(down("damaged", 0)), 1), []);
    assert_eq!(tell(Some(down("configuration", 0)), 2), [NoticeKind::Down], "another trouble is news");
    assert_eq!(tell(Some(down("in_use", 5)), 3), [], "that one passes by itself");
    assert_eq!(tell(None, 4), [NoticeKind::Recovered], "the earlier trouble is over as well");
    assert_eq!(tell(None, 5), []);
    assert_eq!(tell(Some(down("in_use", 5)), 6), []);
    assert_eq!(tell(None, 7), [], "no notice was sent of it");
    assert_eq!(tell(Some(down("in_use", 5)), 8), []);
    assert_eq!(tell(Some(down("in_use", 5)), 7), [], "a clock that was set back starts the patience again");
    assert_eq!(tell(Some(down("in_use", 5)), 9), [NoticeKind::Down]);
}

#[test]
fn a_job_that_was_in_trouble_before_everything_was_is_not_notified_again() {
    let partial = |hour| snapshot(hour, [job("staff", Status::Partial, &[])]);
    let (told, _) = decide(&NotifiedState::default(), &partial(0));
    let (told, _) = decide_down(&told, &down("damaged", 0), at(1));
    let (_, notices) = decide(&told, &partial(2));
    assert_eq!(notices.iter().map(|notice| notice.event).collect::<Vec<_>>(), [NoticeKind::Recovered]);
}

#[test]
fn a_refused_configuration_is_notified_once_for_each_reason_and_so_is_the_one_that_is_taken() {
    let refused = |hour, reason: Option<&str>| Snapshot {
        refused: reason.map(|reason| Refused { at: at(hour), reason: reason.to_owned() }),
        ..snapshot(hour, [job("staff", Status::Done, &[])])
    };
    let told = notices([
        refused(0, None),
        refused(1, Some("config.toml:3: job.nonsense: is no known key")),
        refused(2, Some("config.toml:3: job.nonsense: is no known key")),
        refused(3, Some("job staff would be held")),
        refused(4, None),
        refused(5, None),
    ]);
    let (news, good) = (vec![NoticeKind::ConfigRefused], vec![NoticeKind::Recovered]);
    assert_eq!(told, [vec![], news.clone(), vec![], news, good, vec![]]);
}

#[test]
fn a_job_is_not_well_again_by_a_run_that_read_nothing_while_rows_of_its_last_file_are_not_used() {
    use Status::{Done, Partial};
    let with = |hour: i64, status: Status, rows: Vec<RejectedRow>| {
        let mut job = job("staff", status, &[]);
        job.rejected = RejectedRows { count: rows.len() as u64, first: rows };
        snapshot(hour, [job])
    };
    assert_eq!(
        notices([
            with(0, Done, vec![]),
            with(1, Partial, vec![row(2, 7)]),
            with(2, Done, vec![row(2, 7)]),
            with(3, Done, vec![row(2, 7)]),
            with(4, Done, vec![]),
        ]),
        [vec![], vec![NoticeKind::Partial], vec![], vec![], vec![NoticeKind::Recovered]]
    );
}
