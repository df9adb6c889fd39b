//! A connection to a server, encrypted if configured.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::code;
use super::options::{Options, Server};
use super::trust;
use super::wire_filter::{End, one_message};
use crate::clock::Clock;
use crate::secret::Unusable;
use crate::tls;

/// The request to begin with TLS (RFC 4511, 4.14): the first message, with the name of the operation.
const START_TLS: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";

/// What goes over the wire.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// How a server is spoken to, checked before it is.
pub(super) struct Security {
    /// `None` for a connection in the clear.
    tls: Option<(TlsConnector, ServerName<'static>)>,
    starts_later: bool,
}

impl Security {
    /// # Errors
    ///
    /// Why TLS can't be set up on this side.
    pub(super) fn of(options: &Options, server: &Server, clock: &Clock) -> Result<Self, String> {
        let starts_later = options.start_tls && !server.tls;
        if !server.tls && !starts_later {
            tls::without_roots(options.ca_file.as_deref())?;
            return Ok(Self { tls: None, starts_later });
        }
        let mut config: ClientConfig = match options.tls_verify {
            true => tls::verified(options.ca_file.as_deref())?,
            false => trust::unverified(),
        };
        if let Some(certificate) = &options.certificate {
            let unusable = |Unusable { path, problem }| format!("the client certificate: {} {problem}", path.display());
            config.client_auth_cert_resolver = certificate.shown(clock.now()).map_err(unusable)?;
        }
        let name =
            ServerName::try_from(server.host.clone()).map_err(|_| format!("{} is no host's name", server.host))?;
        Ok(Self { tls: Some((TlsConnector::from(Arc::new(config)), name)), starts_later })
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// Why there is no connection, in words.
    pub(super) async fn connect(self, server: &Server) -> Result<Box<dyn Wire>, String> {
        let broken = |error: io::Error| code::broken(&error);
        let mut stream = TcpStream::connect((server.host.as_str(), server.port)).await.map_err(broken)?;
        // Nothing is gained by waiting for more to send: every request waits for its answer.
        let _ = stream.set_nodelay(true);
        let Some((connector, name)) = self.tls else { return Ok(Box::new(stream)) };
        if self.starts_later {
            stream.write_all(START_TLS).await.map_err(broken)?;
            let answer = one_message(&mut stream).await.map_err(|end| end.words())?;
            match answer.code {
                Some(0) => {}
                Some(refused) => return Err(format!("StartTLS was refused: {}", code::words(u32::from(refused)))),
                None => return Err(code::GARBLED.to_owned()),
            }
        }
        Ok(Box::new(connector.connect(name, stream).await.map_err(broken)?))
    }
}

impl End {
    /// In words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Closed => code::CLOSED.to_owned(),
            Self::Broken(error) => code::broken(error),
            Self::Flaw(flaw) => flaw.to_string(),
        }
    }
}
