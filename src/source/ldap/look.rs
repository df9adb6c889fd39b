//! Reads a few entries at once.

use super::entry::RawEntry;
use super::options::SearchScope;
use super::session::{Done, Item, Search, Session, SessionFault};

/// Any entry: what the filter of a look at one entry says.
const ANY: &str = "(objectClass=*)";

/// One entry by its name.
pub(super) async fn look(
    session: &mut Session,
    dn: &str,
    attributes: &[String],
) -> Result<(Done, Option<RawEntry>), SessionFault> {
    let search = Search { base: dn, scope: SearchScope::Base, filter: ANY, attributes, page: None };
    let (done, mut found) = entries(session, search).await?;
    Ok((done, found.pop()))
}

/// All entries of one answer.
pub(super) async fn entries(session: &mut Session, search: Search<'_>) -> Result<(Done, Vec<RawEntry>), SessionFault> {
    let mut found = Vec::new();
    let done = session
        .search(search, |item| {
            if let Item::Entry(tag) = item {
                found.extend(RawEntry::parse(tag));
            }
            true
        })
        .await?;
    Ok((done.expect("nothing breaks it off"), found))
}
