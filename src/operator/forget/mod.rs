//! Forgetting a person: what this machine holds of them, not what the service does.

pub(crate) mod beside;
pub(crate) mod error;
pub(crate) mod forgotten;
pub(crate) mod inbox;
pub(crate) mod person;
pub(crate) mod redact;
