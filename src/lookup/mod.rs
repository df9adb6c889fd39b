//! Lookups: second sources that add values to the rows of a job's own source, and never say who is there.
//!
//! A lookup is read once in a run, to its end, into a spool ([`LookupTable`]). Each row of the job's own source is then
//! joined with the row that fits it ([`Join`]): it has further columns, and everything after it is as if its source had them.
//!
//! Invariants:
//! - Only a lookup that was read to its end is joined. Of any other one nothing is known: no record has a field whose
//!   template names it, so each of these fields stays as it is at the service, and the run says so (law 1).
//! - A lookup without a row was not read to its end, whatever its source says.
//! - A row that fits several rows of a lookup is not used; its key is readable, so its person is there.
//! - The digest of a joined row covers what the lookup said, so that an unchanged row is recognized by both.
//! - Memory holds 16 bytes for each row of a lookup; the columns that templates name lie in the spool.
//!
//! Rejected: to join by a field of the record. Fields are normalized for the service; the two sources know nothing of that.
//! And two digests for each person of the index, so that rows are recognized by the first while a lookup is missing: every job
//! would pay for it, and a run without its lookup only compares more, it writes nothing more.

mod join;
mod options;
mod read;
mod table;

pub use join::Join;
pub use options::Lookup;
pub use read::{Loaded, load};
pub use table::{Found, LookupTable};
