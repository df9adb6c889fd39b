//! Connections that can be cut: at once when the sandbox stops, and on purpose for a fault.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A listener whose connections end when `stop` turns true or its sender is gone.
pub(crate) struct CuttableListener {
    pub(crate) inner: TcpListener,
    pub(crate) stop: watch::Receiver<bool>,
}

/// A connection on which nothing is written once it is cut.
pub(crate) struct CuttableStream {
    stream: TcpStream,
    shears: Shears,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Cuts one connection.
#[derive(Clone, Debug)]
pub(crate) struct Shears(Arc<AtomicBool>);

impl Shears {
    /// Lets no further byte out; the connection closes at the next attempt to write one.
    pub(crate) fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_cut(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Ends when the sandbox stops.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the sandbox.
    let _ = stop.wait_for(|stop| *stop).await;
}

impl Listener for CuttableListener {
    type Io = CuttableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CuttableStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.inner).await;
        // Without it an answer in two parts could wait for the caller's acknowledgement; a failure only costs speed.
        let _ = stream.set_nodelay(true);
        let shears = Shears(Arc::new(AtomicBool::new(false)));
        (CuttableStream { stream, shears, stopped: Box::pin(stopped(self.stop.clone())) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Shears {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        stream.io().shears.clone()
    }
}

impl CuttableStream {
    fn check(&self) -> io::Result<()> {
        if self.shears.is_cut() { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl AsyncRead for CuttableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.shears.is_cut() && self.stopped.as_mut().poll(context).is_ready() {
            self.shears.cut();
        }
        self.check()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
