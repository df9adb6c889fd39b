//! Moving what is remembered to another state, by a file.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use crate::api::BudgetPlace;
use crate::config::Config;
use crate::disk;
use crate::mirror;
use crate::reconcile::{open_store, restored_state};
use crate::record::Target;
use crate::store::{self, Batch, Contents, Store, TransferError};

/// Writes everything that is remembered to a new file, for its owner only: whole, or not at all.
pub fn export(config: &Config, path: &Path) -> Result<Contents, TransferError> {
    let fail = TransferError::File;
    if path.try_exists().map_err(fail)? {
        return Err(fail(io::ErrorKind::AlreadyExists.into()));
    }
    let store = open_store(config)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    let contents = {
        let mut out = BufWriter::new(file.as_file_mut());
        let contents = store.export(env!("CARGO_PKG_VERSION"), &mut out)?;
        out.flush().map_err(fail)?;
        contents
    };
    disk::sync(file.as_file()).map_err(fail)?;
    file.persist_noclobber(path).map_err(|error| fail(error.error))?;
    disk::sync_folder(folder).map_err(fail)?;
    Ok(contents)
}

/// Lays down what a file has, in a state that is empty. The next run lists the service as a whole, and takes the state for one
/// that was laid back: it may be older than what was done since.
pub fn import(config: &Config, path: &Path) -> Result<Contents, TransferError> {
    let mut file = File::open(path).map_err(TransferError::File)?;
    store::import(&config.state.home, &mut file, &config.api.base_url, |store| settle(config, store))
}

fn settle(config: &Config, store: &Store) -> Result<(), TransferError> {
    let mut batch = Batch::default();
    for target in Target::ALL {
        mirror::force_full_listing(&mut batch, store, *target)?;
    }
    restored_state::is_another(&mut batch, store)?;
    store.commit(batch)?;
    // An emptied file counts as spent. In a database it is the tenure of this process that leaves nothing.
    match &config.api.budget {
        BudgetPlace::File(path) => disk::replace(path, b"").map_err(TransferError::Kept),
        _ => Ok(()),
    }
}
