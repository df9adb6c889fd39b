//! The demonstration, as a user sees it who has nothing but the program.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::daemon::{PATIENCE, eventually};
use crate::support::looked::get;

/// A demonstration that runs; it is killed when the test ends.
struct Shown {
    child: Child,
    lines: Receiver<String>,
    told: Vec<String>,
    /// Where it puts its folder.
    home: TempDir,
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shown {
    fn start(arguments: &[&str]) -> Self {
        Self::with(arguments, &[])
    }

    /// The same with these variables in its environment.
    fn with(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let home = tempfile::Builder::new().prefix("a home ").tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_rosterd"))
            .env_clear()
            .env("TMPDIR", home.path())
            .envs(variables.iter().copied())
            .args(["--color", "never", "demo"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(home.path().join("errors")).unwrap())
            .spawn()
            .unwrap();
        let lines = read(child.stdout.take().unwrap());
        Self { child, lines, told: Vec::new(), home }
    }

    /// Waits for a line that holds this text, after those that were waited for, and returns it.
    fn expect(&mut self, text: &str) -> String {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("no {text:?} after {:#?}; {}", self.told, self.errors());
            };
            self.told.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The same for several, in any order.
    fn expect_each(&mut self, texts: &[&str]) {
        let begin = self.told.len();
        for text in texts {
            if !self.told[begin..].iter().any(|line| line.contains(text)) {
                self.expect(text);
            }
        }
    }

    /// The command that is shown below the line with this text.
    fn command(&mut self, why: &str) -> String {
        self.expect(why);
        self.expect("  ").trim().to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended.
    fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    fn errors(&self) -> String {
        fs::read_to_string(self.home.path().join("errors")).unwrap()
    }

    /// What it left behind.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "errors").collect()
    }
}

/// The lines of a process as they come.
fn read(out: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Runs a line as it was shown, in a shell.
fn typed(line: &str) -> (Option<i32>, String) {
    let output = Command::new("/bin/sh").args(["-c", line]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// What stands behind a word at the beginning of a line.
fn value(line: &str) -> String {
    line.split_once(' ').unwrap().1.trim().to_owned()
}

#[test]
fn it_shows_itself_and_leaves_nothing_behind() {
    let mut shown = Shown::start(&[]);
    shown.expect("people at the service: 58");
    shown.expect("That is all");
    assert_eq!(shown.code(), Some(0));
    assert!(!shown.errors().contains("warning"), "{}", shown.errors());
    assert!(shown.left().is_empty(), "{:?}", shown.left());
}

#[test]
fn it_serves_and_every_command_that_it_tells_works_as_it_stands() {
    let mut shown = Shown::start(&["--serve"]);
    let inbox = value(&shown.expect("inbox     "));
    let page = value(&shown.expect("page      "));
    let address = page.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    let joiner = shown.command("one person joins");
    let who = shown.command("who is at the service now");
    let leavers = shown.command("four people are missing");
    let plan = shown.command("what is held");
    let approve = shown.command("a person decides");
    let status = shown.command("how things are");
    assert_eq!(typed(&status).0, Some(0));

    assert_eq!(typed(&joiner).0, Some(0));
    shown.expect_each(&["filed     inbox/processed/", "people at the service: 59"]);
    let (code, found) = typed(&who);
    assert!(code == Some(0) && found.contains("Dora Dropped"), "{found}");
    assert_eq!(get(address, "/healthz").0, 200);
    assert!(get(address, "/").2.contains("employees"));

    assert_eq!(typed(&leavers).0, Some(0));
    shown.expect("filed     inbox/processed/");
    eventually("the page shows what is held", || get(address, "/").2.contains("max_leavers"));
    assert_eq!(typed(&status).0, Some(4), "something waits for a person");
    let (_, planned) = typed(&plan);
    assert!(planned.contains("max_leavers"), "{planned}");
    let (code, approved) = typed(&approve);
    assert!(code == Some(0) && approved.contains("approved "), "{approved}");
    shown.expect("people at the service: ");
    eventually("nothing is held any more", || typed(&status).0 == Some(0));

    shown.signal(Signal::INT);
    assert_eq!(shown.code(), Some(0), "{}", shown.errors());
    assert!(shown.left().is_empty(), "{:?}", shown.left());
    assert!(!Path::new(&inbox).exists());
    assert!(std::net::TcpStream::connect(address).is_err(), "the page still answers");
}

#[test]
fn it_ends_however_it_is_asked_to() {
    // At so low a limit it takes some minutes.
    const SLOW: &[(&str, &str)] = &[("ROSTERD__API__REQUESTS_PER_MINUTE", "12")];
    for (signal, arguments, variables, told, code) in [
        (Signal::TERM, &["--serve"][..], &[][..], "page      ", 0),
        // Closing the terminal is no wish for a new configuration.
        (Signal::HUP, &["--serve"], &[], "page      ", 0),
        (Signal::INT, &["--serve"], SLOW, "The first sync", 130),
        (Signal::TERM, &[], SLOW, "The first sync", 130),
    ] {
        let mut shown = Shown::with(arguments, variables);
        shown.expect(told);
        shown.signal(signal);
        assert_eq!(shown.code(), Some(code), "{signal:?} at {told:?}: {}", shown.errors());
        assert!(shown.left().is_empty(), "{signal:?} at {told:?}: {:?}", shown.left());
    }
}

#[test]
fn it_keeps_its_folder_where_it_is_asked_to() {
    let mut shown = Shown::start(&["--keep"]);
    shown.expect("That is all");
    assert_eq!(shown.code(), Some(0));
    let errors = shown.errors();
    let kept = value(errors.lines().last().unwrap());
    assert!(Path::new(&kept).join("config.toml").exists(), "{kept}");
}
