//! The forms in which values are sent.

use serde_json::{Value as Json, json};

use super::{Flag, Guest, Int, Named, Place, Text, Value, Wire as _};

/// As it is.
pub(in crate::api) fn plain<T: Value>(value: &T) -> Json {
    value.sent()
}

/// The specification's requests show an integer, its answers text: `00123` must not become 123.
pub(in crate::api) fn number(text: &Text) -> Json {
    match text.as_deref().map(|text| (text, text.parse::<i32>())) {
        Some((text, Ok(number))) if number.to_string() == text => number.into(),
        _ => text.sent(),
    }
}

/// 1 or 0.
pub(in crate::api) fn bit(flag: &Flag) -> Json {
    flag.map(i32::from).into()
}

/// An integer inside text (specification, Induction holder).
pub(in crate::api) fn id_text(id: &Int) -> Json {
    id.map(|id| id.to_string()).into()
}

/// Ids alone.
pub(in crate::api) fn ids(named: &[Named]) -> Json {
    named.iter().map(|named| Json::from(named.id)).collect()
}

/// Ids with their period; a place whose `expires` is missing stays open without end.
pub(in crate::api) fn periods(places: &[Place]) -> Json {
    let period = |place: &Place| json!({"id": place.id, "start": place.start, "expires": place.expires});
    places.iter().map(period).collect()
}

/// Visitors without the ids that answers give them.
pub(in crate::api) fn guests(guests: &[Guest]) -> Json {
    let guest = |guest: &Guest| {
        let mut json = guest.sent();
        json.as_object_mut().map(|fields| fields.remove("id"));
        json
    };
    guests.iter().map(guest).collect()
}
