//! The workers that share accounts: which are there, what each of them could run, and who has what.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Error;

/// A process as one of the workers of a database.
pub trait Membership: Send + Sync {
    /// What distinguishes the database from others.
    fn place(&self) -> String;

    /// Says that this process is there and which accounts it could run, and looks how things are. Blocks.
    ///
    /// # Errors
    ///
    /// The database could not be asked; how things are is not known.
    fn look(&self, offers: &BTreeSet<String>) -> Result<Workers, Error>;

    /// Who has which account, for a process that takes no part. Blocks.
    ///
    /// # Errors
    ///
    /// The database could not be asked.
    fn holders(&self) -> Result<BTreeMap<String, AccountHolder>, Error>;

    /// This process takes part no more: what it lets go is another's. Blocks.
    ///
    /// # Errors
    ///
    /// The database could not be asked; the others miss this process after a while.
    fn leave(&self) -> Result<(), Error>;
}

/// Workers and accounts at one moment.
#[derive(Clone, Debug, Default)]
pub struct Workers {
    /// This process.
    pub own: String,
    /// The workers that were heard of not long ago, without this process.
    pub others: BTreeMap<String, OtherWorker>,
    /// The accounts that a worker has.
    pub held: BTreeMap<String, AccountHolder>,
}

/// A worker beside this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherWorker {
    /// The accounts that it could run.
    pub offers: BTreeSet<String>,
    /// Whether it has only begun, and may end again as soon.
    pub is_new: bool,
}

/// Who has an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountHolder {
    /// The process.
    pub worker: String,
    /// Where it runs, for people.
    pub node: String,
    /// By which the configuration is known under which it is run.
    pub config: Option<String>,
    /// Since when it has it.
    pub since: Option<Timestamp>,
}
