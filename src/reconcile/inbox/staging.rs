//! What is done and on its way out of the inbox: laid out in the state folder first, filed afterwards.
//!
//! ```text
//! STATE/inbox/JOB/copy          the file that is being read
//! STATE/inbox/JOB/kept_copy      the last file, while something of it is open
//! STATE/inbox/JOB/waiting       what the last file's reports are made of, while something in them waits
//! STATE/inbox/JOB/laying        what is being laid out
//! STATE/inbox/JOB/out-RUN/      laid out: order, file, report.csv, report.html, hr_report
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::config::Job;
use crate::disk;
use crate::hr_report::{HrReport, RowOutcome, Verdict, page, table};
use crate::reconcile::model::inbox_state::{OpenFile, Past};
use crate::record::JobName;
use crate::source::inbox::{Filing, Folder, InboxEntry, Options};

/// The private folder of one inbox.
pub(crate) struct Staging {
    dir: PathBuf,
}

/// What is to be done with one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FilingOrder {
    /// Where it goes.
    pub(crate) filing: Filing,
    /// When that was decided.
    pub(crate) at: Timestamp,
    /// What is remembered of it; none where nothing of it was used.
    pub(crate) past: Option<Past>,
    /// What is remembered of it while something is open.
    pub(crate) kept_copy: Option<OpenFile>,
    /// The verdict of its reports once nothing in them waits.
    pub(crate) settled: Verdict,
}

/// Something laid out.
pub(crate) struct StagedFile {
    dir: PathBuf,
    pub(crate) order: FilingOrder,
}

impl Staging {
    /// The private folder of a job's inbox, which may not be there yet.
    pub(crate) fn of(state_dir: &Path, job: &JobName) -> Self {
        Self { dir: state_dir.join("inbox").join(job.as_str()) }
    }

    /// Makes it, and drops what an earlier process did not lay out to the end.
    pub(crate) fn open(state_dir: &Path, job: &Job) -> io::Result<Self> {
        let staging = Self::of(state_dir, &job.name);
        DirBuilder::new().recursive(true).mode(0o700).create(&staging.dir)?;
        gone(fs::remove_dir_all(staging.dir.join("laying")))?;
        gone(fs::remove_file(staging.copy()))?;
        Ok(staging)
    }

    /// The folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the file that is being read is copied to.
    pub(crate) fn copy(&self) -> PathBuf {
        self.dir.join("copy")
    }

    /// The last file, while something of it is open.
    pub(crate) fn kept_copy(&self) -> PathBuf {
        self.dir.join("kept_copy")
    }

    /// Drops the last file.
    pub(crate) fn drop_kept_copy(&self) -> io::Result<()> {
        gone(fs::remove_file(self.kept_copy()))
    }

    /// What the last file's reports are made of, while something in them waits.
    pub(crate) fn waiting(&self) -> PathBuf {
        self.dir.join("waiting")
    }

    /// What the last file's reports are made of; `None` where nothing in them waits.
    pub(crate) fn open_report(&self) -> io::Result<Option<OpenReport>> {
        match fs::read(self.waiting()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => Ok(Some(serde_json::from_slice(&read?)?)),
        }
    }

    /// Keeps what reports are made of.
    pub(crate) fn keep_waiting(&self, waiting: &OpenReport) -> io::Result<()> {
        disk::replace(&self.waiting(), &serde_json::to_vec(waiting)?)
    }

    /// Drops it.
    pub(crate) fn drop_waiting(&self) -> io::Result<()> {
        gone(fs::remove_file(self.waiting()))
    }

    /// Lays out a file that is done, with its reports; it is on its way from here on, whatever happens to this process.
    pub(crate) fn stage(&self, run: u64, order: FilingOrder, hr_report: &HrReport) -> io::Result<StagedFile> {
        let laying = self.dir.join("laying");
        gone(fs::remove_dir_all(&laying))?;
        DirBuilder::new().mode(0o700).create(&laying)?;
        write(&laying.join("order"), &serde_json::to_vec(&order).map_err(io::Error::from)?)?;
        if hr_report.count(RowOutcome::Waiting) > 0 {
            write(&laying.join("hr_report"), &serde_json::to_vec(hr_report)?)?;
        }
        write(&laying.join("report.csv"), &table(hr_report))?;
        write(&laying.join("report.html"), page(hr_report).as_bytes())?;
        match fs::rename(self.copy(), laying.join("file")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        disk::sync_folder(&laying)?;
        let dir = self.dir.join(format!("out-{run:010}"));
        disk::rename(&laying, &dir)?;
        Ok(StagedFile { dir, order })
    }

    /// What is laid out, the oldest first.
    pub(crate) fn laid(&self) -> io::Result<Vec<StagedFile>> {
        let mut laid = Vec::new();
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(laid),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("out-") {
                let order = serde_json::from_slice(&fs::read(entry.path().join("order"))?).map_err(io::Error::from)?;
                laid.push(StagedFile { dir: entry.path(), order });
            }
        }
        laid.sort_by(|one, other| one.dir.cmp(&other.dir));
        Ok(laid)
    }
}

impl StagedFile {
    /// Whether this is the file in the inbox that is done.
    pub(crate) fn is(&self, entry: &InboxEntry) -> bool {
        entry.name == self.order.filing.in_inbox() && entry.stamp.same_file(&self.order.filing.stamp)
    }

    /// Keeps the file as the one of which something is open.
    pub(crate) fn keep(&self, staging: &Staging) -> io::Result<()> {
        staging.drop_kept_copy()?;
        fs::hard_link(self.dir.join("file"), staging.kept_copy())?;
        disk::sync_folder(staging.dir())
    }

    /// Keeps what its reports are made of, where something in them waits.
    pub(crate) fn keep_waiting(&self, staging: &Staging) -> io::Result<()> {
        let hr_report = match fs::read(self.dir.join("hr_report")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return staging.drop_waiting(),
            read => serde_json::from_slice(&read?)?,
        };
        staging.keep_waiting(&OpenReport { filing: self.order.filing.clone(), hr_report, settled: self.order.settled })
    }

    /// Moves the file to its place in the inbox, with its reports, or removes it where nothing is kept.
    pub(crate) fn file(&mut self, folder: &Folder, options: &Options) -> io::Result<()> {
        if options.kept.is_zero() {
            return folder.remove(&self.order.filing);
        }
        match self.put(folder) {
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::IsADirectory) => {
                // Another file has taken the name, or that of a report, since.
                let filing = &mut self.order.filing;
                let name = crate::source::inbox::shown(filing.in_inbox());
                filing.filed = folder.free_name(filing.shelf, self.order.at, &name)?;
                write(&self.dir.join("order"), &serde_json::to_vec(&self.order).map_err(io::Error::from)?)?;
                self.put(folder)
            }
            result => result,
        }
    }

    fn put(&self, folder: &Folder) -> io::Result<()> {
        // The file goes in any case: a report that has no room is tried again.
        let moved = folder.file_away(&self.order.filing, &self.dir.join("file"));
        for end in ["report.csv", "report.html"] {
            let mut report = File::open(self.dir.join(end))?;
            folder.put(&self.order.filing, &format!(".{end}"), &mut report)?;
        }
        moved
    }

    /// Drops what was laid out, once it has its place.
    pub(crate) fn done(self) -> io::Result<()> {
        fs::remove_dir_all(&self.dir)
    }

    /// The files of people's data in it.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    gone(fs::remove_file(path))?;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    disk::sync(&file)
}

/// Ignores NotFound.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// What the reports of a filed file are made of, while something in them waits.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpenReport {
    pub(crate) filing: Filing,
    pub(crate) hr_report: HrReport,
    /// The verdict once nothing waits any more.
    pub(crate) settled: Verdict,
}
