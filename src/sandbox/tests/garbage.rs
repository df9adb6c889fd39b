//! Garbage in every place of a request to every operation: it is refused, never fatal, and leaves nothing broken.
//!
//! By default 4,000 requests are made up, the same in every run; `ROSTERD_CASES` asks for another number of them and
//! `ROSTERD_SEED` for others. A failure names its case and shows the request.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::sandbox::chance;
use crate::sandbox::operation::{Operation, operations};
use crate::sandbox::tables::RESOURCES;
use crate::sandbox::xml;

const CASES: u64 = 4_000;

/// After how many cases a proper request must be answered.
const CHECK_EVERY: u64 = 250;

/// Texts that readers stumble over.
const AWKWARD: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "1",
    "1.5",
    "+7",
    "1e9",
    "NaN",
    "true",
    "null",
    "2147483648",
    "9223372036854775808",
    "99999999999999999999999999",
    "-0",
    "é",
    "名",
    "😀",
    "\u{0}",
    "\u{7f}",
    "\u{FFFE}",
    "\u{202E}x",
    "a\r\nb: c",
    "'",
    "\"",
    "\\",
    "..",
    "../..",
    "/",
    "//",
    "%",
    "%%",
    "%zz",
    "&",
    "<",
    ">",
    "]]>",
    ":",
    ",",
    ";",
    "~",
    "=",
    "[]",
    "{}",
    "onsite",
    "offsite",
    "2026-02-30",
    "2026-02-28",
    "9999-12-31",
    "-262144-01-01",
    "2026-02-28T25:61:61",
    "2026-02-28T23:59:59",
    "2026-02-28T23:59:59+99:99",
    "Pacific/Auckland",
    "UTC",
    "ana@example.com",
    "+64 (0)",
    "00000000000",
    "staff",
    "sp",
    "add",
    "__proto__",
    "_x0000_",
];

/// Pieces of filters.
const FILTERS: &[&str] = &[
    "id",
    ">",
    "<",
    ":",
    "~",
    "%",
    ",",
    "name",
    "created",
    "token",
    "cf",
    "customfields",
    "modified",
    "tokens",
    "7",
    "x",
    " ",
    "''",
    "2026-01-01",
    "%%%%%%%%%%%%a",
    "onsite_status",
    "location_id",
    "-",
    "1e308",
    "\u{0}",
];

const HEADERS: &[&str] =
    &["if-modified-since", "accept", "content-type", "accept-language", "range", "x-garbage", "expect-not"];

const MEDIA: &[&str] = &[
    "application/json",
    "application/xml",
    "text/xml",
    "text/csv",
    "image/png",
    "image/jpeg",
    "application/json; charset=x",
    "multipart/form-data",
    "",
    "*/*",
    "application/xml;q=0",
    ";;;,,,/",
    "application/*;q=1.5,text/xml;q=x",
];

/// Chance that is the same in every run.
struct Dice {
    seed: u64,
    thrown: u64,
}

/// A request as bytes.
struct Garbage {
    operation: &'static Operation,
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.thrown += 1;
        usize::try_from(chance::bits(self.seed, self.thrown) % limit as u64).unwrap()
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most);
        (0..length).map(|_| u8::try_from(self.below(256)).unwrap()).collect()
    }

    /// A text that is awkward, long or arbitrary.
    fn text(&mut self) -> String {
        match self.below(12) {
            0 => self.pick(AWKWARD).repeat(2000),
            1 => String::from_utf8_lossy(&self.bytes(40)).into_owned(),
            _ => self.pick(AWKWARD).to_owned(),
        }
    }

    fn filter(&mut self) -> String {
        let length = self.below(8);
        (0..length).map(|_| self.pick(FILTERS)).collect()
    }

    fn value(&mut self, depth: usize, ids: &[i64]) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => self.one_in(2).into(),
            2 => self.pick(ids).into(),
            3 => self.pick(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 31, 1 << 53]).into(),
            4 => self.pick(&[0.5, -0.0, 1e300, 1e-300]).into(),
            5 => self.pick(ids).to_string().into(),
            6 | 7 => self.text().into(),
            8 => (0..self.below(4)).map(|_| self.value(depth - 1, ids)).collect::<Vec<_>>().into(),
            _ => self.object(depth - 1, ids),
        }
    }

    /// An object whose keys are names of fields, most often.
    fn object(&mut self, depth: usize, ids: &[i64]) -> Value {
        let members = (0..self.below(8)).map(|_| {
            let fields = self.pick(RESOURCES).fields;
            let field = &fields[self.below(fields.len())];
            let key = match self.below(8) {
                0 => self.text(),
                1 => self.pick(&["3", "4", "31", "id", "groups", "function", "cf", "customfields", "item"]).to_owned(),
                _ => (*field.inputs.first().unwrap_or(&field.name)).to_owned(),
            };
            (key, self.value(depth, ids))
        });
        Value::Object(members.collect())
    }

    /// An object that has what one resource takes, so that it comes further than a wrong name would.
    fn entity(&mut self, ids: &[i64]) -> Value {
        let resource = self.pick(RESOURCES);
        let inputs: Vec<&str> = resource.fields.iter().filter_map(|field| field.inputs.first().copied()).collect();
        Value::Object(inputs.into_iter().map(|name| (name.to_owned(), self.value(2, ids))).collect())
    }

    fn body(&mut self, ids: &[i64]) -> Vec<u8> {
        let value = match self.below(4) {
            0 => self.value(4, ids),
            1 => self.object(3, ids),
            2 => Value::Array(vec![self.entity(ids), self.object(2, ids)]),
            _ => self.entity(ids),
        };
        let json = value.to_string().into_bytes();
        let mut body = match self.below(8) {
            0 => Vec::new(),
            1 => self.bytes(200),
            2 => ["[", "{\"a\":", "<a>"][self.below(3)].repeat(10_000).into_bytes(),
            3 => format!("name,email,{}\n{},\"{}\n", self.text(), self.text(), self.text()).into_bytes(),
            4 | 5 => xml::document(&json, "staff").unwrap().into_bytes(),
            _ => json,
        };
        if self.one_in(4) && !body.is_empty() {
            let place = self.below(body.len());
            match self.below(3) {
                0 => body.truncate(place),
                1 => body[place] = u8::try_from(self.below(256)).unwrap(),
                _ => body.insert(place, u8::try_from(self.below(256)).unwrap()),
            }
        }
        body
    }

    fn path(&mut self, operation: &Operation, ids: &[i64]) -> String {
        let segment = |segment: &str| {
            if segment.starts_with('{') && !self.one_in(3) {
                self.pick(ids).to_string()
            } else if segment.starts_with('{') || self.one_in(60) {
                let text = self.text();
                if self.one_in(8) { text.replace(['\0', '\r', '\n', ' '], "") } else { encoded(&text) }
            } else {
                segment.to_owned()
            }
        };
        operation.template().split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    fn query(&mut self) -> String {
        let pairs = (0..self.below(4)).map(|_| {
            let name =
                self.pick(&["q", "q", "order", "limit", "page", "id", "time_zone", "group", "sp_member_id", "x"]);
            let value = if name == "q" { self.filter() } else { self.text() };
            let raw = self.one_in(12);
            format!("{name}={}", if raw { value.replace(['\0', '\r', '\n', ' '], "%FF") } else { encoded(&value) })
        });
        pairs.collect::<Vec<_>>().join("&")
    }

    fn request(&mut self, ids: &[i64]) -> Garbage {
        let all: Vec<&Operation> = operations().iter().filter(|operation| !operation.is_token_request()).collect();
        let operation = self.pick(&all);
        let method = if self.one_in(30) { self.pick(&["GET", "PUT", "PATCH", "FROB"]) } else { operation.method };
        let mut head = format!(
            "{method} /v1{}?{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n",
            self.path(operation, ids),
            self.query()
        );
        let credential =
            if self.one_in(40) { self.text().replace(['\0', '\r', '\n'], "") } else { "APIKEY sandbox-key".into() };
        head.push_str(&format!("authorization: {credential}\r\n"));
        if !self.one_in(3) {
            head.push_str(&format!("content-type: {}\r\n", self.pick(&MEDIA[..6])));
        }
        let mut head = head.into_bytes();
        for _ in 0..self.below(3) {
            let name = self.pick(HEADERS);
            let value = match self.below(3) {
                0 => self.bytes(20).into_iter().filter(|byte| !matches!(byte, 0 | b'\r' | b'\n')).collect(),
                1 => self.pick(MEDIA).as_bytes().to_vec(),
                _ => self.text().replace(['\0', '\r', '\n'], "").into_bytes(),
            };
            head.extend([name.as_bytes(), b": ", &value, b"\r\n"].concat());
        }
        let body = if method == "GET" && !self.one_in(10) { Vec::new() } else { self.body(ids) };
        head.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
        Garbage { operation, head, body }
    }
}

impl std::fmt::Display for Garbage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = &self.body[..self.body.len().min(2000)];
        let (head, body) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(start));
        write!(f, "for {}\n{head}{body}", self.operation.name)
    }
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Sends a request and gives the answer's status, media type and body; `None` where there was no answer.
async fn send(address: &str, request: &Garbage) -> Option<(u16, String, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The sandbox may answer a bad head and close before it has the body.
    let _ = stream.write_all(&request.head).await;
    let _ = stream.write_all(&request.body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default().to_owned();
    Some((status, kind, body))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Every list that needs no id, as it is now.
async fn lists(rig: &Rig) -> Vec<(String, Value)> {
    let mut lists = Vec::new();
    for operation in operations().iter().filter(|operation| operation.is_list()) {
        let path = operation.template();
        if !path.contains('{') {
            let (status, list) = rig.get(&path).await;
            assert!(status == 200 && list.is_array(), "{path}: {status}");
            lists.push((path, list));
        }
    }
    lists
}

#[tokio::test]
async fn garbage_is_refused_and_breaks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { seed_staff: 20, rate: 0, data: Some(folder.path().to_owned()), ..Options::default() };
    let rig = rig(options()).await;
    let address = rig.sandbox.auth_url().trim_start_matches("http://").to_owned();
    let mut ids: Vec<i64> = RESOURCES
        .iter()
        .flat_map(|resource| rig.sandbox.all(resource.name))
        .filter_map(|entity| entity["id"].as_i64())
        .collect();
    ids.extend([0, 1, -1]);
    let (cases, seed) = (number("ROSTERD_CASES", CASES), number("ROSTERD_SEED", 1));
    let mut taken = 0;
    for case in 0..cases {
        let mut dice = Dice { seed: chance::bits(seed, case), thrown: 0 };
        let request = dice.request(&ids);
        let answer = timeout(Duration::from_secs(20), send(&address, &request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("case {case} of seed {seed} took too long, {request}"));
        let (status, kind, body) =
            answer.unwrap_or_else(|| panic!("case {case} of seed {seed} got no answer, {request}"));
        let shown =
            || format!("case {case} of seed {seed}: {status} {kind} {}\n{request}", String::from_utf8_lossy(&body));
        assert!(matches!(status, 200..=299 | 400..=499), "{}", shown());
        match kind.as_str() {
            "application/json" => {
                assert!(body.is_empty() || serde_json::from_slice::<Value>(&body).is_ok(), "{}", shown())
            }
            "application/xml" | "text/xml" => assert!(body.is_empty() || xml::value(&body).is_ok(), "{}", shown()),
            _ => {}
        }
        taken += u64::from(status < 300);
        if case % CHECK_EVERY == 0 {
            assert_eq!(rig.get("/location").await.0, 200, "after case {case} of seed {seed}");
        }
    }
    // A generator whose requests are all refused early tests nothing.
    assert!(taken * 20 >= cases, "only {taken} of {cases} were taken");
    // What was taken can be read by everybody, now and after a restart.
    let before = lists(&rig).await;
    rig.sandbox.stop().await;
    let rig = super::rig(options()).await;
    assert_eq!(lists(&rig).await, before);
}
