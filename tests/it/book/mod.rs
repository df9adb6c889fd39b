//! README and book: what they say is so.
//!
//! What is listed from the program (tests of laws and faults) is written by these tests where `ROSTERD_WRITE_DOCS` is set, and
//! compared otherwise.

use std::fs;
use std::path::{Path, PathBuf};

mod blocks;
mod dependencies;
mod folders;
mod links;
mod lists;
mod messages;
mod names;
mod pages;
mod sources;
mod words;

/// The folder of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below a folder with this ending, named from the project's folder on, in order.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).into_iter().flatten() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Whether the documents are to be written instead of compared.
fn writes() -> bool {
    std::env::var_os("ROSTERD_WRITE_DOCS").is_some()
}
