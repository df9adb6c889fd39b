//! The tests of the tree, how one is run, and which mutants it passes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::build::cargo;
use crate::{Error, Place};

/// A program of tests.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its package and target, as `rosterd/it`.
    pub name: String,
    pub executable: PathBuf,
    pub folder: PathBuf,
}

/// A test that passes without mutants.
#[derive(Clone, Debug)]
pub struct Test {
    pub program: String,
    pub name: String,
    pub seconds: f64,
    pub passes: Vec<usize>,
}

impl Test {
    /// Whether it starts no processes.
    pub fn is_unit(&self) -> bool {
        !self.program.ends_with("/it")
    }
}

pub fn programs(place: &Place) -> Result<Vec<Program>, Error> {
    let output = cargo(place, &["test", "--locked", "--workspace", "--no-run", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()?;
    let mut programs = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{")) {
        let message: serde_json::Value = serde_json::from_slice(line)?;
        let Some(executable) = message["executable"].as_str().filter(|_| message["profile"]["test"] == true) else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or(""));
        let folder = manifest.parent().unwrap_or(Path::new("")).to_owned();
        let package = folder.strip_prefix(&place.tree).map_or(String::new(), |path| path.display().to_string());
        // A library and a program may have one name.
        let bin = if message["target"]["kind"][0] == "bin" { ".bin" } else { "" };
        let name = format!("{package}/{}{bin}", message["target"]["name"].as_str().unwrap_or(""));
        programs.push(Program { name, executable: executable.into(), folder });
    }
    Ok(programs)
}

/// How a run of tests ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Passed,
    /// The first test that failed; its name is empty where the program ended before it said so. The rest was not waited for.
    Failed(String),
    /// It took longer than it may, and was ended.
    Late,
}

/// Runs tests of one program with processes and temporary files of their own, so that nothing that they start outlives them, and
/// no run takes the files of another for those of a process that has ended.
pub fn run(
    program: &Program,
    tests: &[&str],
    threads: usize,
    active: &Path,
    trace: &Path,
    seconds: f64,
) -> Result<End, Error> {
    let folder = active.with_added_extension("tmp");
    fs::create_dir_all(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777))?;
    let mut child = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c"])
        .arg(r#"exec 198<"$1" 199>>"$2"; mount --bind "$3" /tmp; shift 3; "$@"; exit $?"#)
        .arg("bash")
        .args([active, trace, &folder])
        .arg(&program.executable)
        .args(["--exact", &format!("--test-threads={threads}")])
        .args(tests)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (said, heard) = std::sync::mpsc::channel();
    let output = BufReader::new(child.stdout.take().ok_or("no output")?);
    // It ends with its program, whose namespace is gone with it.
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
                let _ = said.send(name.to_owned());
            }
        }
    });
    let end = match heard.recv_timeout(Duration::from_secs_f64(seconds)) {
        Ok(name) => End::Failed(name),
        Err(RecvTimeoutError::Timeout) => End::Late,
        Err(RecvTimeoutError::Disconnected) if child.wait()?.success() => End::Passed,
        Err(RecvTimeoutError::Disconnected) => End::Failed(String::new()),
    };
    let _ = child.kill();
    child.wait()?;
    // What was still being written is gone with the next one.
    let _ = fs::remove_dir_all(&folder);
    Ok(end)
}

/// Runs each test that was not traced yet, several at once.
pub fn trace(place: &Place) -> Result<(), Error> {
    let programs = programs(place)?;
    let known: HashSet<(String, String)> =
        lines(place, "traces")?.into_iter().map(|fields| (fields[0].clone(), fields[1].clone())).collect();
    let mut waiting = Vec::new();
    for program in &programs {
        let listed = Command::new(&program.executable)
            .args(["--list", "--format", "terse"])
            .current_dir(&program.folder)
            .output()?;
        for line in String::from_utf8_lossy(&listed.stdout).lines() {
            if let Some(name) = line.strip_suffix(": test")
                && !known.contains(&(program.name.clone(), name.to_owned()))
            {
                waiting.push((program, name.to_owned()));
            }
        }
    }
    println!("{} tests to trace, {} are known", waiting.len(), known.len());
    let out = Mutex::new(OpenOptions::new().create(true).append(true).open(place.file("traces"))?);
    at_once(6, waiting.len(), |worker, index| {
        let (program, name) = &waiting[index];
        let passed = place.file(&format!("passed-{worker}"));
        fs::write(&passed, "")?;
        let none = place.file(&format!("no-mutant-{worker}"));
        fs::write(&none, "")?;
        let begun = Instant::now();
        let end = run(program, &[name], 1, &none, &passed, 300.0)?;
        let seconds = begun.elapsed().as_secs_f64();
        let bytes = fs::read(&passed)?;
        let numbers: Vec<String> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'x').map(|(number, _)| number.to_string()).collect();
        writeln!(
            out.lock().unwrap(),
            "{}\t{name}\t{}\t{seconds:.3}\t{}",
            program.name,
            if end == End::Passed { "passed" } else { "failed" },
            numbers.join(",")
        )?;
        Ok(())
    })
}

/// The tests that passed when they were traced.
pub fn traced(place: &Place) -> Result<Vec<Test>, Error> {
    let mut tests = Vec::new();
    for fields in lines(place, "traces")? {
        if fields[2] == "passed" {
            let passes =
                fields[4].split(',').filter(|number| !number.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
            tests.push(Test {
                program: fields[0].clone(),
                name: fields[1].clone(),
                seconds: fields[3].parse()?,
                passes,
            });
        }
    }
    Ok(tests)
}

/// By mutant, the tests that pass it.
pub fn by_mutant(tests: &[Test]) -> HashMap<usize, Vec<usize>> {
    let mut map: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, test) in tests.iter().enumerate() {
        for number in &test.passes {
            map.entry(*number).or_default().push(index);
        }
    }
    map
}

pub fn by_name(programs: Vec<Program>) -> BTreeMap<String, Program> {
    programs.into_iter().map(|program| (program.name.clone(), program)).collect()
}

/// The lines of a file of the state, by their tabs; none where there is no such file.
pub fn lines(place: &Place, name: &str) -> Result<Vec<Vec<String>>, Error> {
    let text = match fs::read_to_string(place.file(name)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// Does numbered work with several workers; ends at the first error.
pub fn at_once(
    workers: usize,
    count: usize,
    work: impl Fn(usize, usize) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let result = Mutex::new(Ok(()));
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (next, result, work) = (&next, &result, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || result.lock().unwrap().is_err() {
                        return;
                    }
                    if let Err(error) = work(worker, index) {
                        *result.lock().unwrap() = Err(error);
                    }
                }
            });
        }
    });
    result.into_inner().unwrap()
}
