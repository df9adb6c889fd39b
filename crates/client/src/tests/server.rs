//! A service of a few lines: one answer per connection, as scripted, and a record of what came.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::Client;
use crate::clock::Clock;
use crate::options::{Credential, Options, SecretSource};
use crate::retry::Backoff;

/// What came in.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Method and target, for example `GET /v1/staff`.
    pub(super) line: String,
    /// The header lines, names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What goes out.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// These bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// Nothing for so long.
    Stall(Duration),
}

/// A JSON answer.
pub(super) fn json(status: u16, body: &str) -> Reply {
    answer(status, &[("content-type", "application/json")], body.as_bytes())
}

pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut bytes = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    bytes.push_str("date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    for (name, value) in headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body);
    Reply::Bytes(bytes)
}

/// Bytes as they are.
pub(super) fn bytes(text: &str) -> Reply {
    Reply::Bytes(text.as_bytes().to_vec())
}

pub(super) struct Server {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Answers each request by what `script` says to it and to its number, from 0.
    pub(super) async fn start(script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (script, record) = (Arc::new(script), seen.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, record) = (script.clone(), record.clone());
                tokio::spawn(async move { serve(stream, &*script, &record).await });
            }
        });
        Self { url, seen }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The lines of what came below `/v1`.
    pub(super) fn calls(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).filter(|line| line.contains(" /v1/")).collect()
    }

    /// How often a token was asked for.
    pub(super) fn tokens(&self) -> usize {
        self.seen().iter().filter(|seen| seen.line == "POST /oauth2/token").count()
    }

    pub(super) fn options(&self) -> Options {
        let credential = Credential::ApiKey(SecretSource::Text("k3y-canary".into()));
        let options = Options::new(format!("{}/v1", self.url), credential);
        Options { requests_per_minute: 1_000, timeout: Duration::from_secs(20), page_size: 100, ..options }
    }

    /// The options with the other kind of credential.
    pub(super) fn oauth(&self, secret: SecretSource) -> Options {
        let credential = Credential::Client {
            auth_url: self.url.clone(),
            client_id: "rosterd".to_owned(),
            secret,
            scopes: vec!["staff:read".to_owned(), "staff:write".to_owned()],
        };
        Options { credential, ..self.options() }
    }

    pub(super) fn client(&self) -> Client {
        client(&self.options())
    }
}

/// Lets time pass only while everything waits, and in small steps: what answers does so long before its time is over, however
/// slow the machine is.
pub(super) fn ticking() {
    tokio::time::pause();
    tokio::spawn(async {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

/// A client that waits little between attempts.
pub(super) fn client(options: &Options) -> Client {
    Client::build(options, &Clock::system(), Backoff([5, 10])).unwrap()
}

async fn serve(mut stream: TcpStream, script: &(dyn Fn(&Seen, usize) -> Reply + Sync), record: &Mutex<Vec<Seen>>) {
    let Some(seen) = read(&mut stream).await else { return };
    let number = {
        let mut record = record.lock().unwrap();
        record.push(seen.clone());
        record.len() - 1
    };
    match script(&seen, number) {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Stall(duration) => tokio::time::sleep(duration).await,
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut seen = Seen { line, headers, body: String::new() };
    let length: usize = seen.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    seen.body = String::from_utf8_lossy(&bytes[end..end + length]).into_owned();
    Some(seen)
}
