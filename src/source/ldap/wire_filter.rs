//! A filter between the wire and `ldap3`: passes on only checked answers, and no more than are consumed.
//!
//! ```text
//! server ─▶ TLS ─▶ [ look at each message ─▶ wait for room ] ─▶ pair of sockets ─▶ ldap3 ─▶ search
//!                                                  ▲                                        │
//!                                                  └───────────── each item taken ──────────┘
//! ```
//!
//! Invariants:
//! - Every message was looked at ([`ber::message`]) before a byte of it is passed on.
//! - What is passed on and not taken yet takes at most about [`WAITING_COST_MAX`] of memory, or is one message: `ldap3` itself
//!   reads as fast as the server sends, and keeps everything.
//! - Intermediate answers are dropped: none was asked for. They are no sign of life, so the time limit of an answer ends them.
//!
//! Rejected: an own client in the place of `ldap3`, which would need no pair of sockets. It would be an own LDAP library.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::ber::{self, Flaw};
use super::limits::WAITING_COST_MAX;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// What a message and a part of it take in memory besides their bytes, about.
const MESSAGE_COST: usize = 256;
const PART_COST: usize = 64;

/// What is passed on and not taken yet.
#[derive(Clone, Debug)]
pub(super) struct Room {
    free: Arc<Semaphore>,
    /// What each of them took, the first first.
    taken: Arc<Mutex<VecDeque<u32>>>,
}

/// Why nothing is passed on any more.
#[derive(Debug)]
pub(super) enum End {
    /// The connection was closed.
    Closed,
    /// It broke.
    Broken(io::Error),
    /// The server sent what is not passed on.
    Flaw(Flaw),
}

impl Room {
    fn new() -> Self {
        Self { free: Arc::new(Semaphore::new(WAITING_COST_MAX)), taken: Arc::default() }
    }

    /// An item of a search was taken.
    pub(super) fn give(&self) {
        let cost = self.taken.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        self.free.add_permits(cost.map_or(0, |cost| cost as usize));
    }

    /// Waits for room for a message, after what is ready was passed on.
    async fn take(
        &self,
        message: &ber::Message,
        ready: &mut Vec<u8>,
        inner: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let cost = (message.length + MESSAGE_COST + message.parts * PART_COST).min(WAITING_COST_MAX);
        let cost = u32::try_from(cost).expect("the most fits");
        let permit = match self.free.try_acquire_many(cost) {
            Ok(permit) => permit,
            Err(_) => {
                inner.write_all(ready).await?;
                ready.clear();
                self.free.acquire_many(cost).await.map_err(io::Error::other)?
            }
        };
        permit.forget();
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push_back(cost);
        Ok(())
    }
}

/// Stands in front of a connection. The socket that is given back is for `ldap3`; the task tells why it ended.
pub(super) fn wire_filter(
    wire: impl AsyncRead + AsyncWrite + Send + 'static,
) -> io::Result<(std::os::unix::net::UnixStream, Room, JoinHandle<End>)> {
    let (outer, inner) = std::os::unix::net::UnixStream::pair()?;
    inner.set_nonblocking(true)?;
    let (from_client, mut to_client) = UnixStream::from_std(inner)?.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(wire);
    let room = Room::new();
    let its = room.clone();
    let task = tokio::spawn(async move {
        let mut from_client = from_client;
        let asks = async {
            let copied = tokio::io::copy(&mut from_client, &mut to_server).await;
            let _ = to_server.shutdown().await;
            copied.map_or_else(End::Broken, |_| End::Closed)
        };
        tokio::select! {
            end = asks => end,
            end = answers(&mut from_server, &mut to_client, &its) => end,
        }
    });
    Ok((outer, room, task))
}

/// Passes answers on until there is a reason not to.
async fn answers(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin), room: &Room) -> End {
    let mut read: Vec<u8> = Vec::with_capacity(CHUNK_BYTES);
    let mut ready: Vec<u8> = Vec::with_capacity(CHUNK_BYTES);
    loop {
        let mut at = 0;
        loop {
            let message = match ber::message(&read[at..]) {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(flaw) => {
                    // What came before it is true.
                    let _ = to.write_all(&ready).await;
                    return End::Flaw(flaw);
                }
            };
            let passed = matches!(message.operation, ber::ENTRY | ber::REFERENCE | ber::DONE);
            if passed && let Err(error) = room.take(&message, &mut ready, to).await {
                return End::Broken(error);
            }
            if message.operation != ber::INTERMEDIATE {
                ready.extend_from_slice(&read[at..at + message.length]);
            }
            at += message.length;
        }
        read.drain(..at);
        if let Err(error) = to.write_all(&ready).await {
            return End::Broken(error);
        }
        ready.clear();
        read.reserve(CHUNK_BYTES);
        match from.read_buf(&mut read).await {
            Ok(0) => return End::Closed,
            Ok(_) => {}
            Err(error) => return End::Broken(error),
        }
    }
}

/// Reads one message to its end and not a byte further.
pub(super) async fn one_message(from: &mut (impl AsyncRead + Unpin)) -> Result<ber::Message, End> {
    let mut read = Vec::new();
    loop {
        if let Some(message) = ber::message(&read).map_err(End::Flaw)? {
            return Ok(message);
        }
        // Few bytes, asked for once in a connection.
        read.push(from.read_u8().await.map_err(End::Broken)?);
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// An answer without content.
    fn answer(operation: u8) -> Vec<u8> {
        vec![0x30, 5, 0x02, 1, 7, operation, 0]
    }

    async fn passed(sent: Vec<u8>) -> (Vec<u8>, End) {
        let (mut server, wire) = tokio::io::duplex(sent.len() + 1);
        server.write_all(&sent).await.unwrap();
        server.shutdown().await.unwrap();
        let (socket, _, task) = wire_filter(wire).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut passed = Vec::new();
        UnixStream::from_std(socket).unwrap().read_to_end(&mut passed).await.unwrap();
        (passed, task.await.unwrap())
    }

    #[tokio::test]
    async fn what_was_looked_at_is_passed_on_up_to_the_first_flaw() {
        let (entry, intermediate) = (answer(ber::ENTRY), answer(ber::INTERMEDIATE));
        for (name, sent, expected, flawed) in [
            ("two", [entry.clone(), entry.clone()].concat(), entry.repeat(2), false),
            ("one that is not whole", [entry.clone(), entry[..4].to_vec()].concat(), entry.clone(), false),
            (
                "an answer to no request",
                [intermediate.clone(), entry.clone(), intermediate].concat(),
                entry.clone(),
                false,
            ),
            (
                "garbage behind one",
                [entry.clone(), b"HTTP/1.1 400".to_vec(), entry.clone()].concat(),
                entry.clone(),
                true,
            ),
        ] {
            let (seen, end) = passed(sent).await;
            assert_eq!((seen, matches!(end, End::Flaw(Flaw::Garbled))), (expected, flawed), "{name}: {end:?}");
        }
    }

    #[tokio::test]
    async fn no_more_is_passed_on_than_there_is_room_for() {
        let entry = answer(ber::ENTRY);
        let room_for = WAITING_COST_MAX / (entry.len() + MESSAGE_COST + 2 * PART_COST);
        let total = 3 * room_for;
        let (mut server, wire) = tokio::io::duplex(CHUNK_BYTES);
        let sends = tokio::spawn(async move {
            for _ in 0..total {
                server.write_all(&answer(ber::ENTRY)).await.unwrap();
            }
            server
        });
        let (socket, room, _task) = wire_filter(wire).unwrap();
        socket.set_nonblocking(true).unwrap();
        let socket = UnixStream::from_std(socket).unwrap();
        let (mut seen, mut taken, mut buffer) = (0, 0, vec![0; CHUNK_BYTES]);
        while seen < total * entry.len() {
            match socket.try_read(&mut buffer) {
                Ok(read) => seen += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Tasks that can continue do so before one more is taken.
                    for _ in 0..100 {
                        tokio::task::yield_now().await;
                    }
                    if seen / entry.len() > taken {
                        taken += 1;
                        room.give();
                    }
                }
                Err(error) => panic!("{error}"),
            }
            assert!(seen / entry.len() <= room_for + taken, "{seen} bytes were passed on, and {taken} messages taken");
        }
        drop(sends.await.unwrap());
    }
}
