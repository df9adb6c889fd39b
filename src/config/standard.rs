//! Where things lie unless a configuration says otherwise: the paths that the packages lay down.

/// The folder of all configurations.
pub(super) const CONFIG_DIR: &str = "/etc/rosterd";
/// The folder of the accounts that share one process.
pub(super) const ACCOUNTS_DIR: &str = "/etc/rosterd/accounts";
/// The folder of the store and the audit files.
pub(super) const STATE_DIR: &str = "/var/lib/rosterd";
/// The folder for what a run puts aside, where the state lies in a database.
#[cfg(feature = "postgres")]
pub(super) const SPILL_DIR: &str = "/var/cache/rosterd";
/// The socket that the daemon listens on.
pub(super) const SOCKET: &str = "/run/rosterd/control.sock";
