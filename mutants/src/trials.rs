//! Each mutant against the tests that pass it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use crate::tests::{self, End, Program, Test};
use crate::weave::Mutant;
use crate::{Error, Place};

/// What the tests of one program cost at most that are run in one go, in seconds. The first go is short: most faults are noticed by
/// one of the nearest tests.
const GO_FIRST: f64 = 0.5;
const GO_UNIT: f64 = 2.0;
const GO: f64 = 8.0;

/// Runs every mutant that has no result yet. Tests of more than `limit` seconds in all are not run for one mutant: where those that
/// were did not notice it, it is undecided. One that takes half of them is not run at all. Where `only` names folders or files, no
/// mutants of others are run.
pub fn try_all(place: &Place, limit: f64, only: &[String]) -> Result<(), Error> {
    let mutants = place.mutants()?;
    let programs = tests::by_name(tests::programs(place)?);
    let traced = tests::traced(place)?;
    let passing = tests::by_mutant(&traced);
    let known: HashSet<String> = tests::lines(place, "results")?.into_iter().map(|fields| fields[0].clone()).collect();
    let left_out = place.left_out()?;
    let is_in = |mutant: &Mutant, named: &String| Path::new(&mutant.file).starts_with(named);
    if let Some(named) = only.iter().find(|named| !mutants.iter().any(|mutant| is_in(mutant, named))) {
        return Err(format!("there is no mutant in {named}").into());
    }
    let is_asked_for = |mutant: &Mutant| only.is_empty() || only.iter().any(|named| is_in(mutant, named));
    let is_to_be_tried =
        |mutant: &Mutant| !known.contains(&mutant.name) && !left_out.contains(&mutant.number) && is_asked_for(mutant);
    let mut waiting: Vec<&Mutant> = mutants.iter().filter(|mutant| is_to_be_tried(mutant)).collect();
    // What few tests pass is settled first.
    let cost = |mutant: &&Mutant| {
        passing
            .get(&mutant.number)
            .map_or(0, |tests| tests.iter().map(|test| (1000.0 * traced[*test].seconds) as u64).sum())
    };
    waiting.sort_by_cached_key(cost);
    println!("{} mutants to try", waiting.len());
    let out = Mutex::new(OpenOptions::new().create(true).append(true).open(place.file("results"))?);
    // Which test noticed how many faults of a file: it is asked first.
    let noticed: Mutex<HashMap<(String, usize), usize>> = Mutex::new(HashMap::new());
    let workers = std::env::var("MUTANTS_AT_ONCE").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    tests::at_once(workers, waiting.len(), |worker, index| {
        let mutant = waiting[index];
        let mut near: Vec<usize> = passing.get(&mutant.number).cloned().unwrap_or_default();
        let passing = near.len();
        near.retain(|test| traced[*test].seconds <= limit / 2.0);
        near.sort_by_cached_key(|test| {
            let before = noticed.lock().unwrap().get(&(mutant.file.clone(), *test)).copied().unwrap_or(0);
            let cost = traced[*test].seconds + if traced[*test].is_unit() { 0.0 } else { 3.0 };
            let speaks = if speaks_of(&traced[*test].name, &mutant.file) { 4.0 } else { 1.0 };
            (1000.0 * cost / (1.0 + before as f64) / speaks) as u64
        });
        let active = place.file(&format!("active-{worker}"));
        fs::write(&active, mutant.number.to_string())?;
        let (result, by, ran) = match passing {
            0 => ("unreached", None, 0),
            _ => one(&traced, &programs, &near, &active, limit)?,
        };
        let result = if result == "missed" && ran < passing { "undecided" } else { result };
        if let Some(test) = by {
            *noticed.lock().unwrap().entry((mutant.file.clone(), test)).or_default() += 1;
        }
        let by = by.map_or("", |test| traced[test].name.as_str());
        writeln!(out.lock().unwrap(), "{}\t{result}\t{by}\t{ran}/{passing}", mutant.name)?;
        Ok(())
    })
}

/// Whether a test's module has a word of the file's path in it.
fn speaks_of(test: &str, file: &str) -> bool {
    let stem = |word: &str| word.trim_end_matches('s').to_owned();
    let module = test.rsplit_once("::").map_or(test, |(module, _)| module);
    let words: HashSet<String> = module.split(|c: char| !c.is_alphanumeric()).map(stem).collect();
    file.trim_end_matches(".rs")
        .split(|c: char| !c.is_alphanumeric())
        .map(stem)
        .any(|word| word.len() > 3 && words.contains(&word))
}

fn one(
    traced: &[Test],
    programs: &BTreeMap<String, Program>,
    near: &[usize],
    active: &Path,
    limit: f64,
) -> Result<(&'static str, Option<usize>, usize), Error> {
    let (mut ran, mut cost, mut go_most) = (0, 0.0, GO_FIRST);
    let nothing = Path::new("/dev/null");
    while ran < near.len() && cost < limit {
        let first = &traced[near[ran]];
        let (most, threads) = if first.is_unit() { (GO_UNIT, 2) } else { (GO, 4) };
        let most = f64::min(most, go_most);
        go_most *= 2.0;
        let mut seconds = 0.0;
        let go: Vec<usize> = near[ran..]
            .iter()
            .copied()
            .take_while(|test| {
                let next = &traced[*test];
                let fits = next.program == first.program && (seconds == 0.0 || seconds + next.seconds <= most);
                seconds += next.seconds;
                fits
            })
            .collect();
        let seconds: f64 = go.iter().map(|test| traced[*test].seconds).sum();
        let names: Vec<&str> = go.iter().map(|test| traced[*test].name.as_str()).collect();
        let end = tests::run(&programs[&first.program], &names, threads, active, nothing, 20.0 + 3.0 * seconds)?;
        match end {
            End::Passed => {}
            End::Failed(name) => {
                let by = go.iter().copied().find(|test| traced[*test].name == name).unwrap_or(go[0]);
                return Ok(("caught", Some(by), ran + go.len()));
            }
            End::Late => return Ok(("late", Some(go[0]), ran + go.len())),
        }
        ran += go.len();
        cost += seconds;
    }
    Ok(("missed", None, ran))
}

/// Prints the counts of each place, and what was missed.
pub fn score(place: &Place) -> Result<(), Error> {
    let mutants = place.mutants()?;
    let left_out = place.left_out()?;
    let results: HashMap<String, (String, String)> = tests::lines(place, "results")?
        .into_iter()
        .map(|fields| (fields[0].clone(), (fields[1].clone(), fields[3].clone())))
        .collect();
    let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for mutant in &mutants {
        let parts: Vec<&str> = mutant.file.split('/').collect();
        let area = if parts[0] == "crates" { parts[..4].join("/") } else { parts[..2].join("/") };
        let result = match results.get(&mutant.name) {
            _ if left_out.contains(&mutant.number) => "left out",
            Some((result, _)) => result,
            None => "waiting",
        };
        *counts.entry(area).or_default().entry(result.to_owned()).or_default() += 1;
        if ["missed", "unreached", "undecided", "left out"].contains(&result) {
            println!("{result}\t{}\t{}", mutant.name, results.get(&mutant.name).map_or("", |(_, ran)| ran));
        }
    }
    for (area, counts) in counts {
        println!(
            "{area}: {}",
            counts.iter().map(|(result, count)| format!("{count} {result}")).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}
