//! What the pages need of the daemon.

use std::ops::Deref;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::clock::Clock;
use crate::config::Config;
use crate::record::JobName;
use crate::store::{self, Store};

/// The store, shared with others.
pub type SharedStore = Box<dyn Deref<Target = Store> + Send + Sync>;

/// The daemon, as far as the pages may use it.
pub trait Engine: Send + Sync + 'static {
    /// The configuration in force.
    fn config(&self) -> Arc<Config>;

    /// The clock.
    fn clock(&self) -> &Clock;

    /// The store, for as long as it is held.
    fn store(&self) -> BoxFuture<'_, Result<SharedStore, store::Error>>;

    /// Says to all views that something was decided; with a job, that one runs as soon as may be.
    fn decided(&self, wanted: Option<&JobName>);
}
