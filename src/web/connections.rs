//! Connections to a page, within limits.
//!
//! Everybody on this machine may connect, and no one who does may stop the daemon, which needs files for its own work. So
//! there is a limit on connections, on the time until a request is there, and on that of a whole connection; each answers
//! one request and ends, so that none is idle. Where all places are taken, the oldest without a request makes room.
//!
//! Rejected: to stop accepting at the limit. Silent connections would then hold up every other until their time is over.

use std::io;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::admission::{Admission, Silence};

/// How much of a request's head is kept in memory.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long to wait where no connection can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits of all connections together, and of each.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long a request may take to arrive.
    pub head: Duration,
    /// How long a connection may last.
    pub whole: Duration,
}

impl Limits {
    /// A small part of the files that a process may have open: the rest is for the daemon's own work.
    pub const STANDARD: Self = Self { connections: 64, head: Duration::from_secs(5), whole: Duration::from_secs(30) };
}

/// Where connections come from.
pub trait Listener {
    /// One of them.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Waits for the next.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        Ok(self.accept().await?.0)
    }
}

/// Serves connections for as long as it is polled.
pub async fn serve(listener: impl Listener, router: Router, limits: Limits) {
    let mut admission = Admission::new(limits.connections);
    loop {
        match listener.next().await {
            Ok(stream) => {
                if !admission.make_room().await {
                    admission.close_oldest().await;
                }
                let router = router.clone();
                admission.admit(|silence| answer(stream, router, limits, silence));
            }
            Err(error) => {
                tracing::debug!(%error, "a connection to a page could not be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers one request.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    limits: Limits,
    silence: Silence,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        silence.end();
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that disconnects or is too slow needs no answer.
    let _ = tokio::time::timeout(limits.whole, connection).await;
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::net::SocketAddr;

    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const LIMITS: Limits = Limits { connections: 4, head: Duration::from_secs(5), whole: Duration::from_secs(30) };

    /// A server that answers `/` at once and `/never` not at all.
    async fn served() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/", get(async || "here"))
            .route("/never", get(async || std::future::pending::<()>().await));
        tokio::spawn(serve(listener, router, LIMITS));
        address
    }

    async fn begun(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// What is answered until the connection is closed.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        // One that was closed unread is reset.
        let _ = stream.read_to_end(&mut text).await;
        String::from_utf8(text).unwrap()
    }

    const WHOLE: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[tokio::test]
    async fn those_who_say_nothing_keep_no_one_out() {
        let address = served().await;
        for begin in ["", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\nX: "] {
            let mut silent = VecDeque::new();
            for _ in 0..5 * LIMITS.connections {
                silent.push_back(begun(address, begin).await);
            }
            assert!(rest(begun(address, WHOLE).await).await.ends_with("here"), "{begin:?}");
            // The first of them were closed for the later ones.
            for _ in 0..4 * LIMITS.connections {
                assert_eq!(rest(silent.pop_front().unwrap()).await, "", "{begin:?}");
            }
        }
    }

    #[tokio::test]
    async fn who_waits_for_an_answer_stays_before_who_says_nothing() {
        let address = served().await;
        let mut waiting = begun(address, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let mut silent = Vec::new();
        for _ in 0..5 * LIMITS.connections {
            assert!(rest(begun(address, WHOLE).await).await.ends_with("here"));
            silent.push(begun(address, "GET").await);
        }
        let mut byte = [0];
        let read = tokio::time::timeout(Duration::from_millis(1), waiting.read(&mut byte)).await;
        assert!(read.is_err(), "it is still open: {read:?}");
        // Where all of them wait for an answer, the oldest goes.
        let mut others = Vec::new();
        for _ in 0..LIMITS.connections {
            others.push(begun(address, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n").await);
        }
        assert!(rest(begun(address, WHOLE).await).await.ends_with("here"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_has_its_time_and_answers_one_request() {
        let address = served().await;
        for (begin, longest) in [
            ("", LIMITS.head),
            ("GET / HTTP/1.1\r\n", LIMITS.head),
            ("GET /never HTTP/1.1\r\nHost: x\r\n\r\n", LIMITS.whole),
            (WHOLE, Duration::ZERO),
        ] {
            let asked = tokio::time::Instant::now();
            rest(begun(address, begin).await).await;
            let took = asked.elapsed();
            assert!(longest <= took && took < longest + Duration::from_secs(1), "{begin:?}: {took:?}");
        }
        let twice = rest(begun(address, &WHOLE.repeat(2)).await).await;
        assert_eq!(twice.matches("HTTP/1.1 200").count(), 1, "{twice}");
    }
}
