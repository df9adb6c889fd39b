//! What an account has while another worker has its state: its control socket, its page, and the place of the pages for
//! decisions. Who asks there is answered by the worker that has it, or hears which one that is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::{JoinHandle, JoinSet};

use super::claims::approvals_of;
use super::shared::Shared;
use crate::api::Traffic;
use crate::clock::Clock;
use crate::config::{Config, Instance, Notify};
use crate::daemon::decisions;
use crate::daemon::page::OnPage;
use crate::daemon::state::owner_of;
use crate::notify::Notifier;
use crate::status::{Counters, Gather, ShownAccount, Snapshot};
use crate::store::{Home, Relay};

/// What stands by.
pub(super) struct StandBy {
    view: Arc<HolderView>,
    on_page: Option<OnPage>,
    decisions: Option<JoinHandle<()>>,
    /// Notifies people; ends with this.
    _telling: JoinSet<()>,
}

impl StandBy {
    /// Begins to stand by, for an account whose state another worker has.
    pub(super) async fn begin(
        config: &Config,
        shared: &Shared,
        name: Option<&Instance>,
        relay: Arc<dyn Relay>,
    ) -> Self {
        let view = Arc::<HolderView>::default();
        // What several accounts have is shown by their process.
        let on_page = match name {
            None => {
                let shown = ShownAccount::new(None, Arc::<HolderView>::clone(&view), Arc::default());
                shared.pages.put_on(&config.status, shown, &shared.clock).await
            }
            Some(_) => None,
        };
        let decisions = config.approvals.clone().map(|approvals| {
            let held = shared.claims.take(&owner_of(name), vec![approvals_of(&approvals.login)]);
            tokio::spawn(async move {
                // Another account of this process has the place, or no one does.
                if let Ok(_held) = held {
                    decisions::stand_by(approvals, relay).await;
                }
            })
        });
        let (home, notify) = (config.state.home.clone(), config.notify.clone());
        let mut telling = JoinSet::new();
        telling.spawn(async move { tell_of_standing_by(&home, &notify).await });
        Self { view, on_page, decisions, _telling: telling }
    }

    /// Why it stands by, for its page.
    pub(super) fn says(&self, reason: &str) {
        *self.view.0.lock().unwrap_or_else(PoisonError::into_inner) = reason.to_owned();
    }

    /// Gives the place of the pages for decisions up: the account begins.
    pub(super) async fn leave_decisions(&mut self) {
        if let Some(decisions) = self.decisions.take() {
            decisions.abort();
            // The place is free once it has ended.
            let _ = decisions.await;
        }
    }

    /// Leaves the page, unless the account that runs is shown there.
    pub(super) fn leave_page(&mut self, shared: &Shared, runs: Option<&OnPage>) {
        if let Some(before) = self.on_page.take()
            && runs.is_none_or(|runs| !runs.is_same(&before))
        {
            shared.pages.take_off(&before);
        }
    }
}

/// Sends a notice that a worker which could not begin stands by now, where people were notified of that.
async fn tell_of_standing_by(home: &Home, notify: &Notify) {
    if notify.is_off() {
        return;
    }
    let Ok(mut teller) = Notifier::of_machine(home, notify, &Arc::new(Counters::default())) else { return };
    let clock = Clock::system();
    teller.up(clock.now());
    loop {
        teller.deliver(clock.now()).await;
        let Some(wait) = teller.due_in(clock.now()) else { return };
        tokio::time::sleep(wait.max(Duration::from_secs(1))).await;
    }
}

/// How things are at a worker that stands by.
#[derive(Default)]
struct HolderView(Mutex<String>);

impl HolderView {
    fn words(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Gather for HolderView {
    fn snapshot(&self) -> BoxFuture<'_, Result<Snapshot, String>> {
        Box::pin(std::future::ready(Err(self.words())))
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn is_alive(&self) -> bool {
        true
    }

    fn elsewhere(&self) -> Option<String> {
        Some(self.words())
    }
}
