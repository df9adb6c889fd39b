//! Taking a person out of what is kept beside the rows and belongs to no job that is configured.

use std::fs;
use std::io;

use crate::config::Job;
use crate::store::{HoldsOfPeople, Store};

/// Goes over everything that is kept and holds something of people; returns how many files went. Of an inbox whose job is not
/// configured any more nothing can be read, so all of it goes.
pub(crate) fn forget(store: &Store, jobs: &[Job]) -> io::Result<u64> {
    let mut files = 0;
    for (name, people) in store.kept_of_people()? {
        match people {
            HoldsOfPeople::Nothing => {}
            // The command forgets them by `notify`, which is not below this module.
            HoldsOfPeople::Notices => {}
            HoldsOfPeople::Inbox => {
                let job = name.split('/').nth(1).unwrap_or_default();
                // Those of the others are rewritten, each by what it is.
                if jobs.iter().any(|known| known.inbox.is_some() && known.name.as_str() == job) {
                    continue;
                }
                if let Some((out, _)) = name.rsplit_once('.') {
                    store.drop_document(&format!("{out}.order"))?;
                }
                store.drop_file(&name)?;
                files += 1;
            }
        }
    }
    drop_left_over(store)?;
    Ok(files)
}

/// Removes the scratch folders that killed commands left on this machine: nothing else has the store now.
fn drop_left_over(store: &Store) -> io::Result<()> {
    for entry in fs::read_dir(store.home().spill_dir())? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("looking-") {
            let is_folder = entry.file_type()?.is_dir();
            if is_folder { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
        }
    }
    Ok(())
}
