//! The command line: configuration, output, access.

mod access;
mod api_command;
mod config_faults;
mod demo;
mod documents;
mod first_process;
mod init;
mod instances;
mod secrecy;
mod typing;
mod views;
