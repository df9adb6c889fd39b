//! Resolves the name or id of a certification.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::Certification;
use crate::record::{RemoteId, normalize};

/// The service's certifications.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Certifications {
    /// By name, without case and outer spaces.
    by_name: BTreeMap<String, Vec<RemoteId>>,
    /// How many hold each, as far as the service says so.
    #[serde(default)]
    holders: BTreeMap<RemoteId, i64>,
}

impl Certifications {
    pub(super) fn of(listed: Vec<Certification>) -> Self {
        let mut by_name: BTreeMap<String, Vec<RemoteId>> = BTreeMap::new();
        let mut holders = BTreeMap::new();
        for certification in listed {
            holders.extend(certification.holders.map(|count| (certification.id, count)));
            let name = certification.name.as_deref().map(normalize).unwrap_or_default();
            by_name.entry(name).or_default().push(certification.id);
        }
        Self { by_name, holders }
    }

    /// The certification that a name or an id means; otherwise what is wrong with it.
    pub fn resolve(&self, text: &str) -> Result<RemoteId, &'static str> {
        match self.by_name.get(&normalize(text)).map(Vec::as_slice) {
            Some([one]) => return Ok(*one),
            Some(_) => return Err("the service has several certifications of that name; write its id"),
            None => {}
        }
        let id = text.trim().parse().ok().and_then(RemoteId::new);
        id.filter(|id| self.has(*id)).ok_or("the service has no certification of that name or id")
    }

    /// How many hold it, where the service says so.
    pub(super) fn holders(&self, id: RemoteId) -> Option<usize> {
        usize::try_from(*self.holders.get(&id)?).ok()
    }

    pub(super) fn has(&self, id: RemoteId) -> bool {
        self.by_name.values().flatten().any(|other| *other == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Wire as _;

    #[test]
    fn a_certification_is_meant_by_its_name_or_by_its_id() {
        let read = |text: &str| Certification::read(serde_json::from_str(text).unwrap()).unwrap();
        let known = Certifications::of(vec![
            read(r#"{"id":801,"name":"First Aid"}"#),
            read(r#"{"id":802,"name":"Heights"}"#),
            read(r#"{"id":803,"name":"heights "}"#),
        ]);
        for (text, id) in [(" first aid", Some(801)), ("802", Some(802)), ("Heights", None), ("804", None), ("", None)]
        {
            assert_eq!(known.resolve(text).ok().map(RemoteId::get), id, "{text}");
        }
    }
}
