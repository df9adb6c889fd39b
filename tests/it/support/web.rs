//! A web server that answers with the very bytes that a test says, for what no real one can be made to say: answers that
//! are cut, endless or slow.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    /// Method and target, such as `GET /staff.csv`.
    pub(crate) line: String,
    /// All headers, with their names in lower case.
    pub(crate) headers: String,
    pub(crate) body: String,
}

impl Arrived {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// What is said; at its end the connection is closed.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Bytes(Vec<u8>),
    /// These bytes again and again, for as long as the client listens.
    Endless(Vec<u8>),
    /// The same with a pause after each.
    Drip(Vec<u8>),
}

type Script = Arc<dyn Fn(&Arrived, usize) -> Vec<Part> + Send + Sync>;

/// The server.
pub(crate) struct Web {
    port: u16,
    scheme: &'static str,
    ended: Arc<AtomicBool>,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    script: Arc<Mutex<Script>>,
}

/// An answer of that status and media type with further lines in its head, whole.
pub(crate) fn answer(status: u16, media_type: &str, lines: &str, body: &[u8]) -> Vec<Part> {
    let length = format!("content-length: {}\r\n{lines}", body.len());
    framed(status, media_type, &length, body)
}

/// The same, framed by these lines alone.
pub(crate) fn framed(status: u16, media_type: &str, lines: &str, body: &[u8]) -> Vec<Part> {
    let head =
        format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: {media_type}\r\n{lines}\r\n").into_bytes();
    vec![Part::Bytes([&head, body].concat())]
}

/// A CSV file, whole.
pub(crate) fn file(text: &str) -> Vec<Part> {
    answer(200, "text/csv; charset=utf-8", "", text.as_bytes())
}

impl Web {
    /// Answers each request as `script` says, which gets the number of requests that came before.
    pub(crate) fn start(script: impl Fn(&Arrived, usize) -> Vec<Part> + Send + Sync + 'static) -> Self {
        Self::serving(None, script)
    }

    /// The same over TLS, as `localhost`. It is also a proxy, behind which it is every other server itself.
    pub(crate) fn secured(
        tls: Arc<ServerConfig>,
        script: impl Fn(&Arrived, usize) -> Vec<Part> + Send + Sync + 'static,
    ) -> Self {
        Self::serving(Some(tls), script)
    }

    fn serving(
        tls: Option<Arc<ServerConfig>>,
        script: impl Fn(&Arrived, usize) -> Vec<Part> + Send + Sync + 'static,
    ) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ended, arrived) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let script: Arc<Mutex<Script>> = Arc::new(Mutex::new(Arc::new(script)));
        let (stop, noted, current) = (Arc::clone(&ended), Arc::clone(&arrived), Arc::clone(&script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let script = Arc::clone(&*current.lock().unwrap());
                let (noted, stop, tls) = (Arc::clone(&noted), Arc::clone(&stop), tls.clone());
                std::thread::spawn(move || {
                    let stream = stream.unwrap();
                    match tls.map(|tls| secure(stream.try_clone().unwrap(), tls, &noted)) {
                        None => serve(stream, &*script, &noted, &stop),
                        Some(secured) => secured.map(|stream| serve(stream, &*script, &noted, &stop)).unwrap_or(()),
                    }
                });
            }
        });
        Self { port, scheme, ended, arrived, script }
    }

    /// Answers so from now on, and forgets what arrived.
    pub(crate) fn say(&self, script: impl Fn(&Arrived, usize) -> Vec<Part> + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
        self.arrived.lock().unwrap().clear();
    }

    /// The address of a target such as `/staff.csv`.
    pub(crate) fn url(&self, target: &str) -> String {
        let host = if self.scheme == "https" { "localhost" } else { "127.0.0.1" };
        format!("{}://{host}:{}{target}", self.scheme, self.port)
    }

    /// The lines that name it as the proxy.
    pub(crate) fn as_proxy(&self) -> String {
        format!("proxy = \"http://127.0.0.1:{}\"\n", self.port)
    }

    /// What arrived since.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Begins TLS, after what is said to a proxy.
fn secure(
    mut stream: TcpStream,
    tls: Arc<ServerConfig>,
    noted: &Mutex<Vec<Arrived>>,
) -> Option<StreamOwned<ServerConnection, TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).ok()? == 1 && first == *b"C" {
        let asked = request(&mut stream)?;
        noted.lock().unwrap().push(asked);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    }
    Some(StreamOwned::new(ServerConnection::new(tls).unwrap(), stream))
}

fn serve(
    mut stream: impl Read + Write,
    script: &(dyn Fn(&Arrived, usize) -> Vec<Part> + Send + Sync),
    noted: &Mutex<Vec<Arrived>>,
    stop: &AtomicBool,
) {
    let Some(request) = request(&mut stream) else { return };
    let before = {
        let mut noted = noted.lock().unwrap();
        noted.push(request.clone());
        noted.len() - 1
    };
    let goes_on = || !stop.load(Ordering::SeqCst);
    for part in script(&request, before) {
        match part {
            Part::Bytes(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Part::Endless(bytes) => while goes_on() && stream.write_all(&bytes).is_ok() {},
            Part::Drip(bytes) => {
                while goes_on() && stream.write_all(&bytes).is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }
}

fn request(stream: &mut impl Read) -> Option<Arrived> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let mut more = |bytes: &mut Vec<u8>| {
        let read = stream.read(&mut chunk).ok().filter(|read| *read > 0)?;
        bytes.extend(&chunk[..read]);
        Some(())
    };
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        more(&mut bytes)?;
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let (line, headers) = head.split_once("\r\n")?;
    let headers = headers.lines().map(|line| match line.split_once(':') {
        Some((name, value)) => format!("{}:{value}\n", name.to_lowercase()),
        None => String::new(),
    });
    let (line, headers) = (line.trim_end_matches(" HTTP/1.1").to_owned(), headers.collect::<String>());
    let mut arrived = Arrived { line, headers, body: String::new() };
    let length = arrived.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + length {
        more(&mut bytes)?;
    }
    arrived.body = String::from_utf8_lossy(&bytes[end..]).into_owned();
    Some(arrived)
}
