//! The parts of a workbook: a zip archive of XML files.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use zip::ZipArchive;
use zip::result::ZipError;

use super::error::WorkbookFault;
use super::limits::{DIRECTORY_BYTES_MAX, PARTS_MAX, RELATIONSHIPS_MAX, UNPACKED_BYTES_MAX};
use super::part::{Metered, Part};
use super::xml::{Xml, attribute};

/// The parts of a workbook.
pub(super) struct Package {
    archive: ZipArchive<Metered>,
}

/// What one part says of another.
pub(super) struct Relationship {
    pub(super) id: String,
    /// The last word of what kind of part it is.
    pub(super) kind: String,
    /// The name of the part.
    pub(super) target: String,
}

impl Package {
    /// Reads the directory of an archive.
    pub(super) fn open(file: &File) -> Result<Self, WorkbookFault> {
        let left = Rc::new(Cell::new(DIRECTORY_BYTES_MAX));
        let file = file.try_clone().map_err(WorkbookFault::Unreadable)?;
        check_stated_parts(&file)?;
        let archive = ZipArchive::new(Metered::new(file, Rc::clone(&left)));
        let archive = archive.map_err(|error| match left.get() {
            0 => WorkbookFault::TooManyParts,
            _ => fault("its end", error),
        })?;
        // From here on each part has its own limit.
        left.set(u64::MAX);
        Ok(Self { archive })
    }

    /// Whether there is such a part.
    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// A part as XML.
    pub(super) fn xml(&mut self, name: &str) -> Result<Xml<'_>, WorkbookFault> {
        Ok(Xml::new(name, self.part(name)?))
    }

    /// The beginning of a part as text.
    pub(super) fn beginning(&mut self, name: &str, bytes_max: u64) -> Result<String, WorkbookFault> {
        let mut text = Vec::new();
        let read = self.part(name)?.take(bytes_max).read_to_end(&mut text);
        read.map_err(|error| WorkbookFault::of_io(name, error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// What a part says of others. Of a part that says nothing: none.
    pub(super) fn relationships(&mut self, name: &str) -> Result<Vec<Relationship>, WorkbookFault> {
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
        let of = format!("{folder}{}_rels/{own}.rels", if folder.is_empty() { "" } else { "/" });
        let mut found = Vec::new();
        if !self.has(&of) {
            return Ok(found);
        }
        let mut xml = self.xml(&of)?;
        while let Some(tag) = xml.next_tag()? {
            if tag.local_name().as_ref() != "Relationship" {
                continue;
            }
            let text = |name: &str| Ok::<_, WorkbookFault>(attribute(&tag, name)?.unwrap_or_default());
            let kind = text("Type")?;
            found.push(Relationship {
                id: text("Id")?,
                kind: kind.rsplit_once('/').map_or(kind.as_str(), |(_, last)| last).to_owned(),
                target: resolved(folder, &text("Target")?),
            });
            if found.len() > RELATIONSHIPS_MAX {
                return Err(WorkbookFault::TooManyParts);
            }
        }
        Ok(found)
    }

    fn part(&mut self, name: &str) -> Result<Part<'_>, WorkbookFault> {
        let index = self.archive.index_for_name(name);
        let index = index.ok_or_else(|| WorkbookFault::Strange(format!("its part {name} is missing")))?;
        let entry = self.archive.by_index(index).map_err(|error| fault(name, error))?;
        if entry.size() > UNPACKED_BYTES_MAX {
            return Err(WorkbookFault::TooLarge);
        }
        Ok(Part::new(entry))
    }
}

/// Refuses an archive that states more parts than a workbook has. `zip` makes room for all that are stated before it reads
/// the first, and a small end can state any number: in the record of large archives, which lies right before the locator
/// that names it.
fn check_stated_parts(file: &File) -> Result<(), WorkbookFault> {
    const END: &[u8] = b"PK\x05\x06";
    const LOCATOR: (&[u8], usize) = (b"PK\x06\x07", 20);
    const RECORD: (&[u8], usize) = (b"PK\x06\x06", 56);
    const COMMENT_BYTES_MAX: u64 = 1 << 16;
    let size = file.metadata().map_err(WorkbookFault::Unreadable)?.len();
    let start = size.saturating_sub(COMMENT_BYTES_MAX + 128);
    let mut tail = vec![0; usize::try_from(size - start).expect("it is short")];
    file.read_exact_at(&mut tail, start).map_err(WorkbookFault::Unreadable)?;
    let number = |at: usize| u64::from_le_bytes(tail[at..at + 8].try_into().expect("8 bytes"));
    for end in tail.windows(END.len()).enumerate().filter(|(_, bytes)| *bytes == END).map(|(at, _)| at) {
        let Some(locator) = end.checked_sub(LOCATOR.1).filter(|at| tail[*at..].starts_with(LOCATOR.0)) else {
            continue;
        };
        let record = locator.checked_sub(RECORD.1).filter(|at| tail[*at..].starts_with(RECORD.0));
        let Some(record) = record.filter(|at| number(locator + 8) == start + *at as u64) else {
            return Err(WorkbookFault::Damaged("its end".to_owned()));
        };
        if number(record + 24).max(number(record + 32)) > PARTS_MAX {
            return Err(WorkbookFault::TooManyParts);
        }
    }
    Ok(())
}

/// The name of the part that `target` means, seen from `folder`.
fn resolved(folder: &str, target: &str) -> String {
    let (base, target) = match target.strip_prefix('/') {
        Some(absolute) => ("", absolute),
        None => (folder, target),
    };
    let mut path: Vec<&str> = base.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => _ = path.pop(),
            step => path.push(step),
        }
    }
    path.join("/")
}

fn fault(what: &str, error: ZipError) -> WorkbookFault {
    match error {
        ZipError::Io(error) => WorkbookFault::of_io(what, error),
        ZipError::UnsupportedArchive(_) => {
            WorkbookFault::Strange("it is packed in a way that workbooks are not".to_owned())
        }
        _ => WorkbookFault::Damaged(what.to_owned()),
    }
}
