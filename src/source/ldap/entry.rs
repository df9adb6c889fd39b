//! An entry as it comes over the wire.
//!
//! Rejected: `SearchEntry::construct`, which panics on what it does not understand, copies every value, and puts an
//! attribute among texts or bytes by what its values happen to look like.

use ldap3::asn1::{PL, StructureTag};

/// An entry: its name, and the attributes that it shows.
pub(super) struct RawEntry {
    pub(super) dn: String,
    pub(super) attributes: Vec<Attribute>,
    /// Attributes that the server gave in part only, and why the rest could not be read.
    pub(super) unread: Vec<(String, String)>,
    /// Attributes that were left out, since the entry is too large with them.
    pub(super) too_large: Vec<String>,
    /// The bytes of names and values.
    pub(super) bytes: usize,
}

/// An attribute as the server spells it, options included, with its values.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) values: Vec<Vec<u8>>,
}

impl RawEntry {
    /// Takes an entry apart; `None` where it is none.
    pub(super) fn parse(tag: StructureTag) -> Option<Self> {
        let [dn, attributes]: [StructureTag; 2] = constructed(tag)?.try_into().ok()?;
        let dn = String::from_utf8(primitive(dn)?).ok()?;
        let attributes: Option<Vec<Attribute>> = constructed(attributes)?.into_iter().map(Attribute::parse).collect();
        let attributes = attributes?;
        let bytes = dn.len() + attributes.iter().map(Attribute::bytes).sum::<usize>();
        Some(Self { dn, attributes, unread: Vec::new(), too_large: Vec::new(), bytes })
    }

    /// Leaves out the largest attributes until the rest has `max` bytes at most: the person is there without their photo, too.
    pub(super) fn shed(&mut self, max: usize) {
        while self.bytes > max
            && let Some(at) = (0..self.attributes.len()).max_by_key(|at| self.attributes[*at].bytes())
        {
            let attribute = self.attributes.swap_remove(at);
            self.bytes -= attribute.bytes();
            self.too_large.push(attribute.name);
        }
    }

    /// The values of the attribute of that name, whatever its case.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let attribute = self.attributes.iter().filter(move |attribute| attribute.name.eq_ignore_ascii_case(name));
        attribute.flat_map(|attribute| attribute.values.iter().map(Vec::as_slice))
    }

    /// The text values of the attribute of that name.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        self.values(name).filter_map(|value| String::from_utf8(value.to_vec()).ok()).collect()
    }
}

impl Attribute {
    fn parse(tag: StructureTag) -> Option<Self> {
        let [name, values]: [StructureTag; 2] = constructed(tag)?.try_into().ok()?;
        let values: Option<Vec<Vec<u8>>> = constructed(values)?.into_iter().map(primitive).collect();
        Some(Self { name: String::from_utf8(primitive(name)?).ok()?, values: values? })
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.values.iter().map(Vec::len).sum::<usize>()
    }
}

/// The addresses of a reference to elsewhere; `None` where it is none.
pub(super) fn references(tag: StructureTag) -> Option<Vec<String>> {
    constructed(tag)?.into_iter().map(|tag| String::from_utf8(primitive(tag)?).ok()).collect()
}

fn constructed(tag: StructureTag) -> Option<Vec<StructureTag>> {
    match tag.payload {
        PL::C(parts) => Some(parts),
        PL::P(_) => None,
    }
}

fn primitive(tag: StructureTag) -> Option<Vec<u8>> {
    match tag.payload {
        PL::P(bytes) => Some(bytes),
        PL::C(_) => None,
    }
}

/// Shows nothing of a person (law 11).
impl std::fmt::Debug for RawEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawEntry").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
