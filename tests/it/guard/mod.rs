//! The limits on what one run may change.

mod left_open;
mod limits;
mod segments;
