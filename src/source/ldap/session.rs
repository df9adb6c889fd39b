//! One connection to one server.
//!
//! Every operation has a time limit. Why a connection ended knows only the filter in front of it, which is asked for the
//! cause.

use std::time::Duration;

use ldap3::asn1::StructureTag;
use ldap3::controls::{Control, ControlType, MakeCritical as _, PagedResults, RawControl};
use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, LdapError, LdapResult, StdStream};
use secrecy::ExposeSecret as _;
use tokio::task::{JoinError, JoinHandle};

use super::code;
use super::error::LdapErrorKind;
use super::options::{Bind, Options, SearchScope, Server};
use super::transport::Security;
use super::wire_filter::{End, Room, wire_filter};
use crate::clock::Clock;
use crate::secret::{SecretSource, Unusable};
use crate::source::refused_logins::{LoginRefusal, RefusedLogins};

/// How long the end of a lost connection's task is waited for.
const CAUSE_WAIT: Duration = Duration::from_secs(1);
/// What `ldap3` calls a connection that it is given.
const GIVEN: &str = "ldapi:///";

/// One connection to one server.
pub(super) struct Session {
    ldap: Ldap,
    room: Room,
    driver: Task<ldap3::result::Result<()>>,
    filter: Task<End>,
    timeout: Duration,
}

/// What ends the work with one server.
#[derive(Debug)]
pub(super) enum SessionFault {
    /// It can't be reached, or went away; another one may do.
    Gone(String),
    /// No other server would do better.
    Final(LdapErrorKind),
}

/// What a search gives, one after the other.
pub(super) enum Item {
    Entry(StructureTag),
    Reference(StructureTag),
}

/// How a search ended.
pub(super) struct Done {
    pub(super) code: u32,
    pub(super) text: String,
    pub(super) references: Vec<String>,
    /// The cookie of the next page; `None` where the server did not page at all.
    pub(super) cookie: Option<Vec<u8>>,
}

/// What is searched for.
pub(super) struct Search<'a> {
    pub(super) base: &'a str,
    pub(super) scope: SearchScope,
    pub(super) filter: &'a str,
    pub(super) attributes: &'a [String],
    /// The size of a page and the cookie of the one before; `None` asks for all at once.
    pub(super) page: Option<(i32, Vec<u8>)>,
}

impl Session {
    /// Connects and binds: once, and not with what was refused before, so that a wrong password locks no account.
    pub(super) async fn open(
        options: &Options,
        server: &Server,
        logins: &RefusedLogins,
        clock: &Clock,
    ) -> Result<Self, SessionFault> {
        let security =
            Security::of(options, server, clock).map_err(|problem| SessionFault::Final(LdapErrorKind::Tls(problem)))?;
        let wire = match tokio::time::timeout(options.timeout, security.connect(server)).await {
            Ok(Ok(wire)) => wire,
            Ok(Err(reason)) => return Err(SessionFault::Gone(hinted(reason, server))),
            Err(_) => return Err(SessionFault::Gone("no connection in time".to_owned())),
        };
        let here = |error| SessionFault::Gone(code::broken(&error));
        let (socket, room, filter) = wire_filter(wire).map_err(here)?;
        let settings = LdapConnSettings::new().set_std_stream(StdStream::Unix(socket));
        let (connection, ldap) = LdapConnAsync::with_settings(settings, GIVEN)
            .await
            .map_err(|error| SessionFault::Gone(code::described(&error)))?;
        let driver = Task(Some(tokio::spawn(connection.drive())));
        let mut session = Self { ldap, room, driver, filter: Task(Some(filter)), timeout: options.timeout };
        let bound = match &options.bind {
            Bind::Anonymous => Ok(()),
            Bind::Simple { dn, password } => session.simple_bind((dn, password), logins, clock).await,
            Bind::External => session.external_bind().await,
        };
        bound.map_err(|fault| match fault {
            SessionFault::Gone(reason) => SessionFault::Gone(hinted(reason, server)),
            fault => fault,
        })?;
        Ok(session)
    }

    async fn simple_bind(
        &mut self,
        (dn, password): (&str, &SecretSource),
        logins: &RefusedLogins,
        clock: &Clock,
    ) -> Result<(), SessionFault> {
        let password = password.read().map_err(|Unusable { path, problem }| {
            SessionFault::Final(LdapErrorKind::Password(format!("{} {problem}", path.display())))
        })?;
        if let Some(LoginRefusal { at, said, .. }) = logins.refused(dn, &password) {
            return Err(SessionFault::Final(LdapErrorKind::Refused { at, said }));
        }
        let result = match self.ldap.with_timeout(self.timeout).simple_bind(dn, password.expose_secret()).await {
            Ok(result) => result,
            Err(error) => return Err(SessionFault::Gone(self.cause(error).await)),
        };
        let taken = taken(&result, code::bind_hint(result.rc, &result.text));
        match &taken {
            Ok(()) => logins.taken(dn, &password),
            Err(_) if code::is_wrong(result.rc, &result.text) => {
                logins.refuse(dn, &password, &said(&result), clock.now());
            }
            Err(_) => {}
        }
        taken
    }

    /// Binds by the certificate that was shown in TLS. No server counts attempts with one, so it is tried in every run.
    async fn external_bind(&mut self) -> Result<(), SessionFault> {
        match self.ldap.with_timeout(self.timeout).sasl_external_bind().await {
            Ok(result) => taken(&result, code::external_bind_hint(result.rc)),
            Err(error) => {
                let cause = self.cause(error).await;
                Err(SessionFault::Gone(format!("{cause}{}", code::EXTERNAL_BIND_GONE)))
            }
        }
    }

    /// Searches; `each` takes what comes, and breaks off by giving false.
    pub(super) async fn search(
        &mut self,
        search: Search<'_>,
        mut each: impl FnMut(Item) -> bool,
    ) -> Result<Option<Done>, SessionFault> {
        if let Some((size, cookie)) = search.page {
            let control: RawControl = PagedResults { size, cookie }.critical().into();
            self.ldap.with_controls(vec![control]);
        }
        self.ldap.with_timeout(self.timeout);
        let attributes = search.attributes.to_vec();
        let stream = self.ldap.streaming_search(search.base, search.scope.asked(), search.filter, attributes).await;
        let mut stream = match stream {
            Ok(stream) => stream,
            Err(LdapError::FilterParsing) => {
                let said = "the filter is none".to_owned();
                return Err(SessionFault::Final(LdapErrorKind::Search {
                    base: search.base.to_owned(),
                    said,
                    hint: "; check `filter`",
                }));
            }
            Err(error) => return Err(SessionFault::Gone(self.cause(error).await)),
        };
        loop {
            let next = stream.next().await;
            self.room.give();
            let item = match next {
                Ok(Some(entry)) if entry.is_ref() => Item::Reference(entry.0),
                Ok(Some(entry)) => Item::Entry(entry.0),
                Ok(None) => break,
                // Whatever `finish` would say now is about another page.
                Err(error) => return Err(SessionFault::Gone(self.cause(error).await)),
            };
            if !each(item) {
                return Ok(None);
            }
        }
        let result = stream.finish().await;
        let paged = result.ctrls.iter().find_map(|control| match control {
            Control(Some(ControlType::PagedResults), raw) => Some(raw.parse::<PagedResults>().cookie),
            _ => None,
        });
        Ok(Some(Done { code: result.rc, text: result.text, references: result.refs, cookie: paged }))
    }

    /// Says good-bye; whether it is heard does not matter.
    pub(super) async fn close(mut self) {
        let _ = tokio::time::timeout(self.timeout.min(CAUSE_WAIT), self.ldap.unbind()).await;
    }

    /// What an error means, with the cause that only the driving task knows.
    async fn cause(&mut self, error: LdapError) -> String {
        if matches!(error, LdapError::Timeout { .. }) {
            return format!("no answer within {} s", self.timeout.as_secs_f32());
        }
        if self.driver.end().await.is_some_and(|ended| ended.is_err_and(|error| error.is_panic())) {
            return code::GARBLED.to_owned();
        }
        match self.filter.end().await {
            Some(Ok(end)) => end.words(),
            _ => code::described(&error),
        }
    }
}

/// What goes on beside a session, and ends with it.
struct Task<T>(Option<JoinHandle<T>>);

impl<T> Task<T> {
    /// The task's result if it ends within a moment; returned once.
    async fn end(&mut self) -> Option<Result<T, JoinError>> {
        let mut task = self.0.take()?;
        let ended = tokio::time::timeout(CAUSE_WAIT, &mut task).await.ok();
        task.abort();
        ended
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

fn said(result: &LdapResult) -> String {
    format!("{}{}", code::words(result.rc), code::said(&result.text))
}

fn taken(result: &LdapResult, hint: &'static str) -> Result<(), SessionFault> {
    match result.rc {
        code::SUCCESS => Ok(()),
        // Such a server looked at neither name nor password.
        code::BUSY | code::UNAVAILABLE => Err(SessionFault::Gone(said(result))),
        _ => Err(SessionFault::Final(LdapErrorKind::Bind { said: said(result), hint })),
    }
}

/// Adds what the port tells.
fn hinted(reason: String, server: &Server) -> String {
    if !server.tls && matches!(server.port, 636 | 3269) {
        return format!("{reason}; port {} usually speaks ldaps://", server.port);
    }
    reason
}
