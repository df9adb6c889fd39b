//! What of a database is not as it should be: the rights of the role, the server's settings, its clock. Makes nothing, and needs
//! no account.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;

use super::connection::StatementError;
use super::database::Account;
use super::schema;
use crate::store::ErrorKind;
use crate::text::some_of;

/// The oldest version that the statements are written for.
const OLDEST: i32 = 15;
/// By how much the clocks of worker and database may be apart without a word.
const APART_MAX: SignedDuration = SignedDuration::from_secs(60);
/// So many names are listed.
const NAMES_MAX: usize = 5;

/// What was seen of a database.
#[derive(Debug)]
pub struct Examined {
    /// The server's version, as it says it.
    pub version: String,
    /// Without these the state can't be used.
    pub obstacles: Vec<Obstacle>,
    /// All works as it is, and could be better.
    pub doubts: Vec<Doubt>,
}

/// Why a database can't hold a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its server is too old.
    Old(String),
    /// It is a standby.
    Standby,
    /// It takes no writes.
    ReadOnly,
    /// More than one server of the URL takes writes.
    SeveralPrimaries(Vec<String>),
    /// A later program made its tables.
    Newer(i32),
    /// The tables are not there, and the role may not make them.
    NoRights {
        /// The database.
        database: String,
        /// The role.
        role: String,
    },
    /// The tables are there, and the role may not work with them.
    NoAccess {
        /// The role.
        role: String,
        /// Their owner.
        owner: String,
    },
}

/// What could cost something some day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The role may do more than it has to.
    Rights(Vec<&'static str>),
    /// The role owns more than the tables of the state.
    Owns(u64),
    /// Other roles have rights on the tables.
    Granted(Vec<String>),
    /// There are standbys, and a commit waits for none of them.
    Asynchronous(u64),
    /// A setting under which commits are lost when the server's machine fails.
    Loses(&'static str),
    /// The clock of this machine is ahead of the database's by so much, or behind it where that is negative.
    Clock(SignedDuration),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(version) => write!(f, "its version is {version}, and {OLDEST} is the oldest that is supported"),
            Self::Standby => f.write_str(
                "it is a standby, which takes no writes: name the primary in state.url, or both hosts with target_session_attrs=read-write",
            ),
            Self::ReadOnly => f.write_str("default_transaction_read_only is on for this role: it takes no writes"),
            Self::SeveralPrimaries(hosts) => write!(
                f,
                "several servers of state.url take writes: {}; end the one that was replaced, or make it a standby",
                hosts.join(", ")
            ),
            Self::NoRights { database, role } => write!(
                f,
                "the role may not make the tables: grant create on database \"{database}\" to \"{role}\""
            ),
            Self::NoAccess { role, owner } => write!(
                f,
                "the role \"{role}\" lacks rights on the tables, which belong to \"{owner}\": name that one in state.url"
            ),
            Self::Newer(version) => write!(f, "a later version of the program made its tables (version {version})"),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rights(rights) => {
                write!(f, "the role has {}, which it does not need: use one of its own", rights.join(", "))
            }
            Self::Owns(1) => f.write_str("the role owns one thing more than the state's tables: use one of its own"),
            Self::Owns(count) => {
                write!(f, "the role owns {count} things more than the state's tables: use one of its own")
            }
            Self::Granted(roles) => {
                write!(
                    f,
                    "others have rights on the tables, which hold people's data: {}",
                    some_of(roles.iter().cloned(), NAMES_MAX)
                )
            }
            Self::Asynchronous(count) => write!(
                f,
                "{} without synchronous_standby_names: a failover loses the last commits",
                if *count == 1 { "it has a standby".to_owned() } else { format!("it has {count} standbys") }
            ),
            Self::Loses(setting) => write!(f, "{setting}: what was committed last may be lost when its machine fails"),
            Self::Clock(apart) => write!(
                f,
                "the clock of this machine is {} s {} the database's; leases don't depend on it, schedules do",
                apart.abs().as_secs(),
                if apart.is_negative() { "behind" } else { "ahead of" }
            ),
        }
    }
}

impl Account {
    /// Looks at the database.
    ///
    /// # Errors
    ///
    /// It can't be reached, or does not answer what anyone may ask.
    pub(in crate::store) fn examine(&self, now: Timestamp) -> Result<Examined, ErrorKind> {
        const SERVER: &str = "select current_setting('server_version') as version,
                current_setting('server_version_num')::int / 10000 as major,
                pg_is_in_recovery() as is_standby, current_setting('default_transaction_read_only')::bool as is_read_only,
                current_setting('fsync')::bool as syncs, current_setting('full_page_writes')::bool as writes_pages,
                current_setting('synchronous_commit') = 'off' as answers_early,
                current_setting('synchronous_standby_names') = '' as is_asynchronous,
                (select count(*) from pg_stat_replication) as standbys,
                extract(epoch from clock_timestamp())::float8 as now";
        let rows = self.ask(SERVER)?;
        let row = rows.first().ok_or_else(|| ErrorKind::Damaged("it does not say what it is".into()))?;
        let mut obstacles = Vec::new();
        let version: String = row.get("version");
        if row.get::<_, i32>("major") < OLDEST {
            obstacles.push(Obstacle::Old(version.clone()));
        }
        match () {
            () if row.get("is_standby") => obstacles.push(Obstacle::Standby),
            () if row.get("is_read_only") => obstacles.push(Obstacle::ReadOnly),
            () => {}
        }
        let primaries = self.database.primaries();
        obstacles.extend((primaries.len() > 1).then_some(Obstacle::SeveralPrimaries(primaries)));
        match self.lacking_rights()? {
            Some(lacks) => obstacles.push(lacks),
            None => {
                let version = schema::version(self.database.bare())?;
                obstacles.extend(version.filter(|found| *found > schema::VERSION).map(Obstacle::Newer));
            }
        }
        let mut doubts = self.doubts_of_rights()?;
        doubts.extend(settings(row));
        let theirs = Timestamp::from_millisecond((row.get::<_, f64>("now") * 1000.0) as i64).unwrap_or(now);
        let apart = now.duration_since(theirs);
        doubts.extend((apart.abs() > APART_MAX).then_some(Doubt::Clock(apart)));
        Ok(Examined { version, obstacles, doubts })
    }

    /// Which rights the role lacks.
    fn lacking_rights(&self) -> Result<Option<Obstacle>, ErrorKind> {
        const RIGHTS: &str = "select current_database()::text as database, current_user::text as role,
                (select pg_get_userbyid(n.nspowner)::text from pg_namespace n where n.nspname = 'rosterd') as owner,
                has_database_privilege(current_database(), 'CREATE') as makes,
                coalesce((select bool_and(has_schema_privilege(n.oid, 'USAGE')
                                 and has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
                                 and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE'))
                            from pg_class c join pg_namespace n on n.oid = c.relnamespace
                           where n.nspname = 'rosterd' and c.relkind in ('r', 'p')), true) as works";
        let rows = self.ask(RIGHTS)?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (database, role) = (row.get("database"), row.get("role"));
        Ok(match row.get::<_, Option<String>>("owner") {
            None if !row.get::<_, bool>("makes") => Some(Obstacle::NoRights { database, role }),
            Some(owner) if !row.get::<_, bool>("works") => Some(Obstacle::NoAccess { role, owner }),
            _ => None,
        })
    }

    fn doubts_of_rights(&self) -> Result<Vec<Doubt>, ErrorKind> {
        const ROLE: &str = "select rolsuper, rolcreatedb, rolcreaterole, rolbypassrls, rolreplication,
                (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where c.relowner = r.oid and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
                    and n.nspname not in ('rosterd', 'pg_catalog', 'information_schema', 'pg_toast'))
                + (select count(*) from pg_database d where d.datdba = r.oid and d.datname <> current_database()) as owns
              from pg_roles r where r.rolname = current_user";
        const GRANTED: &str =
            "select distinct case a.grantee when 0 then 'everyone' else pg_get_userbyid(a.grantee)::text end as role
              from pg_class c join pg_namespace n on n.oid = c.relnamespace cross join aclexplode(c.relacl) a
             where n.nspname = 'rosterd' and a.grantee <> c.relowner order by role";
        let mut doubts = Vec::new();
        for row in self.ask(ROLE)? {
            let named = [
                ("rolsuper", "superuser"),
                ("rolcreatedb", "createdb"),
                ("rolcreaterole", "createrole"),
                ("rolbypassrls", "bypassrls"),
                ("rolreplication", "replication"),
            ];
            let rights: Vec<&str> =
                named.into_iter().filter(|(column, _)| row.get(*column)).map(|(_, name)| name).collect();
            doubts.extend((!rights.is_empty()).then_some(Doubt::Rights(rights)));
            let owns = u64::try_from(row.get::<_, i64>("owns")).unwrap_or(0);
            doubts.extend((owns > 0).then_some(Doubt::Owns(owns)));
        }
        let granted: Vec<String> = self.ask(GRANTED)?.iter().map(|row| row.get("role")).collect();
        doubts.extend((!granted.is_empty()).then_some(Doubt::Granted(granted)));
        Ok(doubts)
    }

    /// A statement that needs neither tables nor an account.
    fn ask(&self, statement: &'static str) -> Result<Vec<Row>, ErrorKind> {
        let connection = self.database.bare();
        match connection.query(statement, Vec::new()) {
            Err(StatementError::Lost(_)) => connection.query(statement, Vec::new()),
            answer => answer,
        }
        .map_err(ErrorKind::from_database)
    }
}

/// What the server's settings may cost.
fn settings(row: &Row) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let standbys = u64::try_from(row.get::<_, i64>("standbys")).unwrap_or(0);
    if standbys > 0 && row.get("is_asynchronous") {
        doubts.push(Doubt::Asynchronous(standbys));
    }
    let losing = [
        (!row.get::<_, bool>("syncs"), "fsync is off"),
        (!row.get::<_, bool>("writes_pages"), "full_page_writes is off"),
        (row.get("answers_early"), "synchronous_commit is off"),
    ];
    doubts.extend(losing.into_iter().filter(|(loses, _)| *loses).map(|(_, setting)| Doubt::Loses(setting)));
    doubts
}
