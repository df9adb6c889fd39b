//! The parts of a workbook: a zip archive of XML files.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::rc::Rc;

use zip::ZipArchive;
use zip::result::ZipError;

use super::error::WorkbookFault;
use super::limits::{DIRECTORY_BYTES_MAX, RELATIONSHIPS_MAX, UNPACKED_BYTES_MAX};
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
