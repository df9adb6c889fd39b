//! The local copy of what the service holds: pulls, watermarks, completeness.
//!
//! A [`Mirror`] is the stored copy, and over it the changes that one pull found. For a sync, all of it is
//! stored at the end of the pull, then the watermark. A plan looks at what was found and throws it away.
//!
//! Invariants:
//! - Before an entity that moved is stored, the record that owns it is marked, so that a run which ends between has not
//!   forgotten it (law 5).
//! - A watermark is the older of the first answer's Date and the newest `modified` seen, less an overlap. This machine's
//!   clock has no part in it.
//! - A whole listing comes at least every `full_pull`, since deletions are invisible to If-Modified-Since, and whenever
//!   the stored copy lacks a field that a job needs.
//! - An entity that a whole listing lacks counts as gone only where a request for just this entity answers 404. One
//!   that answers shows that the listing lied, and the pull fails; so does an empty listing of a collection that had
//!   entities (law 1).
//! - Only the fields that the jobs map, match by or show are stored (law 11).
//!
//! Rejected: replacing the stored copy at every whole listing. A listing cut short by a broken filter or a narrowed
//! credential would take everyone with it.

mod certifications;
mod collection;
mod contractor;
mod elements;
mod entities;
mod error;
mod fields;
mod holders;
mod offline;
mod pull;
mod remote;
mod staff;

pub use certifications::Certifications;
pub use collection::{Locations, PullSet};
pub use contractor::pair;
pub use elements::{ElementError, Elements};
pub(crate) use entities::{ENTITIES, REMOVALS};
pub use entities::{Mirror, Removal, drop_gone, force_full_listing, put};
pub use error::{Error, ErrorKind};
pub(crate) use remote::LOOK_AGAIN;
pub use remote::{EntityRef, Remote, holders};
