//! What several files in one visit came to for their job.
//!
//! - What was done and what was read is a sum over the files: records, rejected rows and values, created, updated, deleted,
//!   unchanged, requests; the lists and reasons with it.
//! - How the job stands is what the last file said that was read to its end: who is missing, what is held, what is parked,
//!   what drifted. A file that was refused, skipped, or of which nothing was taken says nothing about that.
//! - The status is the worst of all; only what an earlier file had held does not count once a later one settled it.

use crate::reconcile::model::counts::{Counts, Status};
use crate::reconcile::model::reason::Reason;
use crate::reconcile::report::job_report::Report;
use crate::record::JobName;

/// All runs of a visit as one, with what is worth knowing besides.
pub(crate) fn merged(job: &JobName, reports: Vec<Report>, notes: Vec<Reason>) -> Report {
    let mut reports = reports.into_iter();
    let mut merged = reports.next().unwrap_or_else(|| Report::idle(job.clone()));
    for report in reports {
        merged = followed(merged, report);
    }
    merged.reasons.extend(notes);
    merged
}

fn followed(mut merged: Report, later: Report) -> Report {
    let judged = later.details.judged;
    let before = if judged { without_held(&merged) } else { merged.status };
    merged.status = if severity(later.status) > severity(before) { later.status } else { before };
    merged.counts = joined(merged.counts, later.counts, judged);
    for (target, counts) in later.by_target {
        let known = merged.by_target.entry(target).or_default();
        *known = joined(*known, counts, judged);
    }
    merged.complete &= later.complete;
    merged.interrupted |= later.interrupted;
    merged.details.preempted |= later.details.preempted;
    merged.reasons.extend(later.reasons);
    merged.rejections.extend(later.rejections);
    merged.bad_values.extend(later.bad_values);
    if judged {
        (merged.missed, merged.missing) = (later.missed, later.missing);
        (merged.held, merged.parked, merged.drift) = (later.held, later.parked, later.drift);
        merged.details.besides.missed = later.details.besides.missed;
        merged.details.judged = true;
    }
    merged
}

/// What was read and done in both, and how the job stands as the one says that knows: the later one, where it judged people.
fn joined(one: Counts, later: Counts, judged: bool) -> Counts {
    let stands = if judged { later } else { one };
    Counts {
        records: one.records + later.records,
        missing: stands.missing,
        rejected: one.rejected + later.rejected,
        rejected_values: one.rejected_values + later.rejected_values,
        created: one.created + later.created,
        updated: one.updated + later.updated,
        deleted: one.deleted + later.deleted,
        unchanged: one.unchanged + later.unchanged,
        parked: stands.parked,
        held: stands.held,
        requests: one.requests + later.requests,
    }
}

fn severity(status: Status) -> u8 {
    match status {
        Status::Done => 0,
        Status::Partial => 1,
        Status::Held => 2,
        Status::Failed => 3,
    }
}

/// The result of a run, apart from what it held.
fn without_held(report: &Report) -> Status {
    let lacks = !report.complete || report.counts.rejected > 0;
    match report.status {
        Status::Held if report.details.judged && lacks => Status::Partial,
        Status::Held if report.details.judged => Status::Done,
        status => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::report::job_report::Details;
    use crate::record::{Key, Rejected};

    /// What a file came to that was read to its end: its people are numbered, so that it is seen whose they are.
    fn read(status: Status, number: u64) -> Report {
        let rejected = Rejected { key: None, line: Some(number), field: None, value: None, reason: "why".into() };
        Report {
            status,
            complete: true,
            counts: Counts {
                records: number,
                missing: number,
                rejected: number,
                rejected_values: number,
                created: number,
                updated: number,
                deleted: number,
                unchanged: number,
                parked: number,
                held: number,
                requests: number,
            },
            rejections: vec![rejected.clone()],
            bad_values: vec![rejected],
            held: vec![(Key::new(&number.to_string()).unwrap(), "why".into())],
            details: Details { judged: true, ..Details::default() },
            ..Report::idle(job())
        }
    }

    fn job() -> JobName {
        JobName::new("staff").unwrap()
    }

    #[test]
    fn what_was_done_is_a_sum_and_how_the_job_stands_is_what_the_last_file_said() {
        let refused = || Report::failed(job(), "refused".to_owned(), 8);
        let skipped = || Report::idle(job());
        type Case = (&'static str, Vec<Report>, (u64, u64), u64);
        let cases: [Case; 5] = [
            ("one", vec![read(Status::Done, 1)], (1, 1), 1),
            ("three", vec![read(Status::Done, 1), read(Status::Done, 2), read(Status::Done, 4)], (7, 7), 4),
            ("refused", vec![read(Status::Done, 1), refused()], (1, 9), 1),
            ("skipped", vec![read(Status::Done, 1), skipped()], (1, 1), 1),
            ("refused first", vec![refused(), read(Status::Done, 2)], (2, 10), 2),
        ];
        for (name, reports, (done, requests), stands) in cases {
            let merged = merged(&job(), reports, Vec::new());
            let Counts { records, rejected, rejected_values, created, updated, deleted, unchanged, .. } = merged.counts;
            assert_eq!([records, rejected, rejected_values, created, updated, deleted, unchanged], [done; 7], "{name}");
            assert_eq!(merged.counts.requests, requests, "{name}");
            let Counts { missing, held, parked, .. } = merged.counts;
            assert_eq!([missing, held, parked], [stands; 3], "{name}");
            assert_eq!(merged.held[0].0.as_str(), stands.to_string(), "{name}");
            assert_eq!(merged.bad_values.len(), merged.rejections.len(), "{name}");
        }
    }

    #[test]
    fn law_1_several_files_are_whole_and_undisturbed_only_where_each_was() {
        for (complete, other) in [(true, true), (true, false), (false, true), (false, false)] {
            let report = |complete: bool| Report {
                complete,
                interrupted: !complete,
                details: Details { preempted: !complete, ..Details::default() },
                ..read(Status::Done, 1)
            };
            let merged = merged(&job(), vec![report(complete), report(other)], Vec::new());
            let both = complete && other;
            assert_eq!((merged.complete, merged.interrupted, merged.details.preempted), (both, !both, !both));
        }
    }

    #[test]
    fn what_an_earlier_file_had_held_counts_no_more_once_a_later_one_settled_it() {
        let clean = |status| {
            let report = read(status, 1);
            Report { counts: Counts { rejected: 0, ..report.counts }, ..report }
        };
        let nothing_taken = || Report { status: Status::Held, ..Report::idle(job()) };
        for (name, reports, expected) in [
            ("settled", vec![clean(Status::Held), clean(Status::Done)], Status::Done),
            ("settled, with rejected rows", vec![read(Status::Held, 1), clean(Status::Done)], Status::Partial),
            ("held again", vec![clean(Status::Held), clean(Status::Done), clean(Status::Held)], Status::Held),
            ("then refused", vec![clean(Status::Held), Report::failed(job(), String::new(), 0)], Status::Failed),
            ("then skipped", vec![clean(Status::Held), Report::idle(job())], Status::Held),
            ("nothing was taken of one", vec![nothing_taken(), clean(Status::Done)], Status::Held),
            ("partly", vec![clean(Status::Partial), clean(Status::Done)], Status::Partial),
        ] {
            assert_eq!(merged(&job(), reports, Vec::new()).status, expected, "{name}");
        }
    }
}
