//! Why a push stops before its end.

/// Why a push stopped that was asked to.
pub(crate) const INTERRUPTED: &str = "interrupted";
