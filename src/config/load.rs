//! Reads a configuration file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::check::{self, Environment, Section};
use super::credentials::Credentials;
use super::instance::Instance;
use super::layers;
use super::monitoring::Notify;
use super::options::{Config, Needs, StateOptions};
use super::permissions::{self, CONFIG_SIZE_MAX, Content};
use super::problem::{Errors, Problem};
use super::report::Report;
use super::{keys, syntax};

/// Reads and checks the configuration at `path` under the variables of `environment`.
///
/// Secret files are looked at (they must be there, closed to others and not empty, for what `needs` secrets), source files
/// are not: a file that HR has yet to drop is no mistake of the configuration. Without a job it is good for what `needs` none.
///
/// # Errors
///
/// Every mistake at once, in the order of the file.
pub fn load(path: &Path, environment: impl Iterator<Item = (String, String)>, needs: Needs) -> Result<Config, Errors> {
    let (source_path, content) = open(path)?;
    checked(path, source_path, &content, environment, needs)
}

/// A configuration file that another process has read.
#[derive(Clone, Serialize, Deserialize)]
pub struct CallerConfig {
    /// Where it lies, as an absolute path; relative paths in it begin at its folder.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
    /// Its permission bits.
    pub mode: u32,
}

impl CallerConfig {
    /// What it is compared by with the configuration of another machine.
    pub fn digest(&self) -> String {
        digest(&self.text)
    }

    /// Reads the file at `path`; `None` where this user can't, or where it is none.
    pub fn read(path: &Path) -> Option<Self> {
        let (path, Content { text, mode }) = open(path).ok()?;
        Some(Self { path, text, mode })
    }
}

/// Shows no text: there may be secrets in it (law 11).
impl fmt::Debug for CallerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerConfig").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The same as [`load`] for a file that another process has read. Secret files are looked at by this one.
///
/// # Errors
///
/// Every mistake at once, in the order of the file.
pub fn load_given(
    given: &CallerConfig,
    environment: impl Iterator<Item = (String, String)>,
    needs: Needs,
) -> Result<Config, Errors> {
    let content = Content { text: given.text.clone(), mode: given.mode };
    checked(&given.path, given.path.clone(), &content, environment, needs)
}

/// What is left of a configuration that can't be used.
#[derive(Clone, Debug)]
pub struct PartialConfig {
    /// Where the state lies, and whose it is.
    pub state: StateOptions,
    /// Who receives notices, as far as nothing is wrong with that.
    pub notify: Notify,
}

/// What is left of the configuration at `path`, whatever is wrong with it: enough to tell people that it is. `None` where the
/// file can't be read, or where others could have written it.
pub fn remains(path: &Path, environment: impl Iterator<Item = (String, String)>) -> Option<PartialConfig> {
    let (source_path, content) = open(path).ok().filter(|(_, content)| !content.others_may_write())?;
    let variables: Vec<(String, String)> = environment.collect();
    let mut report = Report::new(path.display().to_string());
    let file = syntax::recovered(&content.text, &mut report);
    let table = layers::merge(file, &variables, &mut report)?;
    let ground = ground(&source_path, &variables, Needs::Account);
    let (state, notify) = check::remains(&Section::top(&table, &ground, &report));
    Some(PartialConfig { state, notify })
}

fn ground(source_path: &Path, variables: &[(String, String)], needs: Needs) -> Environment {
    Environment {
        config: source_path.to_owned(),
        dir: source_path.parent().unwrap_or(Path::new("/")).to_owned(),
        instance: Instance::of(source_path),
        credentials: Credentials::of(source_path, variables),
        wants_secrets: needs.secrets(),
        passwords: layers::bind_passwords(variables),
    }
}

fn checked(
    path: &Path,
    source_path: PathBuf,
    content: &Content,
    environment: impl Iterator<Item = (String, String)>,
    needs: Needs,
) -> Result<Config, Errors> {
    let variables: Vec<(String, String)> = environment.collect();
    let mut report = Report::new(path.display().to_string());
    check_permissions(path, content, &report);
    let file = syntax::walk(&content.text, &mut report);
    check_inline_secrets(path, content, &report);
    let table = file.and_then(|file| layers::merge(file, &variables, &mut report));
    let ground = ground(&source_path, &variables, needs);
    let checked = table.and_then(|table| check::check(&Section::top(&table, &ground, &report), needs));
    let warnings = report.finish()?;
    let Some(check::Checked { api, state, control, status, notify, approvals, retention, jobs }) = checked else {
        return Err(Errors { problems: vec![whole_file(path, "the configuration can't be used")] });
    };
    let digest = digest(&content.text);
    Ok(Config { api, state, control, status, notify, approvals, retention, jobs, source_path, digest, warnings })
}

/// What a machine says of itself, and another one differently.
const OF_A_MACHINE: [(&str, &str); 4] =
    [("state", "node"), ("state", "spill_dir"), ("control", "socket"), ("status", "listen")];

/// By which a configuration is known from another one, on whichever machine: what a machine says of itself does not count, and
/// neither do comments and the order of keys.
fn digest(text: &str) -> String {
    let said = text.parse::<toml::Table>().ok().and_then(|mut table| {
        for (section, key) in OF_A_MACHINE {
            table.get_mut(section).and_then(toml::Value::as_table_mut).and_then(|section| section.remove(key));
        }
        serde_json::to_string(&table).ok()
    });
    let said = said.as_deref().unwrap_or(text);
    let digest = ring::digest::digest(&ring::digest::SHA256, said.as_bytes());
    digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn open(path: &Path) -> Result<(PathBuf, Content), Errors> {
    let absolute = std::path::absolute(path).map_err(|error| error.to_string());
    let opened = absolute.and_then(|absolute| Ok((absolute, permissions::read(path, CONFIG_SIZE_MAX)?)));
    opened.map_err(|message| Errors { problems: vec![whole_file(path, &message)] })
}

fn whole_file(path: &Path, message: &str) -> Problem {
    let file = path.display().to_string();
    Problem { file, line: None, key: String::new(), message: message.to_owned(), hint: None }
}

fn check_permissions(path: &Path, content: &Content, report: &Report) {
    if content.others_may_write() {
        let message = format!("every user of this machine may change it (mode {:04o})", content.mode);
        report.problem_on_line(None, String::new(), message, Some(&permissions::chmod("o-w", path)));
    }
}

/// A secret in the file itself makes the whole file one, even where a variable takes its place.
fn check_inline_secrets(path: &Path, content: &Content, report: &Report) {
    if content.owner_only() {
        return;
    }
    for key in report.in_file_as(keys::SECRETS) {
        let message = format!("with a secret in it, only its owner may read this file (mode {:04o})", content.mode);
        report.problem_in_file(&key, message, Some(&permissions::chmod("600", path)));
    }
}
