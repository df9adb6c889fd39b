//! What people see: one writer, safe for terminals, and failures with their exit codes.

pub(crate) mod failure;
pub(crate) mod output;
pub(crate) mod screen;
pub(crate) mod values;

pub(crate) use failure::{Exit, Failure, Message, OTHER_ACCOUNT_HINT};
pub(crate) use output::Ui;
pub(crate) use screen::{Paint, sanitize, typed};
pub(crate) use values::{joined_document, joined_line};
