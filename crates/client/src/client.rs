//! The HTTP client: the only code that sends requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, USER_AGENT};
use reqwest::{Method, RequestBuilder, Url};
use tokio::sync::Semaphore;

use crate::answer::{Answer, Answered, Meaning, Received, meaning};
use crate::budget::{Budget, PAUSE_MAX, Time};
use crate::call::{Body, Call};
use crate::clock::Clock;
use crate::crash::point;
use crate::credential::{Authority, Authorization};
use crate::error::{Error, ErrorKind};
use crate::guarded::{KeptBack, guarded};
use crate::operation::{Operation, Verb};
use crate::options::{Credential, Options, Paths, SendGuard};
use crate::retry::{ATTEMPTS_MAX, Allowance, Backoff, jitter};
use crate::token::{Grant, Token};
use crate::traffic::{Meter, Traffic};
use crate::transport::{self, Head};
use crate::wire::{Asset, Organization, Staff};
use crate::words::words;

/// Requests in flight at once, at least and at most.
const IN_FLIGHT: (usize, usize) = (8, 32);
/// Seconds that an answer may take without the budget staying unused for lack of requests in flight.
const ANSWER_SECONDS: usize = 3;
/// With this many 429 in a row, one request is in more than a passing jam.
const THROTTLED_MAX: u32 = 10;
/// How long all requests wait after a 429 that does not say.
const PAUSE_DEFAULT: Duration = Duration::from_secs(60);
/// Milliseconds by which a pause is lengthened at most, so that several programs don't return at the same time.
const PAUSE_JITTER: u64 = 250;
/// What bodies are unless they say otherwise.
pub(crate) const JSON: &str = "application/json";
/// A photo, or words on why there is none.
const ACCEPT_PHOTO: &str = "image/*, application/json;q=0.5";

/// The client of one account. Clones share everything; [`Client::for_run`] starts its counts at zero.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// What the requests of one run are counted by.
    allowance: Arc<Allowance>,
    /// Whether its requests go before all others that wait for the rate limit.
    urgent: bool,
}

struct Inner {
    /// The same for each further credential.
    further: Vec<Arc<Self>>,
    base_url: String,
    paths: Paths,
    page_size: u32,
    timeout: Duration,
    send_guard: Option<SendGuard>,
    http: reqwest::Client,
    authority: Authority,
    budget: Budget,
    in_flight: Semaphore,
    meter: Arc<Meter>,
    backoff: Backoff,
    /// By operation, the number of a fresh token that it was refused with: renewing again would not help.
    denied: Mutex<HashMap<&'static str, u64>>,
    clock: Clock,
}

impl Inner {
    fn build(
        options: &Options,
        clock: &Clock,
        backoff: Backoff,
        (budget, meter): (Budget, Arc<Meter>),
    ) -> Result<Self, ErrorKind> {
        let base_url = transport::url("base_url", &options.base_url)?;
        let token_url = match &options.credential {
            Credential::Client { auth_url, .. } => {
                transport::url("auth_url", auth_url)?;
                let text = format!("{}/oauth2/token", auth_url.trim_end_matches('/'));
                Some(transport::url("auth_url", &text)?)
            }
            Credential::ApiKey(_) | Credential::ApiKeyBasic(_) => None,
        };
        let urls: Vec<&Url> = std::iter::once(&base_url).chain(&token_url).collect();
        let http = transport::client(options, &urls)?;
        let authority = Authority::new(&options.credential, http.clone(), options.timeout, token_url, backoff)?;
        let further = options.further.iter().map(|further| {
            let options = Options { credential: further.credential.clone(), further: Vec::new(), ..options.clone() };
            let (limit, place) = (options.requests_per_minute, further.budget.clone());
            let budget = Budget::spent_unless_known(limit, place, Time::machine());
            Self::build(&options, clock, backoff, (budget, Arc::clone(&meter))).map(Arc::new)
        });
        let further: Vec<Arc<Self>> = further.collect::<Result<_, _>>()?;
        let mut names: Vec<String> = std::iter::once(&authority)
            .chain(further.iter().map(|inner| &inner.authority))
            .map(Authority::named)
            .collect();
        names.sort_unstable();
        if names.windows(2).any(|two| two[0] == two[1]) {
            // The service counts both as one: together they would send twice what it allows.
            return Err(ErrorKind::Options("two of the credentials are the same one".to_owned()));
        }
        Ok(Self {
            further,
            base_url: options.base_url.trim_end_matches('/').to_owned(),
            paths: options.paths.clone(),
            page_size: options.page_size.max(1),
            timeout: options.timeout,
            send_guard: options.send_guard.clone(),
            http,
            authority,
            budget,
            in_flight: Semaphore::new(in_flight(options.requests_per_minute)),
            meter,
            backoff,
            denied: Mutex::default(),
            clock: clock.clone(),
        })
    }
}

/// How much of the rate limit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetState {
    /// Requests that count at present.
    pub used: u32,
    /// Requests allowed in any 60 seconds.
    pub limit: u32,
    /// When the service wants to be asked again.
    pub blocked_until: Option<Timestamp>,
}

impl BudgetState {
    /// The state of an account by the record that all its processes share; asks for no credential.
    pub fn of(options: &Options, clock: &Clock) -> Self {
        let place = options.budget.clone();
        Self::read(&Budget::new(options.requests_per_minute, place, Time::machine()), clock)
    }

    fn read(budget: &Budget, clock: &Clock) -> Self {
        let until = |left: Duration| {
            let left = SignedDuration::try_from(left).unwrap_or(SignedDuration::ZERO);
            clock.now().saturating_add(left).unwrap_or(Timestamp::MAX)
        };
        match budget.state() {
            Ok(state) => Self { used: state.used, limit: state.limit, blocked_until: state.blocked.map(until) },
            Err(_) => Self { used: budget.limit(), limit: budget.limit(), blocked_until: None },
        }
    }
}

/// What one request carries, apart from its signature.
pub(crate) struct Outgoing {
    pub(crate) verb: Verb,
    pub(crate) target: String,
    pub(crate) since: Option<String>,
    pub(crate) body: Option<(String, Vec<u8>)>,
}

/// The head of an answer with its body: whole for a success, what could be read for an error.
pub(crate) struct Incoming {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Client {
    /// Makes a client; sends nothing, but reads the credential's and the certificates' files.
    pub fn new(options: &Options, clock: &Clock) -> Result<Self, Error> {
        Self::build(options, clock, Backoff::STANDARD).map_err(|kind| Error::new("client", kind))
    }

    pub(crate) fn build(options: &Options, clock: &Clock, backoff: Backoff) -> Result<Self, ErrorKind> {
        let budget = Budget::new(options.requests_per_minute, options.budget.clone(), Time::machine());
        let inner = Inner::build(options, clock, backoff, (budget, Arc::default()))?;
        Ok(Self { inner: Arc::new(inner), allowance: Arc::default(), urgent: false })
    }

    /// A client for each further credential of the account, whose requests count by themselves for the service, and with
    /// those of this client for its run.
    pub fn further(&self) -> Vec<Self> {
        self.inner.further.iter().map(|inner| Self { inner: Arc::clone(inner), ..self.clone() }).collect()
    }

    /// Sends a call and reads its answer, within the rate limit. What was never sent, and reads that failed for a
    /// passing reason, are tried again; a write whose fate is unknown is the caller's to look up.
    pub async fn send<T: Answer>(&self, call: Call<T>) -> Result<Answered<T>, Error> {
        self.deliver(&call).await.map_err(|kind| Error::new(call.operation.name, kind))
    }

    /// How many requests were sent to the base address so far.
    pub fn requests(&self) -> u64 {
        self.allowance.requests()
    }

    /// What came of all requests so far, and how long they took.
    pub fn traffic(&self) -> Traffic {
        self.inner.meter.read()
    }

    /// How much of the rate limit is used. Where its record can't be read, all of it: nothing is sent then.
    pub fn budget(&self) -> BudgetState {
        BudgetState::read(&self.inner.budget, &self.inner.clock)
    }

    /// Gives the run that begins its own retries.
    pub fn begin_run(&self) {
        self.allowance.begin_run();
    }

    /// How many 429 came since the run began. The limit being kept, each means that another program uses the
    /// credential, or that the service allows less.
    pub fn throttled(&self) -> u64 {
        self.allowance.throttled()
    }

    /// By how much the service's clock was ahead of this machine's at its last answer that bore a date.
    pub fn ahead(&self) -> SignedDuration {
        self.allowance.ahead()
    }

    /// From how far on two clocks are apart: less is the time that an answer takes.
    pub const CLOCKS_APART: SignedDuration = SignedDuration::from_mins(5);

    /// The present by this machine's clock, or by the service's where this machine's is far ahead of it: what must not be too
    /// early goes by this.
    pub fn cautious_now(&self, clock: &Clock) -> Timestamp {
        let (now, ahead) = (clock.now(), self.ahead());
        if ahead > -Self::CLOCKS_APART { now } else { now.saturating_add(ahead).unwrap_or(Timestamp::MIN) }
    }

    /// The present, given what this machine takes it for, by the service's clock where this machine's is far behind: a term that
    /// begins then does not end too early once the clock is put right.
    pub fn late(&self, now: Timestamp) -> Timestamp {
        let ahead = self.ahead();
        if ahead < Self::CLOCKS_APART { now } else { now.saturating_add(ahead).unwrap_or(Timestamp::MAX) }
    }

    /// Takes one of the run's retries for a write that is known not to have happened; false where none is left.
    pub fn take_retry(&self) -> bool {
        self.allowance.take()
    }

    /// The same client, whose requests go before all others that wait for the rate limit: for what must follow soon upon
    /// what was sent already, and is sent by one caller at a time.
    pub fn urgent(&self) -> Self {
        Self { urgent: true, ..self.clone() }
    }

    /// The same client with a count of requests and retries of its own, for a run beside others.
    pub fn for_run(&self) -> Self {
        Self { allowance: Arc::default(), ..self.clone() }
    }

    /// How long until `requests` requests could be sent at once. If that can't be read, for ever: nothing is sent then.
    pub fn free_in(&self, requests: u32) -> Duration {
        self.inner.budget.free_in(requests).unwrap_or(Duration::MAX)
    }

    /// How many requests are worth having in flight at once.
    pub fn in_flight(&self) -> usize {
        in_flight(self.inner.budget.limit())
    }

    /// How many entities a list is asked for at once.
    pub fn page_size(&self) -> u32 {
        self.inner.page_size
    }

    /// The same for a page of a list: one that takes too long is the walk's own to ask for again, in smaller parts.
    pub(crate) async fn send_page<T: Answer>(&self, call: Call<T>) -> Result<Answered<T>, Error> {
        let again = |kind: &ErrorKind| kind.is_transient() && !matches!(kind, ErrorKind::TimeOut { .. });
        self.deliver_while(&call, again).await.map_err(|kind| Error::new(call.operation.name, kind))
    }

    async fn deliver<T: Answer>(&self, call: &Call<T>) -> Result<Answered<T>, ErrorKind> {
        self.deliver_while(call, |kind| call.operation.verb.is_read() && kind.is_transient()).await
    }

    /// Tries again what was never sent, and what `passes` by itself.
    async fn deliver_while<T: Answer>(
        &self,
        call: &Call<T>,
        passes: impl Fn(&ErrorKind) -> bool,
    ) -> Result<Answered<T>, ErrorKind> {
        let mut attempt = 1;
        loop {
            let kind = match self.attempt(call).await {
                Ok(answered) => return Ok(answered),
                Err(kind) => kind,
            };
            let again = kind.is_never_sent() || passes(&kind);
            if !again || attempt == ATTEMPTS_MAX {
                return Err(kind);
            }
            if !self.allowance.take() {
                return Err(ErrorKind::RetriesExhausted { last: Box::new(kind) });
            }
            attempt += 1;
            let operation = call.operation.name;
            tracing::info!(operation, attempt, reason = %kind, "{operation} is tried again (attempt {attempt}): {kind}");
            tokio::time::sleep(self.inner.backoff.before(attempt)).await;
        }
    }

    /// One attempt. Waiting after a 429 is no failure: it is the service that says how long. A refused token is renewed
    /// once.
    async fn attempt<T: Answer>(&self, call: &Call<T>) -> Result<Answered<T>, ErrorKind> {
        let mut renewed = false;
        let mut throttled = 0;
        loop {
            let authorization = self.inner.authority.authorization().await?;
            let incoming = self.exchange(&self.outgoing(call), &authorization).await?;
            let head = &incoming.head;
            let sent = call.body.as_ref().and_then(Body::as_json);
            let said = || words(&incoming.body, sent, &[authorization.secret()]);
            match head.status {
                429 if throttled < THROTTLED_MAX => {
                    throttled += 1;
                    continue;
                }
                401 | 403 => match authorization.serial() {
                    Some(serial) if !renewed && !self.is_denied(call.operation, serial) => {
                        self.inner.authority.refused(serial).await;
                        renewed = true;
                        continue;
                    }
                    serial => {
                        self.note_denied(call.operation, serial);
                        return Err(ErrorKind::Denied { code: head.status, words: said() });
                    }
                },
                status => match meaning(status, call.operation.verb, call.since.is_some()) {
                    Meaning::Failure if (300..=399).contains(&status) => {
                        return Err(ErrorKind::Redirect { code: status });
                    }
                    Meaning::Failure => {
                        let retry_after = head.retry_after(self.inner.clock.now());
                        return Err(ErrorKind::Status { code: status, words: said(), retry_after });
                    }
                    Meaning::Body | Meaning::Absent | Meaning::NotModified => {}
                },
            }
            let (date, status) = (head.date, head.status);
            let value = T::read(&Received::of(call, incoming))?;
            return Ok(Answered { value, date, status });
        }
    }

    /// Sends one request as soon as the budget has a slot. A 429, or a 503 that says how long, holds up all others.
    pub(crate) async fn exchange(&self, out: &Outgoing, authorization: &Authorization) -> Result<Incoming, ErrorKind> {
        let inner = &self.inner;
        let _in_flight = match self.urgent {
            true => None,
            false => Some(inner.in_flight.acquire().await.expect("the semaphore is never closed")),
        };
        let permit = inner.budget.permit(self.urgent).await?;
        let mut request = authorization.sign(self.request(out)?);
        let mut kept_back = KeptBack::default();
        if let Some(guard) = &inner.send_guard {
            if let Some((_, body)) = out.body.as_ref().filter(|(_, body)| !body.is_empty()) {
                let body = guarded(body.clone(), &guard.may_send, out.verb);
                kept_back = body.1;
                request = request.body(body.0);
            }
            if !out.verb.is_read() {
                request = request.timeout(guard.write_timeout.min(inner.timeout));
            }
            request = match (guard.may_send)(out.verb) {
                Ok(sender) => request.header(USER_AGENT, format!("{} ({sender})", transport::USER_AGENT)),
                Err(reason) => {
                    inner.budget.never_sent(permit)?;
                    return Err(ErrorKind::Withheld(reason));
                }
            };
        }
        point("request: before it is sent");
        let begun = Instant::now();
        let sent = request.send().await.map_err(|error| transport::failure(error, inner.timeout));
        let head = sent.as_ref().map(Head::of);
        inner.meter.count(out.verb, head.as_ref().map_err(|kind| *kind), begun.elapsed());
        let response = match sent {
            Ok(response) => response,
            Err(kind) if kind.is_never_sent() => {
                inner.budget.never_sent(permit)?;
                return Err(kind);
            }
            Err(_) if kept_back.get().is_some() => {
                inner.budget.never_sent(permit)?;
                return Err(ErrorKind::Withheld(kept_back.get().cloned().unwrap_or_default()));
            }
            Err(kind) => {
                self.allowance.count();
                inner.budget.answered(permit)?;
                return Err(kind);
            }
        };
        self.allowance.count();
        point("request: sent and answered, unread");
        inner.budget.answered(permit)?;
        let head = Head::of(&response);
        if let Some(date) = head.date {
            self.allowance.note_ahead(date.duration_since(inner.clock.now()));
        }
        self.heed(&head)?;
        let body = match head.is_success() {
            true => transport::body(response, inner.timeout).await?,
            false => transport::error_body(response).await,
        };
        point("request: the answer is read");
        Ok(Incoming { head, body })
    }

    /// Whatever the service asks for holds for every request of the credential.
    fn heed(&self, head: &Head) -> Result<(), ErrorKind> {
        let asked = head.retry_after(self.inner.clock.now());
        let pause = match (head.status, asked) {
            (429, None) => PAUSE_DEFAULT,
            // 0 is no invitation to ask again at once.
            (429 | 503, Some(asked)) => asked.clamp(Duration::from_secs(1), PAUSE_MAX),
            _ => return Ok(()),
        };
        let (status, seconds) = (head.status, pause.as_secs());
        let credential = self.credential();
        tracing::warn!(status, seconds, %credential, "the service asked {credential} to wait for {seconds} s (status {status})");
        if head.status == 429 {
            self.allowance.count_throttled();
        }
        self.inner.budget.pause(pause + Duration::from_millis(jitter(PAUSE_JITTER)), head.status == 429)
    }

    fn request(&self, out: &Outgoing) -> Result<RequestBuilder, ErrorKind> {
        let url = Url::parse(&format!("{}{}", self.inner.base_url, out.target))
            .map_err(|_| ErrorKind::Options("base_url makes no URL with the operation's path".to_owned()))?;
        let method = out.verb.method();
        let mut request = self.inner.http.request(method.clone(), url);
        if out.verb == Verb::Photo {
            request = request.header(ACCEPT, ACCEPT_PHOTO);
        }
        if let Some(since) = &out.since {
            request = request.header(HeaderName::from_static("if-modified-since"), since);
        }
        Ok(match (&out.body, method) {
            (Some((media_type, body)), _) => request.header(CONTENT_TYPE, media_type).body(body.clone()),
            (None, Method::POST | Method::PUT) => request.header(CONTENT_LENGTH, 0),
            (None, _) => request,
        })
    }

    /// The path of an operation below the base address of this account.
    pub(crate) fn path(&self, operation: &'static Operation) -> &str {
        let configured = match operation.name {
            name if name == Staff::BULK.name => &self.inner.paths.bulk,
            name if name == Asset::ISSUE.name => &self.inner.paths.issue,
            name if name == Organization::GROUPS_UPDATE.name => &self.inner.paths.org_groups,
            _ => &None,
        };
        configured.as_deref().unwrap_or(operation.path)
    }

    fn outgoing<T>(&self, call: &Call<T>) -> Outgoing {
        let body = call.body.as_ref().map(|body| match body {
            Body::Json(json) => (JSON.to_owned(), json.to_string().into_bytes()),
            Body::Bytes { media_type, bytes } => (media_type.clone(), bytes.clone()),
        });
        let target = call.target_at(self.path(call.operation));
        Outgoing { verb: call.operation.verb, target, since: call.if_modified_since(), body }
    }

    /// Who calls.
    pub fn credential(&self) -> &Credential {
        self.inner.authority.credential()
    }

    /// The credential, which the token calls need.
    pub(crate) fn authority(&self) -> &Authority {
        &self.inner.authority
    }

    pub(crate) async fn authorization(&self) -> Result<Authorization, ErrorKind> {
        self.inner.authority.authorization().await
    }

    fn is_denied(&self, operation: &Operation, serial: u64) -> bool {
        let denied = self.inner.denied.lock().unwrap_or_else(PoisonError::into_inner);
        denied.get(operation.name) == Some(&serial)
    }

    fn note_denied(&self, operation: &Operation, serial: Option<u64>) {
        if let Some(serial) = serial {
            let mut denied = self.inner.denied.lock().unwrap_or_else(PoisonError::into_inner);
            denied.insert(operation.name, serial);
        }
    }

    /// Asks for a token, for a program that signs its own requests: this client fetches and renews its own.
    pub async fn token(&self, grant: &Grant) -> Result<Token, Error> {
        self.authority().token(grant).await.map_err(|kind| Error::new(grant.operation().name, kind))
    }
}

/// Enough requests in flight to use the budget where an answer takes seconds.
fn in_flight(requests_per_minute: u32) -> usize {
    (requests_per_minute as usize * ANSWER_SECONDS / 60).clamp(IN_FLIGHT.0, IN_FLIGHT.1)
}

/// Shows the base address; nothing of the credential (law 11).
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base_url", &self.inner.base_url).finish_non_exhaustive()
    }
}

impl Received {
    fn of<T>(call: &Call<T>, incoming: Incoming) -> Self {
        Self {
            status: incoming.head.status,
            content_type: incoming.head.content_type,
            length: incoming.head.length,
            body: incoming.body,
            verb: call.operation.verb,
            id: call.id,
            narrowed: call.is_narrowed(),
            alone: call.query.iter().any(|(name, _)| *name == "id"),
        }
    }
}
