//! A gate at which requests wait until it is opened.

use tokio::sync::watch;

/// The gate before what a fault holds.
pub(crate) struct Gate {
    state: watch::Sender<GateState>,
}

#[derive(Default)]
struct GateState {
    /// How often it was opened.
    opened: u64,
    /// How many wait since it was opened last.
    waiting: usize,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { state: watch::Sender::new(GateState::default()) }
    }

    /// Waits until the gate is opened the next time.
    pub(crate) async fn wait(&self) {
        let mut seen = self.state.subscribe();
        let mut opened = 0;
        self.state.send_modify(|state| {
            state.waiting += 1;
            opened = state.opened;
        });
        // The sender lives as long as this gate.
        let _ = seen.wait_for(|state| state.opened > opened).await;
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.state.borrow().waiting
    }

    /// Lets those go on that wait now, and tells how many they were. Who comes later waits again.
    pub(crate) fn open(&self) -> usize {
        let mut released = 0;
        self.state.send_modify(|state| {
            released = std::mem::take(&mut state.waiting);
            state.opened += 1;
        });
        released
    }
}
