//! The texts that the cells of a workbook share.

use std::path::Path;

use quick_xml::events::Event;

use super::error::WorkbookFault;
use super::limits::{STRINGS_MAX, TEXT_BYTES_MAX};
use super::package::Package;
use super::xml::add_text;
use crate::spool::{SpillOffset, Spool};

/// So many of them are at hand.
const AT_HAND: usize = 4096;
/// A longer one is not kept at hand.
const AT_HAND_BYTES_MAX: usize = 256;

/// The shared texts, in a spool: a large workbook has hundreds of megabytes of them.
pub(super) struct SharedStrings {
    spool: Spool,
    places: Vec<SpillOffset>,
    at_hand: Vec<Option<(usize, Box<str>)>>,
}

impl SharedStrings {
    /// Reads them into the folder `dir`.
    pub(super) fn read(package: &mut Package, part: Option<&str>, dir: &Path) -> Result<Self, WorkbookFault> {
        let mut strings = Self { spool: Spool::new(dir), places: Vec::new(), at_hand: vec![None; AT_HAND] };
        let Some(part) = part else { return Ok(strings) };
        let mut xml = package.xml(part)?;
        let mut text = String::new();
        let (mut in_text, mut spoken) = (false, false);
        loop {
            let event = xml.next()?;
            match &event {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "si" => text.clear(),
                    "t" => in_text = true,
                    "rPh" => spoken = true,
                    _ => {}
                },
                Event::End(tag) => match tag.local_name().as_ref() {
                    "si" => strings.put(&text)?,
                    "t" => in_text = false,
                    "rPh" => spoken = false,
                    _ => {}
                },
                Event::Empty(tag) if tag.local_name().as_ref() == "si" => strings.put("")?,
                Event::Eof => return Ok(strings),
                _ if in_text && !spoken && text.len() <= TEXT_BYTES_MAX => add_text(&event, &mut text)?,
                _ => {}
            }
        }
    }

    /// Adds the text of that number to `text`.
    pub(super) fn add(&mut self, number: usize, text: &mut String) -> Result<(), WorkbookFault> {
        let slot = number % AT_HAND;
        if let Some((known, shared)) = &self.at_hand[slot]
            && *known == number
        {
            text.push_str(shared);
            return Ok(());
        }
        let place = self.places.get(number).copied();
        let place = place.ok_or_else(|| WorkbookFault::Strange("a cell names a text that is not there".to_owned()))?;
        let shared = self.spool.read(place, |bytes| String::from_utf8_lossy(bytes).into_owned())?;
        text.push_str(&shared);
        if shared.len() <= AT_HAND_BYTES_MAX {
            self.at_hand[slot] = Some((number, shared.into_boxed_str()));
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<(), WorkbookFault> {
        if self.places.len() >= STRINGS_MAX {
            return Err(WorkbookFault::TooManyStrings);
        }
        self.places.push(self.spool.put(unescaped(text).as_bytes())?);
        Ok(())
    }
}

/// A text without the escapes of characters that XML can't hold: `_x000D_` is a carriage return.
pub(super) fn unescaped(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("_x") {
        return text.into();
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("_x") {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 2..at + 6).filter(|_| rest[at + 6..].starts_with('_'));
        let code = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32) {
            Some(character) => {
                out.push(character);
                rest = &rest[at + 7..];
            }
            None => {
                out.push_str("_x");
                rest = &rest[at + 2..];
            }
        }
    }
    out.push_str(rest);
    out.into()
}
