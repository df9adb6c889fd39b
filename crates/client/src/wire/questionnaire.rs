//! Custom questions and notifications, which can only be read.

use super::value::{Any, Flag, Int, Items, Names, Text};

entity! {
    /// A custom question (specification, Custom question).
    Question
    shown {
        created: Text, modified: Text, questionnaire_id: Int, question: Text, r#type: Text, compulsory: Flag,
        answershare: Flag, order: Int, parent_id: Int, parent_key: Int, version: Int, setup_by: Int,
        settings_options: Names, settings_options_unique: Items, settings_waiver: Text, settings_image: Any,
        settings_signature: Flag, settings_copy: Flag, settings_copy_host: Flag, settings_send_recipients: Items,
        settings_email_non_staff: Text,
    }
}

entity! {
    /// A message that the service sent (specification, Notification). The items of `status` look like visitors.
    Notification
    shown {
        created: Text, modified: Text, location_id: Int, visitor_id: Int, for_staff_id: Int, to_staff_id: Int,
        method: Text, r#type: Text, recipient: Text, messageid: Text, to_staff_name: Text, for_staff_name: Text,
        status: Items,
    }
}
