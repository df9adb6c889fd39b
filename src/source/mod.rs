//! Sources: from a file, a web server, a directory server or a tenant to rows, and the proof that all of them were seen.
//!
//! Invariants:
//! - A `Complete` value comes out of `Read::finish` alone, so nothing can plan a leaver on a read that stopped short,
//!   lost a row or met one whose key it could not tell (law 1).
//! - A row is handed out as the source has it. What it means is the mapping's business.
//! - Reasons and errors name lines, columns and limits, never what a cell holds (law 11).
//!
//! Rejected: an iterator of rows. It can be dropped half way, and then the check whether it had reached the end is left
//! out; a function that visits every row ends with the answer to that question in its hand.

mod access;
mod cached;
mod client_token;
mod column;
mod complete;
pub mod csv;
pub mod dn;
pub mod entra;
pub mod https;
pub mod inbox;
mod kind;
pub mod ldap;
mod name;
mod refused_logins;
mod replica_position;
mod row;
mod source_state;

pub use access::Access;
pub use cached::CachedRows;
pub use column::{Columns, Match};
pub use complete::{Complete, LostLookup, Read};
pub use kind::{Error, Source, read};
pub use name::{ColumnRequirement, JoinedName, Name, RequiredColumns, bare, snake};
pub use refused_logins::RefusedLogins;
pub use replica_position::{ReplicaPosition, Span};
pub use row::{JoinedRow, Row};
pub use source_state::SourceState;
