//! The fixture of the demonstration: a folder with a configuration and HR's file, and the stand-in for the service.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::backend::Backend;
use crate::cli::ui::{Failure, Message, Paint, Ui};
use crate::sandbox::Sandbox;

/// People at the service before the demonstration begins.
pub(super) const SEEDED: u32 = 40;
/// How many of them are in HR's file.
const KNOWN: usize = 35;
/// How many further people are in HR's file. Few enough that the whole story takes less than a minute's requests, and a
/// user who tries more commands need not wait.
const NEW: usize = 20;

/// A folder, the stand-in, and a receiver of notices.
pub(super) struct DemoEnv {
    pub(super) ui: Ui,
    pub(super) dir: PathBuf,
    pub(super) sandbox: Sandbox,
}

/// One row of HR's file.
#[derive(Clone)]
pub(super) struct DemoPerson {
    pub(super) number: String,
    pub(super) first: String,
    pub(super) last: String,
    pub(super) email: String,
    pub(super) title: String,
    pub(super) site: String,
    pub(super) mobile: String,
}

impl DemoPerson {
    /// A new person.
    pub(super) fn new(number: &str, first: &str, last: &str, title: &str, site: &str) -> Self {
        let email = format!("{}@example.com", number.to_lowercase());
        let texts = [number, first, last, title, site].map(str::to_owned);
        let [number, first, last, title, site] = texts;
        Self { number, first, last, email, title, site, mobile: String::new() }
    }

    /// A person at the service as HR has them.
    fn known(person: &Value) -> Self {
        let text = |name: &str| person.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = text("name");
        let (first, last) = name.split_once(' ').unwrap_or((&name, ""));
        Self {
            number: text("employee_id"),
            first: first.to_owned(),
            last: last.to_owned(),
            email: text("email"),
            title: text("title"),
            site: text("location"),
            mobile: format!("+{}", text("mobile")),
        }
    }
}

impl DemoEnv {
    /// Lays down the configuration and HR's file: most of the people at the service, two of them changed, and new ones.
    pub(super) fn lay_down(&self) -> Result<Vec<DemoPerson>, Failure> {
        self.heading(&format!("A stand-in for the service with {SEEDED} people, a configuration and HR's file"));
        let people = self.sandbox.all("staff");
        let mut rows: Vec<DemoPerson> = people.iter().take(KNOWN).map(DemoPerson::known).collect();
        "Chief of Changes".clone_into(&mut rows[0].title);
        rows[1].email = format!("renamed.{}", rows[1].email);
        let site = rows[0].site.clone();
        for number in 0..NEW {
            rows.push(DemoPerson::new(
                &format!("E{:05}", 8000 + number),
                "New",
                &format!("Person {number}"),
                "Trainee",
                &site,
            ));
        }
        let config = CONFIG.replace("BASE_URL", &self.sandbox.url());
        self.put(&self.dir.join("api_key"), self.sandbox.options().api_key.as_bytes())?;
        self.put(&self.config(), config.as_bytes())?;
        self.write(&self.file(), &rows)?;
        self.ui.line(format!("service   {}", self.sandbox.url()));
        self.ui.line(format!("settings  {}", self.config().display()));
        self.ui.line(format!("HR's file {} ({} people)", self.file().display(), rows.len()));
        Ok(rows)
    }

    pub(super) fn host(&self) -> Backend {
        Backend::Here(self.config())
    }

    pub(super) fn config(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    pub(super) fn file(&self) -> PathBuf {
        self.dir.join("employees.csv")
    }

    pub(super) fn inbox(&self) -> PathBuf {
        self.dir.join("inbox")
    }

    /// How many people the service holds.
    pub(super) fn people(&self) -> usize {
        self.sandbox.all("staff").len()
    }

    pub(super) fn heading(&self, text: &str) {
        self.ui.line("");
        self.ui.line(self.ui.paint(Paint::Bold, &format!("== {text}")));
    }

    /// Writes another configuration, made of the present one; a text that is not in it was not what is thought to be there.
    pub(super) fn reconfigure(&self, changes: &[(&str, &str)]) -> Result<(), Failure> {
        let mut config = fs::read_to_string(self.config()).map_err(Failure::failed)?;
        for (from, to) in changes {
            if !config.contains(from) {
                return Err(Failure::failed(Message(format!("the configuration has no {from}"))));
            }
            config = config.replace(from, to);
        }
        self.put(&self.config(), config.as_bytes())
    }

    /// Writes rows as HR's program exports them.
    pub(super) fn write(&self, path: &Path, rows: &[DemoPerson]) -> Result<(), Failure> {
        let mut text = "Employee No,First Name,Last Name,Email,Job Title,Site,Mobile\n".to_owned();
        for row in rows {
            let DemoPerson { number, first, last, email, title, site, mobile } = row;
            let _ = writeln!(text, "{number},{first},{last},{email},\"{title}\",\"{site}\",{mobile}");
        }
        self.put(path, text.as_bytes())
    }

    pub(super) fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        fs::write(path, bytes)
            .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o600)))
            .map_err(Failure::failed)
    }
}

const CONFIG: &str = r#"[api]
base_url = "BASE_URL"
api_key_file = "api_key"
requests_per_minute = 100

[state]
dir = "state"

[[job]]
name = "employees"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id", "email"]

[job.source]
type = "csv"
path = "employees.csv"
settle = "0s"

[job.map]
name = "{{ first_name }} {{ last_name }}"
email = "{{ email }}"
title = "{{ job_title }}"
employee_id = "{{ employee_no }}"
location = "{{ site }}"
mobile = "{{ mobile }}"

[job.leavers]
action = "delete"
grace = "0s"
"#;
