//! One page of a list.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::EntraErrorKind;

/// A page as the service answers it.
#[derive(Deserialize)]
pub(super) struct ListPage {
    /// How many there are on all pages; on the first one only.
    #[serde(rename = "@odata.count")]
    pub(super) count: Option<u64>,
    /// Where the next page is.
    #[serde(rename = "@odata.nextLink")]
    pub(super) next: Option<String>,
    /// Its objects.
    pub(super) value: Vec<Map<String, Value>>,
}

impl ListPage {
    /// Reads a page. An answer that carries an error instead of a list, or objects without an id, is none.
    pub(super) fn parse(body: &[u8]) -> Result<Self, EntraErrorKind> {
        let page: Self =
            serde_json::from_slice(body).map_err(|_| EntraErrorKind::Garbled("it is not JSON with a `value`"))?;
        if page.value.iter().any(|object| id(object).is_empty()) {
            return Err(EntraErrorKind::Garbled("an object has no id"));
        }
        Ok(page)
    }
}

/// The id of an object.
pub(super) fn id(object: &Map<String, Value>) -> &str {
    object.get("id").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_1_only_a_list_of_objects_with_ids_is_a_page() {
        for (body, fits) in [
            (r#"{"value":[]}"#, true),
            (r#"{"@odata.count":1,"@odata.nextLink":"x","value":[{"id":"1"}]}"#, true),
            (r#"{"value":[{"id":""}]}"#, false),
            (r#"{"value":[{"mail":"a@example.com"}]}"#, false),
            (r#"{"value":null}"#, false),
            (r#"{"error":{"code":"x"}}"#, false),
            (r#"{"value":[{"id":"1"}"#, false),
            ("<html>", false),
            ("", false),
        ] {
            assert_eq!(ListPage::parse(body.as_bytes()).is_ok(), fits, "{body}");
        }
    }
}
