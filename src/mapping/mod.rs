//! (in the making)

mod options;

pub use options::Options;
