//! The timeline of a database: it is another one after a standby took over, or a backup was played back.

/// The timeline that the database writes now, in SQL. The control file says it only from the next checkpoint on.
macro_rules! timeline {
    () => {
        "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int"
    };
}
pub(super) use timeline;
