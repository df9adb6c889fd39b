//! What a checked configuration holds.

use std::path::PathBuf;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::account::Account;
use super::approvals::{Approvals, Login};
use super::credentials;
use super::monitoring::{HrReportOptions, JobNotify, Notify, Status};
use super::schedule::Schedule;
use super::standard::{SOCKET, STATE_DIR};
use crate::history::Retention;
use crate::lookup::Lookup;
use crate::record::{JobName, Target};
use crate::secret::{SecretSource, Unusable};
use crate::source::{Source, inbox};
use crate::store::Home;
use crate::{api, mapping, plan};

/// A whole configuration, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The account at the service.
    pub api: api::Options,
    /// What is kept on this machine.
    pub state: StateOptions,
    /// How commands reach the daemon.
    pub control: Control,
    /// How people look at the daemon.
    pub status: Status,
    /// Who is notified when something needs a person.
    pub notify: Notify,
    /// Where people decide in a browser; `None` where they don't.
    pub approvals: Option<Approvals>,
    /// How long people's data is kept.
    pub retention: Retention,
    /// The jobs in the order of the file; at least one where they are needed.
    pub jobs: Vec<Job>,
    /// The file that all this was read from, as an absolute path.
    pub source_path: PathBuf,
    /// The same for the same text, and another one otherwise.
    pub digest: String,
    /// What is allowed but worth a second look, one line each, with file, line and key.
    pub warnings: Vec<String>,
}

impl Config {
    /// Reads its secrets now, for a process that may not read their files later.
    ///
    /// # Errors
    ///
    /// One of them can't be read.
    pub fn hold_secrets(&mut self) -> Result<(), Unusable> {
        self.secrets().into_iter().try_for_each(SecretSource::hold)?;
        self.state.home.hold_secrets()?;
        for job in &mut self.jobs {
            job.source.hold_certificate();
            job.lookups.iter_mut().for_each(|lookup| lookup.source.hold_certificate());
        }
        Ok(())
    }

    /// The files that the account of the daemon has to read besides those of people: the configuration, and its secrets, unless
    /// systemd hands them over.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut config = self.clone();
        let secrets = config.secrets().into_iter().filter_map(|secret| match secret {
            SecretSource::File(path) if !credentials::is_handed_over(path) => Some(path.clone()),
            SecretSource::File(_) | SecretSource::Text(_) | SecretSource::Missing(_) => None,
        });
        std::iter::once(self.source_path.clone()).chain(secrets).collect()
    }

    /// All secrets but the password of a database.
    fn secrets(&mut self) -> Vec<&mut SecretSource> {
        let further = self.api.further.iter_mut().map(|further| &mut further.credential);
        let credentials = std::iter::once(&mut self.api.credential).chain(further).map(|credential| match credential {
            api::Credential::ApiKey(secret)
            | api::Credential::ApiKeyBasic(secret)
            | api::Credential::Client { secret, .. } => secret,
        });
        let mail = self.notify.mail.as_mut().and_then(|mail| mail.login.as_mut()).map(|(_, password)| password);
        let provider = match self.approvals.as_mut().map(|approvals| &mut approvals.login) {
            Some(Login::Provider(provider)) => Some(&mut provider.secret),
            _ => None,
        };
        let of_jobs = self.jobs.iter_mut().flat_map(|job| {
            let lookups = job.lookups.iter_mut().map(|lookup| &mut lookup.source);
            std::iter::once(&mut job.source).chain(lookups).filter_map(Source::secret)
        });
        credentials.chain(mail).chain(provider).chain(of_jobs).collect()
    }
}

/// What a configuration is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The state; jobs and secrets may be missing.
    State,
    /// The state and the jobs; nothing is asked of the service, so secrets may be missing.
    Local,
    /// The account with its secrets, and its state; jobs may be missing.
    Account,
    /// All of it.
    Jobs,
}

impl Needs {
    /// Whether there has to be a job.
    pub(super) fn jobs(self) -> bool {
        matches!(self, Self::Local | Self::Jobs)
    }

    /// Whether secrets have to be there.
    pub(super) fn secrets(self) -> bool {
        matches!(self, Self::Account | Self::Jobs)
    }
}

/// What is kept on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOptions {
    /// Where the store, the audit files and all else that is remembered lie.
    pub home: Home,
    /// A whole listing of the service at least this often.
    pub full_pull: SignedDuration,
    /// The account that works on it, and that root becomes; `None` means the user who runs the program.
    pub account: Option<Account>,
}

impl StateOptions {
    /// The default folder.
    pub const DIR: &'static str = STATE_DIR;
    /// How often a whole listing is made by default.
    pub const FULL_PULL: SignedDuration = SignedDuration::from_hours(24);
}

/// How commands reach the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// The socket that the daemon listens on; `None` where it listens on none.
    pub socket: Option<PathBuf>,
}

impl Control {
    /// The default socket.
    pub const SOCKET: &'static str = SOCKET;
}

/// One job: a source, a target, and how the one becomes the other.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name, unique in the file.
    pub name: JobName,
    /// Where its records come from.
    pub source: Source,
    /// Second sources that add values.
    pub lookups: Vec<Lookup>,
    /// The folder into which files are dropped, where the source is one; then the path of `source` is that folder until a run has
    /// taken a file.
    pub inbox: Option<inbox::Options>,
    /// After so long without new content the job is overdue.
    pub expect_every: Option<SignedDuration>,
    /// What absence from the source means.
    pub mode: Mode,
    /// How rows become records.
    pub mapping: mapping::Options,
    /// The mapped fields by which a record finds its entity the first time, in this order; never empty.
    pub match_on: Vec<SmolStr>,
    /// Whether changes are sent by themselves.
    pub writes: plan::Writes,
    /// Mapped fields that are set when a person is created, and never again.
    pub seed_only: Vec<SmolStr>,
    /// What becomes of edits at the service.
    pub on_drift: plan::OnDrift,
    /// People that no job may remove, by key or email.
    pub protect: Vec<String>,
    /// How leavers are treated.
    pub leavers: plan::Leavers,
    /// What is set in leavers who stay; no field unless they are updated.
    pub leaver_set: mapping::LeaverOptions,
    /// The guard.
    pub limits: plan::Limits,
    /// When it runs; `None` runs it only on demand.
    pub schedule: Option<Schedule>,
    /// The zone in which the schedule is read.
    pub time_zone: TimeZone,
    /// Who is notified of it, besides those who are notified of all jobs.
    pub notify: JobNotify,
    /// How the reports beside its dropped files are written.
    pub hr_report: HrReportOptions,
    /// The organizations of contractors, found or made before them; a part of this job.
    pub organizations: Option<Box<Job>>,
    /// What joins contractors and their organizations, made after both; a part of this job.
    pub memberships: Option<Box<Job>>,
}

impl Config {
    /// All jobs, each with its parts in the order in which they are sent.
    pub fn parts(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().flat_map(Job::parts)
    }

    /// The job, or the part of one, of this name.
    pub fn part(&self, name: &JobName) -> Option<&Job> {
        self.parts().find(|part| part.name == *name)
    }
}

impl Job {
    /// The job with its parts, in the order in which they are sent.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        self.organizations.as_deref().into_iter().chain([self]).chain(self.memberships.as_deref())
    }

    /// Whether its records are the members or the organizations of memberships, of which a row names one of several: then a row that
    /// says that something is over speaks of that membership.
    pub fn has_halves(&self) -> bool {
        self.memberships.is_some() || self.is_of_organizations()
    }

    /// Whether its records are the organizations of memberships.
    pub fn is_of_organizations(&self) -> bool {
        self.mapping.target == Target::Organization && self.name != self.name.root()
    }

    /// Whether its source is files of changes: a run of a job with lists of everyone that reads no file is none over such.
    pub fn reads_changes(&self) -> bool {
        self.mode == Mode::Changes && self.inbox.as_ref().is_none_or(|inbox| inbox.reads != inbox::Reads::Nothing)
    }

    /// Whether a run reads a file of changes that may be older than the last one.
    pub fn reads_older_changes(&self) -> bool {
        self.mode == Mode::Changes && self.inbox.as_ref().is_some_and(|inbox| inbox.doubt.is_some())
    }

    /// The day that it is, in the job's time zone, at some time.
    pub fn day(&self, at: Timestamp) -> Date {
        at.to_zoned(self.time_zone.clone()).date()
    }

    /// The fields of the service's people that the job needs to know.
    pub fn fields(&self) -> impl Iterator<Item = String> + '_ {
        let mapped = self.mapping.fields.keys().chain(self.leaver_set.fields.keys()).cloned();
        let matched = self.match_on.iter().map(SmolStr::to_string);
        let named = (!self.protect.is_empty()).then(|| plan::Protection::FIELD.to_owned());
        mapped.chain(matched).chain(named)
    }
}

/// What absence from a file means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The file is the whole population: who is missing is gone.
    #[default]
    Full,
    /// The file holds changes: absence says nothing (law 7).
    Changes,
}
