//! Delivers notices.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Client;

use super::error::SetupError;
use super::notice::Notice;
use super::notice_store::NoticeStore;
use super::outage::Outage;
use super::web::Failure;
use super::{mail, web};
use crate::config::Notify;
use crate::status::{Counters, Health, Snapshot, UnreachableChannel};

const WEBHOOK: &str = "webhook";
const MAIL: &str = "mail";
const HEARTBEAT: &str = "heartbeat";

/// Tells people. It belongs to a task of its own: no run waits for it.
pub struct Notifier {
    options: Notify,
    book: NoticeStore,
    client: Client,
    host: String,
    counters: Arc<Counters>,
}

impl Notifier {
    /// Begins with the notices that were sent before under the state folder `dir`.
    ///
    /// # Errors
    ///
    /// The certificates or the proxy can't be used.
    pub fn open(dir: &Path, options: &Notify, counters: &Arc<Counters>) -> Result<Self, SetupError> {
        let client = web::client(options)?;
        let options = options.clone();
        let mut teller =
            Self { options, book: NoticeStore::open(dir), client, host: host(), counters: Arc::clone(counters) };
        let channels = teller.channels();
        let heartbeat = teller.options.heartbeat.as_ref().map(|_| HEARTBEAT);
        let places: Vec<&str> = channels.iter().copied().chain(heartbeat).collect();
        if let Err(error) = teller.book.keep_channels(&channels, &places) {
            tracing::warn!(%error, "which notices wait could not be written: {error}");
        }
        Ok(teller)
    }

    /// The places that can't be reached.
    pub fn unheard(&self) -> Vec<UnreachableChannel> {
        self.book.unheard()
    }

    /// Records that nothing works; there is one notice of it.
    pub fn down(&mut self, trouble: &Outage, now: Timestamp) {
        match self.book.down(trouble, now, &self.channels()) {
            Ok(notice) => notice.iter().for_each(news),
            Err(error) => tracing::warn!(%error, "a notice could not be recorded, so it is not sent: {error}"),
        }
    }

    /// Looks at the present state, records notices of what is new, and calls the heartbeat if all is well.
    pub async fn look(&mut self, snapshot: &Snapshot) {
        match self.book.look(snapshot, &self.channels()) {
            Ok(notices) => notices.iter().for_each(news),
            Err(error) => tracing::warn!(%error, "a notice could not be written down; it is tried again: {error}"),
        }
        if let Some(hook) = &self.options.heartbeat
            && Health::of(snapshot).is_good()
        {
            let called = web::call(&self.client, hook, None).await;
            self.counters.notice(HEARTBEAT, called.is_ok());
            let trouble = called.as_ref().err().map(|failure| failure.reason.as_str());
            if let Err(error) = self.book.reached(HEARTBEAT, snapshot.at, trouble) {
                tracing::warn!(%error, "that the heartbeat was called could not be written: {error}");
            }
            if let Err(Failure { reason, .. }) = called {
                tracing::warn!(reason, "the heartbeat could not be called: {reason}");
            }
        }
    }

    /// Delivers what is due; what can't be delivered is tried again later.
    pub async fn deliver(&mut self, now: Timestamp) {
        for channel in self.channels() {
            for notice in self.book.due(channel, now) {
                let sent = self.send(channel, &notice).await;
                self.counters.notice(channel, sent.is_ok());
                let kept = match &sent {
                    Ok(()) => self.book.delivered(&notice.id, channel, now),
                    Err(failure) => self.book.failed(&notice.id, channel, now, &failure.reason),
                };
                if let Err(error) = kept {
                    tracing::warn!(%error, "that a notice was sent could not be written; it may be sent again: {error}");
                }
                if let Err(Failure { reason, is_general }) = sent {
                    tracing::warn!(
                        channel,
                        reason,
                        "a notice could not be delivered by {channel}; it is tried again: {reason}"
                    );
                    if is_general {
                        break;
                    }
                }
            }
        }
    }

    /// How long until something is due to be delivered; `None` where nothing waits.
    pub fn due_in(&self, now: Timestamp) -> Option<Duration> {
        let due = self.book.next_due()?;
        Some(Duration::try_from(due.duration_since(now)).unwrap_or(Duration::ZERO))
    }

    fn channels(&self) -> Vec<&'static str> {
        let webhook = self.options.webhook.as_ref().map(|_| WEBHOOK);
        webhook.into_iter().chain(self.options.mail.as_ref().map(|_| MAIL)).collect()
    }

    async fn send(&self, channel: &str, notice: &Notice) -> Result<(), Failure> {
        match (channel, &self.options.webhook, &self.options.mail) {
            (WEBHOOK, Some(hook), _) => {
                web::call(&self.client, hook, Some(&notice.document(&self.host, self.options.page.as_deref()))).await
            }
            (_, _, Some(mail)) => mail::send(mail, &self.options, &self.host, notice).await,
            // The book holds none for a channel that is not there.
            _ => Ok(()),
        }
    }
}

fn news(notice: &Notice) {
    let (event, text) = (notice.event.name(), notice.text.as_str());
    tracing::info!(event, text, "{text}");
}

/// This machine's name.
pub(super) fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let name: String = name.trim().chars().filter(fits).collect();
    if name.is_empty() { "localhost".to_owned() } else { name }
}
