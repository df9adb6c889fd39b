//! What a run over a file reads, and by which settings.

use crate::config::{Job, Mode};
use crate::reconcile::collect::{fingerprint, rows};
use crate::source::inbox::Reads;

/// What a run over a file reads, behind which so many others wait.
pub(crate) fn reads(job: &Job, waiting: usize) -> Reads {
    if job.mode == Mode::Full && waiting > 0 { Reads::Earlier } else { Reads::Last }
}

/// Fingerprint of every setting that influences the result of a file's rows.
pub(crate) fn as_before(job: &Job) -> String {
    let policy = format!("{:?} {:?} {:?} {:?}", job.leavers, job.leaver_set.fields, job.protect, job.mode);
    let of_part = |part: &Job| {
        let mapping = rows::mapping(part);
        format!("{} {:032x}", fingerprint::of_mapping(part, &mapping), fingerprint::of_rows(part, &mapping))
    };
    let all = job.parts().map(of_part).chain([policy]).collect::<Vec<_>>().join(" ");
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(all.as_bytes()))
}
