//! The arguments of `rosterd state`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(super) struct StateArgs {
    #[command(subcommand)]
    pub(super) command: StateCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum StateCommand {
    /// Write it to a new file. The file has people's data, and only its owner may read it
    Export {
        /// The file; nothing may have its name yet
        file: PathBuf,
    },
    /// Lay down what such a file has, in an empty state
    Import {
        /// What `rosterd state export` wrote
        file: PathBuf,
    },
}
