//! Rewriting a month's file. The only reason for it is that people's data must be removed from it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jiff::Timestamp;

use super::entry::AuditEvent;
use super::month::lines;
use crate::disk;

/// What becomes of one line.
pub(super) enum Fate {
    /// It stays, byte for byte.
    Stays,
    /// It stays as this.
    Becomes(AuditEvent),
    /// It goes.
    Goes,
}

/// Judges a line, or what can't be read (`None`), by the time of it or of the line before it that could be read.
pub(super) type Judge<'a> = dyn Fn(&[u8], Option<&AuditEvent>, Option<Timestamp>) -> Fate + 'a;

/// Rewrites a file line by line. If every line stays, the file is left alone; otherwise the new file replaces the old
/// one in one step, so that a crash leaves one of the two. A file without lines is removed. Returns how many lines
/// changed or were removed.
///
/// The caller holds the folder's lock.
pub(super) fn rewrite(file: &Path, judge: &Judge<'_>) -> io::Result<u64> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let fresh = folder.join(format!(".{name}.new"));
    if fresh.exists() {
        // Half of a rewrite that a crash ended.
        fs::remove_file(&fresh)?;
    }
    let (mut changed, mut kept) = (0, 0);
    judged(file, judge, |_, fate| match fate {
        Fate::Stays => kept += 1,
        Fate::Becomes(_) => (kept, changed) = (kept + 1, changed + 1),
        Fate::Goes => changed += 1,
    })?;
    if changed > 0 && kept == 0 {
        fs::remove_file(file)?;
    } else if changed > 0 {
        let made = File::options().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        let mut out = BufWriter::new(made);
        let mut written = Ok(());
        judged(file, judge, |line, fate| {
            if written.is_ok() {
                written = write(&mut out, line, &fate);
            }
        })?;
        written?;
        disk::sync(out.into_inner().map_err(io::IntoInnerError::into_error)?)?;
        fs::rename(&fresh, file)?;
    }
    if changed > 0 {
        disk::sync_folder(folder)?;
    }
    Ok(changed)
}

fn judged(file: &Path, judge: &Judge<'_>, mut visit: impl FnMut(&[u8], Fate)) -> io::Result<()> {
    let mut latest = None;
    lines(file, |line| {
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            let entry: Option<AuditEvent> = serde_json::from_slice(line).ok();
            latest = entry.as_ref().map(AuditEvent::at).or(latest);
            visit(line, judge(line, entry.as_ref(), latest));
        }
    })
}

fn write(out: &mut impl Write, line: &[u8], fate: &Fate) -> io::Result<()> {
    match fate {
        Fate::Goes => return Ok(()),
        Fate::Stays => out.write_all(line)?,
        Fate::Becomes(entry) => serde_json::to_writer(&mut *out, entry)?,
    }
    out.write_all(b"\n")
}
