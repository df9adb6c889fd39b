//! Parses a document into a value.

use quick_xml::Reader;
use quick_xml::XmlVersion::Implicit1_0 as VERSION;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use serde_json::{Map, Number, Value};

use super::DEPTH_MAX;
use super::letters::{decoded, is_allowed, is_name};

/// Why a document can't be read, after "the body is no XML that is taken: ".
type Reason = &'static str;

const ILL_FORMED: Reason = "it is not well-formed";

/// Reads a document.
pub(crate) fn value(body: &[u8]) -> Result<Value, Reason> {
    let text = std::str::from_utf8(body).map_err(|_| "it is not UTF-8")?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if !text.chars().all(is_allowed) {
        return Err("it holds a character that XML doesn't have");
    }
    let mut reader = Reader::from_str(text);
    let mut document = Document::default();
    loop {
        match reader.read_event().map_err(|_| ILL_FORMED)? {
            Event::Start(start) => document.open(&start)?,
            Event::Empty(start) => {
                document.open(&start)?;
                document.close()?;
            }
            Event::End(_) => document.close()?,
            Event::Text(text) => document.text(&text.xml10_content())?,
            Event::CData(text) => document.text(&text.xml10_content())?,
            Event::GeneralRef(reference) => document.reference(&reference)?,
            Event::Decl(declaration) => check_encoding(&declaration)?,
            Event::DocType(_) => return Err("it has a document type"),
            Event::Comment(_) | Event::PI(_) => {}
            Event::Eof => return document.end(),
        }
    }
}

/// What was read so far.
#[derive(Default)]
struct Document {
    open: Vec<Element>,
    root: Option<Value>,
}

/// An element whose end hasn't come yet.
struct Element {
    key: String,
    /// Whether it is called `item`, rather than a field of that id.
    is_item: bool,
    form: Form,
    text: String,
    children: Vec<(String, Value)>,
    has_items_only: bool,
}

/// What an element says about its value.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Unsaid,
    Nil,
    Array,
    Object,
    Number,
    Boolean,
    Text,
}

impl Document {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), Reason> {
        if self.root.is_some() {
            return Err("it has a second root");
        }
        if self.open.len() == DEPTH_MAX {
            return Err("its elements lie too deep in one another");
        }
        let mut element = Element::read(start)?;
        if self.open.is_empty() && element.key == "list" && element.form == Form::Unsaid {
            element.form = Form::Array;
        }
        self.open.push(element);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Reason> {
        let element = self.open.pop().ok_or(ILL_FORMED)?;
        let (key, is_item) = (element.key.clone(), element.is_item);
        let value = element.value()?;
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(parent) => {
                parent.has_items_only &= is_item;
                parent.children.push((key, value));
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Reason> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim().is_empty() => {}
            None => return Err(ILL_FORMED),
        }
        Ok(())
    }

    /// A reference to a character, or to one of XML's five entities.
    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), Reason> {
        let element = self.open.last_mut().ok_or(ILL_FORMED)?;
        match reference.resolve_char_ref().map_err(|_| ILL_FORMED)? {
            Some(letter) if is_allowed(letter) => element.text.push(letter),
            Some(_) => return Err(ILL_FORMED),
            None => {
                let text = resolve_predefined_entity(reference).ok_or("it has an entity other than XML's five")?;
                element.text.push_str(text);
            }
        }
        Ok(())
    }

    fn end(self) -> Result<Value, Reason> {
        if self.open.is_empty() { self.root.ok_or("it is empty") } else { Err(ILL_FORMED) }
    }
}

impl Element {
    fn read(start: &BytesStart<'_>) -> Result<Self, Reason> {
        let (mut id, mut form, mut is_nil) = (None, Form::Unsaid, false);
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|_| ILL_FORMED)?;
            let value = attribute.normalized_value(VERSION).map_err(|_| ILL_FORMED)?;
            match (attribute.key.as_ref(), attribute.key.local_name().into_inner()) {
                ("id", _) => id = Some(decoded(&value)),
                ("type", _) => form = Form::named(&value)?,
                (_, "nil") => is_nil = matches!(&*value, "true" | "1"),
                _ => {}
            }
        }
        let name = start.name().into_inner();
        let is_item = name == "item";
        let key = if name == "field" { id.ok_or("it has a field without an id")? } else { name.to_owned() };
        if name != "field" && !is_name(name) {
            return Err("it has an element of a name that no field has");
        }
        let form = if is_nil { Form::Nil } else { form };
        Ok(Self { key, is_item, form, text: String::new(), children: Vec::new(), has_items_only: true })
    }

    fn value(self) -> Result<Value, Reason> {
        let form = match self.form {
            Form::Unsaid if self.children.is_empty() => Form::Text,
            Form::Unsaid if self.has_items_only => Form::Array,
            Form::Unsaid => Form::Object,
            said => said,
        };
        let has_elements = matches!(form, Form::Array | Form::Object);
        if !self.children.is_empty() && !has_elements {
            return Err("it has elements where there can be none");
        }
        if has_elements && !self.text.trim().is_empty() {
            return Err("it has text between elements");
        }
        match form {
            Form::Array => Ok(Value::Array(self.children.into_iter().map(|(_, value)| value).collect())),
            Form::Object => object(self.children),
            Form::Number => number(self.text.trim()).ok_or("it has a number that is none"),
            Form::Boolean => match self.text.trim() {
                "true" | "1" => Ok(true.into()),
                "false" | "0" => Ok(false.into()),
                _ => Err("it has a boolean that is none"),
            },
            Form::Nil if !self.text.trim().is_empty() => Err("it has text in an element that is nil"),
            Form::Nil => Ok(Value::Null),
            Form::Text | Form::Unsaid => Ok(decoded(&self.text).into()),
        }
    }
}

impl Form {
    fn named(name: &str) -> Result<Self, Reason> {
        Ok(match name {
            "array" => Self::Array,
            "object" => Self::Object,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "string" => Self::Text,
            _ => return Err("it has a type other than array, object, number, boolean and string"),
        })
    }
}

fn object(members: Vec<(String, Value)>) -> Result<Value, Reason> {
    let mut object = Map::new();
    for (key, value) in members {
        if object.insert(key, value).is_some() {
            return Err("it has an element twice");
        }
    }
    Ok(Value::Object(object))
}

fn number(text: &str) -> Option<Value> {
    let whole = || text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
    let number = whole().or_else(|| text.parse().ok().and_then(Number::from_f64));
    number.map(Value::Number)
}

fn check_encoding(declaration: &BytesDecl<'_>) -> Result<(), Reason> {
    match declaration.encoding() {
        None => Ok(()),
        Some(Ok(encoding)) if encoding.eq_ignore_ascii_case("utf-8") => Ok(()),
        Some(_) => Err("it is not UTF-8"),
    }
}
