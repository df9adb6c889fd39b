//! `rosterd check`: configuration, permissions and mapping, then source and service.

mod command;
#[cfg(feature = "postgres")]
mod database;
mod earlier;
mod finding;
mod source;
mod units;

pub(crate) use command::run;
