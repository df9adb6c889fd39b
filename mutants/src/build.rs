//! Writes the mutants into a copy of the project, and leaves out those in whose form it does not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::process::{Command, Stdio};

use crate::weave::{self, Mutant, Woven};
use crate::{Error, Place};

/// What each crate gets: whether a mutant is the one of this process, by files that every process inherits, as tests clear the
/// environment of what they start.
const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(clippy::all, missing_docs, unreachable_pub, unused)]
pub mod mutant__ {
    use std::os::unix::fs::FileExt;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static ACTIVE: LazyLock<usize> =
        LazyLock::new(|| std::fs::read_to_string("/proc/self/fd/198").ok().and_then(|text| text.trim().parse().ok()).unwrap_or(usize::MAX));
    static TRACE: LazyLock<Option<std::fs::File>> = LazyLock::new(|| std::fs::OpenOptions::new().write(true).open("/proc/self/fd/199").ok());
    static PASSED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

    pub fn on(number: usize) -> bool {
        if let Some(file) = &*TRACE && !PASSED[number].swap(true, Ordering::Relaxed) {
            let _ = file.write_at(b"x", number as u64);
        }
        number == *ACTIVE
    }
}
"#;

/// How cargo is called on the tree. Warnings of what is woven say nothing.
pub fn cargo(place: &Place, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(&place.tree)
        .args(arguments)
        .env("RUSTFLAGS", "--cap-lints allow")
        .env("CARGO_TARGET_DIR", place.tree.join("target"));
    command
}

/// Weaves, builds and leaves out, until all tests are built.
pub fn weave(place: &Place) -> Result<(), Error> {
    let mutants = place.mutants()?;
    let mut files: BTreeMap<&str, (String, Vec<&Mutant>)> = BTreeMap::new();
    for mutant in &mutants {
        if !files.contains_key(mutant.file.as_str()) {
            files.insert(&mutant.file, (fs::read_to_string(place.tree.join(&mutant.file))?, Vec::new()));
        }
        files.get_mut(mutant.file.as_str()).unwrap().1.push(mutant);
    }
    for root in ["src/lib.rs", "crates/client/src/lib.rs"] {
        let path = place.tree.join(root);
        let text = fs::read_to_string(&path)?;
        fs::write(path, text + &SWITCH.replace("COUNT", &mutants.len().to_string()))?;
    }
    let mut left_out = place.left_out()?;
    loop {
        let mut woven: BTreeMap<&str, Woven> = BTreeMap::new();
        for (file, (source, mutants)) in &files {
            let wanted: Vec<&Mutant> =
                mutants.iter().copied().filter(|mutant| !left_out.contains(&mutant.number)).collect();
            let result = weave::weave(source, &wanted)?;
            left_out.extend(wanted.iter().map(|mutant| mutant.number).filter(|number| !result.found.contains(number)));
            if fs::read_to_string(place.tree.join(file))? != result.text {
                fs::write(place.tree.join(file), &result.text)?;
            }
            woven.insert(file, result);
        }
        let faulty = faulty(place, &woven)?;
        println!(
            "{} of {} mutants are in the build, {} of them do not compile",
            mutants.len() - left_out.len(),
            mutants.len(),
            faulty.len()
        );
        if faulty.is_empty() {
            break;
        }
        left_out.extend(faulty);
        let names: Vec<String> = left_out.iter().map(usize::to_string).collect();
        fs::write(place.file("left_out"), names.join("\n"))?;
    }
    let built = cargo(place, &["test", "--locked", "--workspace", "--no-run"]).status()?;
    if built.success() { Ok(()) } else { Err("the tests do not build".into()) }
}

/// The mutants that the compiler's errors point at.
fn faulty(place: &Place, woven: &BTreeMap<&str, Woven>) -> Result<BTreeSet<usize>, Error> {
    let output =
        cargo(place, &["check", "--locked", "--workspace", "--lib", "--profile", "test", "--message-format=json"])
            .stderr(Stdio::null())
            .output()?;
    let mut faulty = BTreeSet::new();
    let mut elsewhere = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: serde_json::Value = serde_json::from_slice(line)?;
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().map_or(&[][..], |spans| &spans[..]);
        let mut before = faulty.len();
        // Where the primary place says nothing, the others may.
        for primary in [true, false] {
            for span in spans.iter().filter(|span| span["is_primary"] == primary) {
                let (Some(file), Some(start), Some(end)) =
                    (span["file_name"].as_str(), span["byte_start"].as_u64(), span["byte_end"].as_u64())
                else {
                    continue;
                };
                let range = start as usize..end as usize;
                if let Some(woven) = woven.get(file)
                    && message["code"]["code"] == "E0004"
                {
                    let near = woven
                        .matched
                        .iter()
                        .filter(|piece| piece.range.start <= range.end && range.start <= piece.range.end);
                    faulty.extend(
                        near.min_by_key(|piece| piece.range.start.abs_diff(range.start))
                            .into_iter()
                            .flat_map(|piece| &piece.mutants),
                    );
                } else if let Some(woven) = woven.get(file) {
                    faulty.extend(meant(woven, range));
                }
            }
            if faulty.len() > before {
                before = usize::MAX;
                break;
            }
        }
        if before != usize::MAX
            && !spans.is_empty()
            && !spans.iter().any(|span| woven.contains_key(span["file_name"].as_str().unwrap_or("")))
        {
            elsewhere.push(message["rendered"].as_str().unwrap_or("").to_owned());
        }
    }
    if !output.status.success() && faulty.is_empty() {
        return Err(format!("errors that belong to no mutant:\n{}", elsewhere.join("\n")).into());
    }
    Ok(faulty)
}

/// The mutants of a place: those whose own text holds it, or else those that most closely surround it, or else those within it.
fn meant(woven: &Woven, range: Range<usize>) -> Vec<usize> {
    let holds = |piece: &&weave::Piece| piece.range.start <= range.start && range.end <= piece.range.end;
    if let Some(piece) = woven.pieces.iter().filter(holds).min_by_key(|piece| piece.range.len()) {
        return piece.mutants.clone();
    }
    let within: Vec<usize> = woven
        .pieces
        .iter()
        .filter(|piece| range.start < piece.range.end && piece.range.start < range.end)
        .flat_map(|piece| piece.mutants.clone())
        .collect();
    if !within.is_empty() {
        return within;
    }
    woven
        .wraps
        .iter()
        .filter(holds)
        .min_by_key(|piece| piece.range.len())
        .map(|piece| piece.mutants.clone())
        .unwrap_or_default()
}
