//! The process: signals, the service manager, and the accounts.
//!
//! Invariants:
//! - The loop waits for the next of its inputs only: accounts begin, reload and end in tasks of their own.
//! - The watchdog is fed while the loop of every account turns. An account all of whose work hangs counts only where no
//!   other one works: to end the process for it would end them all.

mod upkeep;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::account::{self, Entered, Entrance, Entry, Identity, Offer, RunningAccount, Start, StartError};
use super::claims::socket_of;
use super::folder::{Accounts, AccountsFolder, FolderError};
use super::pool::{self, FIRST_LOOK, Pool, accounts_of, moved};
use super::seat::{AccountKey, Ask, Asker, Done, Missed, NotBegun, Seat, SeatState, reasons};
use super::serve_error::ServeError;
use super::shared::{Reload, Shared};
use super::unstarted::{Receivers, shown_of, words_of};
use crate::clock::Clock;
use crate::config::{self, Config, Instance, environment};
use crate::daemon::control::{Behind, Commands, NotEntered, Stopped};
use crate::daemon::monitors::{StandbyView, StoppedView};
use crate::daemon::shutdown::CancelToken;
use crate::daemon::signals::{SignalAction, Wishes};
use crate::daemon::state::{DaemonState, LoopEvent};
use crate::daemon::systemd::Manager;
use crate::fault::chain;
use crate::record::reveal;
use crate::status::ShownAccount;
use crate::store::{Membership, Workers};

/// Accounts that begin, reload or end at the same time.
const AT_ONCE: usize = 4;
/// Accounts of a database that begin between two looks at its workers: those that come meanwhile get their share.
const CLAIMS_MAX: usize = 100;

/// Runs the accounts until the process is asked to end.
///
/// # Errors
///
/// Why none could begin.
pub async fn serve(accounts: Accounts, clock: &Clock, commands: Arc<dyn Commands>) -> Result<(), ServeError> {
    // Before the daemon is visible to others: an unhandled signal would end it.
    let wishes = Wishes::hear().map_err(ServeError::Signals)?;
    let (folder, begin): (_, Vec<_>) = match accounts {
        Accounts::One(config) => (None, vec![(None, config.source_path.clone(), Ok(*config))]),
        Accounts::Folder(folder, files) => {
            (Some(folder), files.into_iter().map(|(name, path, config)| (Some(name), path, config)).collect())
        }
    };
    let shared = if folder.is_some() { Shared::of_several(clock) } else { Shared::of_one(clock) };
    let (asks, asked) = mpsc::unbounded_channel();
    let mut process = Process {
        shared,
        commands,
        folder,
        seats: BTreeMap::new(),
        pools: BTreeMap::new(),
        next_number: 0,
        tasks: JoinSet::new(),
        telling: JoinSet::new(),
        turns: Arc::new(Semaphore::new(AT_ONCE)),
        asks,
        last_begun: None,
        closing: Arc::new(Semaphore::new(1)),
        manager: Manager::new(),
        failed: None,
    };
    for (name, path, config) in begin {
        process.seat(name, path, Some(config), None);
    }
    process.run(wishes, asked).await
}

struct Process {
    shared: Arc<Shared>,
    commands: Arc<dyn Commands>,
    /// Where the accounts come from; nothing where there is only one.
    folder: Option<AccountsFolder>,
    seats: BTreeMap<AccountKey, Seat>,
    /// The databases in which accounts lie.
    pools: BTreeMap<String, Pool>,
    next_number: u64,
    tasks: JoinSet<Done>,
    telling: JoinSet<()>,
    turns: Arc<Semaphore>,
    asks: mpsc::UnboundedSender<Ask>,
    /// Ends when the account that was to begin last has what is its own.
    last_begun: Option<oneshot::Receiver<()>>,
    /// Held while stores are closed.
    closing: Arc<Semaphore>,
    manager: Manager,
    /// Why the only account could not begin, or broke off.
    failed: Option<StartError>,
}

impl Process {
    async fn run(mut self, mut wishes: Wishes, mut asked: mpsc::UnboundedReceiver<Ask>) -> Result<(), ServeError> {
        let mut is_ready = false;
        let shared = Arc::clone(&self.shared);
        loop {
            if !is_ready && !self.seats.values().any(|seat| matches!(seat.state, SeatState::Begins(_))) {
                if !self.seats.values().any(|seat| matches!(seat.state, SeatState::Runs(_) | SeatState::StandsBy)) {
                    return self.none_begun().await;
                }
                is_ready = true;
                Manager::ready();
                if self.folder.is_some() {
                    let (accounts, run) = (self.seats.len(), self.running().count());
                    tracing::info!(accounts, run, "{run} of {accounts} accounts are up");
                }
            }
            if let Some(error) = self.failed.take() {
                return Err(error.into());
            }
            if is_ready {
                self.say();
            }
            while self.telling.try_join_next().is_some() {}
            let sleep = tokio::time::sleep(self.sleep());
            tokio::select! {
                wish = wishes.next() => match wish {
                    SignalAction::End => break,
                    SignalAction::RunAll => self.run_all(),
                    SignalAction::Reload => self.reload(),
                },
                Some(done) = self.tasks.join_next() => self.done(done.unwrap_or(Done::Other)).await,
                Some((key, asker)) = asked.recv() => self.retry(&key, Some(asker), None),
                () = shared.changed.notified() => self.close_stores(),
                () = sleep => self.close_stores(),
            }
        }
        self.end(wishes).await
    }

    /// Gives an account its seat, and begins it.
    fn seat(
        &mut self,
        name: Option<Instance>,
        path: PathBuf,
        config: Option<Result<Config, StartError>>,
        told: Option<&Arc<Reload>>,
    ) {
        let key = name.as_ref().map(ToString::to_string).unwrap_or_default();
        self.next_number += 1;
        let identity = Identity { name, number: self.next_number, path };
        let retry = {
            let (asks, key) = (self.asks.clone(), key.clone());
            move || {
                let (asker, answer) = oneshot::channel();
                let is_asked = asks.send((key.clone(), asker)).is_ok();
                async move {
                    let ends = || NotEntered::from("the daemon ends");
                    if is_asked { answer.await.unwrap_or_else(|_| Err(ends())) } else { Err(ends()) }
                }
                .boxed()
            }
        };
        let entrance = Entrance::new(&self.commands, Box::new(retry));
        self.seats.insert(key.clone(), Seat::new(identity, entrance));
        self.begin(&key, config, told);
    }

    /// Begins an account by a configuration, or by its file; one that others may have as well is only offered.
    fn begin(&mut self, key: &str, config: Option<Result<Config, StartError>>, told: Option<&Arc<Reload>>) {
        let is_named = self.seats.get(key).is_some_and(|seat| seat.identity.name.is_some());
        let entry = if is_named { Entry::Offers } else { Entry::Claims };
        self.enter(key, (config, entry), told);
    }

    fn enter(
        &mut self,
        key: &str,
        (config, entry): (Option<Result<Config, StartError>>, Entry),
        told: Option<&Arc<Reload>>,
    ) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        seat.state = SeatState::Begins(entry);
        let (identity, entrance, shared) =
            (seat.identity.clone(), Arc::clone(&seat.entrance), Arc::clone(&self.shared));
        let (turns, told, key) = (Arc::clone(&self.turns), told.cloned(), key.to_owned());
        let (after, next) = oneshot::channel();
        let before = self.last_begun.replace(next);
        let receivers = config.as_ref().and_then(|config| config.as_ref().ok()).map(Receivers::of);
        let span = identity.span();
        let begins = async move {
            // One after the other: of two that want the same, the first by name has it. Before the turn, which only those
            // have who come on.
            if let Some(before) = before {
                let _ = before.await;
            }
            let _turn = turns.acquire_owned().await;
            let _told = told;
            if identity.name.is_some() && CancelToken::by([&shared.stopping]).asked() {
                return Done::Other;
            }
            let (handle, span) = (Handle::current(), identity.span());
            // A store and a configuration are read from a disk, which may take its time.
            let work = tokio::task::spawn_blocking(move || {
                let start = Start { config, entry, after };
                let begun = || handle.block_on(account::begin(&shared, &identity, start, &entrance));
                span.in_scope(begun)
            });
            let begun = work.await.unwrap_or_else(|error| Err(StartError::BrokenOff(error.to_string())));
            Done::Begun(key, Box::new(begun.map_err(|error| NotBegun { error, receivers })))
        };
        self.tasks.spawn(begins.instrument(span));
    }

    async fn done(&mut self, done: Done) {
        match done {
            Done::Begun(key, begun) => match *begun {
                Ok(Entered::Runs(account)) => self.begun(&key, account),
                Ok(Entered::Shares(offer)) => self.offered(&key, offer),
                Err(why) => self.not_begun(&key, why).await,
            },
            Done::Ended(key, result) => self.ended(&key, result).await,
            Done::Looked(place, looked) => self.looked(&place, looked),
            Done::Other => {}
        }
        self.close_stores();
    }

    fn begun(&mut self, key: &str, account: RunningAccount) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        let (engine, entrance, key) = (Arc::clone(&account.engine), Arc::clone(&seat.entrance), key.to_owned());
        for asker in seat.askers.drain(..) {
            // Who went away needs no answer.
            let _ = asker.send(Ok(Arc::clone(&engine)));
        }
        seat.state = SeatState::Runs(Arc::clone(&engine));
        seat.held = None;
        let Missed { runs, reload } = std::mem::take(&mut seat.missed);
        if runs {
            engine.ask([]);
        }
        if reload {
            let told = Arc::new(Reload::begin(&self.shared));
            self.reload_of(engine, &told);
        }
        self.tasks.spawn(async move { Done::Ended(key, account::end(account, &entrance).await) });
    }

    async fn not_begun(&mut self, key: &str, NotBegun { error, receivers }: NotBegun) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        let (owner, path) = (seat.identity.owner(), seat.identity.path.clone());
        if error.stands_by() && seat.pool.is_some() {
            return self.stand_by(key, error.holder());
        }
        if seat.identity.name.is_some() {
            let reason = words_of(&error);
            let text = &*reveal(&reason);
            let log = || tracing::error!(reason = text, "account {owner} does not run: {text}");
            seat.identity.span().in_scope(log);
            let is_refused = matches!(error, StartError::Conflict(_));
            let stopped = Stopped { reason: text.to_owned(), is_refused };
            seat.askers.drain(..).for_each(|asker| _ = asker.send(Err(NotEntered::Stopped(stopped.clone()))));
            let shown =
                ShownAccount::new(Some(key.to_owned()), Arc::new(StoppedView(shown_of(&error))), Arc::default());
            self.shared.pages.show_stopped(key, shown);
            seat.entrance.door.leads_to(Behind::Stopped(stopped));
            // So that `rosterd reload` finds it; another account, or another process, may have that socket.
            let socket = config::locate(&path, environment()).and_then(|located| located.socket);
            let claim = socket.iter().map(|socket| socket_of(socket)).collect();
            seat.held = self.shared.claims.take(&owner, claim).ok();
            let socket = socket.filter(|_| seat.held.is_some());
            if let Err(error) = seat.entrance.listen(socket.as_deref(), &self.shared).await {
                tracing::debug!(%error, "an account that does not run can't be reached: {error}");
            }
            seat.state = SeatState::Stopped(reason);
        }
        let (claims, is_named) = (Arc::clone(&self.shared.claims), seat.identity.name.is_some());
        let tell = async move {
            if let Some(receivers) = receivers.or_else(|| Receivers::at(&path)) {
                receivers.tell(&owner, &claims, &error).await;
            }
            error
        };
        if is_named {
            self.telling.spawn(tell.map(drop));
        } else {
            self.failed = Some(tell.await);
        }
    }

    /// An account could begin, here as well as elsewhere.
    fn offered(&mut self, key: &str, Offer { membership, config, anchor }: Offer) {
        let pool = self.join(membership);
        let Some(seat) = self.seats.get_mut(key) else { return };
        (seat.pool, seat.config) = (Some(pool), Some(config));
        let before = std::mem::replace(&mut seat.anchor, anchor);
        before.iter().for_each(|anchor| self.shared.pages.let_go(anchor));
        self.stand_by(key, None);
    }

    /// An account waits until it is this process's; so far it is at that node, or nowhere.
    fn stand_by(&mut self, key: &str, node: Option<String>) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        let words = node.as_ref().map_or("no worker has it yet".to_owned(), |node| format!("{node} has it"));
        let reason = format!("it stands by: {words}");
        let words = format!("the account does not run: {reason}");
        seat.askers.drain(..).for_each(|asker| _ = asker.send(Err(NotEntered::Elsewhere(words.clone()))));
        self.tasks.spawn(seat.hands_on(reason, &self.shared));
        seat.state = SeatState::StandsBy;
        let shown = ShownAccount::new(Some(key.to_owned()), Arc::new(StandbyView::new(node.clone())), Arc::default());
        self.shared.pages.show_stopped(key, shown);
        seat.node = node;
    }

    /// Takes part among the workers of a database.
    fn join(&mut self, membership: Arc<dyn Membership>) -> String {
        let place = membership.place();
        if !self.pools.contains_key(&place) {
            self.pools.insert(place.clone(), Pool::new(membership));
            self.look(&place, FIRST_LOOK);
        }
        place
    }

    fn look(&mut self, place: &str, wait: Duration) {
        let Some(pool) = self.pools.get(place) else { return };
        let offers = accounts_of(&self.seats, place).offers;
        self.tasks.spawn(pool.look(offers, wait, CancelToken::by([&self.shared.stopping])));
    }

    /// Begins and hands over accounts of a database, so that this process has its share.
    fn looked(&mut self, place: &str, looked: Result<Workers, String>) {
        let Some(pool) = self.pools.get_mut(place) else { return };
        if !self.seats.values().any(|seat| seat.pool.as_deref() == Some(place)) {
            self.tasks.spawn(pool.leave());
            self.pools.remove(place);
            return;
        }
        let share = pool.judge(looked.as_ref(), &accounts_of(&self.seats, place));
        for key in &share.releases {
            if let Some(engine) = self.seats.get_mut(key).and_then(Seat::hand_over) {
                tracing::info!(account = key, "account {key} is handed over to a worker that has fewer");
                engine.tell(LoopEvent::End);
            }
        }
        let held = looked.map(|workers| workers.held).unwrap_or_default();
        for (key, node) in moved(&self.seats, place, &held) {
            self.stand_by(&key, node);
        }
        for key in share.claims.iter().take(CLAIMS_MAX) {
            // By its file as it is now: it may have stood by for months.
            if self.seats.get(key).is_some_and(|seat| matches!(seat.state, SeatState::StandsBy)) {
                self.enter(key, (None, Entry::Claims), None);
            }
        }
        self.look(place, pool::LOOK_EVERY);
    }

    async fn ended(&mut self, key: &str, result: Result<(), StartError>) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        if let SeatState::Runs(engine) = &seat.state {
            seat.config = Some(engine.setup().config);
        }
        match (&seat.state, result) {
            (SeatState::Ends, _) => {
                let seat = self.seats.remove(key);
                let anchor = seat.as_ref().and_then(|seat| seat.anchor.as_ref());
                anchor.into_iter().for_each(|anchor| self.shared.pages.let_go(anchor));
                // Its file may be back.
                if let Some(Seat { identity: Identity { name, path, .. }, .. }) =
                    seat.filter(|seat| seat.identity.path.exists())
                {
                    self.seat(name, path, None, None);
                }
            }
            (SeatState::HandsOver, Ok(())) => self.stand_by(key, None),
            (_, result) => {
                let ended = || StartError::BrokenOff("its loop has ended".to_owned());
                let error = result.err().unwrap_or_else(ended);
                self.not_begun(key, NotBegun { error, receivers: None }).await;
            }
        }
    }

    /// Begins an account that does not run, once more.
    fn retry(&mut self, key: &str, asker: Option<Asker>, told: Option<&Arc<Reload>>) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        match &seat.state {
            SeatState::Runs(engine) => {
                asker.into_iter().for_each(|asker| _ = asker.send(Ok(Arc::clone(engine))));
            }
            SeatState::Ends => {}
            SeatState::Begins(_) | SeatState::HandsOver => {
                seat.missed.reload = true;
                seat.askers.extend(asker);
            }
            SeatState::Stopped(_) | SeatState::StandsBy => {
                seat.askers.extend(asker);
                self.begin(key, None, told);
            }
        }
    }

    /// Takes the configurations as they are now: accounts that are new begin, those that are gone end, those that did not
    /// run try again, and the others take what is in their file.
    fn reload(&mut self) {
        let told = Arc::new(Reload::begin(&self.shared));
        let found = match &self.folder {
            None => None,
            Some(folder) => match folder.accounts() {
                Ok(found) => Some(found),
                Err(error) => {
                    let reason = chain(&error);
                    tracing::error!(reason, "the accounts stay as they are: {reason}");
                    return;
                }
            },
        };
        let keys: Vec<AccountKey> = self.seats.keys().cloned().collect();
        let is_found = |key: &AccountKey| found.as_ref().is_none_or(|found| found.contains_key(key));
        let (stay, gone): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_found);
        gone.iter().for_each(|key| self.dismiss(key));
        for key in stay {
            match self.seats.get(&key).map(|seat| &seat.state) {
                Some(SeatState::Runs(engine)) => {
                    let engine = Arc::clone(engine);
                    self.reload_of(engine, &told);
                }
                Some(_) => self.retry(&key, None, Some(&told)),
                None => {}
            }
        }
        for (key, (name, path)) in found.into_iter().flatten() {
            if !self.seats.contains_key(&key) {
                tracing::info!(account = key, "account {key} is new");
                self.seat(Some(name), path, None, Some(&told));
            }
        }
    }

    /// Has an account take its configuration as it is now.
    fn reload_of(&mut self, engine: Arc<DaemonState>, told: &Arc<Reload>) {
        let (turns, told) = (Arc::clone(&self.turns), Arc::clone(told));
        self.tasks.spawn(async move {
            let _turn = turns.acquire_owned().await;
            let (handle, span) = (Handle::current(), engine.span().clone());
            let reloads = move || span.in_scope(|| handle.block_on(engine.reload()).is_ok());
            // What came of it was reported.
            let _ = tokio::task::spawn_blocking(reloads).await;
            drop(told);
            Done::Other
        });
    }

    /// Has all jobs of all accounts run.
    fn run_all(&mut self) {
        for seat in self.seats.values_mut() {
            match &seat.state {
                SeatState::Runs(engine) => engine.ask([]),
                SeatState::Begins(_) => seat.missed.runs = true,
                SeatState::Stopped(_) | SeatState::StandsBy | SeatState::HandsOver | SeatState::Ends => {}
            }
        }
    }

    /// Ends an account whose file is gone.
    fn dismiss(&mut self, key: &str) {
        let Some(seat) = self.seats.get_mut(key) else { return };
        if let SeatState::Runs(engine) = &seat.state {
            tracing::info!(account = key, "account {key} ends: its file is gone");
            engine.tell(LoopEvent::End);
        }
        match &seat.state {
            SeatState::Runs(_) | SeatState::HandsOver => {
                seat.state = SeatState::Ends;
                let is_gone = seat.until_gone();
                self.begin_after(is_gone);
            }
            SeatState::Stopped(_) | SeatState::StandsBy => {
                self.shared.pages.hide_stopped(key);
                if let Some(seat) = self.seats.remove(key) {
                    seat.anchor.iter().for_each(|anchor| self.shared.pages.let_go(anchor));
                    self.tasks.spawn(seat.dismissed(Arc::clone(&self.shared)));
                }
            }
            // The next reload ends it.
            SeatState::Begins(_) | SeatState::Ends => {}
        }
    }

    /// Has accounts that begin from now on wait until another one is gone: they may have its credential, under another name.
    fn begin_after(&mut self, is_gone: oneshot::Receiver<()>) {
        let (after, next) = oneshot::channel::<()>();
        let before = self.last_begun.replace(next);
        self.tasks.spawn(async move {
            for ends in before.into_iter().chain([is_gone]) {
                let _ = ends.await;
            }
            drop(after);
            Done::Other
        });
    }

    /// Why there is nothing to run.
    async fn none_begun(mut self) -> Result<(), ServeError> {
        while self.telling.join_next().await.is_some() {}
        if let Some(error) = self.failed.take() {
            return Err(error.into());
        }
        let dir = self.folder.as_ref().map(|folder| folder.dir().to_owned()).unwrap_or_default();
        let reasons = reasons(&self.seats);
        for seat in self.seats.values() {
            seat.entrance.close().await;
        }
        if reasons.is_empty() { Err(FolderError::Empty { dir }.into()) } else { Err(ServeError::None { dir, reasons }) }
    }

    /// Asks all accounts to end, and waits for them: they end side by side, each in its grace.
    async fn end(mut self, mut wishes: Wishes) -> Result<(), ServeError> {
        Manager::stopping();
        self.shared.stopping.send_modify(|askers| *askers += 1);
        // What waits for one that was dismissed begins no more.
        self.seats.values_mut().for_each(|seat| seat.gone = None);
        for pool in self.pools.values() {
            self.tasks.spawn(pool.leave());
        }
        self.running().for_each(|engine| engine.tell(LoopEvent::End));
        let mut failed = None;
        while !self.tasks.is_empty() {
            tokio::select! {
                Some(done) = self.tasks.join_next() => if let Ok(Done::Begun(key, begun)) = done {
                    match *begun {
                        Ok(Entered::Shares(..)) => {}
                        Ok(Entered::Runs(account)) => {
                            account.engine.tell(LoopEvent::End);
                            self.begun(&key, account);
                        }
                        // Who only stood by was asked to end, and does.
                        Err(why) if self.folder.is_none() && !why.error.stands_by() => failed = Some(why.error),
                        Err(_) => {}
                    }
                },
                wish = wishes.next() => if wish == SignalAction::End {
                    self.shared.hurry.send_modify(|askers| *askers += 1);
                },
            }
        }
        for seat in self.seats.values() {
            seat.entrance.close().await;
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn running(&self) -> impl Iterator<Item = &Arc<DaemonState>> {
        self.seats.values().filter_map(|seat| match &seat.state {
            SeatState::Runs(engine) => Some(engine),
            _ => None,
        })
    }
}
