//! Status, metrics, alerts and notices.

mod alerts;
pub(crate) mod browser;
mod digests;
mod exits;
mod mails;
mod nameless;
pub(crate) mod notices;
pub(crate) mod page;
