//! How the cells of a workbook show numbers.

use std::collections::HashMap;

use quick_xml::events::Event;

use super::error::WorkbookFault;
use super::number::NumberFormat;
use super::package::Package;
use super::xml::attribute;

/// The most styles, and the most formats of its own, of a workbook; Excel takes 65,490.
const STYLES_MAX: usize = 70_000;

/// The format of each style.
pub(super) struct Styles {
    formats: Vec<NumberFormat>,
}

impl Styles {
    /// Reads them.
    pub(super) fn read(package: &mut Package, part: Option<&str>) -> Result<Self, WorkbookFault> {
        let (mut own, mut formats, mut in_cells) = (HashMap::new(), Vec::new(), false);
        let Some(part) = part else { return Ok(Self { formats }) };
        let mut xml = package.xml(part)?;
        loop {
            match xml.next()? {
                Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                    "numFmt" => {
                        let (id, code) = (attribute(&tag, "numFmtId")?, attribute(&tag, "formatCode")?);
                        if let (Some(Ok(id)), Some(code)) = (id.map(|id| id.parse::<u32>()), code) {
                            own.insert(id, NumberFormat::of(&code));
                        }
                    }
                    "cellXfs" => in_cells = true,
                    "xf" if in_cells => {
                        let id = attribute(&tag, "numFmtId")?.and_then(|id| id.parse().ok()).unwrap_or(0);
                        formats.push(own.get(&id).cloned().unwrap_or_else(|| NumberFormat::of_builtin(id)));
                    }
                    _ => {}
                },
                Event::End(tag) if tag.local_name().as_ref() == "cellXfs" => in_cells = false,
                Event::Eof => return Ok(Self { formats }),
                _ => {}
            }
            if formats.len() > STYLES_MAX || own.len() > STYLES_MAX {
                return Err(WorkbookFault::Strange(format!("it has more than {STYLES_MAX} styles")));
            }
        }
    }

    /// The format of a style; the plain one where there is no such style.
    pub(super) fn format(&self, style: usize) -> &NumberFormat {
        self.formats.get(style).unwrap_or(&NumberFormat::Plain)
    }
}
