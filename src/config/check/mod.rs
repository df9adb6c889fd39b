//! Plain texts and numbers → options with types.
//!
//! A function here gives `None` where something is wrong and has said so in the report. It goes on after a mistake, so
//! that every one is found; a value that depends on a wrong one is left unchecked rather than reported twice.
//!
//! Rejected: to check in `Deserialize`. A credential spans five keys and the environment, and two jobs must not read one
//! file: neither is the matter of one value.

mod api;
mod approvals;
mod contractor;
mod credential;
mod directory;
mod entra;
mod guard;
mod job;
mod leavers;
mod lookup;
mod mapping;
mod monitoring;
mod root;
mod secret;
mod section;
mod source;
mod state_home;
mod url;
mod web;

pub(super) use root::{Checked, Environment, check, remains};
pub(super) use section::Section;
