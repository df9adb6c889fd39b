//! The query parameters of a list request, for any resource.

use jiff::Timestamp;

use crate::RemoteId;
use crate::filter::Filter;
use crate::zone::TimeZone;

/// What a query holds, whatever it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) filter: Filter,
    pub(crate) order: Option<String>,
    pub(crate) limit: Option<u32>,
    pub(crate) page: Option<u32>,
    pub(crate) only: Option<RemoteId>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) zone: TimeZone,
}
