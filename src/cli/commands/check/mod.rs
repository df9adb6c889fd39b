//! `rosterd check`: configuration, permissions and mapping, then source and service.

mod command;
mod finding;
mod units;

pub(crate) use command::run;
