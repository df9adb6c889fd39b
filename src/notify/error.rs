//! Why notices can't be sent.

/// The means of sending notices can't be set up.
#[derive(Debug, thiserror::Error)]
#[error("notices can't be sent: {0}")]
pub struct SetupError(pub(super) String);
