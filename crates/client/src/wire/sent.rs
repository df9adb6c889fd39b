//! The forms in which values are sent.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::{Fields, Flag, Guest, Ids, Int, Named, Place, Text};

/// An object of these fields, and of whatever else was read.
pub(crate) fn object<const N: usize>(extra: &Fields, fields: [(&'static str, Json); N]) -> Json {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
    extra.clone().into_iter().chain(fields).collect::<Map<_, _>>().into()
}

/// As it is.
pub(crate) fn plain(value: &(impl Serialize + ?Sized)) -> Json {
    serde_json::to_value(value).expect("what is read and sent has text keys and finite numbers")
}

/// The specification's requests show an integer, its answers text: `00123` must not become 123.
pub(crate) fn number(text: &Text) -> Json {
    match text.as_deref().map(|text| (text, text.parse::<i32>())) {
        Some((text, Ok(number))) if number.to_string() == text => number.into(),
        _ => text.clone().into(),
    }
}

/// A list, empty where nothing is known.
pub(crate) fn list(ids: &Ids) -> Json {
    ids.clone().unwrap_or_default().into()
}

/// 1 or 0.
pub(crate) fn bit(flag: &Flag) -> Json {
    flag.map(i32::from).into()
}

/// An integer inside text (specification, Induction holder).
pub(crate) fn id_text(id: &Int) -> Json {
    id.map(|id| id.to_string()).into()
}

/// Ids alone.
pub(crate) fn ids(named: &[Named]) -> Json {
    named.iter().map(|named| Json::from(named.id)).collect()
}

/// Ids with their period; a place whose `expires` is missing stays open without end.
pub(crate) fn periods(places: &[Place]) -> Json {
    let period = |place: &Place| json!({"id": place.id, "start": place.start, "expires": place.expires});
    places.iter().map(period).collect()
}

/// Visitors without the ids that answers give them.
pub(crate) fn guests(guests: &[Guest]) -> Json {
    let guest = |guest: &Guest| {
        let mut json = plain(guest);
        json.as_object_mut().map(|fields| fields.remove("id"));
        json
    };
    guests.iter().map(guest).collect()
}
