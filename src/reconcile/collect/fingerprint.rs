//! What a job's configuration is remembered by.

use xxhash_rust::xxh3::xxh3_128;

use crate::config::Job;
use crate::mapping::Mapping;
use crate::plan::OnDrift;

/// Stands for everything that decides whether a row that stayed the same needs nothing: it is part of each row's digest.
pub(crate) fn of_rows(job: &Job, mapping: &Mapping) -> u128 {
    let mut text = format!("{:032x}", mapping.digest());
    let plain = text.len();
    for field in &job.seed_only {
        text += &format!("\nseed_only {field}");
    }
    match job.on_drift {
        OnDrift::Overwrite => {}
        OnDrift::Keep => text += "\nkeep",
        OnDrift::Report => text += "\nreport",
    }
    if let Some(segment) = &job.mapping.segment {
        text += &format!("\nsegment {segment}");
    }
    if text.len() == plain { mapping.digest() } else { xxh3_128(text.as_bytes()) }
}

/// Stands for everything with which a job alters people though the source stayed the same: where it is another than at the
/// last run, all that the run would do is held first (law 7).
pub(crate) fn of_mapping(job: &Job, mapping: &Mapping) -> String {
    let selection = match job.source.selection() {
        none if none.is_empty() => none,
        text => format!(" {:032x}", xxh3_128(text.as_bytes())),
    };
    let seeds = job.seed_only.iter().map(|field| format!(" -{field}"));
    format!("{:032x} {}{}{selection}", mapping.digest(), job.match_on.join(" "), seeds.collect::<String>())
}
