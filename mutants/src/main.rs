//! Says which faults put into the program no test notices.
//!
//!     rosterd-mutants weave TREE STATE          # a copy of the project; the mutants of STATE/mutants.json go into it
//!     rosterd-mutants trace TREE STATE          # runs each test alone, and writes down which mutants it passes
//!     rosterd-mutants try TREE STATE [SECONDS [PLACE...]]  # runs each mutant, or those of these places, against the tests that pass it
//!     rosterd-mutants score TREE STATE          # counts what came out, and lists what no test noticed
//!
//! All mutants are in one build (`weave.rs`), so each costs the tests that come by it and nothing else. `trace` and `try` go on where
//! they were ended. A mutant that is not in that build is listed by `score`, and is for cargo-mutants itself.

mod build;
mod tests;
mod trials;
mod weave;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where a run keeps what it knows.
pub struct Place {
    /// The copy of the project that holds the mutants.
    pub tree: PathBuf,
    /// What is known of them.
    pub state: PathBuf,
}

impl Place {
    pub fn mutants(&self) -> Result<Vec<weave::Mutant>, Error> {
        let text = std::fs::read_to_string(self.state.join("mutants.json"))?;
        let mut mutants: Vec<weave::Mutant> = serde_json::from_str(&text)?;
        for (number, mutant) in mutants.iter_mut().enumerate() {
            mutant.number = number;
        }
        Ok(mutants)
    }

    /// The numbers of those that are not in the build.
    pub fn left_out(&self) -> Result<BTreeSet<usize>, Error> {
        Ok(tests::lines(self, "left_out")?.into_iter().filter_map(|fields| fields[0].parse().ok()).collect())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }
}

pub type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, tree, state, rest @ ..] = &arguments[..] else {
        return Err("usage: rosterd-mutants weave|trace|try|score TREE STATE".into());
    };
    let place = Place { tree: Path::new(tree).canonicalize()?, state: Path::new(state).canonicalize()? };
    match command.as_str() {
        "weave" => build::weave(&place),
        "trace" => tests::trace(&place),
        "try" => {
            let limit = rest.first().map_or(Ok(60.0), |seconds| seconds.parse())?;
            trials::try_all(&place, limit, rest.get(1..).unwrap_or_default())
        }
        "score" => trials::score(&place),
        _ => Err(format!("there is no command {command}").into()),
    }
}
