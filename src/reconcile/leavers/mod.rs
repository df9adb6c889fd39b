//! Who is gone from a source, and what becomes of them.

mod appearances;
pub(crate) mod counterparts;
pub(crate) mod detect;
pub(crate) mod job_limit;
pub(crate) mod job_transfers;
pub(crate) mod memberships;
pub(crate) mod missing_limit;
pub(crate) mod organization_transfers;
