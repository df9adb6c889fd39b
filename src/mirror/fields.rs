//! What all entities have in common in the program's own field names.

use jiff::Timestamp;
use serde_json::Value as Json;
use smol_str::{SmolStr, format_smolstr};

use super::elements::Elements;
use super::remote::Remote;
use crate::api::Fields;
use crate::record::{Entity, RemoteId, Target, Value, Values};

/// What an answer of the service holds, in the program's own field names.
pub(super) trait AsEntity {
    /// The entity in the field names of its target; `elements` names custom fields.
    fn entity(&self, elements: &Elements) -> Entity;
}

impl Remote {
    /// The entity in the program's own field names: those of its target, `cf.TITLE`, and what decides who it is and whether
    /// they stand inside.
    pub fn entity(&self, elements: &Elements) -> Entity {
        match self {
            Self::Staff(staff) => staff.entity(elements),
            Self::Member(member) => member.entity(elements),
            Self::Organization(organization) => organization.entity(elements),
            Self::Membership(membership) => membership.entity(elements),
            Self::Holder(holder) => holder.entity(elements),
        }
    }
}

/// An entity of these fields and of the custom fields whose titles are known.
pub(super) fn entity<const N: usize>(
    id: RemoteId,
    created: &Option<String>,
    fields: [(&'static str, Value); N],
    custom: Option<(&Fields, &Elements)>,
) -> Entity {
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let mut fields: Values = fields.map(|(name, value)| (SmolStr::new_static(name), value)).collect();
    if let Some((held, elements)) = custom {
        for (title, id) in elements.titles() {
            let value = held.get(&id.to_string()).map(custom_value).filter(|value| !value.is_empty());
            fields.extend(value.map(|value| (format_smolstr!("{}{title}", Target::CUSTOM), value)));
        }
    }
    // One moment has many spellings: an answer to a write may come in another zone than a list.
    let moment = |text: &str| text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), |at| at.to_string());
    Entity { id, created: created.as_deref().map(moment).unwrap_or_default(), fields }
}

pub(super) fn text(value: &Option<String>) -> Value {
    value.as_deref().map_or(Value::Empty, Value::text)
}

/// A custom field's value: text as it is, a checkbox as 1 or 0, anything else as its JSON.
fn custom_value(value: &Json) -> Value {
    match value {
        Json::Null => Value::Empty,
        Json::String(text) => Value::text(text.as_str()),
        Json::Bool(flag) => Value::text(if *flag { "1" } else { "0" }),
        other => Value::text(other.to_string()),
    }
}
