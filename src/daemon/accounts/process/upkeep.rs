//! What the loop of a process does in each turn: the sign of life, and stores that stay open for too long.

use std::sync::Arc;
use std::time::Duration;

use super::Process;
use crate::daemon::accounts::seat::summary;
use crate::daemon::scheduler::SLEEP_MAX;
use crate::daemon::state::{DaemonState, Said};
use crate::record::JobName;

/// How often it is looked which stores are to be closed.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How soon a sign of life that could not be given is tried again.
const DUE_MIN: Duration = Duration::from_millis(100);

impl Process {
    /// Tells the service manager how things are, and that all is alive.
    pub(super) fn say(&mut self) {
        let engines: Vec<Arc<DaemonState>> = self.running().cloned().collect();
        let said: Vec<Said> = engines.iter().map(|engine| engine.said()).collect();
        let text = match (&self.folder, &said[..]) {
            (None, [only]) => only.summary.clone(),
            (None, _) => return,
            (Some(_), said) => summary(&self.seats, said),
        };
        self.manager.status(&text);
        let turn = engines.iter().all(|engine| engine.is_alive());
        if turn && (said.is_empty() || said.iter().any(|said| said.hung.is_empty())) {
            self.manager.ping();
        } else if self.manager.watchdog_due_in() == Some(Duration::ZERO) {
            let jobs: Vec<&str> = said.iter().flat_map(|said| &said.hung).map(JobName::as_str).collect();
            let jobs = jobs.join(", ");
            tracing::error!(jobs, "runs show no sign of life, so the service manager will restart the daemon: {jobs}");
        }
    }

    pub(super) fn sleep(&self) -> Duration {
        let longest = if self.folder.is_some() { LOOK_EVERY } else { SLEEP_MAX };
        // One that is due already is not given: the accounts hang.
        let due = self.manager.watchdog_due_in().map_or(longest, |due| due.max(DUE_MIN));
        longest.min(due)
    }

    /// Closes the stores that were asked for longest ago, as far as there are more than may stay open.
    pub(super) fn close_stores(&mut self) {
        let mut open: Vec<_> =
            self.running().filter_map(|engine| Some((engine.store_open_since()?, Arc::clone(engine)))).collect();
        let more = open.len().saturating_sub(self.shared.open_stores_max);
        if more == 0 {
            return;
        }
        let Ok(turn) = Arc::clone(&self.closing).try_acquire_owned() else { return };
        open.sort_by_key(|(since, _)| *since);
        let engines: Vec<Arc<DaemonState>> = open.into_iter().take(more).map(|(_, engine)| engine).collect();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            engines.iter().for_each(|engine| engine.span().in_scope(|| engine.rest_store()));
        });
    }
}
