//! The state on disk: full, damaged, without power, copied.

mod damage;
pub(crate) mod full;
mod power;
mod releases;
mod restored;
mod upkeep;
