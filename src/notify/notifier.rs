//! Delivers notices.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Client;

use super::channel::Channel;
use super::digest::Recipients;
use super::error::SetupError;
use super::mail::Letter;
use super::notice::{Notice, Span};
use super::notice_store::NoticeStore;
use super::outage::Outage;
use super::web::Failure;
use super::{mail, web};
use crate::config::{Job, Mail, Notify};
use crate::status::{Counters, Health, Snapshot, UnreachableChannel, host_name};
use crate::store::Home;

const HEARTBEAT: &str = "heartbeat";

/// Tells people. It belongs to a task of its own: no run waits for it.
pub struct Notifier {
    home: Home,
    options: Notify,
    recipients: Vec<Recipients>,
    book: NoticeStore,
    client: Client,
    host: String,
    counters: Arc<Counters>,
}

impl Notifier {
    /// Begins with the notices that were sent before of a state.
    ///
    /// # Errors
    ///
    /// The certificates or the proxy can't be used.
    pub fn open(home: &Home, options: &Notify, counters: &Arc<Counters>) -> Result<Self, SetupError> {
        Self::with(NoticeStore::open(home), home, options, counters)
    }

    /// Begins with those of a process of this machine that does not have the state.
    ///
    /// # Errors
    ///
    /// The certificates or the proxy can't be used.
    pub fn of_machine(home: &Home, options: &Notify, counters: &Arc<Counters>) -> Result<Self, SetupError> {
        Self::with(NoticeStore::of_machine(home), home, options, counters)
    }

    fn with(book: NoticeStore, home: &Home, options: &Notify, counters: &Arc<Counters>) -> Result<Self, SetupError> {
        Ok(Self {
            home: home.clone(),
            options: options.clone(),
            recipients: Vec::new(),
            book,
            client: web::client(options)?,
            host: host_name(),
            counters: Arc::clone(counters),
        })
    }

    /// The same with the recipients of these jobs. What waits for places that are not configured any more is dropped.
    pub fn for_jobs(mut self, jobs: &[Job]) -> Self {
        self.recipients = Recipients::all(jobs);
        let channels = self.channels();
        let heartbeat = self.options.heartbeat.as_ref().map(|_| HEARTBEAT.to_owned());
        let places: Vec<String> = channels.iter().map(Channel::to_string).chain(heartbeat).collect();
        if let Err(error) = self.book.keep_channels(&channels, &places) {
            tracing::warn!(%error, "which notices wait could not be written: {error}");
        }
        self
    }

    /// The places that can't be reached.
    pub fn unheard(&self) -> Vec<UnreachableChannel> {
        self.book.unheard()
    }

    /// Records that nothing works; there is one notice of it.
    pub fn down(&mut self, trouble: &Outage, now: Timestamp) {
        let channels = self.channels();
        recorded(self.book.down(trouble, now, &channels));
    }

    /// Records that it works again, while another worker has the state.
    pub fn up(&mut self, now: Timestamp) {
        let channels = self.channels();
        recorded(self.book.up(now, &channels));
    }

    /// Looks at the present state, records notices of what is new, and calls the heartbeat if all is well.
    pub async fn look(&mut self, snapshot: &Snapshot) {
        match self.book.look(snapshot, &self.channels()) {
            Ok(notices) => notices.iter().for_each(news),
            Err(error) => tracing::warn!(%error, "a notice could not be written down; it is tried again: {error}"),
        }
        self.sum_up(snapshot);
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

    /// Records the summaries whose time has come.
    fn sum_up(&mut self, snapshot: &Snapshot) {
        for recipients in self.recipients.iter().filter(|recipients| recipients.options.digest.is_some()) {
            let Some(view) = snapshot.jobs.iter().find(|view| view.name == recipients.job) else { continue };
            let summed = self.book.summed_up(&recipients.job, snapshot.at).and_then(|since| {
                let due = recipients.next_after(since).is_some_and(|due| due <= snapshot.at);
                if !due {
                    return Ok(());
                }
                let span = Span { since, until: snapshot.at };
                let mut notice = recipients.digest(&self.home, span, view)?;
                notice.id = format!("{:x}-digest-{}", span.until.as_millisecond(), recipients.job);
                news(&notice);
                self.book.digest(&recipients.job, span.until, notice)
            });
            if let Err(error) = summed {
                let job = recipients.job.as_str();
                tracing::warn!(job, %error, "the summary of job {job} could not be made; it is tried again: {error}");
            }
        }
    }

    /// Delivers what is due; what can't be delivered is tried again later.
    pub async fn deliver(&mut self, now: Timestamp) {
        for channel in self.channels() {
            for notice in self.book.due(&channel, now) {
                let sent = self.send(&channel, &notice).await;
                self.counters.notice(channel.kind(), sent.is_ok());
                let kept = match &sent {
                    Ok(()) => self.book.delivered(&notice.id, &channel, now),
                    Err(failure) => self.book.failed(&notice.id, &channel, now, &failure.reason),
                };
                if let Err(error) = kept {
                    tracing::warn!(%error, "that a notice was sent could not be written; it may be sent again: {error}");
                }
                if let Err(Failure { reason, is_general }) = sent {
                    tracing::warn!(
                        %channel,
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

    fn channels(&self) -> Vec<Channel> {
        let webhook = self.options.webhook.as_ref().map(|_| Channel::Webhook);
        let mail = self.options.mail.as_ref().map(|_| Channel::Mail);
        let of_jobs = self.recipients.iter().map(|recipients| Channel::JobMail(recipients.job.clone()));
        webhook.into_iter().chain(mail).chain(of_jobs).collect()
    }

    async fn send(&self, channel: &Channel, notice: &Notice) -> Result<(), Failure> {
        let letter = |mail: Mail, more| Letter { mail, host: self.host.clone(), notice: notice.clone(), more };
        // The book holds no notice for a channel that is not there.
        match channel {
            Channel::Webhook => {
                let Some(hook) = &self.options.webhook else { return Ok(()) };
                let document = notice.document(&self.host, &self.options);
                web::call(&self.client, hook, Some(&document)).await
            }
            Channel::Mail => {
                let Some(mail) = self.options.mail.clone() else { return Ok(()) };
                mail::send(letter(mail, Vec::new()), &self.options).await
            }
            Channel::JobMail(job) => {
                let recipients = self.recipients.iter().find(|recipients| recipients.job == *job);
                let (Some(mail), Some(recipients)) = (self.options.mail.clone(), recipients) else { return Ok(()) };
                let mail = Mail { to: recipients.options.mail_to.clone(), ..mail };
                mail::send(letter(mail, self.names(recipients, notice)?), &self.options).await
            }
        }
    }

    /// Who a summary is about, where its recipients see names.
    fn names(&self, recipients: &Recipients, notice: &Notice) -> Result<Vec<String>, Failure> {
        let Some(span) = notice.span.filter(|_| recipients.options.digest_names) else { return Ok(Vec::new()) };
        let unread = |error: std::io::Error| Failure::general(format!("the audit files can't be read: {error}"));
        recipients.names(&self.home, span).map_err(unread)
    }
}

/// Says what was recorded, or why nothing was.
fn recorded(done: io::Result<Option<Notice>>) {
    match done {
        Ok(notice) => notice.iter().for_each(news),
        Err(error) => tracing::warn!(%error, "a notice could not be recorded, so it is not sent: {error}"),
    }
}

fn news(notice: &Notice) {
    let (event, text) = (notice.event.name(), notice.text.as_str());
    tracing::info!(event, text, "{text}");
}
