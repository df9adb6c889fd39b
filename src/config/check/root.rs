//! Checks the whole configuration, and what no single part can check.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::section::Section;
use super::{api, approvals, directory, entra, job, monitoring, state_home, web};
use crate::api as client;
use crate::config::account::Account;
use crate::config::approvals::Approvals;
use crate::config::credentials::Credentials;
use crate::config::instance::Instance;
use crate::config::monitoring::{HrReportOptions, Notify, Status};
use crate::config::options::{Control, Job, Needs, StateOptions};
use crate::history::Retention;
use crate::record::{JobName, Target};
use crate::source::Source;

/// The longest path that a socket may have on Linux, in bytes.
const SOCKET_PATH_MAX: usize = 107;

/// What the checks use besides the text.
pub(in crate::config) struct Environment {
    /// The configuration file, as an absolute path.
    pub(in crate::config) config: PathBuf,
    /// The folder of the configuration file; relative paths begin here.
    pub(in crate::config) dir: PathBuf,
    /// The instance whose configuration it is, where there are several.
    pub(in crate::config) instance: Option<Instance>,
    /// Where systemd's credentials are looked for.
    pub(in crate::config) credentials: Credentials,
    /// Whether a secret that is missing is a mistake.
    pub(in crate::config) wants_secrets: bool,
    /// The passwords of jobs' directories in the environment: variable, job as a variable spells it, password.
    pub(in crate::config) passwords: Vec<(String, String, SecretString)>,
}

impl Environment {
    /// A path as the configuration means it.
    pub(super) fn path(&self, written: &str) -> PathBuf {
        self.dir.join(written)
    }
}

/// The parts of a configuration in which nothing is wrong.
pub(in crate::config) struct Checked {
    pub(in crate::config) api: client::Options,
    pub(in crate::config) state: StateOptions,
    pub(in crate::config) control: Control,
    pub(in crate::config) status: Status,
    pub(in crate::config) notify: Notify,
    pub(in crate::config) approvals: Option<Approvals>,
    pub(in crate::config) retention: Retention,
    pub(in crate::config) jobs: Vec<Job>,
}

/// Checks everything; `None` where anything is wrong.
pub(in crate::config) fn check(top: &Section<'_>, needs: Needs) -> Option<Checked> {
    let state = state(&top.section("state"));
    let control = control(&top.section("control"));
    let status = monitoring::status(&top.section("status"));
    let notify = monitoring::notify(&top.section("notify"), &top.section("api"));
    let notify = Notify { page: status.url.clone(), ..notify };
    let kept = top.section("retention");
    let retention = retention(&kept);
    let api = api::check(&top.section("api"), &state.home);
    let jobs = top.sections("job");
    if jobs.is_empty() && needs.jobs() && !top.is_bad("job") {
        top.problem("job", "there is no job", Some("add one with [[job]]"));
    }
    let jobs: Vec<Option<Job>> = jobs.into_iter().map(job::check).collect();
    check_names(&jobs, top);
    check_files(&jobs, top);
    check_own_folder(&jobs, state.home.spill_dir(), top);
    directory::check_all(&jobs, top);
    web::check_all(&jobs, top);
    entra::check_all(&jobs, top);
    monitoring::check_all(&jobs, &notify, top);
    let approvals = approvals::check(&top.section("approvals"), &status, &jobs);
    let notify = Notify { approvals: approvals.clone(), ..notify };
    let hr_reports = monitoring::hr_reports(&top.section("report"), &top.section("notify"));
    let processed = kept.duration("processed");
    let mut jobs: Option<Vec<Job>> = jobs.into_iter().collect();
    for job in jobs.iter_mut().flatten() {
        let decide_at = approvals.as_ref().map(|approvals| approvals.page_of(&job.name));
        job.hr_report = HrReportOptions { decide_at, ..hr_reports.clone() };
        if let Some(inbox) = &mut job.inbox {
            inbox.kept = processed.unwrap_or(inbox.kept);
        }
    }
    if !top.report.is_clean() {
        return None;
    }
    Some(Checked { api: api?, state, control, status, notify, approvals, retention, jobs: jobs? })
}

/// Where the state lies and who receives notices, whatever is wrong with the rest.
pub(in crate::config) fn remains(top: &Section<'_>) -> (StateOptions, Notify) {
    (state(&top.section("state")), monitoring::notify(&top.section("notify"), &top.section("api")))
}

fn state(state: &Section<'_>) -> StateOptions {
    let home = state_home::check(state);
    let full_pull = state.positive_duration("full_pull");
    let account = Account::of(state.filled("user"), &state.ground.config, home.folder());
    StateOptions { home, full_pull: full_pull.unwrap_or(StateOptions::FULL_PULL), account }
}

/// An empty text turns the socket off.
fn control(control: &Section<'_>) -> Control {
    let standard = || control.ground.instance.as_ref().map_or_else(|| Control::SOCKET.into(), Instance::socket);
    let path = if control.has("socket") { control.path("socket") } else { Some(standard()) };
    let length = path.as_ref().map_or(0, |path| path.as_os_str().len());
    if length > SOCKET_PATH_MAX {
        let message = format!("the path has {length} bytes, and a socket's may have {SOCKET_PATH_MAX}");
        control.problem("socket", message, Some("name a shorter one"));
    }
    Control { socket: path }
}

fn retention(section: &Section<'_>) -> Retention {
    let kept = Retention::default();
    Retention {
        before_images: section.duration("before_images").unwrap_or(kept.before_images),
        runs: section.duration("runs").unwrap_or(kept.runs),
    }
}

fn check_names(jobs: &[Option<Job>], top: &Section<'_>) {
    let mut seen: Vec<&JobName> = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let Some(job) = job else { continue };
        if seen.contains(&&job.name) {
            let place = format!("job[{number}].name");
            top.problem(&place, format!("another job is called {} already", job.name), Some("give it its own name"));
        }
        seen.push(&job.name);
    }
}

/// Two jobs that read one file would own the same people (law 6).
fn check_files(jobs: &[Option<Job>], top: &Section<'_>) {
    let mut seen: BTreeMap<(Target, PathBuf), &JobName> = BTreeMap::new();
    for (number, job) in jobs.iter().enumerate() {
        let Some(job) = job else { continue };
        let Source::Csv(source) = &job.source else { continue };
        let file = same_file(&source.path);
        // A file in an inbox is taken once, so by one job.
        let taken = jobs[..number].iter().flatten().find(|other| {
            let inbox = job.inbox.as_ref().and(other.inbox.as_ref());
            inbox.is_some_and(|inbox| same_file(&inbox.dir) == file)
        });
        if let Some(other) = taken {
            let message = format!("job {} reads this folder already", other.name);
            let hint = "give each job an inbox of its own";
            top.problem(&format!("job[{number}].source.path"), message, Some(hint));
            continue;
        }
        if let Some(other) = seen.get(&(job.mapping.target, file.clone())) {
            let message = format!("job {other} reads this file for the same target");
            top.problem(&format!("job[{number}].source.path"), message, Some("merge the two jobs"));
        }
        seen.insert((job.mapping.target, file), &job.name);
    }
}

/// The program's own files in an inbox would be taken for files of HR, and each run would make more of them.
fn check_own_folder(jobs: &[Option<Job>], own: &Path, top: &Section<'_>) {
    let own = same_file(own);
    for (number, job) in jobs.iter().enumerate() {
        let Some(Job { source: Source::Csv(source), inbox, .. }) = job else { continue };
        let path = same_file(&source.path);
        if path.starts_with(&own) || inbox.is_some() && own.starts_with(&path) {
            let message = format!("{} is the program's own folder", own.display());
            let hint = "a source must not lie in it, nor it in an inbox: give each a folder of its own";
            top.problem(&format!("job[{number}].source.path"), message, Some(hint));
        }
    }
}

fn same_file(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.components().collect())
}
