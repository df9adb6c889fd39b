//! Cancellation: counted requests to stop, with a grace period.

use std::time::Duration;

use tokio::sync::watch;

/// How long what is under way may take once it was asked to end. Whatever is unfinished then is settled by the next run, as
/// after a power cut.
pub const GRACE: Duration = Duration::from_secs(10);

/// Asks something to end, for as long as it is held.
pub type CancelHandle = watch::Sender<usize>;

/// Whether any of several askers wants something to end.
#[derive(Clone, Debug)]
pub struct CancelToken {
    askers: Vec<watch::Receiver<usize>>,
}

impl CancelToken {
    /// What ends when one of `askers` says so.
    pub fn by<'a>(askers: impl IntoIterator<Item = &'a CancelHandle>) -> Self {
        Self { askers: askers.into_iter().map(watch::Sender::subscribe).collect() }
    }

    /// Whether it was asked for.
    pub fn asked(&self) -> bool {
        self.askers.iter().any(|asker| *asker.borrow() > 0)
    }

    /// Waits until it is asked for.
    pub async fn wait(&self) {
        let waits = self.askers.iter().cloned().map(|mut asker| {
            Box::pin(async move {
                // An asker that is gone asks for nothing any more.
                if asker.wait_for(|askers| *askers > 0).await.is_err() {
                    std::future::pending::<()>().await;
                }
            })
        });
        if self.askers.is_empty() {
            return std::future::pending().await;
        }
        futures_util::future::select_all(waits).await;
    }

    /// Does `work` until it ends, or until the grace after being asked to end has passed; `None` then.
    pub async fn guard<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let late = async {
            self.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            done = work => Some(done),
            () = late => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_to_end_gets_its_grace_and_no_more() {
        let (one, other) = (CancelHandle::new(0), CancelHandle::new(0));
        let ending = CancelToken::by([&one, &other]);
        assert!(!ending.asked());
        assert_eq!(ending.guard(async { 7 }).await, Some(7));
        other.send_modify(|askers| *askers += 1);
        assert!(ending.asked());
        let soon = tokio::time::sleep(GRACE - Duration::from_millis(1));
        assert_eq!(ending.guard(soon).await, Some(()));
        assert_eq!(ending.guard(std::future::pending::<()>()).await, None);
        other.send_modify(|askers| *askers -= 1);
        assert!(!ending.asked());
    }

    #[tokio::test(start_paused = true)]
    async fn an_asker_that_is_gone_asks_for_nothing() {
        let gone = CancelToken::by([&CancelHandle::new(0)]);
        assert_eq!(gone.guard(tokio::time::sleep(Duration::from_secs(3600))).await, Some(()));
    }
}
