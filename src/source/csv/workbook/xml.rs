//! XML of one part, piece by piece.

use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion, escape};

use super::error::WorkbookFault;
use super::part::Part;

/// How deep tags may lie in each other.
const DEPTH_MAX: u32 = 64;

/// The XML of a part.
pub(super) struct Xml<'a> {
    name: String,
    reader: Reader<Part<'a>>,
    buffer: Vec<u8>,
    depth: u32,
    begun: bool,
}

impl<'a> Xml<'a> {
    /// Of the part of that name.
    pub(super) fn new(name: &str, part: Part<'a>) -> Self {
        Self { name: name.to_owned(), reader: Reader::from_reader(part), buffer: Vec::new(), depth: 0, begun: false }
    }

    /// The next piece. Its end is one only where every tag is closed and the checksum is right.
    pub(super) fn next(&mut self) -> Result<Event<'_>, WorkbookFault> {
        self.buffer.clear();
        self.reader.get_mut().begin_piece();
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) => match std::sync::Arc::try_unwrap(error) {
                Ok(error) => WorkbookFault::of_io(&self.name, error),
                Err(_) => WorkbookFault::Damaged(self.name.clone()),
            },
            _ => WorkbookFault::Damaged(self.name.clone()),
        })?;
        match &event {
            Event::Start(_) => (self.depth, self.begun) = (self.depth + 1, true),
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::Empty(_) => self.begun = true,
            Event::Eof if self.depth > 0 || !self.begun => return Err(WorkbookFault::Damaged(self.name.clone())),
            Event::DocType(_) => return Err(WorkbookFault::Strange(format!("{} has a document type", self.name))),
            _ => {}
        }
        if self.depth > DEPTH_MAX {
            return Err(WorkbookFault::Strange(format!("{} is nested too deeply", self.name)));
        }
        Ok(event)
    }

    /// The next tag that begins; `None` at the end of the part.
    pub(super) fn next_tag(&mut self) -> Result<Option<BytesStart<'static>>, WorkbookFault> {
        loop {
            match self.next()? {
                Event::Start(tag) | Event::Empty(tag) => return Ok(Some(tag.into_owned())),
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }
}

/// Adds the text of a piece to `text`, if it is one.
pub(super) fn add_text(event: &Event<'_>, text: &mut String) -> Result<(), WorkbookFault> {
    match event {
        Event::Text(piece) => text.push_str(&piece.xml10_content()),
        Event::CData(piece) => text.push_str(&piece.xml10_content()),
        Event::GeneralRef(name) => match name.resolve_char_ref() {
            Ok(Some(character)) => text.push(character),
            Ok(None) => match escape::resolve_predefined_entity(name) {
                Some(known) => text.push_str(known),
                None => return Err(unknown_character()),
            },
            Err(_) => return Err(unknown_character()),
        },
        _ => {}
    }
    Ok(())
}

fn unknown_character() -> WorkbookFault {
    WorkbookFault::Strange("a text names an unknown character".to_owned())
}

/// The value of an attribute, whatever the prefix of its name.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, WorkbookFault> {
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|_| odd())?;
        if attribute.key.local_name().as_ref() == name {
            return value(&attribute).map(Some);
        }
    }
    Ok(None)
}

/// The value of an attribute as text.
pub(super) fn value(attribute: &Attribute<'_>) -> Result<String, WorkbookFault> {
    let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|_| odd())?;
    Ok(value.into_owned())
}

fn odd() -> WorkbookFault {
    WorkbookFault::Strange("a tag is malformed".to_owned())
}
