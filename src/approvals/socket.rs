//! The socket of a proxy: only processes of its account are heard.
//!
//! Everybody on this machine may connect; the kernel says who does (SO_PEERCRED), and any other than the account of the proxy
//! is hung up on before a byte is read. So a header that names a person can come from the proxy alone.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::User;
use tokio::net::UnixStream;

use crate::config::Proxy;
use crate::web::{Listener, Socket, SocketModes};

/// Anybody may connect, since the peer is looked at.
const MODES: SocketModes = SocketModes { file: 0o666, folder: 0o755 };

/// The socket of a proxy.
#[derive(Debug)]
pub(super) struct ProxySocket {
    socket: Socket,
    account: u32,
    is_warned: AtomicBool,
}

impl ProxySocket {
    pub(super) fn bind(proxy: &Proxy) -> io::Result<Self> {
        let account = account(&proxy.account).map_err(|reason| io::Error::new(io::ErrorKind::NotFound, reason))?;
        Ok(Self { socket: Socket::bind(&proxy.socket, MODES)?, account, is_warned: AtomicBool::new(false) })
    }

    pub(super) fn path(&self) -> &Path {
        self.socket.path()
    }
}

/// The number of an account of this machine.
pub(super) fn account(name: &str) -> Result<u32, String> {
    match User::from_name(name) {
        Ok(Some(user)) => Ok(user.uid.as_raw()),
        Ok(None) => Err(format!("there is no account {name} on this machine")),
        Err(error) => Err(format!("the account {name} can't be looked up: {error}")),
    }
}

impl Listener for ProxySocket {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<UnixStream> {
        loop {
            let stream = self.socket.next().await?;
            let peer = stream.peer_cred()?.uid();
            if peer == self.account {
                return Ok(stream);
            }
            // Anybody on this machine could fill the log.
            if !self.is_warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    uid = peer,
                    "a process of another account (uid {peer}) than the proxy's connected and was not heard; no further one is \
                     reported"
                );
            }
        }
    }
}
