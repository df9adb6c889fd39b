//! One page of a list.

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page<R> {
    /// What it holds, perhaps nothing.
    Items(Vec<R>),
    /// Nothing changed since the time given (304).
    NotModified,
    /// The service says that there is nothing (404); what that means depends on what was asked.
    Absent,
}
