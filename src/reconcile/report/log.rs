//! What the log says of a run: one entry with its numbers and reasons, and no people (law 11).
//!
//! The message says it all, since that is what a journal shows; the fields contain the same, so that an entry can be
//! found by them.

use super::job_report::Report;
use crate::reconcile::model::counts::Status;
use crate::record::reveal;

/// What marks these entries, for those who want none of them.
pub const TARGET: &str = module_path!();

/// Logs what a run came to.
pub(crate) fn log(run: u64, report: &Report) {
    let counts = &report.counts;
    let reason = report.reason().unwrap_or_default();
    let reason = &*reveal(&reason);
    let (job, status, message) = (report.name.as_str(), report.status.name(), message(report));
    macro_rules! log {
        ($level:ident) => {
            tracing::$level!(
                job,
                run,
                status,
                records = counts.records,
                missing = counts.missing,
                created = counts.created,
                updated = counts.updated,
                deleted = counts.deleted,
                rejected = counts.rejected,
                rejected_values = counts.rejected_values,
                parked = counts.parked,
                held = counts.held,
                requests = counts.requests,
                reason,
                "{message}"
            )
        };
    }
    match report.status {
        Status::Done => log!(info),
        Status::Partial | Status::Held => log!(warn),
        Status::Failed => log!(error),
    }
}

/// Job, status, numbers that are not zero, and the reason.
fn message(report: &Report) -> String {
    let counts = &report.counts;
    let numbers: Vec<String> = [
        (counts.created, "created"),
        (counts.updated, "updated"),
        (counts.deleted, "removed"),
        (counts.held, "held"),
        (counts.parked, "parked"),
        (counts.rejected, "rejected"),
        (counts.rejected_values, if counts.rejected_values == 1 { "value not used" } else { "values not used" }),
        (counts.missing, "missing"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let numbers = match (numbers.is_empty(), report.status) {
        (false, _) => format!(": {}", numbers.join(", ")),
        (true, Status::Done) => ": nothing to change".to_owned(),
        (true, _) => String::new(),
    };
    let records = if counts.records > 0 { format!(" ({} records)", counts.records) } else { String::new() };
    let reason = report.reason().map(|reason| format!(": {}", reveal(&reason))).unwrap_or_default();
    format!("{}: {}{numbers}{records}{reason}", report.name, report.status.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconcile::model::counts::Counts;
    use crate::record::JobName;

    #[test]
    fn the_message_has_job_status_numbers_and_reason() {
        let name = || JobName::new("employees").unwrap();
        let check = |status: Status, counts: Counts, reasons: &[&str], expected: &str| {
            let failed = Report::failed(name(), String::new(), 0);
            let reasons = reasons.iter().map(|reason| (*reason).to_owned().into()).collect();
            assert_eq!(message(&Report { status, counts, reasons, ..failed }), expected);
        };
        let none = Counts::default();
        let some = Counts { records: 60, created: 3, updated: 1, deleted: 2, ..none };
        check(Status::Done, some, &[], "employees: done: 3 created, 1 updated, 2 removed (60 records)");
        check(Status::Done, Counts { records: 60, ..none }, &[], "employees: done: nothing to change (60 records)");
        check(Status::Failed, none, &["no such file"], "employees: failed: no such file");
        let doubtful = Counts { records: 60, missing: 3, rejected_values: 2, ..none };
        check(Status::Done, doubtful, &[], "employees: done: 2 values not used, 3 missing (60 records)");
        let held = Counts { records: 9, held: 4, parked: 1, rejected: 2, ..none };
        check(
            Status::Held,
            held,
            &["2 rows were rejected", "4 people would leave"],
            "employees: held: 4 held, 1 parked, 2 rejected (9 records): 2 rows were rejected; 4 people would leave",
        );
    }
}
