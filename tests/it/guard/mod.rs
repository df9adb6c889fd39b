//! The limits on what one run may change.

mod limits;
mod segments;
