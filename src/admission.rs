//! Connections that have not sent a request yet.
//!
//! A client that connects may send nothing. Of those connections there is a limit, and a new one closes the oldest:
//! silent connections keep no other one out, and take no more of the process's files than these.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::task::JoinHandle;

const SILENT: u8 = 0;
const HEARD: u8 = 1;
const CLOSED: u8 = 2;

/// Whether a connection has said what it wants.
#[derive(Clone, Debug, Default)]
pub struct Silence(Arc<AtomicU8>);

impl Silence {
    /// It has. False where it was just closed.
    pub fn end(&self) -> bool {
        self.leave(HEARD) || self.0.load(Ordering::SeqCst) == HEARD
    }

    fn leave(&self, state: u8) -> bool {
        self.0.compare_exchange(SILENT, state, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

/// The connections that are open, in the order in which they came; each has a task.
#[derive(Debug)]
pub struct Admission {
    open: VecDeque<(JoinHandle<()>, Silence)>,
    max: usize,
}

impl Admission {
    /// Room for `max` connections.
    pub fn new(max: usize) -> Self {
        Self { open: VecDeque::with_capacity(max), max }
    }

    /// Closes the oldest silent connections as far as there is no room for another. False where those that are open have
    /// all said what they want.
    pub async fn make_room(&mut self) -> bool {
        self.open.retain(|(task, _)| !task.is_finished());
        while self.open.len() >= self.max {
            let Some(oldest) = self.open.iter().position(|(_, silence)| silence.leave(CLOSED)) else { return false };
            self.close(oldest).await;
        }
        true
    }

    /// Closes the oldest connection, whatever it waits for.
    pub async fn close_oldest(&mut self) {
        self.close(0).await;
    }

    /// Serves a connection.
    pub fn admit<F: Future<Output = ()> + Send + 'static>(&mut self, serve: impl FnOnce(Silence) -> F) {
        let silence = Silence::default();
        self.open.push_back((tokio::spawn(serve(silence.clone())), silence));
    }

    async fn close(&mut self, at: usize) {
        if let Some((task, _)) = self.open.remove(at) {
            task.abort();
            // Until it is gone it has its file.
            let _ = task.await;
        }
    }
}
