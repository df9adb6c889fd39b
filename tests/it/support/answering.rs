//! A service of a few lines that answers with the bytes that a test says, one answer a connection, and remembers what
//! arrived.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The service.
pub(crate) struct Answering {
    host: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What is answered in this order; the last one again and again.
    answers: Vec<Vec<u8>>,
    seen: Vec<Seen>,
}

/// One request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Method and target, such as `GET /v1/staff/7`.
    pub(crate) line: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON in {}", self.line))
    }
}

/// An answer of that status, whole and well-framed; without a content type where it is empty.
pub(crate) fn answer(status: u16, content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    if !content_type.is_empty() {
        head.push_str(&format!("content-type: {content_type}\r\n"));
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// A success with a JSON body.
pub(crate) fn json(body: &str) -> Vec<u8> {
    answer(200, "application/json", body.as_bytes())
}

impl Answering {
    /// Begins to listen, on the runtime of the caller.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { host, state }
    }

    /// The API root.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.host)
    }

    /// The token host.
    pub(crate) fn auth_url(&self) -> String {
        self.host.clone()
    }

    /// Answers so from now on, in this order, the last one again and again; forgets what arrived.
    pub(crate) fn answers(&self, answers: &[Vec<u8>]) {
        *self.state.lock().unwrap() = State { answers: answers.to_vec(), seen: Vec::new() };
    }

    /// What arrived since.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }
}

/// Answers one request; hangs up without a word where it is none.
async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let Some(seen) = read(&mut stream).await else { return };
    let answer = {
        let mut state = state.lock().unwrap();
        state.seen.push(seen);
        let number = state.seen.len().min(state.answers.len());
        number.checked_sub(1).map(|index| state.answers[index].clone())
    };
    // A caller that has read enough hangs up first.
    let _ = stream.write_all(&answer.unwrap_or_default()).await;
    let _ = stream.shutdown().await;
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
    let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Seen { line, body: bytes.split_off(end) })
}
