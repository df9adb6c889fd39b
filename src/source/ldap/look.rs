//! Reads one entry.

use super::entry::Entry;
use super::options::Scope;
use super::session::{Done, Fault, Item, Search, Session};

/// Any entry: what the filter of a look at one entry says.
const ANY: &str = "(objectClass=*)";

/// One entry by its name.
pub(super) async fn look(
    session: &mut Session,
    dn: &str,
    attributes: &[String],
) -> Result<(Done, Option<Entry>), Fault> {
    let search = Search { base: dn, scope: Scope::Base, filter: ANY, attributes, page: None };
    let mut found = None;
    let done = session
        .search(search, |item| {
            if let Item::Entry(tag) = item {
                found = Entry::parse(tag);
            }
            true
        })
        .await?;
    Ok((done.expect("nothing breaks it off"), found))
}
