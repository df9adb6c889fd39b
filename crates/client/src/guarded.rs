//! A body that asks once more whether its request may leave, at the moment in which the first bytes are about to be written.
//!
//! Between the first look and that moment a connection is made, and the process may stand still. Head and body leave with
//! one write, after this look: where it refuses, nothing has left.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use reqwest::Body;

use crate::operation::Verb;
use crate::options::MaySend;

/// Why a request was kept back at last; empty where it was not.
pub(crate) type KeptBack = Arc<OnceLock<String>>;

/// A body that asks before its first byte.
struct Guarded {
    inner: Body,
    may_send: Option<(MaySend, Verb)>,
    kept_back: KeptBack,
}

#[derive(Debug, thiserror::Error)]
#[error("it may not leave any more")]
struct Refused;

/// The body of a request of this kind, and why it was kept back, once it was.
pub(crate) fn guarded(body: Vec<u8>, may_send: &MaySend, verb: Verb) -> (Body, KeptBack) {
    let kept_back = KeptBack::default();
    let may_send = Some((Arc::clone(may_send), verb));
    (Body::wrap(Guarded { inner: body.into(), may_send, kept_back: Arc::clone(&kept_back) }), kept_back)
}

impl http_body::Body for Guarded {
    type Data = <Body as http_body::Body>::Data;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Some((may_send, verb)) = self.may_send.take()
            && let Err(reason) = may_send(verb)
        {
            // It is asked once.
            let _ = self.kept_back.set(reason);
            return Poll::Ready(Some(Err(Refused.into())));
        }
        Pin::new(&mut self.inner).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
