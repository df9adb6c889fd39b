//! Which plan files were applied.
//!
//! Invariant: the row is part of the commit that queues the first changes of the plan. So a plan that ended before that can
//! be applied again, and one that went further can't.
//!
//! Rejected: a file for each plan beside the store. It was durable before the changes were queued, so a plan could be used up
//! and nothing of it sent.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Keyspace, RowId, Table};

/// When each plan file was applied.
pub(crate) const USED_PLANS: Table<PlanId, Timestamp> = Table::new(Keyspace::UsedPlan);

/// What tells a plan file from all others: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct PlanId(String);

impl PlanId {
    pub(crate) fn random(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_le_bytes(bytes)))
    }
}

impl TryFrom<String> for PlanId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { Ok(Self(text)) } else { Err("no id of a plan") }
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The one group of the table.
pub(crate) struct PlanFiles;

impl fmt::Display for PlanFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plan")
    }
}

impl RowId for PlanId {
    type Group = PlanFiles;

    fn parse_group(name: &str) -> Option<PlanFiles> {
        (name == PlanFiles.to_string()).then_some(PlanFiles)
    }

    fn parse(name: &str) -> Option<Self> {
        name.to_owned().try_into().ok()
    }

    fn name(&self) -> impl fmt::Display {
        &self.0
    }
}
