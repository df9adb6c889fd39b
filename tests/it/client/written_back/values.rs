//! What a field may plausibly hold, as random JSON.

use proptest::collection::{btree_map, vec};
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    Text,
    /// Text without which the service takes nothing.
    Required,
    Email,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// `YYYY-MM-DD`.
    Day,
    /// A time with an offset.
    Time,
    Number,
    /// A number that is always there.
    Known,
    /// Yes or no, never null.
    Bool,
    /// 1 or 0, never null.
    Bit,
    /// The id of something that exists.
    IdOf(&'static [i64]),
    /// Several of these ids.
    Ids(&'static [i64]),
    /// Role names in a list within a list; the input is flat, so there is one.
    Names,
    /// Custom fields: two of text, and a checkbox.
    Custom([&'static str; 3]),
    /// Objects of id, start and expires.
    Places,
    /// Tokens with type, number, issued and expiry.
    Tokens,
    /// The visitors of a visit.
    Guests,
    /// A list of objects that only the service fills.
    Items,
}

/// The fields of one resource, as answers name them.
pub(super) type Fields = &'static [(&'static str, Holds)];

/// One entity, every field of it filled.
pub(super) fn entity(fields: Fields) -> impl Strategy<Value = Value> {
    let field = |(name, holds): &(&'static str, Holds)| {
        let name = (*name).to_owned();
        value(*holds).prop_map(move |value| (name.clone(), value))
    };
    let named: Vec<_> = fields.iter().map(field).collect();
    named.prop_map(|named| Value::Object(named.into_iter().collect()))
}

fn value(holds: Holds) -> BoxedStrategy<Value> {
    let full = match holds {
        Holds::Text => text().prop_map_into().boxed(),
        Holds::Required => return word().prop_map_into().boxed(),
        Holds::Email => "[a-zäß0-9][a-zäß0-9.+_-]{0,11}@[a-zø]{1,8}\\.example".prop_map_into().boxed(),
        Holds::Known => return (1..10_000).prop_map_into().boxed(),
        Holds::OneOf(texts) => select(texts).prop_map_into().boxed(),
        Holds::Day => day().prop_map_into().boxed(),
        Holds::Time => time().prop_map_into().boxed(),
        Holds::Number => prop_oneof![Just(0), Just(i32::MAX), 0..10_000].prop_map_into().boxed(),
        Holds::Bool => return any::<bool>().prop_map_into().boxed(),
        Holds::Bit => return (0..2).prop_map_into().boxed(),
        Holds::IdOf(ids) => select(ids).prop_map_into().boxed(),
        // A list is empty, never null.
        Holds::Ids(ids) => return subsequence(ids, 0..=ids.len()).prop_map_into().boxed(),
        Holds::Names => return vec(vec(word(), 1..4), 0..2).prop_map(|names| json!(names)).boxed(),
        Holds::Custom(fields) => return custom(fields).boxed(),
        Holds::Places => return places().boxed(),
        Holds::Tokens => return vec(token(), 0..3).prop_map_into().boxed(),
        Holds::Guests => return vec(guest(), 0..4).prop_map_into().boxed(),
        Holds::Items => {
            return vec(word().prop_map(|name| json!({"id": 5, "name": name})), 0..3).prop_map_into().boxed();
        }
    };
    weighted(0.8, full).prop_map(|value| value.unwrap_or_default()).boxed()
}

/// What programs stumble over.
const AWKWARD: &[&str] = &[
    "",
    " ",
    " padded ",
    "0",
    "00123",
    "-7",
    "2147483648",
    "1e5",
    "null",
    "[]",
    "{\"a\":[1]}",
    "a,b:c%d<e>f~g",
    "\"q\\\\",
    "O'Neil & Söhne",
    "東京 太郎",
    "\u{202e}אבג",
    "👩🏽\u{200d}🚀",
    "e\u{301}",
    "line\nbreak\ttab",
    "\u{0}\u{7f}",
];

/// Text of any script.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{1,24}", select(AWKWARD).prop_map(str::to_owned)]
}

fn word() -> impl Strategy<Value = String> {
    "\\PC{1,12}"
}

fn day() -> impl Strategy<Value = String> {
    (1990..2090, 1..13, 1..29).prop_map(|(year, month, day)| format!("{year}-{month:02}-{day:02}"))
}

fn time() -> impl Strategy<Value = String> {
    (day(), 0..24, 0..60, 0..60)
        .prop_map(|(day, hour, minute, second)| format!("{day}T{hour:02}:{minute:02}:{second:02}+00:00"))
}

fn custom([first, second, checkbox]: [&'static str; 3]) -> impl Strategy<Value = Value> {
    let held = |name: &'static str, value: BoxedStrategy<String>| {
        weighted(0.7, value).prop_map(move |value| value.map(|value| (name, value)))
    };
    (
        held(first, text().boxed()),
        held(second, text().boxed()),
        held(checkbox, select(vec!["0", "1"]).prop_map(str::to_owned).boxed()),
    )
        .prop_map(|(first, second, checkbox)| {
            [first, second, checkbox]
                .into_iter()
                .flatten()
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect()
        })
        .prop_map(Value::Object)
}

fn places() -> impl Strategy<Value = Value> {
    let period = || (weighted(0.5, day()), weighted(0.5, day()));
    btree_map(select(&[11, 12, 13][..]), period(), 0..3).prop_map(|places| {
        places.into_iter().map(|(id, (start, expires))| json!({"id": id, "start": start, "expires": expires})).collect()
    })
}

fn token() -> impl Strategy<Value = Value> {
    (word(), 1..1_000_000, weighted(0.5, time()), weighted(0.5, time())).prop_map(
        |(kind, number, issued, expiry)| json!({"type": kind, "number": number, "issued": issued, "expiry": expiry}),
    )
}

fn guest() -> impl Strategy<Value = Value> {
    (text(), weighted(0.5, text()), any::<bool>()).prop_map(|(name, from, assistance)| {
        json!({
            "name": name, "email": null, "from": from, "phone": null, "mobile": null, "title": null,
            "assistance": assistance, "purpose": null,
        })
    })
}
