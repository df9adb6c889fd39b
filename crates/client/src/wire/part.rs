//! Parts of entities.

use super::{Flag, Int, Text};

wire! {
    #[derive(Default)]
    /// Something that has an id and a name.
    Named {}
    id: Int, name: Text,
}

wire! {
    #[derive(Default)]
    /// A place, and from when until when it counts (dates).
    Place {}
    id: Int, name: Text, start: Text, expires: Text,
}

wire! {
    #[derive(Default)]
    /// A token of an employee or a member, such as a card; its number may be hexadecimal.
    CardToken {}
    r#type: Text, number: Text, issued: Text, expiry: Text,
}

wire! {
    #[derive(Default)]
    /// An organization group as an organization shows it.
    GroupRef {}
    id: Int, name: Text, category_id: Int,
}

wire! {
    #[derive(Default)]
    /// A visitor of a pre-registered visit.
    Guest {}
    id: Int, name: Text, email: Text, from: Text, phone: Text, mobile: Text, title: Text, assistance: Flag, purpose: Text,
}
