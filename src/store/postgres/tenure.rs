//! Begins and ends tenures: claims an account and releases it.

use std::sync::Arc;
use std::time::Duration;

use super::connection::Value;
use super::database::Account;
use super::lease::{self, Lease, Tenure, WRITE_UNTIL};
use super::timeline::timeline;
use crate::crash::{point, term};
use crate::store::ErrorKind;
use crate::store::tenure::{Objections, Predecessor, Terms};
use crate::uptime::uptime;

/// What a claim found.
pub(super) struct Claimed {
    pub(super) lease: Arc<Lease>,
    pub(super) commits: i64,
    /// The tenure before; `None` where this is the first one.
    pub(super) predecessor: Option<Predecessor>,
}

/// Claims an account that no worker has; [`ErrorKind::Leased`] where a worker has it.
pub(super) fn claim(account: &Account, node: &str) -> Result<Claimed, ErrorKind> {
    if !account.take()? {
        return Err(ErrorKind::Leased { node: node.to_owned() });
    }
    let claimed = try_claim(account, node);
    if claimed.is_err() {
        account.let_go();
    }
    claimed
}

fn try_claim(account: &Account, node: &str) -> Result<Claimed, ErrorKind> {
    const CLAIM: &str = concat!(
        "with now as materialized (select clock_timestamp() as at, ",
        timeline!(),
        " as timeline),
         old as materialized (
           select id, timeline, epoch, expires_at, quiet_until, budget, budget_at,
                  epoch > 0 and holder is not null as is_lost, epoch > 0 and timeline <> (select timeline from now) as is_older
             from rosterd.account where id = $1 and (expires_at < clock_timestamp() or holder = $2) for update)
         update rosterd.account a
            set holder = $2, node = $3, since = now.at, serves = null, epoch = a.epoch + 1, expires_at = clock_timestamp() + $4 * interval '1 ms',
                timeline = now.timeline, budget = null, budget_at = null,
                quiet_until = greatest(old.quiet_until,
                  case when old.is_lost or old.is_older then now.at + $5 * interval '1 ms' end)
           from old, now where a.id = old.id
         returning a.epoch, a.commits, a.timeline, old.epoch > 0 as is_later, old.is_lost or old.is_older as is_lost, old.is_older,
                   greatest(extract(epoch from a.quiet_until - now.at), 0)::float8 as settle,
                   old.budget, extract(epoch from now.at - old.budget_at)::float8 as budget_age"
    );
    if account.database.options().has_several_hosts() && is_free(account)? {
        account.database.expect_one_primary()?;
    }
    let asked = uptime();
    let values = vec![
        Value::Text(account.database.worker.clone()),
        Value::Text(node.to_owned()),
        lease::lease(),
        lease::settle(),
    ];
    let rows = account.query_once(CLAIM, values)?;
    let Some(row) = rows.first() else { return Err(ErrorKind::Leased { node: holder(account)? }) };
    point("lease: claimed");
    let holder = account.database.worker.clone();
    let tenure = Tenure { account: account.id()?, holder, epoch: row.get("epoch"), timeline: row.get("timeline") };
    let lease = Lease::new(tenure, asked, Duration::from_secs_f64(row.get("settle")));
    let budget = row.get::<_, Option<Vec<u8>>>("budget").zip(row.get::<_, Option<f64>>("budget_age"));
    let is_lost: bool = row.get("is_lost");
    let budget = budget.filter(|_| !is_lost).map(|(budget, age)| (budget, Duration::from_secs_f64(age.max(0.0))));
    let predecessor = row.get::<_, bool>("is_later").then_some(Predecessor {
        budget,
        is_lost,
        sends_for: if row.get("is_older") { term(WRITE_UNTIL) } else { Duration::ZERO },
    });
    Ok(Claimed { lease: Arc::new(lease), commits: row.get("commits"), predecessor })
}

/// Whether no worker has the account.
fn is_free(account: &Account) -> Result<bool, ErrorKind> {
    const FREE: &str = "select from rosterd.account where id = $1 and expires_at < clock_timestamp()";
    Ok(!account.query(FREE, Vec::new)?.is_empty())
}

/// Where the worker runs that has an account.
fn holder(account: &Account) -> Result<String, ErrorKind> {
    let rows = account.query("select coalesce(node, 'a worker') from rosterd.account where id = $1", Vec::new)?;
    Ok(rows.first().map_or_else(|| "a worker".to_owned(), |row| row.get(0)))
}

/// Says under what a tenure runs the account. Two accounts with one credential would overspend its budget together: the one that
/// was there before goes first. What is written before it is looked around, so that of two that come at once one sees the other.
pub(super) fn announce(account: &Account, lease: &Lease, terms: &Terms<'_>) -> Result<Objections, ErrorKind> {
    const SALT: &str = "select salt from rosterd.meta where $1 > 0";
    const ANNOUNCE: &str = "with old as materialized (select config from rosterd.account where id = $1)
        update rosterd.account a set config = $4, credentials = $5 from old
         where a.id = $1 and a.holder = $2 and a.epoch = $3
        returning coalesce(old.config <> $4, false) as is_other";
    const SAME: &str = "select other.name from rosterd.account own, rosterd.account other
        where own.id = $1 and other.id <> own.id and other.credentials && own.credentials
          and other.holder is not null and other.expires_at > clock_timestamp() and other.since < own.since + interval '5 s'
        limit 1";
    let rows = account.query(SALT, Vec::new)?;
    let salt: String = rows.first().map_or_else(String::new, |row| row.get(0));
    let credentials = (terms.credentials)(salt.as_bytes());
    let values = || {
        vec![
            Value::Text(lease.tenure.holder.clone()),
            Value::Big(lease.tenure.epoch),
            Value::Text(terms.config.to_owned()),
            Value::Texts(credentials.clone()),
        ]
    };
    let rows = account.query(ANNOUNCE, values)?;
    let other_config = rows.first().is_some_and(|row| row.get("is_other"));
    let same_credential = account.query(SAME, Vec::new)?.first().map(|row| row.get(0));
    Ok(Objections { same_credential, other_config })
}

/// Ends a tenure, with what is left of the budget; the next worker may claim the account at once. Nothing may be on its way
/// to the service.
pub(super) fn release(account: &Account, lease: &Lease, budget: Vec<u8>) -> Result<(), ErrorKind> {
    const RELEASE: &str = "update rosterd.account
        set holder = null, node = null, expires_at = 'epoch', budget = $4, budget_at = clock_timestamp()
        where id = $1 and holder = $2 and epoch = $3";
    lease.lose();
    let values =
        || vec![Value::Text(lease.tenure.holder.clone()), Value::Big(lease.tenure.epoch), Value::Bytes(budget.clone())];
    point("lease: before it is released");
    account.query(RELEASE, values)?;
    point("lease: released");
    Ok(())
}
