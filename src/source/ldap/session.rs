//! One connection to one server.
//!
//! Every operation has a time limit. What the library knows of a lost connection only its driving task tells, so that task's
//! end is asked for the cause.

use std::sync::Arc;
use std::time::Duration;

use ldap3::asn1::StructureTag;
use ldap3::controls::{Control, ControlType, MakeCritical as _, PagedResults, RawControl};
use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, LdapError, LdapResult};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret as _;
use tokio::task::JoinHandle;

use super::code;
use super::error::Kind;
use super::options::{Options, Scope, Server};
use super::trust;
use crate::tls;

/// How long the end of a lost connection's task is waited for.
const CAUSE_WAIT: Duration = Duration::from_secs(1);
/// The name that stands for an address which the library takes for no name.
const NAMELESS: &str = "address.invalid";
/// What the library says when an answer has parts in the wrong place.
const GARBLED: &str = "the server's answer can't be understood; is this an LDAP server?";

/// One connection to one server.
pub(super) struct Session {
    ldap: Ldap,
    driver: Option<JoinHandle<ldap3::result::Result<()>>>,
    timeout: Duration,
}

/// What ends the work with one server.
#[derive(Debug)]
pub(super) enum Fault {
    /// It can't be reached, or went away; another one may do.
    Gone(String),
    /// No other server would do better.
    Final(Kind),
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
    pub(super) scope: Scope,
    pub(super) filter: &'a str,
    pub(super) attributes: &'a [String],
    /// The size of a page and the cookie of the one before; `None` asks for all at once.
    pub(super) page: Option<(i32, Vec<u8>)>,
}

impl Session {
    /// Connects and binds: once, so that a wrong password locks no account.
    pub(super) async fn open(options: &Options, server: &Server) -> Result<Self, Fault> {
        let (url, config) = client(options, server).map_err(|problem| Fault::Final(Kind::Tls(problem)))?;
        let settings = LdapConnSettings::new()
            .set_conn_timeout(options.timeout)
            .set_starttls(options.start_tls && !server.tls)
            .set_config(Arc::new(config));
        let stream =
            tokio::time::timeout(options.timeout, tokio::net::TcpStream::connect((server.host.as_str(), server.port)));
        let stream = match stream.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(Fault::Gone(error.to_string())),
            Err(_) => return Err(Fault::Gone("no connection in time".to_owned())),
        };
        // Nothing is gained by waiting for more to send: every request waits for its answer.
        let _ = stream.set_nodelay(true);
        let stream = stream.into_std().map_err(|error| Fault::Gone(error.to_string()))?;
        let settings = settings.set_std_stream(ldap3::StdStream::Tcp(stream));
        let (connection, ldap) = LdapConnAsync::with_settings(settings, &url)
            .await
            .map_err(|error| Fault::Gone(hinted(code::described(&error), server)))?;
        let driver = Some(tokio::spawn(connection.drive()));
        let mut session = Self { ldap, driver, timeout: options.timeout };
        if let Some(bind) = &options.bind {
            let password = bind.password.read().map_err(|unusable| {
                Fault::Final(Kind::Password(format!("{} {}", unusable.path.display(), unusable.problem)))
            })?;
            let result = session.ldap.with_timeout(options.timeout).simple_bind(&bind.dn, password.expose_secret());
            let result = match result.await {
                Ok(result) => result,
                Err(error) => return Err(Fault::Gone(hinted(session.cause(error).await, server))),
            };
            taken(&result)?;
        }
        Ok(session)
    }

    /// Searches; `each` takes what comes, and breaks off by giving false.
    pub(super) async fn search(
        &mut self,
        search: Search<'_>,
        mut each: impl FnMut(Item) -> bool,
    ) -> Result<Option<Done>, Fault> {
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
                return Err(Fault::Final(Kind::Search {
                    base: search.base.to_owned(),
                    said,
                    hint: "; check `filter`",
                }));
            }
            Err(error) => return Err(Fault::Gone(self.cause(error).await)),
        };
        loop {
            let item = match stream.next().await {
                Ok(Some(entry)) if entry.is_intermediate() => continue,
                Ok(Some(entry)) if entry.is_ref() => Item::Reference(entry.0),
                Ok(Some(entry)) => Item::Entry(entry.0),
                Ok(None) => break,
                // Whatever `finish` would say now is about another page.
                Err(error) => return Err(Fault::Gone(self.cause(error).await)),
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
        let told = match self.driver.take() {
            Some(driver) => tokio::time::timeout(CAUSE_WAIT, driver).await.ok(),
            None => None,
        };
        match told {
            Some(Ok(Err(cause))) => code::described(&cause),
            Some(Err(join)) if join.is_panic() => GARBLED.to_owned(),
            _ => code::described(&error),
        }
    }
}

fn taken(result: &LdapResult) -> Result<(), Fault> {
    match result.rc {
        code::SUCCESS => Ok(()),
        // Such a server looked at neither name nor password.
        code::BUSY | code::UNAVAILABLE => {
            Err(Fault::Gone(format!("{}{}", code::words(result.rc), code::said(&result.text))))
        }
        rc => Err(Fault::Final(Kind::Bind {
            said: format!("{}{}", code::words(rc), code::said(&result.text)),
            hint: code::bind_hint(rc, &result.text),
        })),
    }
}

/// The address as the library takes it, and whom it trusts.
fn client(options: &Options, server: &Server) -> Result<(String, ClientConfig), String> {
    let ca_file = options.ca_file.as_deref();
    if !server.tls && !options.start_tls {
        return Ok((server.url.clone(), tls::without_roots(None)?));
    }
    let (url, literal) = match server.host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => {
            let scheme = if server.tls { "ldaps" } else { "ldap" };
            (format!("{scheme}://{NAMELESS}:{}", server.port), Some(address))
        }
        Err(_) => (server.url.clone(), None),
    };
    let config = match literal {
        _ if !options.tls_verify => trust::unverified(),
        Some(address) => trust::verified_as(ca_file, ServerName::from(std::net::IpAddr::from(address)))?,
        None => tls::verified(ca_file)?,
    };
    Ok((url, config))
}

/// Adds what the port tells.
fn hinted(reason: String, server: &Server) -> String {
    if !server.tls && matches!(server.port, 636 | 3269) {
        return format!("{reason}; port {} usually speaks ldaps://", server.port);
    }
    reason
}
