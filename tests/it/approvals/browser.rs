//! A browser of a few lines, which keeps cookies and says from where a form comes, and does neither where a test wants that.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::support::daemon::eventually;

/// The browser.
#[derive(Clone)]
pub(super) struct Browser {
    pub(super) place: Place,
    pub(super) host: String,
    pub(super) cookies: BTreeMap<String, String>,
    /// Headers of each request, such as those of a proxy.
    pub(super) headers: Vec<(String, String)>,
}

#[derive(Clone)]
pub(super) enum Place {
    Port(u16),
    Socket(PathBuf),
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    /// The value of the first header of that name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of the first field of that name in a form.
    pub(super) fn field(&self, name: &str) -> String {
        let begin = format!("name=\"{name}\" value=\"");
        let (_, rest) = self.body.split_once(&begin).unwrap_or_else(|| panic!("no {name}: {self:?}"));
        rest.split('"').next().unwrap().to_owned()
    }

    /// What the box beside a change of this key sends where it is ticked.
    pub(super) fn tick(&self, key: &str) -> &str {
        let boxes = self.body.split("type=\"checkbox\" name=\"key\" value=\"").skip(1);
        let mut ticks = boxes.filter_map(|rest| rest.split_once("\" form=\"decision\" aria-label=\""));
        let label = format!("{key}\"");
        let (tick, _) =
            ticks.find(|(_, rest)| rest.starts_with(&label)).unwrap_or_else(|| panic!("no {key}: {self:?}"));
        tick
    }

    /// Fails unless it has this status.
    pub(super) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl Browser {
    pub(super) fn at(port: u16) -> Self {
        Self {
            place: Place::Port(port),
            host: format!("127.0.0.1:{port}"),
            cookies: BTreeMap::new(),
            headers: Vec::new(),
        }
    }

    /// A proxy on a socket, for that host.
    pub(super) fn on(socket: PathBuf, host: &str) -> Self {
        Self { place: Place::Socket(socket), host: host.to_owned(), cookies: BTreeMap::new(), headers: Vec::new() }
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn get(&mut self, target: &str) -> Answer {
        self.send("GET", target, &[], "")
    }

    /// Sends a form as a page of the same site does.
    pub(super) fn post(&mut self, target: &str, form: &[(&str, &str)]) -> Answer {
        self.send("POST", target, &[("Sec-Fetch-Site", "same-origin")], &encoded(form))
    }

    /// Sends a request with these headers besides `Host` and cookies; one that begins with a body is a form.
    pub(super) fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n", self.host);
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.cookies.is_empty() {
            let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            head += &format!("Cookie: {}\r\n", pairs.join("; "));
        }
        if method == "POST" {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                head += "Content-Type: application/x-www-form-urlencoded\r\n";
            }
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let answer = self.exchange(&format!("{head}\r\n{body}"));
        for cookie in answer.headers("set-cookie") {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            match value.is_empty() {
                true => drop(self.cookies.remove(name)),
                false => drop(self.cookies.insert(name.to_owned(), value.to_owned())),
            }
        }
        answer
    }

    fn exchange(&self, request: &str) -> Answer {
        let bytes = match &self.place {
            Place::Port(port) => exchange(connected(|| TcpStream::connect(("127.0.0.1", *port))), request),
            Place::Socket(path) => exchange(connected(|| UnixStream::connect(path)), request),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!rosterd::record::is_marked(&text), "it shows the marks around what names a person: {text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0);
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Answer { status, headers, body: body.to_owned() }
    }
}

/// A connection; the place may change hands at this moment, and is tried again.
fn connected<T>(connect: impl Fn() -> io::Result<T>) -> T {
    let mut stream = connect();
    eventually("someone answers there", || {
        if stream.is_err() {
            stream = connect();
        }
        stream.is_ok()
    });
    stream.unwrap()
}

/// One that is refused early may be closed before it was read.
fn exchange(mut stream: impl Read + Write, request: &str) -> Vec<u8> {
    let _ = stream.write_all(request.as_bytes());
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

/// The body of a form.
pub(super) fn encoded(form: &[(&str, &str)]) -> String {
    let text = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    form.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect::<Vec<_>>().join("&")
}
