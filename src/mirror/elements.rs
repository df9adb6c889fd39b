//! Custom fields: how a title becomes an id.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::api::Element;
use crate::record::RemoteId;

/// The custom fields of one kind of entity, by title.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Elements {
    /// Title → (id, whether it is a checkbox); a title that is there twice has several.
    by_title: BTreeMap<String, Vec<(RemoteId, bool)>>,
}

/// A title that can't be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElementError {
    /// No custom field has that title.
    #[error("the service has no custom field {title:?}{}", nearest.as_ref().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    Unknown {
        /// The title asked for.
        title: String,
        /// The nearest title that exists.
        nearest: Option<String>,
    },
    /// Several custom fields have that title.
    #[error("the service has several custom fields {title:?}; rename one of them there")]
    Ambiguous {
        /// The title.
        title: String,
    },
}

impl Elements {
    /// Orders the elements by title; outer spaces of a title don't matter.
    pub fn new(elements: Vec<Element>) -> Self {
        let mut by_title: BTreeMap<String, Vec<(RemoteId, bool)>> = BTreeMap::new();
        for element in elements {
            if let Some(title) = &element.title {
                let checkbox = element.element_type.as_deref() == Some("checkbox");
                by_title.entry(title.trim().to_owned()).or_default().push((element.id, checkbox));
            }
        }
        Self { by_title }
    }

    /// The id of a title, and whether it is a checkbox.
    pub fn resolve(&self, title: &str) -> Result<(RemoteId, bool), ElementError> {
        match self.by_title.get(title.trim()).map(Vec::as_slice) {
            Some([one]) => Ok(*one),
            Some(_) => Err(ElementError::Ambiguous { title: title.to_owned() }),
            None => Err(ElementError::Unknown { title: title.to_owned(), nearest: self.nearest(title) }),
        }
    }

    /// All titles, with the id of each that has one meaning.
    pub fn titles(&self) -> impl Iterator<Item = (&str, RemoteId)> {
        self.by_title.iter().filter_map(|(title, ids)| match ids.as_slice() {
            [(id, _)] => Some((title.as_str(), *id)),
            _ => None,
        })
    }

    fn nearest(&self, title: &str) -> Option<String> {
        self.by_title
            .keys()
            .map(|known| (strsim::jaro_winkler(title, known), known))
            .filter(|(likeness, _)| *likeness > 0.7)
            .max_by(|left, right| left.0.total_cmp(&right.0))
            .map(|(_, known)| known.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::api::Wire as _;

    fn elements(text: &str) -> Elements {
        let list: Vec<Map<String, Value>> = serde_json::from_str(text).unwrap();
        Elements::new(list.into_iter().map(|object| Element::read(object).unwrap()).collect())
    }

    #[test]
    fn a_title_means_one_field_or_none() {
        let elements = elements(
            r#"[{"id":4,"title":"Locker","element_type":"text","is_mandatory":0,"cf_tab_id":9},
                {"id":"5","title":" First aider ","element_type":"checkbox"},
                {"id":6,"title":"Desk"},{"id":7,"title":"Desk"}]"#,
        );
        let id = |number| RemoteId::new(number).unwrap();
        assert_eq!(elements.resolve("Locker"), Ok((id(4), false)));
        assert_eq!(elements.resolve("First aider"), Ok((id(5), true)));
        assert_eq!(elements.resolve("Desk"), Err(ElementError::Ambiguous { title: "Desk".into() }));
        let unknown = ElementError::Unknown { title: "Loker".into(), nearest: Some("Locker".into()) };
        assert_eq!(elements.resolve("Loker"), Err(unknown));
        assert_eq!(elements.titles().count(), 2);
    }
}
