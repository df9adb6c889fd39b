//! What a fuzzer hands made-up bytes to: a function for each kind of thing that others wrote and that is read here.
//!
//! It is part of builds for tests and for the fuzzer (`fuzz/`) alone. Each function is next to what it tries, as a test is,
//! so that nothing is seen from further away for its sake.
//!
//! Invariant: whatever the bytes are, a function returns. It panics where something does not hold that must.
//!
//! Rejected: targets that only look for a panic. Most of what goes wrong here would be a list that is shorter, and no
//! one would see it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::mirror::REMOVALS;
use crate::operator::plan_file::{fuzzing as plan_files, used};
use crate::push::ECHOES;
use crate::queue::{Brief, Change, DECISIONS, QUEUE};
use crate::reconcile::approval::held::HELD;
use crate::reconcile::model::kept_record::LATER;
use crate::reconcile::{JobState, RecentRuns};
use crate::record::Entity;
use crate::snapshot::{OWNERS, SYNCED};
use crate::store::{Table, fuzzing as stored};
use crate::{approvals, config, daemon, history, mapping, snapshot, source};

/// A name, and what takes the bytes.
pub type FuzzTarget = (&'static str, fn(&[u8]));

macro_rules! targets {
    ($($(#[$about:meta])* $name:ident => $function:path;)*) => {
        /// Every target with its name.
        pub const TARGETS: &[FuzzTarget] = &[$((stringify!($name), $name)),*];

        $(
            $(#[$about])*
            ///
            /// # Panics
            ///
            /// Where something does not hold that must.
            pub fn $name(bytes: &[u8]) {
                $function(bytes);
            }
        )*
    };
}

targets! {
    /// Files of text that HR drops.
    csv => source::csv::fuzzing::csv;
    /// Workbooks that HR drops.
    workbook => source::csv::fuzzing::workbook;
    /// Names of files that HR drops.
    file_names => source::inbox::fuzzing::file_names;
    /// What callers send to the daemon's socket.
    control => daemon::fuzzing::control;
    /// Rows of the store.
    rows => row;
    /// Files of rows.
    sorted_file => stored::sorted_file;
    /// Exported states.
    transfer => stored::transfer;
    /// Plan files.
    plan_file => plan_files::plan_file;
    /// What directory servers answer.
    ldap => source::ldap::fuzzing::ldap;
    /// What Microsoft answers.
    entra => source::entra::fuzzing::entra;
    /// Configuration files.
    configuration => config::fuzzing::configuration;
    /// Templates of a configuration, and the rows that they see.
    templates => mapping::fuzzing::templates;
    /// Values that filters of templates read.
    filters => mapping::fuzz_filters;
    /// Schedules of a configuration.
    schedules => config::fuzzing::schedules;
    /// Lines of the audit files.
    audit => history::fuzzing::audit;
    /// What a provider of logins answers.
    logins => approvals::fuzzing::logins;
}

/// The kinds of row, by the first byte.
const KINDS: &[fn(&[u8])] = &[
    stored::stored_row,
    snapshot::fuzzing::index_page,
    |bytes| of(&SYNCED, bytes),
    |bytes| of(&OWNERS, bytes),
    change,
    |bytes| of(&DECISIONS, bytes),
    |bytes| of(&HELD, bytes),
    |bytes| of(&REMOVALS, bytes),
    |bytes| of(&ECHOES, bytes),
    |bytes| of(&used::USED_PLANS, bytes),
    again::<Entity>,
    again::<JobState>,
    again::<RecentRuns>,
    |bytes| of(&LATER, bytes),
];

fn row(bytes: &[u8]) {
    if let Some((kind, bytes)) = bytes.split_first() {
        KINDS[usize::from(*kind) % KINDS.len()](bytes);
    }
}

/// A change, and the summary of it, which is read of the same row.
fn change(bytes: &[u8]) {
    of(&QUEUE, bytes);
    if let Ok(change) = serde_json::from_slice::<Change>(bytes) {
        let brief: Brief = serde_json::from_slice(bytes).expect("a change has a summary");
        assert_eq!((brief.key, brief.action, brief.state), (change.key, change.wish.action, change.state));
        assert_eq!(brief.undoes, change.undo.is_some());
    }
}

fn of<I, T: Serialize + DeserializeOwned>(_: &Table<I, T>, bytes: &[u8]) {
    again::<T>(bytes);
}

/// A row is read as it was written.
fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let Ok(row) = serde_json::from_slice::<T>(bytes) else { return };
    let written = serde_json::to_vec(&row).expect("a row is plain values");
    let read: T = serde_json::from_slice(&written).expect("what was written can be read");
    assert!(serde_json::to_vec(&read).is_ok_and(|again| again == written), "a row is read as it was written");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::TARGETS;

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name)
    }

    /// The names of what lies in a folder, without their endings.
    fn names(name: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn whatever_a_fuzzer_began_with_or_found_holds() {
        for (target, run) in TARGETS {
            let seeds = fs::read_dir(folder("seeds").join(target)).unwrap();
            let count = seeds.map(|seed| run(&fs::read(seed.unwrap().path()).unwrap())).count();
            assert!(count > 0, "{target} has no seed");
        }
    }

    #[test]
    fn every_target_is_built_and_has_seeds() {
        let targets = names("targets");
        assert_eq!(names("seeds"), targets);
        let manifest = fs::read_to_string(folder("Cargo.toml")).unwrap();
        for name in &targets {
            let text = fs::read_to_string(folder("targets").join(name).with_extension("rs")).unwrap();
            let package = if TARGETS.iter().any(|(own, _)| own == name) { "rosterd::" } else { "rosterd_" };
            assert!(text.contains(&format!("fuzzing::{name}(")) && text.contains(package), "{name}");
            assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"targets/{name}.rs\"")), "{name}");
        }
        assert!(TARGETS.iter().all(|(name, _)| targets.contains(*name)));
    }
}
