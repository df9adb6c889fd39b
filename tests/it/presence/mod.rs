//! Presence, which no update may change.

mod astray;
mod signed;
