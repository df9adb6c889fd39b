//! The commands, one file or folder each.

pub(crate) mod api;
pub(crate) mod apply;
pub(crate) mod approve;
pub(crate) mod check;
pub(crate) mod completions;
mod decision;
pub(crate) mod explain;
pub(crate) mod forget;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod instances;
pub(crate) mod keys;
pub(crate) mod man;
pub(crate) mod notify;
pub(crate) mod pause;
pub(crate) mod plan;
pub(crate) mod preview;
pub(crate) mod queue;
pub(crate) mod rebuild;
pub(crate) mod revert;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod sync;
