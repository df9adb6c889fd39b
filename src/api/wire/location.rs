//! Locations.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Wire;
use super::read::Reader;
use crate::record::RemoteId;

/// A location as read. Its fields are not in the specification; these are the likely ones.
#[derive(Clone, PartialEq)]
pub struct Location {
    /// Its id.
    pub id: RemoteId,
    /// Its name, by which employees refer to it.
    pub name: Option<String>,
    /// Its time zone's name.
    pub timezone: Option<String>,
    /// Its id in another system.
    pub external_id: Option<String>,
    /// Everything else.
    pub extra: BTreeMap<String, Value>,
}

impl Wire for Location {
    fn read(object: Map<String, Value>) -> Result<Self, &'static str> {
        let mut reader = Reader::new(object);
        let id = reader.id()?;
        let name = reader.text("name");
        let timezone = reader.text("timezone");
        let external_id = reader.text("external_id");
        let (extra, _) = reader.finish();
        Ok(Self { id, name, timezone, external_id, extra })
    }

    fn id(&self) -> RemoteId {
        self.id
    }
}

/// Shows id and name; a location is no person.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Location").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

/// A location as created (specification, Custom fields and locations).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LocationInput {
    /// Its name.
    pub name: Option<String>,
    /// Its street address.
    pub address: Option<String>,
    /// Its phone number.
    pub phone: Option<String>,
    /// Its post code.
    pub postcode: Option<String>,
    /// Its country, two letters.
    pub country: Option<String>,
    /// Its time zone's name.
    pub timezone: Option<String>,
    /// How it writes dates, for example `d/m/Y`.
    pub date_format: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_keeps_what_it_does_not_know() {
        let text = r#"{"id":3,"name":"Quay","timezone":"Pacific/Auckland","lacps":[{"id":1,"name":"Door"}]}"#;
        let location = Location::read(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!((location.id().get(), location.name.as_deref()), (3, Some("Quay")));
        assert!(location.extra.contains_key("lacps"));
    }
}
