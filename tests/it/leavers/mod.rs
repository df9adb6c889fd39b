//! Who is removed, when, and who never.

mod field_values;
mod gone;
mod grace;
mod narrowed;
mod protect;
mod removal;
