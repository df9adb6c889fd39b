//! What it costs to read a source: time as a ratio to the bare tool in the same run, and the peak memory of both.
//!
//! `cargo bench --bench sources [-- PEOPLE]`: so many people (100,000 by default) as a CSV file, a workbook, a file of a web
//! server and a tenant of Entra ID, each read five times by each in turn, in a process of its own. Beside them: a bare
//! parser of CSV, calamine's streaming reader, and curl, which asks for the file or for the very same pages. The server
//! is of this program, on loopback, and answers with what it made beforehand. Directories: `--bench ldap`. What a lookup
//! of as many rows costs is the plan of a first run with it beside one without.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that can't go on fails, and prints")]

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use calamine::Reader as _;
use nix::sys::resource::{UsageWho, getrusage};
use rosterd::clock::Clock;
use rosterd::secret::SecretSource;
use rosterd::source::https::Address;
use rosterd::source::{
    Access, ColumnRequirement, Name, RefusedLogins, RequiredColumns, Source, csv as files, entra, https, read,
};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const ROUNDS: usize = 5;
const PAGE: usize = 1000;
/// Says in a child who reads which kind.
const READER: &str = "SOURCES_READER";
/// And where the kinds are: the folder, and the address of the server.
const DIR: &str = "SOURCES_DIR";
const URL: &str = "SOURCES_URL";
const HEADER: [&str; 4] = ["Employee No", "Name", "Email", "Title"];
const RELATIONSHIP: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Each kind, and the tool beside it.
const KINDS: [(&str, &str); 5] = [
    ("csv", "a bare parser"),
    ("workbook", "calamine"),
    ("url", "curl"),
    ("entra", "curl of the same pages"),
    ("lookup", "a plan without it"),
];
/// A job without a lookup, and what makes it one with a lookup.
const CONFIG: &str = r#"
[api]
base_url = "BASE_URL/v1"
api_key = "sandbox-key"
[state]
dir = "state"
[status]
listen = ""
[[job]]
name = "staff"
target = "staff"
key = "{{ employee_no }}"
match_on = ["employee_id"]
[job.source]
type = "csv"
path = "staff.csv"
settle = "0s"
[job.map]
name = "{{ name }}"
employee_id = "{{ employee_no }}"
email = "{{ email }}"
"#;
const LOOKUP: &str = r#"
title = "{{ directory.title }}"
[job.lookup.directory]
on = "{{ email }}"
key = "{{ email }}"
[job.lookup.directory.source]
type = "csv"
path = "staff.csv"
settle = "0s"
"#;

fn main() {
    if let Ok(reader) = env::var(READER) {
        return measure(&reader);
    }
    let people = env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(100_000);
    let dir = tempfile::tempdir().unwrap();
    lay_down_csv(&dir.path().join("staff.csv"), people);
    lay_down_workbook(&dir.path().join("staff.xlsx"), people);
    let url = serve(dir.path(), people);
    let mut service = serve_empty(dir.path());
    for (kind, tool) in KINDS {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bare.push(in_a_child("bare", kind, dir.path(), &url));
            ours.push(in_a_child("rosterd", kind, dir.path(), &url));
        }
        let ((theirs, their_peak), (ours, peak)) = (middle(bare), middle(ours));
        println!(
            "{kind}, {people} people: {tool} {theirs:.3} s, peak {their_peak:.1} MiB; rosterd {ours:.3} s, \
             ratio {:.2}, peak {peak:.1} MiB",
            ours / theirs
        );
    }
    service.kill().unwrap();
    service.wait().unwrap();
}

/// Begins a service without people, and writes configurations that use it.
fn serve_empty(dir: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.args(["sandbox", "--rate", "0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let config = CONFIG.replace("BASE_URL", line.trim().strip_prefix("listening on ").unwrap());
    for (name, text) in [("bare.toml", config.clone()), ("lookup.toml", config + LOOKUP)] {
        let file = dir.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    child
}

/// The time in the middle, and the most memory of all.
fn middle(mut measured: Vec<(f64, f64)>) -> (f64, f64) {
    measured.sort_by(|one, other| one.0.total_cmp(&other.0));
    (measured[measured.len() / 2].0, measured.iter().map(|(_, peak)| *peak).fold(0.0, f64::max))
}

fn in_a_child(reader: &str, kind: &str, dir: &Path, url: &str) -> (f64, f64) {
    let reader = format!("{reader} {kind}");
    let mut child = Command::new(env::current_exe().unwrap());
    let ran = child.env(READER, &reader).env(DIR, dir).env(URL, url).output().unwrap();
    assert!(ran.status.success(), "{reader}: {}", String::from_utf8_lossy(&ran.stderr));
    let said = String::from_utf8(ran.stdout).unwrap();
    let (seconds, peak) = said.trim().split_once(' ').unwrap();
    (seconds.parse().unwrap(), peak.parse().unwrap())
}

/// Reads to the end, and prints the seconds and MiB that it took.
fn measure(reader: &str) {
    let dir = env::var(DIR).unwrap();
    let (dir, url) = (Path::new(&dir), env::var(URL).unwrap());
    let begun = Instant::now();
    match reader.split_once(' ').unwrap() {
        ("bare", "lookup") => by_a_plan(dir, "bare.toml"),
        (_, "lookup") => by_a_plan(dir, "lookup.toml"),
        ("bare", "csv") => by_a_bare_parser(&dir.join("staff.csv")),
        ("bare", "workbook") => by_calamine(&dir.join("staff.xlsx")),
        ("bare", "url") => by_curl(dir, "--output got.csv", &[format!("{url}/staff.csv")]),
        ("bare", _) => {
            let pages = fs::read_to_string(dir.join("pages")).unwrap();
            by_curl(dir, "--output pages.json", &pages.lines().map(str::to_owned).collect::<Vec<_>>());
        }
        (_, kind) => by_rosterd(kind, dir, &url),
    }
    let seconds = begun.elapsed().as_secs_f64();
    // What the kernel says of this process itself, by getrusage, is no less than what its parent had.
    let of_tool = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    let peak = if of_tool > 0 { of_tool as f64 } else { own_peak() };
    println!("{seconds} {}", peak / 1024.0);
}

/// In KiB.
fn own_peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn by_a_bare_parser(file: &Path) {
    let mut reader = csv::ReaderBuilder::new().from_path(file).unwrap();
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).unwrap() {}
}

fn by_calamine(file: &Path) {
    let mut book: calamine::Xlsx<_> = calamine::open_workbook(file).unwrap();
    let sheet = book.sheet_names()[0].clone();
    let mut cells = book.worksheet_cells_reader(&sheet).unwrap();
    while cells.next_cell().unwrap().is_some() {}
}

fn by_curl(dir: &Path, output: &str, urls: &[String]) {
    let lines: String = urls.iter().map(|url| format!("url = \"{url}\"\n")).collect();
    fs::write(dir.join("curlrc"), lines).unwrap();
    let mut curl = Command::new("curl");
    curl.current_dir(dir).args(["--disable", "--silent", "--show-error", "--fail", "--config", "curlrc"]);
    let ran = curl.args(output.split(' ')).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Plans a first run.
fn by_a_plan(dir: &Path, config: &str) {
    let mut rosterd = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    let ran = rosterd.current_dir(dir).args(["--config", config, "--json", "plan"]).stdout(Stdio::null()).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Reads the way a run does.
fn by_rosterd(kind: &str, dir: &Path, url: &str) {
    let source = match kind {
        "csv" => Source::Csv(file(&dir.join("staff.csv"))),
        "workbook" => Source::Csv(file(&dir.join("staff.xlsx"))),
        "url" => Source::Web(Box::new(https::Options::at(Address::parse(&format!("{url}/staff.csv")).unwrap()))),
        _ => Source::Entra(Box::new(tenant(url))),
    };
    let needs: &[&str] = match kind {
        "entra" => &["employee_id", "display_name", "mail", "job_title"],
        _ => &["employee_no", "name", "email", "title"],
    };
    let need = |name: &&str| ColumnRequirement { name: Name::Plain((*name).to_owned()), optional: false };
    let wanted = RequiredColumns { needs: needs.iter().map(need).collect(), ..RequiredColumns::default() };
    let (clock, logins) = (Clock::system(), RefusedLogins::unremembered());
    let mut digests = 0;
    let read = read(&source, &wanted, Access::of_a_person(&clock, &logins, dir), &mut |row| {
        digests ^= row.digest;
        ControlFlow::Continue(())
    });
    let read = read.unwrap();
    assert!(read.incomplete().is_empty() && digests != 0, "{:?}", read.incomplete());
}

fn file(path: &Path) -> files::Options {
    files::Options { settle: Duration::ZERO, ..files::Options::at(path) }
}

fn tenant(url: &str) -> entra::Options {
    entra::Options {
        tenant: "tenant".to_owned(),
        client_id: "app".to_owned(),
        credential: entra::Credential::Secret(SecretSource::Text("secret".into())),
        filter: None,
        groups: Vec::new(),
        select: Vec::new(),
        optional: Vec::new(),
        graph: Address::parse(&format!("{url}/v1.0")).unwrap(),
        login: Address::parse(url).unwrap(),
        ca_file: None,
        proxy: None,
        timeout: entra::Options::TIMEOUT,
    }
}

/// Serves the file, a token, and pages of users with the addresses of all of them in the file `pages`.
fn serve(dir: &Path, people: usize) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let pages: Vec<Vec<u8>> =
        (0..people.div_ceil(PAGE)).map(|number| framed("application/json", &page(&url, number, people))).collect();
    let addresses = (0..pages.len()).map(|number| format!("{url}/v1.0/users?$skiptoken={number}\n"));
    fs::write(dir.join("pages"), addresses.collect::<String>()).unwrap();
    let staff = framed("text/csv", &fs::read_to_string(dir.join("staff.csv")).unwrap());
    let token = framed("application/json", r#"{"access_token":"t","token_type":"Bearer","expires_in":3599}"#);
    let answer = move |target: &str| -> Vec<u8> {
        match target.split_once("skiptoken=") {
            Some((_, number)) => pages[number.parse::<usize>().unwrap()].clone(),
            None if target.starts_with("/v1.0/users") => pages[0].clone(),
            None if target.ends_with("/token") => token.clone(),
            None => staff.clone(),
        }
    };
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || converse(stream.unwrap(), &*answer));
        }
    });
    url
}

fn framed(media_type: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn page(url: &str, number: usize, people: usize) -> String {
    let mut page = String::from("{");
    if number == 0 {
        write!(page, "\"@odata.count\":{people},").unwrap();
    }
    if (number + 1) * PAGE < people {
        write!(page, "\"@odata.nextLink\":\"{url}/v1.0/users?$skiptoken={}\",", number + 1).unwrap();
    }
    page += "\"value\":[";
    for person in number * PAGE..people.min((number + 1) * PAGE) {
        let comma = if person % PAGE == 0 { "" } else { "," };
        write!(
            page,
            "{comma}{{\"id\":\"00000000-0000-0000-0000-{person:012}\",\"employeeId\":\"P{person:07}\",\
             \"displayName\":\"Person {person}\",\"mail\":\"person{person}@example.com\",\"jobTitle\":\"Clerk\"}}"
        )
        .unwrap();
    }
    page + "]}"
}

/// Answers request after request of one connection.
fn converse(stream: TcpStream, answer: &dyn Fn(&str) -> Vec<u8>) {
    let mut incoming = BufReader::new(stream.try_clone().unwrap());
    let mut outgoing = stream;
    loop {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if incoming.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if first.is_empty() {
                first = line;
            } else if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        if std::io::Read::read_exact(&mut incoming, &mut body).is_err() {
            return;
        }
        let target = first.split(' ').nth(1).unwrap();
        if outgoing.write_all(&answer(target)).is_err() {
            return;
        }
    }
}

/// The name of a person, spread out so that it packs no better than names do.
fn name(person: usize) -> u64 {
    (person as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn lay_down_csv(file: &Path, people: usize) {
    let mut out = BufWriter::new(File::create(file).unwrap());
    writeln!(out, "{}", HEADER.join(",")).unwrap();
    for person in 0..people {
        let name = name(person);
        writeln!(out, "P{person:07},Person {name:x},{name:x}@example.com,Clerk").unwrap();
    }
    out.flush().unwrap();
}

/// Writes a workbook as Excel does: texts in a table that the cells share.
fn lay_down_workbook(file: &Path, people: usize) {
    let mut zip = ZipWriter::new(File::create(file).unwrap());
    let mut put = |name: &str, write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        let mut out = BufWriter::new(&mut zip);
        write(&mut out).and_then(|()| out.flush()).unwrap();
    };
    let relationship = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{RELATIONSHIP}/{kind}\" Target=\"{target}\"/>")
    };
    put("_rels/.rels", &|out| {
        write!(out, "<Relationships>{}</Relationships>", relationship("a", "officeDocument", "xl/workbook.xml"))
    });
    put("xl/workbook.xml", &|out| {
        write!(
            out,
            "<workbook xmlns:r=\"{RELATIONSHIP}\"><sheets><sheet name=\"Staff\" sheetId=\"1\" r:id=\"s\"/></sheets></workbook>"
        )
    });
    put("xl/_rels/workbook.xml.rels", &|out| {
        let parts = relationship("s", "worksheet", "s.xml") + &relationship("t", "sharedStrings", "sharedStrings.xml");
        write!(out, "<Relationships>{parts}</Relationships>")
    });
    put("xl/sharedStrings.xml", &|out| {
        write!(out, "<sst>")?;
        HEADER.iter().chain(&["Clerk"]).try_for_each(|text| write!(out, "<si><t>{text}</t></si>"))?;
        for person in 0..people {
            let name = name(person);
            write!(
                out,
                "<si><t>P{person:07}</t></si><si><t>Person {name:x}</t></si><si><t>{name:x}@example.com</t></si>"
            )?;
        }
        write!(out, "</sst>")
    });
    put("xl/s.xml", &|out| {
        let cells = |texts: [usize; 4]| texts.map(|text| format!("<c t=\"s\"><v>{text}</v></c>")).concat();
        write!(out, "<worksheet><sheetData><row>{}</row>", cells([0, 1, 2, 3]))?;
        for text in (0..people).map(|person| 5 + 3 * person) {
            write!(out, "<row>{}</row>", cells([text, text + 1, text + 2, 4]))?;
        }
        write!(out, "</sheetData></worksheet>")
    });
    zip.finish().unwrap();
}
