//! The steps of the demonstration: plans and syncs, each with an expected result.

use std::fs;
use std::path::PathBuf;

use super::fixture::{DemoEnv, DemoPerson};
use crate::cli::args::{ApproveArgs, DecideArgs};
use crate::cli::backend::session;
use crate::cli::commands::plan::{self, Detail};
use crate::cli::commands::{approve, sync};
use crate::cli::ui::{Failure, Message, Paint, sanitize};
use crate::hr_report::{Language, RowOutcome};
use crate::reconcile::{KeyFilter, Report, Status};

/// Runs all steps, and returns the rows of HR as they are at the end.
pub(super) async fn tell(ground: &DemoEnv) -> Result<Vec<DemoPerson>, Failure> {
    let mut rows = ground.lay_down()?;
    ground.heading("A plan: what would change, before anything does");
    ground.plan().await?;

    ground.heading("The first sync");
    let report = ground.sync().await?;
    expect(&report, Status::Done, (20, 2, 0))?;
    ground.expect_people(60)?;

    ground.heading("A second sync on unchanged input writes nothing");
    let report = ground.sync().await?;
    expect(&report, Status::Done, (0, 0, 0))?;

    ground.heading("One person joins, and another gets a new title");
    rows.push(DemoPerson::new("E09001", "Joan", "Joiner", "Receptionist", &rows[0].site));
    "Head of Moving".clone_into(&mut rows[1].title);
    ground.write(&ground.file(), &rows)?;
    ground.plan().await?;
    let report = ground.sync().await?;
    expect(&report, Status::Done, (1, 1, 0))?;
    ground.expect_people(61)?;

    ground.heading("Five people vanish from the file: more than max_leavers, so they are held");
    let left: Vec<String> = rows.drain(2..7).map(|row| row.number).collect();
    ground.write(&ground.file(), &rows)?;
    let report = ground.sync().await?;
    expect(&report, Status::Held, (0, 0, 0))?;
    ground.expect_people(61)?;

    ground.heading("A person releases them, and the next sync removes them");
    ground.says(&format!("approve employees {}", left.join(" ")));
    let decide = DecideArgs { job: Some("employees".into()), keys: left, set: None };
    let decision = ApproveArgs { decide, server: false };
    approve::approve(&ground.ui, &ground.host(), &decision).await?;
    let report = ground.sync().await?;
    expect(&report, Status::Done, (0, 0, 5))?;
    ground.expect_people(56)?;

    ground.heading("A file that was cut off in the middle changes no one");
    let whole = fs::read(ground.file()).map_err(Failure::failed)?;
    ground.put(&ground.file(), &whole[..whole.len() / 2])?;
    let report = ground.sync().await?;
    expect(&report, Status::Partial, (0, 0, 0))?;
    ground.expect_people(56)?;

    ground.heading("HR may also drop files into a folder, and finds what became of them beside each");
    rows.push(DemoPerson::new("E09002", "Ina", "Inbox", "Archivist", &rows[0].site));
    rows.push(DemoPerson::new("E09003", "Nils", "Nowhere", "Archivist", "Atlantis"));
    ground.drop_into_inbox(&rows)?;
    let report = ground.sync().await?;
    expect(&report, Status::Done, (2, 0, 0))?;
    ground.expect_people(58)?;
    ground.show_inbox()?;
    Ok(rows)
}

/// What is said at the end.
pub(super) fn bow(ground: &DemoEnv) {
    ground.heading("That is all");
    let ui = &ground.ui;
    ui.line("Everything above happened on this machine, against a stand-in for the service.");
    ui.line("Next: `rosterd demo --serve` ends with a daemon for you to try things with, and");
    ui.line("`rosterd init FILE` prints a configuration for a file of yours; docs/first-configuration.md goes on from there.");
}

impl DemoEnv {
    /// Shows a command as one would type it.
    fn says(&self, command: &str) {
        self.ui.line(self.ui.paint(Paint::Bold, &format!("$ rosterd {command}")));
    }

    async fn plan(&self) -> Result<(), Failure> {
        self.says("plan");
        let config = session::configuration(&self.ui, &self.host())?;
        let plans = plan::plan(&self.ui, &self.host(), &config, &[], &KeyFilter::default()).await?;
        plan::show(&self.ui, &plans, Detail { show_values: false, listed_max: 3 })?;
        Ok(())
    }

    async fn sync(&self) -> Result<Report, Failure> {
        self.says("sync");
        let config = session::configuration(&self.ui, &self.host())?;
        let mut reports = sync::sync(&self.ui, &self.host(), &config, &[], &KeyFilter::default()).await?;
        sync::show(&self.ui, &reports);
        reports.pop().ok_or_else(|| Failure::failed("the run was interrupted"))
    }

    fn expect_people(&self, people: usize) -> Result<(), Failure> {
        let now = self.people();
        self.ui.line(format!("people at the service: {now}"));
        if now == people { Ok(()) } else { Err(Failure::failed(Message(format!("{people} were expected")))) }
    }

    /// Makes the job's source a folder, and puts a file into it.
    fn drop_into_inbox(&self, rows: &[DemoPerson]) -> Result<(), Failure> {
        fs::create_dir(self.inbox()).map_err(Failure::failed)?;
        self.reconfigure(&[("path = \"employees.csv\"", "path = \"inbox\"")])?;
        self.write(&self.file(), rows)?;
        fs::rename(self.file(), self.inbox().join("employees.csv")).map_err(Failure::failed)
    }

    /// Shows what lies in the inbox, and the lines of the report that are about rows to mend.
    fn show_inbox(&self) -> Result<(), Failure> {
        let processed = self.inbox().join("processed");
        let entries = fs::read_dir(&processed).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut files: Vec<PathBuf> = entries.map_err(Failure::failed)?.into_iter().map(|entry| entry.path()).collect();
        files.sort();
        for file in &files {
            self.ui.line(file.strip_prefix(&self.dir).unwrap_or(file).display().to_string());
        }
        let table = files.iter().find(|file| file.to_string_lossy().ends_with(".report.csv"));
        let table = table.ok_or_else(|| Failure::failed(Message("there is no report".to_owned())))?;
        let table = fs::read_to_string(table).map_err(Failure::failed)?;
        let rows = table.lines().filter(|line| !line.contains(Language::default().name_of(RowOutcome::Unchanged)));
        rows.for_each(|line| self.ui.line(format!("  {}", sanitize(line.trim_start_matches('\u{feff}')))));
        Ok(())
    }
}

/// A demonstration that shows something else than it says has failed.
fn expect(report: &Report, status: Status, changes: (u64, u64, u64)) -> Result<(), Failure> {
    let counts = report.counts;
    if (report.status, (counts.created, counts.updated, counts.deleted)) == (status, changes) {
        return Ok(());
    }
    Err(Failure::failed(Message(format!("this should have ended as {} with {changes:?} changes", status.name()))))
}
