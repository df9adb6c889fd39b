//! The fence: what every statement asks that only the holder of an account may carry out.

use super::connection::Value;
use super::lease::Tenure;

/// In SQL, of a row of the accounts: that `$1` is this tenure's account, `$2` and `$3` its holder and epoch, that its lease is not
/// over, and that the database still writes the timeline of its claim. [`Tenure::fence`] gives the values after `$1`.
macro_rules! fence {
    () => {
        concat!(
            "id = $1 and holder = $2 and epoch = $3 and expires_at > clock_timestamp() and timeline = ",
            crate::store::postgres::timeline::timeline!()
        )
    };
}
pub(super) use fence;

/// In SQL, a part `fence` that has a row where the fence holds. It locks the row of the account for reading: no other worker
/// can claim before the statement has ended.
macro_rules! fenced {
    () => {
        concat!("fence as (select from rosterd.account where ", crate::store::postgres::fence::fence!(), " for share)")
    };
}
pub(super) use fenced;

impl Tenure {
    /// The values of a fence after the number of the account, and those that come next.
    pub(super) fn fence(&self, more: impl IntoIterator<Item = Value>) -> Vec<Value> {
        [Value::Text(self.holder.clone()), Value::Big(self.epoch)].into_iter().chain(more).collect()
    }
}
