//! Where things lie unless a configuration says otherwise: the paths that the packages lay down.

/// The folder of all configurations.
pub(super) const CONFIG_DIR: &str = "/etc/rosterd";
/// The folder of the store and the audit files.
pub(super) const STATE_DIR: &str = "/var/lib/rosterd";
/// The socket that the daemon listens on.
pub(super) const SOCKET: &str = "/run/rosterd/control.sock";
