//! What it costs to read a directory: time as a ratio to `ldapsearch` with the same pages in the same run, and peak memory.
//!
//! `cargo bench --bench ldap [-- ENTRIES]`: a slapd of its own with that many people (100,000 by default) of eight
//! attributes, read five times by each in turn. Needs slapd and ldap-utils; says so where they are missing.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rosterd::clock::Clock;
use rosterd::source::ldap::{Options, Server, read};
use rosterd::source::{Access, ColumnRequirement, Name, RefusedLogins, RequiredColumns};

const SUFFIX: &str = "dc=example,dc=org";
const READER: &str = "cn=reader,dc=example,dc=org";
const FILTER: &str = "(objectClass=inetOrgPerson)";
const ATTRIBUTES: [&str; 8] = ["uid", "cn", "sn", "givenName", "mail", "employeeNumber", "title", "telephoneNumber"];
const PAGE: i32 = 1000;
const ROUNDS: usize = 5;

fn main() {
    let entries = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(100_000);
    let (Some(slapd), Some(slapadd), Some(ldapsearch)) = (tool("slapd"), tool("slapadd"), tool("ldapsearch")) else {
        println!("slapd and ldap-utils are missing; nothing was measured");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let url = format!("ldap://127.0.0.1:{port}");
    lay_down(dir.path(), entries, &slapadd);
    let server = serve(dir.path(), &slapd, &url, &ldapsearch);

    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(timed(|| search(&ldapsearch, &url)));
        ours.push(timed(|| assert_eq!(walk(&url), entries as u64)));
    }
    drop(server);
    theirs.sort();
    ours.sort();
    let (theirs, ours) = (theirs[ROUNDS / 2], ours[ROUNDS / 2]);
    println!(
        "{entries} entries in pages of {PAGE}: ldapsearch {:.2} s, rosterd {:.2} s, ratio {:.2}; peak {:.1} MiB",
        theirs.as_secs_f64(),
        ours.as_secs_f64(),
        ours.as_secs_f64() / theirs.as_secs_f64(),
        peak()
    );
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// Reads everything the way a run does, and counts the rows.
fn walk(url: &str) -> u64 {
    let (server, _) = Server::parse(url).unwrap();
    let options =
        Options { filter: FILTER.to_owned(), page_size: PAGE, ..Options::at(vec![server], vec![SUFFIX.to_owned()]) };
    let needs = ATTRIBUTES
        .iter()
        .map(|name| ColumnRequirement { name: Name::Plain((*name).to_owned()), optional: false })
        .collect();
    let mut digests = 0;
    let (clock, logins) = (Clock::system(), RefusedLogins::unremembered());
    let dir = std::env::temp_dir();
    let access = Access::of_a_person(&clock, &logins, &dir);
    let read = read(&options, &RequiredColumns { needs, ..RequiredColumns::default() }, None, access, &mut |row| {
        digests ^= row.digest;
        ControlFlow::Continue(())
    });
    let read = read.unwrap();
    assert!(read.incomplete().is_empty() && digests != 0, "{:?}", read.incomplete());
    read.rows
}

fn search(ldapsearch: &Path, url: &str) {
    let pages = format!("pr={PAGE}/noprompt");
    let status = Command::new(ldapsearch)
        .args(["-x", "-LLL", "-H", url, "-E", &pages, "-b", SUFFIX, FILTER])
        .args(ATTRIBUTES)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
}

/// The most memory that this process ever held, in MiB.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn tool(name: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/usr/bin", "/sbin"].iter().map(|dir| Path::new(dir).join(name)).find(|file| file.is_file())
}

fn lay_down(dir: &Path, entries: usize, slapadd: &Path) {
    fs::create_dir(dir.join("db")).unwrap();
    let shown = dir.display();
    let configuration = format!(
        "include /etc/ldap/schema/core.schema\ninclude /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\n\
         pidfile {shown}/slapd.pid\ndatabase mdb\nsuffix \"{SUFFIX}\"\nrootdn \"{READER}\"\nmaxsize 2147483648\n\
         directory {shown}/db\nindex objectClass eq\nlimits * size=unlimited time=unlimited\naccess to * by * read\n"
    );
    fs::write(dir.join("slapd.conf"), configuration).unwrap();
    let mut ldif =
        format!("dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n");
    for number in 0..entries {
        write!(
            ldif,
            "dn: uid=u{number:06},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: u{number:06}\ncn: Person {number}\n\
             sn: Surname{number}\ngivenName: Given\nmail: person{number}@example.org\nemployeeNumber: {number:08}\n\
             title: Engineer\ntelephoneNumber: +49 30 {number:07}\n\n"
        )
        .unwrap();
    }
    fs::write(dir.join("data.ldif"), ldif).unwrap();
    let added = Command::new(slapadd)
        .arg("-q")
        .arg("-f")
        .arg(dir.join("slapd.conf"))
        .arg("-l")
        .arg(dir.join("data.ldif"))
        .status();
    assert!(added.unwrap().success());
    fs::remove_file(dir.join("data.ldif")).unwrap();
}

/// A process that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(dir: &Path, slapd: &Path, url: &str, ldapsearch: &Path) -> Running {
    let server = Command::new(slapd)
        .args(["-d", "0", "-h", url, "-f"])
        .arg(dir.join("slapd.conf"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let server = Running(server.unwrap());
    let begun = Instant::now();
    loop {
        let answered = Command::new(ldapsearch)
            .args(["-x", "-H", url, "-s", "base", "-b", ""])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if answered.unwrap().success() {
            return server;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "slapd does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
}
