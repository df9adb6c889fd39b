//! Bodies as XML: one mapping between a JSON value and a document, without loss in either direction.
//!
//! | value | document |
//! | --- | --- |
//! | entity | an element named after it, with an element for each field: `<staff><name>Ana</name></staff>` |
//! | list of entities | `<list type="array"><staff>…</staff><staff>…</staff></list>` |
//! | any other list | its items as `<item>`: `<roletype type="array"><item>Host</item></roletype>` |
//! | key that can't be a name | `<field id="4">L7</field>`, as custom fields have |
//! | text | the element's text, with outer spaces |
//! | number, true, false | `<id type="number">7</id>`, `<remote type="boolean">true</remote>` |
//! | null | `<title nil="true"/>` |
//! | character that XML lacks | `_x0001_`; a text that looks so has its first underscore as `_x005F_` |
//!
//! A caller may leave types out: an element without child elements is text then, and the reader of a field accepts text
//! as a number; a root named `list` and an element with nothing but `<item>` in it are lists; any other is an object.
//! `type="object"` and `type="string"` say it where that would go wrong.
//!
//! Invariants: what can't be read for certain is refused: a document type, an entity beyond XML's five, text between
//! elements, a name that is there twice, more levels than [`DEPTH_MAX`]. Nothing is ever expanded or fetched.
//!
//! Rejected: serde's data model over a library's own mapping. Those mappings can't tell a list of one from an object,
//! or an empty text from nothing, unless each type says so; entities here are tables.

mod letters;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::value;
pub(super) use write::document;

/// How deep elements may lie in one another.
const DEPTH_MAX: usize = 64;
