//! From a candidate to the entity that it is, and to what it needs.
//!
//! ```text
//! fit to the service's lists ─▶ resolve references ─▶ who is it? (known, matched, same name, new) ─▶ decide
//! ```

pub(crate) mod classify;
pub(crate) mod correlator;
pub(crate) mod fit;
pub(crate) mod identity_change;
mod in_doubt;
mod moved_names;
pub(crate) mod references;
pub(crate) mod same_name;
