//! Templates: source row → record.
//!
//! A job's templates are compiled once, all their faults reported at once; they are bound to the columns of a source
//! before its first row, and then map row by row. A row either becomes a record or is rejected with the field and the
//! reason; no fault of one row touches another (law 8).
//!
//! Invariants:
//! - Which columns a template uses is known before the first row. One that the source lacks fails the source, wherever
//!   the template uses it, for a renamed column is not an empty one.
//! - `include` comes before `key`: a row that it drops needs no key. A key that could be read is part of the rejection,
//!   since it proves the person present (law 1).
//! - Templates see the row and nothing else: no time, no other row, no function.
//! - A reason never holds a value of the row (law 11), so what the template engine says at run time is not passed on.
//!
//! Outer white space of a mapped value is dropped, inner is kept. Nothing, none and "" are the same.
//!
//! Rejected: rendering everything to text. A flag, a list and nothing would all look like words; so a template that is
//! one `{{ expression }}` is evaluated, and keeps its type.

mod bound;
mod bound_key;
mod cells;
mod check;
mod compile;
mod engine;
mod error;
mod filters;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod growth;
mod joining;
mod leaver;
mod marks;
mod options;
mod outcome;
mod reach;
mod scan;
mod template;

pub use bound::{Bound, Mapped, Reading};
pub use bound_key::BoundKey;
pub use compile::Mapping;
pub use error::Error;
#[cfg(any(test, fuzzing))]
pub(crate) use filters::fuzzing::filters as fuzz_filters;
pub use joining::LookupMapping;
pub use leaver::{LeaverOptions, LeaverSet};
pub use options::{LookupOptions, OnBadValue, Options, PhotoCells};

#[cfg(test)]
mod tests;
