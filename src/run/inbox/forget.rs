//! Taking a person out of what was filed and what is kept of an inbox.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use csv::{ReaderBuilder, Terminator, WriterBuilder};

use super::outbox::Outbox;
use super::over::{form, over};
use crate::clock::Clock;
use crate::config::Job;
use crate::history::without;
use crate::mapping::{Bound, Mapped};
use crate::receipt::{harmless, markup_of};
use crate::record::Key;
use crate::run::forget::ForgetError;
use crate::run::rows;
use crate::source::Row;
use crate::source::inbox::{Folder, Shelf};
use crate::store::Store;

/// What is to become of a file.
enum Fate {
    Stays,
    Goes,
    Becomes(Vec<u8>),
}

/// Takes a person out of everything that was filed in the inboxes of `jobs`, and drops what is kept of their files in the
/// state folder; returns how many files that concerned. A filed file that can't be searched goes altogether.
pub(in crate::run) fn forget(store: &Store, jobs: &[Job], key: &Key) -> Result<u64, ForgetError> {
    let mut files = 0;
    for job in jobs.iter().filter(|job| job.inbox.is_some()) {
        let fail = |source| ForgetError::Filed { job: job.name.clone(), source };
        files += kept(store, job, key).map_err(fail)?;
        files += filed(store, job, key).map_err(fail)?;
    }
    Ok(files)
}

/// What lies in the state folder.
fn kept(store: &Store, job: &Job, key: &Key) -> io::Result<u64> {
    let outbox = Outbox::of(store.dir(), &job.name);
    let mut files = 0;
    for path in [outbox.standing(), outbox.copy()] {
        if path.exists() {
            fs::remove_file(&path)?;
            files += 1;
        }
    }
    for laid in outbox.laid()? {
        for (name, fate) in [
            ("file", of_file(job, &laid.dir().join("file"), key)?),
            ("report.csv", of_table(&fs::read(laid.dir().join("report.csv"))?, key)),
            ("report.html", of_page(&fs::read(laid.dir().join("report.html"))?, key)),
        ] {
            let path = laid.dir().join(name);
            match fate {
                Fate::Stays => continue,
                Fate::Goes => fs::write(&path, "")?,
                Fate::Becomes(bytes) => fs::write(&path, bytes)?,
            }
            files += 1;
        }
    }
    Ok(files)
}

/// What lies in the inbox's two folders.
fn filed(store: &Store, job: &Job, key: &Key) -> io::Result<u64> {
    let Some(options) = &job.inbox else { return Ok(0) };
    let folder = match Folder::open(&options.dir) {
        Ok(folder) if folder.is_marked() => folder,
        // It was never used.
        Ok(_) => return Ok(0),
        Err(crate::source::inbox::Error::Missing(_)) if !Outbox::of(store.dir(), &job.name).dir().exists() => {
            return Ok(0);
        }
        Err(error) => return Err(io::Error::other(error)),
    };
    let scratch = tempfile::Builder::new().prefix("looking-").tempdir_in(store.dir())?;
    let mut files = 0;
    for shelf in Shelf::ALL {
        let (dropped, reports) = folder.filed(shelf)?;
        for name in dropped.into_iter().chain(reports) {
            let fate = match (name.ends_with(".report.csv"), name.ends_with(".report.html")) {
                (true, _) => of_table(&bytes(&folder, shelf, &name)?, key),
                (_, true) => of_page(&bytes(&folder, shelf, &name)?, key),
                _ => {
                    let copy = scratch.path().join("copy");
                    match folder.open_filed(shelf, &name) {
                        Ok(mut file) if file.metadata()?.is_file() => {
                            io::copy(&mut file, &mut File::create(&copy)?)?;
                            of_file(job, &copy, key)?
                        }
                        // A link or a pipe holds nobody.
                        Ok(_) | Err(_) => Fate::Stays,
                    }
                }
            };
            match fate {
                Fate::Stays => continue,
                Fate::Goes => folder.remove_filed(shelf, &name)?,
                Fate::Becomes(bytes) => folder.replace_filed(shelf, &name, &bytes)?,
            }
            files += 1;
        }
    }
    Ok(files)
}

fn bytes(folder: &Folder, shelf: Shelf, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    folder.open_filed(shelf, name)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A dropped file: the rows of everybody else stay. A row of which it can't be told whose it is goes, too.
fn of_file(job: &Job, path: &Path, key: &Key) -> io::Result<Fate> {
    if !path.exists() || fs::metadata(path)?.len() == 0 {
        return Ok(Fate::Stays);
    }
    let looked_at = over(job, path.to_owned(), None);
    let mut writer: Option<csv::Writer<Vec<u8>>> = None;
    let mut dropped = false;
    let mut failed = None;
    let mut visit = |row: &Row, bound: &Bound<'_>| {
        let others = match bound.read(row, None).mapped {
            Mapped::Record(record) => record.key != *key,
            Mapped::Left(own) => own != *key,
            Mapped::Rejected(rejected) => rejected.key.is_some_and(|own| own != *key),
            Mapped::Dropped => false,
        };
        dropped |= !others;
        let writer = writer.get_or_insert_with(|| {
            let mut writer = WriterBuilder::new()
                .delimiter(form(job).delimiter.unwrap_or(b','))
                .terminator(Terminator::CRLF)
                .from_writer("\u{feff}".as_bytes().to_vec());
            writer.write_record(row.columns().names()).expect("memory takes everything");
            writer
        });
        if others && let Err(error) = writer.write_record((0..row.len()).map(|at| row.cell(at))) {
            failed = Some(io::Error::other(error));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let read = rows::rows(&looked_at, &rows::mapping(job), None, &Clock::system(), &mut visit);
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(match (read, writer) {
        (Err(_), _) => Fate::Goes,
        (Ok(read), _) if read.rejected.is_empty() && !dropped => Fate::Stays,
        (Ok(_), None) => Fate::Goes,
        (Ok(_), Some(writer)) => Fate::Becomes(writer.into_inner().map_err(|error| error.into_error())?),
    })
}

/// A report as a table.
fn of_table(bytes: &[u8], key: &Key) -> Fate {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let delimiter = text.strip_prefix("row").and_then(|rest| rest.bytes().next()).unwrap_or(b',');
    let own = harmless(key.as_str());
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
    let mut writer = WriterBuilder::new()
        .flexible(true)
        .delimiter(delimiter)
        .terminator(Terminator::CRLF)
        .from_writer("\u{feff}".as_bytes().to_vec());
    let mut changed = false;
    for record in reader.records() {
        let Ok(record) = record else { return Fate::Goes };
        if record.get(1) == Some(own.as_str()) {
            changed = true;
            continue;
        }
        let cells: Vec<String> = record
            .iter()
            .map(|cell| {
                let told = without(cell, key);
                changed |= told.is_some();
                told.unwrap_or_else(|| cell.to_owned())
            })
            .collect();
        writer.write_record(&cells).expect("memory takes everything");
    }
    if !changed {
        return Fate::Stays;
    }
    Fate::Becomes(writer.into_inner().expect("memory takes everything"))
}

/// A report as a page: it has a line for each row.
fn of_page(bytes: &[u8], key: &Key) -> Fate {
    let text = String::from_utf8_lossy(bytes);
    let own = format!("<td>{}</td>", markup_of(key.as_str()));
    let mut changed = false;
    let mut page = Vec::with_capacity(bytes.len());
    for line in text.lines() {
        if line.starts_with("<tr>") && line.contains(&own) {
            changed = true;
            continue;
        }
        let told = Key::new(&markup_of(key.as_str())).and_then(|key| without(line, &key));
        changed |= told.is_some();
        writeln!(page, "{}", told.as_deref().unwrap_or(line)).expect("memory takes everything");
    }
    if changed { Fate::Becomes(page) } else { Fate::Stays }
}
