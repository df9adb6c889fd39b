//! What can only be read: custom questions and notifications.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource};

/// Custom questions (specification, Custom question).
pub(in super::super) static QUESTION: Resource = Resource {
    name: "custom-questionnaire.question",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        Field::own("questionnaire_id", FieldKind::Integer),
        Field::own("question", FieldKind::Text),
        Field::own("type", FieldKind::Text),
        Field::own("compulsory", FieldKind::Bool),
        Field::own("answershare", FieldKind::Bool),
        Field::own("order", FieldKind::Integer),
        Field::own("parent_id", FieldKind::Integer),
        Field::own("parent_key", FieldKind::Integer),
        Field::own("version", FieldKind::Integer),
        Field::own("setup_by", FieldKind::Integer),
        Field::own("settings_options", FieldKind::List(&[])),
        Field::own("settings_options_unique", FieldKind::List(&[])),
        Field::own("settings_waiver", FieldKind::Text),
        Field::own("settings_image", FieldKind::Any),
        Field::own("settings_signature", FieldKind::Bool),
        Field::own("settings_copy", FieldKind::Bool),
        Field::own("settings_copy_host", FieldKind::Bool),
        Field::own("settings_send_recipients", FieldKind::List(&[])),
        Field::own("settings_email_non_staff", FieldKind::Text),
    ],
    list_max: Some(5000),
    first_id: 5001,
    ..PLAIN
};

/// Notifications (specification, Notification).
pub(in super::super) static NOTIFICATION: Resource = Resource {
    name: "notification",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        Field::own("location_id", FieldKind::Integer),
        Field::own("visitor_id", FieldKind::Integer),
        Field::own("for_staff_id", FieldKind::IdOf("staff")),
        Field::own("to_staff_id", FieldKind::IdOf("staff")),
        Field::own("method", FieldKind::Text),
        Field::own("type", FieldKind::Text),
        Field::own("recipient", FieldKind::Text),
        Field::own("messageid", FieldKind::Text),
        of!("to_staff_name", "to_staff_id", "staff", "name"),
        of!("for_staff_name", "for_staff_id", "staff", "name"),
        Field::own("status", FieldKind::List(&["created", "modified"])),
    ],
    list_max: Some(200),
    first_id: 90_001,
    ..PLAIN
};
