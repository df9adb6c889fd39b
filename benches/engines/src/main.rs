//! The store beside what could replace sled in it: `cargo run --release --locked --manifest-path benches/engines/Cargo.toml [-- ROWS]`.
//!
//! Each engine loads the same rows in order of key, walks all of them and compares each with what it should be (a run in which
//! nothing changed), and does so again with one byte of its files changed. Every step is a process of its own, so that memory is
//! that of the step (the kernel's high-water mark), and a panic is counted as what it is.

mod engine;
mod row;

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use engine::ENGINES;

/// Rows of the store of which a byte is changed.
const FLIPPED_ROWS: u64 = 20_000;
/// How often one is.
const FLIPS: u64 = 40;
/// What a walk ends with where a row is missing or another one than was written, and no error said so.
const WRONG: u8 = 3;
/// The room that the program keeps in reserve; it holds nothing.
const RESERVE: &str = "reserve";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [step @ ("load" | "walk"), name, dir, rows] => {
            let engine = ENGINES.iter().find(|engine| engine.name == *name).ok_or("no such engine")?;
            let (dir, rows) = (Path::new(dir), rows.parse()?);
            let started = Instant::now();
            let is_right =
                if *step == "load" { (engine.load)(dir, rows).map(|()| true)? } else { walk(engine, dir, rows)? };
            println!("{:.2} {:.0}", started.elapsed().as_secs_f64(), peak_kib() as f64 / 1024.0);
            Ok(if is_right { ExitCode::SUCCESS } else { WRONG.into() })
        }
        [] => measure(1_000_000).map(|()| ExitCode::SUCCESS),
        [rows] => measure(rows.parse()?).map(|()| ExitCode::SUCCESS),
        _ => Err("engines [ROWS]".into()),
    }
}

/// Walks all rows. Whether each is there, and what it should be.
fn walk(engine: &engine::Engine, dir: &Path, rows: u64) -> Result<bool, Failure> {
    let (mut next, mut is_right) = (0, true);
    (engine.walk)(dir, &mut |key, value| {
        is_right &= key == row::key(next).as_bytes() && value == row::value(next);
        next += 1;
    })?;
    Ok(is_right && next == rows)
}

fn measure(rows: u64) -> Result<(), Failure> {
    println!("{rows} rows of {} bytes", row::key(0).len() + row::value(0).len());
    println!(
        "| engine | load | walk | disk | one byte changed, {FLIPS} times: reported / wrong, not reported / not seen |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for engine in ENGINES {
        let folder = tempfile::tempdir()?;
        let dir = folder.path().join("loaded");
        let load = said(step("load", engine.name, &dir, rows)?)?;
        let walks =
            (0..3).map(|_| said(step("walk", engine.name, &dir, rows)?)).collect::<Result<Vec<_>, Failure>>()?;
        let walk = walks.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)).ok_or("no walk")?;
        let disk = files(&dir)?.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let (reported, wrong, unseen) = flips(engine.name, folder.path())?;
        println!(
            "| {} | {:.2} s, {:.0} MiB | {:.2} s, {:.0} MiB | {} MB | {reported} / {wrong} / {unseen} |",
            engine.name,
            load.0,
            load.1,
            walk.0,
            walk.1,
            disk / 1_000_000
        );
    }
    Ok(())
}

/// Runs one step in a process of its own.
fn step(step: &str, engine: &str, dir: &Path, rows: u64) -> Result<std::process::Output, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    Ok(command.args([step, engine]).arg(dir).arg(rows.to_string()).stderr(Stdio::null()).output()?)
}

/// The seconds and MiB that a step printed.
fn said(output: std::process::Output) -> Result<(f64, f64), Failure> {
    if !output.status.success() {
        return Err(format!("a step failed: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let (seconds, mib) = text.trim().split_once(' ').ok_or("a step says two numbers")?;
    Ok((seconds.parse()?, mib.parse()?))
}

/// Changes one byte of a copy, again and again, and walks it: how often the engine reported it, gave wrong rows, and saw nothing.
fn flips(engine: &str, folder: &Path) -> Result<(u64, u64, u64), Failure> {
    let (whole, copy) = (folder.join("whole"), folder.join("copy"));
    said(step("load", engine, &whole, FLIPPED_ROWS)?)?;
    let files = files(&whole)?;
    let total: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    // A copy with no change is right.
    copied(&files, &whole, &copy)?;
    said(step("walk", engine, &copy, FLIPPED_ROWS)?)?;
    let mut found = (0, 0, 0);
    for flip in 0..FLIPS {
        copied(&files, &whole, &copy)?;
        // Spread over all bytes of all files.
        let mut at = row::scattered(flip) % total;
        let mut path = None;
        for (file, bytes) in &files {
            if at < *bytes {
                path = Some(copy.join(file.strip_prefix(&whole)?));
                break;
            }
            at -= bytes;
        }
        change(&path.ok_or("it is in a file")?, at)?;
        match step("walk", engine, &copy, FLIPPED_ROWS)?.status.code() {
            Some(0) => found.2 += 1,
            Some(code) if code == i32::from(WRONG) => found.1 += 1,
            _ => found.0 += 1,
        }
    }
    Ok(found)
}

/// Copies files from one folder to another, which is emptied before.
fn copied(files: &[(PathBuf, u64)], from: &Path, to: &Path) -> Result<(), Failure> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for (path, _) in files {
        let target = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(target.parent().ok_or("a file has a folder")?)?;
        fs::copy(path, target)?;
    }
    Ok(())
}

/// Changes one byte of a file.
fn change(path: &Path, at: u64) -> Result<(), Failure> {
    let byte = fs::read(path)?[usize::try_from(at)?];
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(at))?;
    Ok(file.write_all(&[byte ^ 0x10])?)
}

/// All files below a folder but the reserve, with their sizes, in order.
fn files(folder: &Path) -> Result<Vec<(PathBuf, u64)>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let (entry, path) = entry.map(|entry| (entry.metadata(), entry.path()))?;
            match entry? {
                entry if entry.is_dir() => folders.push(path),
                entry if !path.ends_with(RESERVE) => found.push((path, entry.len())),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The most memory that this process had.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
