//! What can only be read: custom questions and notifications.

use super::super::resource::FieldKind::{Any, Bool, Created, Id, IdOf, Integer, List, Modified, Text};
use super::super::resource::{PLAIN, Resource};

/// Custom questions (specification, Custom question).
pub(in super::super) static QUESTION: Resource = Resource {
    name: "custom-questionnaire.question",
    fields: fields! {
        own {
            id: Id, created: Created, modified: Modified, questionnaire_id: Integer, question: Text, type: Text,
            compulsory: Bool, answershare: Bool, order: Integer, parent_id: Integer, parent_key: Integer,
            version: Integer, setup_by: Integer, settings_options: List(&[]), settings_options_unique: List(&[]),
            settings_waiver: Text, settings_image: Any, settings_signature: Bool, settings_copy: Bool,
            settings_copy_host: Bool, settings_send_recipients: List(&[]), settings_email_non_staff: Text,
        }
    },
    list_max: Some(5000),
    first_id: 5001,
    ..PLAIN
};

/// Notifications (specification, Notification).
pub(in super::super) static NOTIFICATION: Resource = Resource {
    name: "notification",
    fields: fields! {
        own {
            id: Id, created: Created, modified: Modified, location_id: Integer, visitor_id: Integer,
            for_staff_id: IdOf("staff"), to_staff_id: IdOf("staff"), method: Text, type: Text, recipient: Text,
            messageid: Text, to_staff_name: of!("to_staff_id", "staff", "name"),
            for_staff_name: of!("for_staff_id", "staff", "name"), status: List(&["created", "modified"]),
        }
    },
    list_max: Some(200),
    first_id: 90_001,
    ..PLAIN
};
