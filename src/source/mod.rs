//! (in the making)

pub mod csv;
