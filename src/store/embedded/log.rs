//! The log of a state folder: `audit/SEGMENT.ndjson`, a line for each entry.
//!
//! Several processes append to it: one that pauses a job does not have the store. A lock file keeps them apart.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::ignore_not_found;
use crate::crash::point;
use crate::disk;
use crate::store::log_engine::{LineFate, LineJudge, LogEngine};

const END: &str = ".ndjson";

pub(in crate::store) struct FolderLog {
    dir: PathBuf,
    open: Mutex<Option<(String, File)>>,
}

impl FolderLog {
    pub(in crate::store) fn new(dir: &Path) -> Self {
        Self { dir: dir.join("audit"), open: Mutex::new(None) }
    }

    /// Makes the folder where there is none, and waits until no other process appends to or rewrites a file in it.
    fn lock(&self) -> io::Result<File> {
        disk::lay_down(&self.dir)?;
        let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(self.dir.join("lock"))?;
        file.lock()?;
        Ok(file)
    }

    /// Rewrites one file: the new one replaces it in one step, so that a crash leaves one of the two. A file without lines
    /// is removed.
    fn rewrite_segment(&self, segment: &str, judge: &dyn Fn() -> Box<LineJudge<'static>>) -> io::Result<u64> {
        let fresh = self.dir.join(format!(".{segment}{END}.new"));
        // Half of a rewrite that a crash ended.
        ignore_not_found(fs::remove_file(&fresh))?;
        let file = self.place(segment);
        let (mut changed, mut kept) = (0, 0);
        judged(&file, &mut *judge(), |_, fate| {
            kept += u64::from(fate != LineFate::Goes);
            changed += u64::from(fate != LineFate::Stays);
            Ok(())
        })?;
        if changed > 0 && kept == 0 {
            fs::remove_file(&file)?;
        } else if changed > 0 {
            let made = File::options().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
            let mut out = BufWriter::new(made);
            judged(&file, &mut *judge(), |line, fate| {
                match fate {
                    LineFate::Goes => return Ok(()),
                    LineFate::Stays => out.write_all(line)?,
                    LineFate::Becomes(line) => out.write_all(&line)?,
                }
                out.write_all(b"\n")
            })?;
            disk::sync(out.into_inner().map_err(io::IntoInnerError::into_error)?)?;
            fs::rename(&fresh, &file)?;
        }
        if changed > 0 {
            disk::sync_folder(&self.dir)?;
        }
        Ok(changed)
    }
}

impl LogEngine for FolderLog {
    fn append(&self, segment: &str, line: &str) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let _alone = self.lock()?;
        let place = self.place(segment);
        // Another process, or another log of this one, may have rewritten it since; and what follows a line that could not be written
        // comes behind the end of that one, which opening it sees to.
        let mut file = match open.take() {
            Some((current, file)) if current == segment && is_at(&file, &place)? => file,
            _ => open_segment(&place)?,
        };
        point("audit: before a line");
        file.write_all(format!("{line}\n").as_bytes())?;
        point("audit: a line is written");
        disk::sync_data(&file)?;
        point("audit: a line is on disk");
        *open = Some((segment.to_owned(), file));
        Ok(())
    }

    fn append_all(&self, segment: &str, lines: &[String]) -> io::Result<()> {
        let _alone = self.lock()?;
        let mut out = BufWriter::new(open_segment(&self.place(segment))?);
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        disk::sync_data(out.into_inner().map_err(io::IntoInnerError::into_error)?)
    }

    fn segments(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut segments = Vec::new();
        for entry in entries {
            let name = entry?.file_name().into_string().unwrap_or_default();
            segments.extend(name.strip_suffix(END).filter(|name| !name.starts_with('.')).map(str::to_owned));
        }
        segments.sort();
        Ok(segments)
    }

    fn place(&self, segment: &str) -> PathBuf {
        self.dir.join(format!("{segment}{END}"))
    }

    fn lines(&self, segment: &str, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        lines(&self.place(segment), |line| {
            visit(line);
            Ok(())
        })
    }

    fn tail(&self, segment: &str, bytes: u64) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.place(segment))?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(bytes)))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        Ok(tail)
    }

    fn rewrite(&self, judge: &dyn Fn() -> Box<LineJudge<'static>>) -> io::Result<u64> {
        let segments = self.segments()?;
        if segments.is_empty() {
            return Ok(0);
        }
        let _alone = self.lock()?;
        segments.iter().try_fold(0, |changed, segment| Ok(changed + self.rewrite_segment(segment, judge)?))
    }
}

/// Whether an open file is the one that lies there by now.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let there = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    let own = file.metadata()?;
    Ok((own.dev(), own.ino()) == (there.dev(), there.ino()))
}

/// Opens a file for lines at its end. A last line that a crash cut off is ended first, so that it takes no other with it.
fn open_segment(path: &Path) -> io::Result<File> {
    let mut file = File::options().read(true).append(true).create(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    let mut last = [b'\n'];
    if size > 0 {
        file.read_exact_at(&mut last, size - 1)?;
    }
    if last != [b'\n'] {
        file.write_all(b"\n")?;
    }
    if size == 0 {
        path.parent().map_or(Ok(()), disk::sync_folder)?;
    }
    Ok(file)
}

/// Shows every line of a file, with its end.
fn lines(file: &Path, mut visit: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(file)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        visit(&line)?;
        line.clear();
    }
    Ok(())
}

fn judged(
    file: &Path,
    judge: &mut LineJudge<'_>,
    mut visit: impl FnMut(&[u8], LineFate) -> io::Result<()>,
) -> io::Result<()> {
    lines(file, |line| {
        let line = line.trim_ascii_end();
        if line.is_empty() { Ok(()) } else { visit(line, judge(line)) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another log of the same folder rewrites the file that this one has open.
    #[test]
    fn a_line_goes_into_the_file_that_lies_there_by_now() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (FolderLog::new(dir.path()), FolderLog::new(dir.path()));
        let shown = || {
            let mut all = Vec::new();
            other.lines("2026-12", &mut |line| all.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
            all.concat()
        };
        one.append("2026-12", "first").unwrap();
        one.append("2026-12", "second").unwrap();
        let without_first = || -> Box<LineJudge<'static>> {
            Box::new(|line| if line.starts_with(b"first") { LineFate::Goes } else { LineFate::Stays })
        };
        assert_eq!(other.rewrite(&without_first).unwrap(), 1);
        one.append("2026-12", "third").unwrap();
        assert_eq!(shown(), "second\nthird\n");
        // One that is gone altogether is made again.
        fs::remove_file(dir.path().join("audit/2026-12.ndjson")).unwrap();
        one.append("2026-12", "fourth").unwrap();
        assert_eq!(shown(), "fourth\n");
    }
}
