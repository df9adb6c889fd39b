//! Begins and ends tenures: claims an account and releases it.

use std::sync::Arc;
use std::time::Duration;

use super::connection::Value;
use super::database::Account;
use super::deadline;
use super::lease::{Lease, SETTLE, Tenure};
use super::timeline::timeline;
use crate::store::ErrorKind;

/// What a claim found.
pub(super) struct Claimed {
    pub(super) lease: Arc<Lease>,
    pub(super) commits: i64,
    /// Whether the tenure before was not released, or the database lost its tail since.
    pub(super) is_takeover: bool,
    /// What the tenure before left of the budget, and how long ago.
    pub(super) budget: Option<(Vec<u8>, Duration)>,
}

/// Claims an account that nobody has; [`ErrorKind::Leased`] where a worker has it.
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
        "with old as materialized (
           select id, holder, timeline, epoch, budget, extract(epoch from clock_timestamp() - budget_at)::float8 as budget_age,
                  extract(epoch from clock_timestamp() - expires_at)::float8 as expired
             from rosterd.account where id = $1 and (expires_at < clock_timestamp() or holder = $2) for update)
         update rosterd.account a
            set holder = $2, node = $3, epoch = a.epoch + 1, expires_at = clock_timestamp() + interval '30 s', timeline = ",
        timeline!(),
        ", budget = null, budget_at = null
           from old where a.id = old.id
         returning a.epoch, a.commits, a.timeline, old.holder is null as released, old.timeline as before, old.expired,
                   old.budget, old.budget_age, old.epoch as old_epoch"
    );
    let asked = deadline::now();
    let values = vec![Value::Text(account.database.worker.clone()), Value::Text(node.to_owned())];
    let rows = account.query_once(CLAIM, values)?;
    let Some(row) = rows.first() else { return Err(ErrorKind::Leased { node: holder(account)? }) };
    let (timeline, before, old_epoch): (i32, i32, i64) = (row.get("timeline"), row.get("before"), row.get("old_epoch"));
    let is_takeover = old_epoch > 0 && (!row.get::<_, bool>("released") || timeline != before);
    let expired: f64 = row.get("expired");
    let settle = if is_takeover { SETTLE.as_secs_f64() - expired.max(0.0) } else { 0.0 };
    let holder = account.database.worker.clone();
    let tenure = Tenure { account: account.id()?, holder, epoch: row.get("epoch"), timeline };
    let lease = Lease::new(tenure, asked, Duration::from_secs_f64(settle.max(0.0)));
    let budget = row.get::<_, Option<Vec<u8>>>("budget").zip(row.get::<_, Option<f64>>("budget_age"));
    Ok(Claimed {
        lease: Arc::new(lease),
        commits: row.get("commits"),
        is_takeover,
        budget: budget.filter(|_| !is_takeover).map(|(budget, age)| (budget, Duration::from_secs_f64(age.max(0.0)))),
    })
}

/// Where the worker runs that has an account.
fn holder(account: &Account) -> Result<String, ErrorKind> {
    let rows = account.query("select coalesce(node, 'a worker') from rosterd.account where id = $1", Vec::new)?;
    Ok(rows.first().map_or_else(|| "a worker".to_owned(), |row| row.get(0)))
}

/// Ends a tenure, with what is left of the budget; the next worker may claim the account at once. Nothing may be on its way
/// to the service.
pub(super) fn release(account: &Account, lease: &Lease, budget: Option<Vec<u8>>) -> Result<(), ErrorKind> {
    const RELEASE: &str = "update rosterd.account
        set holder = null, node = null, expires_at = 'epoch', budget = $4, budget_at = clock_timestamp()
        where id = $1 and holder = $2 and epoch = $3";
    lease.lose();
    let budget = budget.unwrap_or_default();
    let values =
        || vec![Value::Text(lease.tenure.holder.clone()), Value::Big(lease.tenure.epoch), Value::Bytes(budget.clone())];
    account.query(RELEASE, values).map(drop)
}
