//! What a request of a change holds.

pub(super) mod assign;
pub(super) mod body;
pub(super) mod links;
