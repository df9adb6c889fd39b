//! A job in words, for people who decide and do not know its configuration: what it brings from where, how much of it
//! goes by itself, and what is on its way.
//!
//! Invariant: a limit is shown with what it allows among the people that the job knew at its last run. The guard leaves out
//! leavers who stay and adds who is matched just then; the reason of what it holds has its own number.
//!
//! Rejected: the keys of the configuration. They stand in the reason of each held change; who reads this page can't set them.

use serde::Serialize;

use crate::config::{Config, Job};
use crate::plan::{Limit, Limits, Writes};
use crate::queue::{self, State};
use crate::snapshot::Index;
use crate::source::Source;
use crate::store::{self, Store};
use crate::text::counted;
use crate::web::lasting;

/// A job in words.
#[derive(Serialize)]
pub(super) struct About {
    /// What it brings from where.
    sentence: String,
    /// Whether changes wait whatever the limits are.
    writes: Option<&'static str>,
    limits: Vec<LimitRow>,
    /// How many changes are on their way, and how long they take at least.
    queued: Option<String>,
}

#[derive(Serialize)]
struct LimitRow {
    of: String,
    allowed: String,
}

impl About {
    pub(super) fn load(store: &Store, config: &Config, job: &Job) -> Result<Self, store::Error> {
        let (known, _) = Index::counts(store, &job.name)?;
        let Limits { leavers, missing, updates, blanked, creates, min_records } = job.limits;
        let rows = [
            ("leave within 24 hours", leavers),
            ("are missing from the list", missing),
            ("are changed in one run", updates),
            ("lose what stands in one field", blanked),
            ("are new in one run", creates),
        ];
        let many = job.mapping.target.plural();
        let row = |(what, limit)| LimitRow { of: format!("{many} that {what}"), allowed: allowed(limit, known) };
        let mut rows: Vec<LimitRow> = rows.into_iter().map(row).collect();
        if min_records > 0 {
            let allowed = format!("at least {min_records}, or nothing is used");
            rows.push(LimitRow { of: "rows of a list".to_owned(), allowed });
        }
        Ok(Self {
            sentence: sentence(job),
            writes: match job.writes {
                Writes::Auto => None,
                Writes::Approve => Some("Every change waits here until someone approves it."),
                Writes::Off => Some("Nothing is sent: the job only shows what it would do."),
            },
            limits: rows,
            queued: queued(store, job, config.api.requests_per_minute)?,
        })
    }
}

/// `This job keeps staff at the service as they are in a file.`
fn sentence(job: &Job) -> String {
    let who = job.mapping.target.collection();
    let source = if job.inbox.is_some() { "the files that are dropped into its folder" } else { origin(&job.source) };
    format!("This job keeps {who} at the service as they are in {source}.")
}

fn origin(source: &Source) -> &'static str {
    match source {
        Source::Csv(_) => "a file",
        Source::Web(_) => "a file of a web server",
        Source::Ldap(_) => "a directory server",
        Source::Entra(_) => "Microsoft Entra ID",
        Source::Cached { origin: inner, .. } => origin(inner),
    }
}

/// What a limit lets pass among so many people.
fn allowed(limit: Limit, known: u64) -> String {
    let now = limit.allows(known).map(|count| format!("up to {count}")).unwrap_or_default();
    match limit {
        Limit::Off => "any number".to_owned(),
        Limit::Count(_) => now,
        Limit::Percent(percent) => format!("{now} ({percent} % of {known}, and {} in any case)", Limit::FLOOR),
    }
}

/// What waits for its turn at the service, if anything does.
fn queued(store: &Store, job: &Job, per_minute: u32) -> Result<Option<String>, store::Error> {
    let (mut changes, mut requests) = (0_usize, 0_u64);
    for part in job.parts() {
        queue::briefs(store, &part.name, |change| {
            if matches!(change.state, State::Waiting | State::Sent { .. }) {
                changes += 1;
                requests += change.requests();
            }
        })?;
    }
    let least = lasting(requests * 60 / u64::from(per_minute.max(1)));
    let what = counted(changes, "released change is", "released changes are");
    Ok((changes > 0).then(|| format!("{what} on its way to the service: this takes at least {least}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_says_what_it_allows_now() {
        for (limit, known, expected) in [
            (Limit::Off, 100, "any number"),
            (Limit::Count(20), 100, "up to 20"),
            (Limit::Count(0), 100, "up to 3"),
            (Limit::Percent(5.0), 240, "up to 12 (5 % of 240, and 3 in any case)"),
            (Limit::Percent(2.5), 10, "up to 3 (2.5 % of 10, and 3 in any case)"),
        ] {
            assert_eq!(allowed(limit, known), expected);
        }
    }
}
