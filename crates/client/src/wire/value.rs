//! The values that fields hold: read in whatever form the service gives them, sent in one.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// Text, a date (`YYYY-MM-DD`) or a time as the service wrote it; `None` for nothing.
pub type Text = Option<String>;
/// A whole number, such as the id of another entity; `None` for nothing.
pub type Int = Option<i64>;
/// Yes or no; `None` for nothing.
pub type Flag = Option<bool>;
/// A number with a fraction, such as a coordinate in decimal degrees; `None` for nothing.
pub type Decimal = Option<f64>;
/// Names, flat; the service may give them as a list of lists.
pub type Names = Vec<String>;
/// Ids; `None` where the service shows none.
pub type Ids = Option<Vec<i32>>;
/// Custom fields by element id.
pub type Fields = BTreeMap<String, Json>;
/// A list of items whose shape the specification doesn't show.
pub type Items = Vec<Json>;
/// Whatever the service gave; `None` for nothing.
pub type Any = Option<Json>;

/// A value of a field.
pub(crate) trait WireValue: Clone + Default {
    /// Reads what is not null; `None` where it has none of the forms that are understood.
    fn read(json: Json) -> Option<Self>;
}

impl WireValue for Text {
    fn read(json: Json) -> Option<Self> {
        match json {
            Json::String(text) => Some(Some(text).filter(|text| !text.is_empty())),
            Json::Number(number) => Some(Some(number.to_string())),
            Json::Bool(flag) => Some(Some(flag.to_string())),
            _ => None,
        }
    }
}

impl WireValue for Int {
    fn read(json: Json) -> Option<Self> {
        if blank(&json) { Some(None) } else { whole(&json).map(Some) }
    }
}

impl WireValue for Flag {
    fn read(json: Json) -> Option<Self> {
        match json {
            Json::Bool(flag) => Some(Some(flag)),
            Json::Number(number) => match number.as_i64() {
                Some(0) => Some(Some(false)),
                Some(1) => Some(Some(true)),
                _ => None,
            },
            Json::String(text) => match text.trim() {
                "" => Some(None),
                "0" | "false" => Some(Some(false)),
                "1" | "true" => Some(Some(true)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl WireValue for Decimal {
    fn read(json: Json) -> Option<Self> {
        match json {
            Json::Number(number) => number.as_f64().map(Some),
            Json::String(text) if text.is_empty() => Some(None),
            Json::String(text) => text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(Some),
            _ => None,
        }
    }
}

impl WireValue for Names {
    fn read(json: Json) -> Option<Self> {
        flat(json)?.into_iter().map(name).collect()
    }
}

impl WireValue for Ids {
    fn read(json: Json) -> Option<Self> {
        let id = |item: Json| i32::try_from(whole(item.get("id").unwrap_or(&item))?).ok();
        flat(json)?.into_iter().map(id).collect::<Option<_>>().map(Some)
    }
}

impl WireValue for Fields {
    fn read(json: Json) -> Option<Self> {
        match json {
            Json::Object(object) => Some(object.into_iter().collect()),
            Json::Array(items) if items.is_empty() => Some(Self::new()),
            json if blank(&json) => Some(Self::new()),
            _ => None,
        }
    }
}

impl WireValue for Items {
    fn read(json: Json) -> Option<Self> {
        match json {
            Json::Array(items) => Some(items),
            Json::Object(object) if object.is_empty() => Some(Self::new()),
            json if blank(&json) => Some(Self::new()),
            _ => None,
        }
    }
}

impl WireValue for Any {
    fn read(json: Json) -> Option<Self> {
        Some(Some(json))
    }
}

fn blank(json: &Json) -> bool {
    json.as_str().is_some_and(|text| text.trim().is_empty())
}

/// A whole number, as such or as its own canonical text.
pub(super) fn whole(json: &Json) -> Option<i64> {
    match json {
        Json::Number(number) => number.as_i64(),
        Json::String(text) => text.parse::<i64>().ok().filter(|number| number.to_string() == *text),
        _ => None,
    }
}

/// A name, or that of an object.
fn name(item: Json) -> Option<String> {
    match item {
        Json::String(text) => Some(text),
        Json::Object(mut object) => object.remove("name").and_then(name),
        _ => None,
    }
}

/// The items of a list and of the lists in it; empty text is an empty list.
pub(super) fn flat(json: Json) -> Option<Vec<Json>> {
    match json {
        Json::Array(items) => {
            let nested = |item: Json| if item.is_array() { flat(item) } else { Some(vec![item]) };
            items.into_iter().map(nested).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
        }
        json => blank(&json).then(Vec::new),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::super::reader::Reader;
    use super::*;
    use crate::RemoteId;

    fn read<T: WireValue>(json: &str) -> Option<T> {
        let object = Map::from_iter([("x".to_owned(), serde_json::from_str(json).unwrap())]);
        let mut reader = Reader::of(&["x"], object);
        let value = reader.take::<T>("x");
        let (extra, unreadable, _) = reader.finish();
        assert!(extra.is_empty());
        unreadable.is_empty().then_some(value)
    }

    #[test]
    fn values_come_in_many_forms() {
        fn check<T: WireValue + PartialEq + std::fmt::Debug>(forms: &[&str], expected: &T) {
            for form in forms {
                assert_eq!(read::<T>(form).as_ref(), Some(expected), "{form}");
            }
        }
        let names = vec!["a".to_owned(), "b".to_owned()];
        check::<Text>(&[r#""a""#], &Some("a".into()));
        check::<Text>(&["12"], &Some("12".into()));
        check::<Text>(&["null", r#""""#], &None);
        check::<Int>(&["12", r#""12""#], &Some(12));
        check::<Int>(&["null", r#""""#], &None);
        check::<Flag>(&["true", "1", r#""1""#, r#""true""#], &Some(true));
        check::<Flag>(&["false", "0", r#""0""#, r#""false""#], &Some(false));
        check::<Flag>(&["null", r#""""#], &None);
        check::<Decimal>(&["-36.5", r#""-36.5""#], &Some(-36.5));
        check::<Decimal>(&["null", r#""""#], &None);
        check::<Names>(&[r#"["a","b"]"#, r#"[["a"],["b"]]"#, r#"[{"id":1,"name":"a"},{"name":"b"}]"#], &names);
        check::<Names>(&["[]", "null", r#""""#], &vec![]);
        check::<Ids>(&[r#"[1,"2"]"#, r#"[{"id":1,"name":"a"},{"id":"2"}]"#], &Some(vec![1, 2]));
        check::<Ids>(&["[]"], &Some(vec![]));
        check::<Ids>(&["null"], &None);
        check::<Fields>(&["{}", "[]", "null", r#""""#], &Fields::new());
        check::<Items>(&["{}", "[]", "null", r#""""#], &Items::new());
        check::<Items>(&["[1]"], &vec![1.into()]);
    }

    #[test]
    fn what_can_t_be_read_is_noted() {
        assert!(read::<Text>(r#"{"a":1}"#).is_none());
        assert!(read::<Int>("1.5").is_none() && read::<Int>(r#""07""#).is_none());
        assert!(read::<Flag>("7").is_none() && read::<Flag>("[]").is_none());
        assert!(read::<Decimal>(r#""NaN""#).is_none());
        assert!(read::<Names>("[1]").is_none() && read::<Names>(r#""a""#).is_none());
        assert!(read::<Ids>(r#"["x"]"#).is_none() && read::<Ids>("[2147483648]").is_none());
        assert!(read::<Fields>("[1]").is_none());
        assert!(read::<Items>("7").is_none());
        assert!(read::<Vec<crate::Named>>(r#"[{"id":1},2]"#).is_none());
        assert!(read::<Vec<crate::Named>>(r#"[{"id":[]}]"#).is_none());
    }

    #[test]
    fn fault_44_ids_are_whole() {
        let check = |json: &str, expected: Option<i32>| {
            let object = serde_json::from_str(json).unwrap();
            assert_eq!(Reader::of(&["id"], object).id().ok().map(RemoteId::get), expected, "{json}");
        };
        check(r#"{"id":7}"#, Some(7));
        check(r#"{"id":"7"}"#, Some(7));
        for bad in [
            r#"{}"#,
            r#"{"id":null}"#,
            r#"{"id":0}"#,
            r#"{"id":-1}"#,
            r#"{"id":1.0}"#,
            r#"{"id":"07"}"#,
            r#"{"id":2147483648}"#,
            r#"{"id":12345678901234567890123}"#,
            r#"{"id":true}"#,
            r#"{"id":[1]}"#,
        ] {
            check(bad, None);
        }
    }
}
