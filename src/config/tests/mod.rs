//! Whole configurations, from file and environment to options or messages.

mod approvals;
mod broken;
mod directory;
mod entra;
mod example;
mod lookup;
mod overrides;
mod reference;
mod secrets;
mod support;
mod web;
mod whole;
