//! What is done and on its way out of the inbox: laid out in the state first, filed afterwards.
//!
//! ```text
//! inbox/JOB/copy              the file that is being read; on this machine
//! inbox/JOB/laying            what is to become one of those below; on this machine
//! inbox/JOB/kept_copy         the last file, while something of it is open
//! inbox/JOB/waiting           what the last file's reports are made of, while something in them waits
//! inbox/JOB/out-RUN.file      a file that is done
//! inbox/JOB/out-RUN.report    what its reports are made of
//! inbox/JOB/out-RUN.order     where both go
//! ```
//!
//! Invariants:
//! - A file is laid out once its order is there: that is written last, and goes first.
//! - Only who has the store changes any of it. A worker that takes over finds what the one before laid out, and files it.

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
use crate::store::{Home, Store};

/// What the names of files begin with that are laid out.
const OUT: &str = "out-";
/// How the names of their orders end.
const ORDER: &str = ".order";

/// What is kept of one inbox.
pub(crate) struct Staging {
    home: Home,
    /// Before the names in the state.
    folder: String,
    /// The folder of this machine.
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
    /// The names of its files, less their ends.
    name: String,
    pub(crate) order: FilingOrder,
}

impl Staging {
    /// What is kept of a job's inbox, which may be nothing.
    pub(crate) fn of(home: &Home, job: &JobName) -> Self {
        let folder = format!("inbox/{job}");
        Self { home: home.clone(), dir: home.spill_dir().join(&folder), folder }
    }

    /// Makes its folder, and drops what an earlier process did not lay out to the end.
    pub(crate) fn open(store: &Store, job: &Job) -> io::Result<Self> {
        let staging = Self::of(store.home(), &job.name);
        DirBuilder::new().recursive(true).mode(0o700).create(&staging.dir)?;
        gone(fs::remove_file(staging.laying()))?;
        staging.drop_copy()?;
        let orders = store.home().list(&staging.folder)?;
        for name in store.home().files(&staging.folder)? {
            let of_none = |out: &str| !orders.iter().any(|order| order.strip_suffix(ORDER) == Some(out));
            if name.starts_with(OUT) && name.rsplit_once('.').is_some_and(|(out, _)| of_none(out)) {
                store.drop_file(&staging.named(&name))?;
            }
        }
        store.sweep_files(&staging.folder)?;
        Ok(staging)
    }

    fn named(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Where the file that is being read is copied to.
    pub(crate) fn copy(&self) -> PathBuf {
        self.dir.join("copy")
    }

    /// Drops that copy.
    pub(crate) fn drop_copy(&self) -> io::Result<()> {
        gone(fs::remove_file(self.copy()))
    }

    fn laying(&self) -> PathBuf {
        self.dir.join("laying")
    }

    /// Where the last file can be read, while something of it is open; `scratch` is where it may be laid down.
    pub(crate) fn kept_copy(&self, scratch: &Path) -> io::Result<Option<PathBuf>> {
        self.home.file(&self.named("kept_copy"), scratch)
    }

    /// Whether the last file is kept.
    pub(crate) fn has_kept_copy(&self) -> io::Result<bool> {
        Ok(self.home.files(&self.folder)?.iter().any(|name| name == "kept_copy"))
    }

    /// Puts the file at `path` in the place of the last one.
    pub(crate) fn replace_kept_copy(&self, store: &Store, path: &Path) -> io::Result<()> {
        store.take_file(&self.named("kept_copy"), path)
    }

    /// Drops the last file; whether there was one.
    pub(crate) fn drop_kept_copy(&self, store: &Store) -> io::Result<bool> {
        let is_there = self.has_kept_copy()?;
        if is_there {
            store.drop_file(&self.named("kept_copy"))?;
        }
        Ok(is_there)
    }

    /// What the last file's reports are made of; `None` where nothing in them waits.
    pub(crate) fn open_report(&self) -> io::Result<Option<OpenReport>> {
        let read = self.home.read_file(&self.named("waiting"))?;
        Ok(read.map(|bytes| serde_json::from_slice(&bytes)).transpose()?)
    }

    /// Keeps what reports are made of.
    pub(crate) fn keep_waiting(&self, store: &Store, waiting: &OpenReport) -> io::Result<()> {
        self.write(store, "waiting", waiting)
    }

    /// Drops it.
    pub(crate) fn drop_waiting(&self, store: &Store) -> io::Result<()> {
        store.drop_file(&self.named("waiting"))
    }

    fn write(&self, store: &Store, name: &str, value: &impl Serialize) -> io::Result<()> {
        let laying = self.laying();
        gone(fs::remove_file(&laying))?;
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&laying)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        disk::sync(&file)?;
        store.take_file(&self.named(name), &laying)
    }

    /// Lays out a file that is done, with its reports; it is on its way from here on, whatever happens to this process.
    pub(crate) fn stage(
        &self,
        store: &Store,
        run: u64,
        order: FilingOrder,
        hr_report: &HrReport,
    ) -> io::Result<StagedFile> {
        let out = format!("{OUT}{run:010}");
        match store.take_file(&self.named(&format!("{out}.file")), &self.copy()) {
            // What is never read has no copy.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.write(store, &format!("{out}.report"), hr_report)?;
        let laid = StagedFile { name: self.named(&out), order };
        laid.give_order(store)?;
        Ok(laid)
    }

    /// What is laid out, the oldest first.
    pub(crate) fn laid(&self) -> io::Result<Vec<StagedFile>> {
        let mut laid = Vec::new();
        for name in self.home.list(&self.folder)? {
            let Some(out) = name.strip_suffix(ORDER).filter(|out| out.starts_with(OUT)) else { continue };
            // It may have been filed meanwhile.
            if let Some(order) = self.home.read(&self.named(&name))? {
                laid.push(StagedFile { name: self.named(out), order: serde_json::from_slice(&order)? });
            }
        }
        laid.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(laid)
    }
}

impl StagedFile {
    /// Whether this is the file in the inbox that is done.
    pub(crate) fn is(&self, entry: &InboxEntry) -> bool {
        entry.name == self.order.filing.in_inbox() && entry.stamp.same_file(&self.order.filing.stamp)
    }

    /// Where the file can be read; `scratch` is where it may be laid down.
    pub(crate) fn content(&self, store: &Store, scratch: &Path) -> io::Result<Option<PathBuf>> {
        store.home().file(&self.file_name(), scratch)
    }

    /// The name of the file in the state.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.file", self.name)
    }

    /// What its reports are made of.
    pub(crate) fn report(&self, store: &Store) -> io::Result<HrReport> {
        let read = store.home().read_file(&format!("{}.report", self.name))?;
        Ok(serde_json::from_slice(&read.ok_or(io::ErrorKind::NotFound)?)?)
    }

    /// Puts other reports in place of them.
    pub(crate) fn put_report(&self, store: &Store, staging: &Staging, hr_report: &HrReport) -> io::Result<()> {
        let name = self.name.rsplit('/').next().expect("a name has a last part");
        staging.write(store, &format!("{name}.report"), hr_report)
    }

    fn give_order(&self, store: &Store) -> io::Result<()> {
        store.put_document(&format!("{}{ORDER}", self.name), &serde_json::to_vec(&self.order)?)
    }

    /// Keeps the file as the one of which something is open.
    pub(crate) fn keep(&self, store: &Store, staging: &Staging) -> io::Result<()> {
        store.share_file(&self.file_name(), &staging.named("kept_copy"))
    }

    /// Keeps what its reports are made of, where something in them waits.
    pub(crate) fn keep_waiting(&self, store: &Store, staging: &Staging) -> io::Result<()> {
        let hr_report = self.report(store)?;
        if hr_report.count(RowOutcome::Waiting) == 0 {
            return staging.drop_waiting(store);
        }
        let filing = self.order.filing.clone();
        staging.keep_waiting(store, &OpenReport { filing, hr_report, settled: self.order.settled })
    }

    /// Moves the file to its place in the inbox, with its reports, or removes it where nothing is kept.
    pub(crate) fn file(
        &mut self,
        store: &Store,
        staging: &Staging,
        folder: &Folder,
        options: &Options,
    ) -> io::Result<()> {
        if options.kept.is_zero() {
            return folder.remove(&self.order.filing);
        }
        match self.put(store, staging, folder) {
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::IsADirectory) => {
                // Another file has taken the name, or that of a report, since.
                let filing = &mut self.order.filing;
                let name = crate::source::inbox::shown(filing.in_inbox());
                filing.filed = folder.free_name(filing.shelf, self.order.at, &name)?;
                self.give_order(store)?;
                self.put(store, staging, folder)
            }
            result => result,
        }
    }

    fn put(&self, store: &Store, staging: &Staging, folder: &Folder) -> io::Result<()> {
        // The file goes in any case: a report that has no room is tried again.
        let moved = folder.file_away(&self.order.filing, || self.content(store, &staging.copy()));
        staging.drop_copy()?;
        let hr_report = self.report(store)?;
        for (end, bytes) in [(".report.csv", table(&hr_report)), (".report.html", page(&hr_report).into_bytes())] {
            folder.put(&self.order.filing, end, &mut bytes.as_slice())?;
        }
        moved
    }

    /// Drops what was laid out, once it has its place.
    pub(crate) fn done(self, store: &Store) -> io::Result<()> {
        store.drop_document(&format!("{}{ORDER}", self.name))?;
        store.drop_file(&format!("{}.report", self.name))?;
        store.drop_file(&self.file_name())
    }
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
