//! What can only be read: custom questions and notifications.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource};

/// Custom questions (specification, Custom question).
pub(in super::super) static QUESTION: Resource = Resource {
    name: "custom-questionnaire.question",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        Field::own("questionnaire_id", Kind::Integer),
        Field::own("question", Kind::Text),
        Field::own("type", Kind::Text),
        Field::own("compulsory", Kind::Bool),
        Field::own("answershare", Kind::Bool),
        Field::own("order", Kind::Integer),
        Field::own("parent_id", Kind::Integer),
        Field::own("parent_key", Kind::Integer),
        Field::own("version", Kind::Integer),
        Field::own("setup_by", Kind::Integer),
        Field::own("settings_options", Kind::List(&[])),
        Field::own("settings_options_unique", Kind::List(&[])),
        Field::own("settings_waiver", Kind::Text),
        Field::own("settings_image", Kind::Any),
        Field::own("settings_signature", Kind::Bool),
        Field::own("settings_copy", Kind::Bool),
        Field::own("settings_copy_host", Kind::Bool),
        Field::own("settings_send_recipients", Kind::List(&[])),
        Field::own("settings_email_non_staff", Kind::Text),
    ],
    list_max: Some(5000),
    first_id: 5001,
    ..PLAIN
};

/// Notifications (specification, Notification).
pub(in super::super) static NOTIFICATION: Resource = Resource {
    name: "notification",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        Field::own("location_id", Kind::Integer),
        Field::own("visitor_id", Kind::Integer),
        Field::own("for_staff_id", Kind::IdOf("staff")),
        Field::own("to_staff_id", Kind::IdOf("staff")),
        Field::own("method", Kind::Text),
        Field::own("type", Kind::Text),
        Field::own("recipient", Kind::Text),
        Field::own("messageid", Kind::Text),
        of!("to_staff_name", "to_staff_id", "staff", "name"),
        of!("for_staff_name", "for_staff_id", "staff", "name"),
        Field::own("status", Kind::List(&["created", "modified"])),
    ],
    list_max: Some(200),
    first_id: 90_001,
    ..PLAIN
};
