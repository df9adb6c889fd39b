//! Custom field elements.

use super::value::{Flag, Int, Text};

/// The custom fields of employees.
#[derive(Clone, Copy, Debug)]
pub enum ForStaff {}

/// The custom fields of contractor members.
#[derive(Clone, Copy, Debug)]
pub enum ForMembers {}

entity! {
    /// One custom field (specification, Custom field element): its id is the key in `customfields` and `cf`; of
    /// `element_type`, `checkbox` is the known value.
    Element
    shown {
        created: Text, modified: Text, cf_tab_id: Int, is_visible: Flag, is_mandatory: Flag, is_unique: Flag,
        title: Text, created_by: Int, modified_by: Int, element_type: Text,
    }
}
