//! What a job's configuration is remembered by.

use xxhash_rust::xxh3::xxh3_128;

use super::rows;
use crate::config::Job;
use crate::lookup::Lookup;
use crate::mapping::Mapping;
use crate::plan::OnDrift;
use crate::source::{Source, SourceState};

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
    let selection = match asked(&job.source) {
        none if none.is_empty() => none,
        text => format!(" {:032x}", xxh3_128(text.as_bytes())),
    };
    let second = |lookup: &Lookup| {
        let (source, place) = (&lookup.source, place_of(&lookup.source));
        let text = format!("{}\n{}\n{}\n{place}", lookup.name, source.kind(), asked(source));
        format!(" {:032x}", xxh3_128(text.as_bytes()))
    };
    let lookups: String = job.lookups.iter().filter(|own| mapping.names_lookup(&own.name)).map(second).collect();
    let seeds = job.seed_only.iter().map(|field| format!(" -{field}"));
    format!("{:032x} {}{}{selection}{lookups}", mapping.digest(), job.match_on.join(" "), seeds.collect::<String>())
}

/// Fingerprint of where the rows of a job lie: in which files of which folder, and from which line on; of a tenant, in which groups
/// those that are named by their display names were `found`; and what the other parts of the job make of them. Another place may show
/// other people, and other companies others of their memberships, though it is meant to show the same. So is the segment: of who is
/// known it is not remembered before, so nothing would see that one is gone as a whole. Only who is missing since then is held.
pub(crate) fn of_place(whole: &Job, job: &Job, found: &SourceState) -> String {
    let place = match &job.inbox {
        Some(inbox) => format!("{}\n{}", inbox.dir.display(), inbox.patterns.join("\n")),
        None => {
            let groups = found.directory().map(|seen| seen.groups.values().map(String::as_str).collect::<Vec<_>>());
            place_of(&job.source) + &groups.unwrap_or_default().join("\n")
        }
    };
    let header = job.source.file().and_then(|file| file.header);
    let others = whole.parts().filter(|part| part.name != job.name);
    let others: String = others.map(|part| format!("\n{:032x}", rows::mapping(part).digest())).collect();
    let segment = job.mapping.segment.as_ref().map(|segment| format!("\nsegment {segment}")).unwrap_or_default();
    if [&place, &others, &segment].into_iter().all(String::is_empty) {
        return place;
    }
    format!("{:032x}", xxh3_128(format!("{place}\n{header:?}{others}{segment}").as_bytes()))
}

/// What a source is asked for: another sheet shows other people, as another address, base or filter does.
fn asked(source: &Source) -> String {
    let sheet = source.file().and_then(|file| file.sheet.as_deref()).unwrap_or_default();
    format!("{}{sheet}", source.selection())
}

/// The file of a source, where it is one of this machine.
fn place_of(source: &Source) -> String {
    source.file().map(|file| file.shown().display().to_string()).unwrap_or_default()
}
