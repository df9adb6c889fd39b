//! One GET, into a file without a name.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{ACCEPT, HeaderValue, LAST_MODIFIED};
use reqwest::{RequestBuilder, Response, redirect};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::address::origin;
use super::answer::{AnswerHead, BEGINNING};
use super::error::{Error, HttpsErrorKind};
use super::options::{Login, Options};
use super::token;
use crate::clock::Clock;
use crate::fault::chain;
use crate::http::{THIS_MACHINE, retry_after};
use crate::secret::SecretSource;
use crate::source::{RefusedLogins, client_token};
use crate::{spool, tls};

/// What is asked for unless a header says otherwise.
const ACCEPTED: &str = "text/csv, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet, */*;q=0.1";
/// The longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// A report may take minutes before its first byte; a server that is gone meanwhile is noticed by this.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// How often it is asked again where the server says when.
const ASKED_MAX: usize = 5;
/// How often it is looked whether someone asked to end.
const STOP_LOOK: Duration = Duration::from_millis(100);

/// A file that came.
#[derive(Debug)]
pub struct Downloaded {
    /// The file, from its beginning.
    pub file: File,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written, where the server says so.
    pub modified: Option<Timestamp>,
    /// Why it may not be the whole file, where that can't be known.
    pub doubt: Option<String>,
}

/// Downloads the file, into the folder `dir` or, where that is not there or another's, into that for temporary files.
///
/// # Errors
///
/// Nothing of it may be used.
pub fn download(
    options: &Options,
    dir: &Path,
    clock: &Clock,
    logins: &RefusedLogins,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Downloaded, Error> {
    let fault = |kind| Error { address: options.address.to_string(), kind };
    // The caller may itself run on a runtime, which another one can't be started on.
    let fetched = std::thread::scope(|scope| {
        let fetching = std::thread::Builder::new().name("https".to_owned()).spawn_scoped(scope, || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(HttpsErrorKind::Thread)?.block_on(in_time(
                options,
                fetch(options, dir, clock, logins),
                stop,
            ))
        });
        let fetching = fetching.map_err(HttpsErrorKind::Thread)?;
        fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    fetched.map_err(fault)
}

async fn in_time(
    options: &Options,
    fetching: impl Future<Output = Result<Downloaded, HttpsErrorKind>>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Downloaded, HttpsErrorKind> {
    let stopped = async {
        while !stop() {
            tokio::time::sleep(STOP_LOOK).await;
        }
    };
    tokio::select! {
        biased;
        () = stopped => Err(HttpsErrorKind::Interrupted),
        got = tokio::time::timeout(options.timeout, fetching) => {
            got.unwrap_or_else(|_| Err(HttpsErrorKind::Slow { seconds: options.timeout.as_secs() }))
        }
    }
}

async fn fetch(
    options: &Options,
    dir: &Path,
    clock: &Clock,
    logins: &RefusedLogins,
) -> Result<Downloaded, HttpsErrorKind> {
    let login = Basic::of(options)?;
    if let Some(at) = login.as_ref().and_then(|login| login.refused(logins)) {
        return Err(HttpsErrorKind::RefusedBefore { at });
    }
    let http = client(options).map_err(HttpsErrorKind::Setup)?;
    let until = Instant::now() + options.timeout;
    let mut asked = 0;
    loop {
        let answer = request(&http, options).await?.send().await.map_err(unreachable)?;
        asked += 1;
        if let Some(login) = &login {
            login.note(answer.status().as_u16(), logins, clock);
        }
        let wait = matches!(answer.status().as_u16(), 429 | 503).then(|| retry_after(answer.headers(), clock.now()));
        match wait.flatten() {
            Some(wait) if asked < ASKED_MAX && Instant::now() + wait < until => tokio::time::sleep(wait).await,
            _ => return keep(answer, options, dir).await,
        }
    }
}

/// A name with its password, which a server may lock after a few wrong attempts.
struct Basic {
    name: String,
    password: SecretString,
}

impl Basic {
    fn of(options: &Options) -> Result<Option<Self>, HttpsErrorKind> {
        let Some(Login::Basic { user, password }) = &options.login else { return Ok(None) };
        let name = format!("{user} {}", origin(options.address.url()));
        Ok(Some(Self { name, password: secret(password)? }))
    }

    /// When a server refused it, where it is not to be tried again.
    fn refused(&self, logins: &RefusedLogins) -> Option<Timestamp> {
        logins.refused(&self.name, &self.password).map(|refusal| refusal.at)
    }

    /// Remembers what became of it.
    fn note(&self, status: u16, logins: &RefusedLogins, clock: &Clock) {
        match status {
            401 => logins.refuse(&self.name, &self.password, "401", clock.now()),
            200 => logins.taken(&self.name, &self.password),
            _ => {}
        }
    }
}

fn client(options: &Options) -> Result<reqwest::Client, String> {
    let has_tls = match &options.login {
        Some(Login::Client(client)) => options.address.is_tls() || client.token_url.is_tls(),
        _ => options.address.is_tls(),
    };
    let ca_file = options.ca_file.as_deref();
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(if has_tls { tls::verified(ca_file) } else { tls::without_roots(ca_file) }?)
        .user_agent(concat!("rosterd/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_MAX)
        .tcp_keepalive(KEEPALIVE)
        .no_gzip()
        .no_proxy();
    if let Some(proxy) = &options.proxy {
        let proxy = reqwest::Proxy::all(proxy).map_err(|_| "the proxy is no usable address".to_owned())?;
        builder = builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(THIS_MACHINE)));
    }
    builder.build().map_err(|error| format!("the HTTP client can't be made: {}", chain(&error.without_url())))
}

/// The request, with the credential as it is now.
async fn request(http: &reqwest::Client, options: &Options) -> Result<RequestBuilder, HttpsErrorKind> {
    let mut headers = options.headers.clone();
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static(ACCEPTED));
    let request = http.get(options.address.url().clone()).headers(headers);
    Ok(match &options.login {
        None => request,
        Some(Login::Basic { user, password }) => request.basic_auth(user, Some(secret(password)?.expose_secret())),
        Some(Login::Bearer(token)) => request.bearer_auth(secret(token)?.expose_secret()),
        Some(Login::Client(client)) => {
            let secret = secret(&client.secret)?;
            request.bearer_auth(token::issued(http, client, &secret).await?.expose_secret())
        }
    })
}

fn secret(source: &SecretSource) -> Result<SecretString, HttpsErrorKind> {
    source.read().map_err(|unusable| {
        HttpsErrorKind::Secret(format!("the credential {} {}", unusable.path.display(), unusable.problem))
    })
}

/// Takes the body of an answer that may be the file.
async fn keep(mut answer: Response, options: &Options, dir: &Path) -> Result<Downloaded, HttpsErrorKind> {
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let head = AnswerHead { status, headers: &headers, asked: options.address.url() };
    head.check(options.login.as_ref())?;
    let max = options.content.size_max;
    let length = answer.content_length();
    if length.is_some_and(|length| length > max) {
        return Err(HttpsErrorKind::TooLarge { max });
    }
    let mut file = tempfile::tempfile_in(spool::folder(dir)).map_err(HttpsErrorKind::Spool)?;
    let mut size = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|error| cut(error, size))? {
        size += chunk.len() as u64;
        if size > max {
            return Err(HttpsErrorKind::TooLarge { max });
        }
        file.write_all(&chunk).map_err(HttpsErrorKind::Spool)?;
    }
    let mut beginning = [0; BEGINNING];
    let read = file.read_at(&mut beginning, 0).map_err(HttpsErrorKind::Spool)?;
    head.check_beginning(&beginning[..read])?;
    let doubt = (!head.ends_visibly(length)).then(|| {
        "the server says neither how long its answer is nor where it ends, so it may have been cut; have it send a \
         Content-Length"
            .to_owned()
    });
    let modified = headers.get(LAST_MODIFIED).and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
    Ok(Downloaded { file, size, modified, doubt })
}

fn unreachable(error: reqwest::Error) -> HttpsErrorKind {
    HttpsErrorKind::Unreachable(client_token::unreachable(error))
}

fn cut(error: reqwest::Error, received: u64) -> HttpsErrorKind {
    HttpsErrorKind::Cut { received, reason: chain(&error.without_url()) }
}
