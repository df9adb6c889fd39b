//! What waits for a person, and what was decided.

pub(crate) mod held;
pub(crate) mod outdated;
pub(crate) mod remote_digest;
pub(crate) mod wrong_presence;
