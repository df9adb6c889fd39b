//! What a job's configuration is remembered by.

use xxhash_rust::xxh3::xxh3_128;

use crate::config::Job;
use crate::lookup::Lookup;
use crate::mapping::Mapping;
use crate::plan::OnDrift;

/// Fingerprint of everything that decides whether an unchanged row needs nothing: it is part of each row's digest.
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

/// Fingerprint of everything by which a job changes people although the source stayed the same: if it differs from the
/// last run's, all changes of the run are held first (law 7).
pub(crate) fn of_mapping(job: &Job, mapping: &Mapping) -> String {
    let selection = match job.source.selection() {
        none if none.is_empty() => none,
        text => format!(" {:032x}", xxh3_128(text.as_bytes())),
    };
    let second = |lookup: &Lookup| {
        let file = lookup.source.file().map(|file| format!("{}\n{:?}", file.shown().display(), file.sheet));
        let text = format!(
            "{}\n{}\n{}{}",
            lookup.name,
            lookup.source.kind(),
            lookup.source.selection(),
            file.unwrap_or_default()
        );
        format!(" {:032x}", xxh3_128(text.as_bytes()))
    };
    let lookups: String = job.lookups.iter().filter(|own| mapping.names_lookup(&own.name)).map(second).collect();
    let seeds = job.seed_only.iter().map(|field| format!(" -{field}"));
    format!("{:032x} {}{}{selection}{lookups}", mapping.digest(), job.match_on.join(" "), seeds.collect::<String>())
}
