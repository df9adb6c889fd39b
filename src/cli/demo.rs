//! `rosterd demo`: the whole way on this machine, from nothing.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::args::DemoArgs;
use super::failure::{Exit, Failure, Words};
use super::host::Host;
use super::ui::{Paint, Ui};
use super::{decide, open, plan, sync};
use crate::cli::args::DecideArgs;
use crate::run::{Narrow, Report, Status};
use crate::sandbox::{Options, Sandbox};

/// People at the service before the demonstration begins.
const SEEDED: u32 = 40;
/// Of them, those whom HR's file has.
const KNOWN: usize = 35;

/// One row of HR's file.
#[derive(Clone)]
struct Row {
    number: String,
    first: String,
    last: String,
    email: String,
    title: String,
    site: String,
    mobile: String,
}

pub(super) async fn run(ui: &Ui, args: &DemoArgs) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("rosterd-demo-").tempdir().map_err(Failure::failed)?;
    let options = Options { seed_staff: SEEDED, ..Options::default() };
    let sandbox = Sandbox::start(options).await.map_err(Failure::failed)?;
    let demo = Demo { ui: ui.clone(), dir: folder.path().to_owned(), sandbox };
    let result = demo.tell().await;
    demo.sandbox.stop().await;
    if args.keep {
        ui.note(format!("kept: {}", folder.keep().display()));
    }
    result.map(|()| Exit::Done)
}

struct Demo {
    ui: Ui,
    dir: PathBuf,
    sandbox: Sandbox,
}

impl Demo {
    async fn tell(&self) -> Result<(), Failure> {
        let mut rows = self.lay_down()?;
        self.heading("A plan: what would change, before anything does");
        self.plan().await?;

        self.heading("The first sync");
        let report = self.sync().await?;
        self.expect(&report, Status::Done, (25, 2, 0))?;
        self.expect_people(65)?;

        self.heading("A second sync on unchanged input writes nothing");
        let report = self.sync().await?;
        self.expect(&report, Status::Done, (0, 0, 0))?;

        self.heading("Somebody joins, and somebody gets another title");
        rows.push(row("E09001", "Joan", "Joiner", "Receptionist", &rows[0].site.clone()));
        "Head of Moving".clone_into(&mut rows[1].title);
        self.write(&rows)?;
        self.plan().await?;
        let report = self.sync().await?;
        self.expect(&report, Status::Done, (1, 1, 0))?;
        self.expect_people(66)?;

        self.heading("Five people vanish from the file: more than max_leavers, so they are held");
        let left: Vec<String> = rows.drain(2..7).map(|row| row.number).collect();
        self.write(&rows)?;
        let report = self.sync().await?;
        self.expect(&report, Status::Held, (0, 0, 0))?;
        self.expect_people(66)?;

        self.heading("A person releases them, and the next sync removes them");
        self.ui.line(self.ui.paint(Paint::Bold, &format!("$ rosterd approve employees {}", left.join(" "))));
        let decision = DecideArgs { job: "employees".into(), keys: left, set: None };
        decide::approve(&self.ui, &self.host(), &decision).await?;
        let report = self.sync().await?;
        self.expect(&report, Status::Done, (0, 0, 5))?;
        self.expect_people(61)?;

        self.heading("A file that was cut off in the middle changes nobody");
        let whole = fs::read(self.file()).map_err(Failure::failed)?;
        self.put(&self.file(), &whole[..whole.len() / 2])?;
        let report = self.sync().await?;
        self.expect(&report, Status::Partial, (0, 0, 0))?;
        self.expect_people(61)?;

        self.heading("HR may also drop files into a folder, and finds what became of them beside each");
        rows.push(row("E09002", "Ina", "Inbox", "Archivist", &rows[0].site.clone()));
        rows.push(row("E09003", "Nils", "Nowhere", "Archivist", "Atlantis"));
        self.drop_into_inbox(&rows)?;
        let report = self.sync().await?;
        self.expect(&report, Status::Partial, (1, 0, 0))?;
        self.expect_people(62)?;
        self.show_inbox()?;

        self.heading("That is all");
        self.ui.line("Everything above happened on this machine, against a stand-in for the service.");
        self.ui.line(
            "Next: `rosterd init FILE` prints a configuration for a file of yours; the README goes on from there.",
        );
        Ok(())
    }

    /// Lays down the configuration and HR's file: most of the people at the service, two of them changed, and new ones.
    fn lay_down(&self) -> Result<Vec<Row>, Failure> {
        self.heading(&format!("A stand-in for the service with {SEEDED} people, a configuration and HR's file"));
        let people = self.sandbox.all("staff");
        let mut rows: Vec<Row> = people.iter().take(KNOWN).map(known).collect();
        "Chief of Changes".clone_into(&mut rows[0].title);
        rows[1].email = format!("renamed.{}", rows[1].email);
        let site = rows[0].site.clone();
        for number in 0..25 {
            rows.push(row(&format!("E{:05}", 8000 + number), "New", &format!("Person {number}"), "Trainee", &site));
        }
        self.put(&self.dir.join("api_key"), self.sandbox.options().api_key.as_bytes())?;
        self.put(&self.config(), CONFIG.replace("BASE_URL", &self.sandbox.url()).as_bytes())?;
        self.write(&rows)?;
        self.ui.line(format!("service   {}", self.sandbox.url()));
        self.ui.line(format!("settings  {}", self.config().display()));
        self.ui.line(format!("HR's file {} ({} people)", self.file().display(), rows.len()));
        Ok(rows)
    }

    fn host(&self) -> Host {
        Host::Here(self.config())
    }

    async fn plan(&self) -> Result<(), Failure> {
        self.ui.line(self.ui.paint(Paint::Bold, "$ rosterd plan"));
        let config = open::configuration(&self.ui, &self.host())?;
        let plans = plan::plan(&self.ui, &self.host(), &config, &[], &Narrow::default()).await?;
        plan::show(&self.ui, &plans, false, 3);
        Ok(())
    }

    async fn sync(&self) -> Result<Report, Failure> {
        self.ui.line(self.ui.paint(Paint::Bold, "$ rosterd sync"));
        let config = open::configuration(&self.ui, &self.host())?;
        let mut reports = sync::sync(&self.ui, &self.host(), &config, &[], &Narrow::default()).await?;
        sync::show(&self.ui, &reports);
        reports.pop().ok_or_else(|| Failure::failed("the run was interrupted"))
    }

    /// A demonstration that shows something else than it says has failed.
    fn expect(&self, report: &Report, status: Status, changes: (u64, u64, u64)) -> Result<(), Failure> {
        let counts = report.counts;
        if (report.status, (counts.created, counts.updated, counts.deleted)) == (status, changes) {
            return Ok(());
        }
        Err(Failure::failed(Words(format!("this should have ended as {} with {changes:?} changes", status.name()))))
    }

    fn expect_people(&self, people: usize) -> Result<(), Failure> {
        let now = self.sandbox.all("staff").len();
        self.ui.line(format!("people at the service: {now}"));
        if now == people { Ok(()) } else { Err(Failure::failed(Words(format!("{people} were expected")))) }
    }

    /// Makes the job's source a folder, and puts a file into it.
    fn drop_into_inbox(&self, rows: &[Row]) -> Result<(), Failure> {
        let inbox = self.dir.join("inbox");
        fs::create_dir(&inbox).map_err(Failure::failed)?;
        let config = fs::read_to_string(self.config()).map_err(Failure::failed)?;
        self.put(&self.config(), config.replace("path = \"employees.csv\"", "path = \"inbox\"").as_bytes())?;
        self.write(rows)?;
        fs::rename(self.file(), inbox.join("employees.csv")).map_err(Failure::failed)
    }

    /// Shows what lies in the inbox, and the lines of the report that are about rows to mend.
    fn show_inbox(&self) -> Result<(), Failure> {
        let processed = self.dir.join("inbox/processed");
        let entries = fs::read_dir(&processed).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut files: Vec<PathBuf> = entries.map_err(Failure::failed)?.into_iter().map(|entry| entry.path()).collect();
        files.sort();
        for file in &files {
            self.ui.line(file.strip_prefix(&self.dir).unwrap_or(file).display().to_string());
        }
        let table = files.iter().find(|file| file.to_string_lossy().ends_with(".report.csv"));
        let table = table.ok_or_else(|| Failure::failed(Words("there is no report".to_owned())))?;
        let table = fs::read_to_string(table).map_err(Failure::failed)?;
        let told = table.lines().filter(|line| !line.contains("already right"));
        told.for_each(|line| self.ui.line(format!("  {}", super::ui::tame(line.trim_start_matches('\u{feff}')))));
        Ok(())
    }

    fn heading(&self, text: &str) {
        self.ui.line("");
        self.ui.line(self.ui.paint(Paint::Bold, &format!("== {text}")));
    }

    fn config(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    fn file(&self) -> PathBuf {
        self.dir.join("employees.csv")
    }

    fn write(&self, rows: &[Row]) -> Result<(), Failure> {
        let mut text = "Employee No,First Name,Last Name,Email,Job Title,Site,Mobile\n".to_owned();
        for row in rows {
            let Row { number, first, last, email, title, site, mobile } = row;
            let _ = writeln!(text, "{number},{first},{last},{email},\"{title}\",\"{site}\",{mobile}");
        }
        self.put(&self.file(), text.as_bytes())
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        fs::write(path, bytes)
            .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o600)))
            .map_err(Failure::failed)
    }
}

/// Somebody at the service as HR has them.
fn known(person: &Value) -> Row {
    let text = |name: &str| person.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("name");
    let (first, last) = name.split_once(' ').unwrap_or((&name, ""));
    Row {
        number: text("employee_id"),
        first: first.to_owned(),
        last: last.to_owned(),
        email: text("email"),
        title: text("title"),
        site: text("location"),
        mobile: format!("+{}", text("mobile")),
    }
}

fn row(number: &str, first: &str, last: &str, title: &str, site: &str) -> Row {
    let email = format!("{}@example.com", number.to_lowercase());
    let texts = [number, first, last, title, site].map(str::to_owned);
    let [number, first, last, title, site] = texts;
    Row { number, first, last, email, title, site, mobile: String::new() }
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
