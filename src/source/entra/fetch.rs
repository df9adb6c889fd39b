//! The walks of one read, in a thread of its own.

use std::sync::mpsc::SyncSender;

use reqwest::Url;

use super::error::EntraErrorKind;
use super::limits::{PAGE_MANAGERS, PAGE_USERS};
use super::manager::Managers;
use super::options::Options;
use super::page::{ListPage, id};
use super::photo::PhotoVersions;
use super::property::Properties;
use super::request::{Asked, Graph, list_url};
use super::walk::Walk;
use crate::source::Access;

/// What is handed over.
pub(super) enum Listed {
    /// Another list begins: that of a group, or of all users.
    List {
        /// How the group, or else the tenant, is named in the configuration.
        name: String,
        /// The id of a group that is named by its display name.
        id: Option<String>,
    },
    /// Its next page.
    Page(ListPage),
}

/// What the service is asked for.
pub(super) struct Selected {
    select: String,
    has_manager: bool,
    has_photo: bool,
}

impl Selected {
    pub(super) fn new(properties: &Properties) -> Self {
        let Properties { has_manager, has_photo, .. } = *properties;
        Self { select: properties.asked.join(","), has_manager, has_photo }
    }
}

/// Walks over all lists; returns why they prove nothing.
pub(super) async fn walks(
    options: &Options,
    selected: &Selected,
    access: Access<'_>,
    sender: &SyncSender<Listed>,
) -> Result<Vec<String>, EntraErrorKind> {
    let mut graph = Graph::new(options, access.clock)?;
    let mut lists = Vec::new();
    if options.groups.is_empty() {
        lists.push((options.tenant.clone(), None, Asked::Users, list_url(options, &["users"])?));
    }
    for group in &options.groups {
        let found = if is_id(group) { None } else { Some(group_of(&mut graph, options, group).await?) };
        let id = found.as_deref().unwrap_or(group);
        let url = list_url(options, &["groups", id, "transitiveMembers", "microsoft.graph.user"])?;
        lists.push((group.clone(), found, Asked::Members, url));
    }
    let managers = match selected.has_manager {
        true => Some(managers(&mut graph, options).await?),
        false => None,
    };
    let mut photos = selected.has_photo.then(|| PhotoVersions::new(options));
    let mut doubts = Vec::new();
    for (name, id, asked, mut url) in lists {
        query(&mut url, options, selected);
        let mut walk = Walk::new(options.graph.url());
        if sender.send(Listed::List { name, id }).is_err() {
            return Ok(doubts);
        }
        let mut next = Some(url);
        while let Some(url) = next {
            let mut page = graph.page(&url, asked).await?;
            next = walk.take(&page)?;
            if let Some(managers) = &managers {
                managers.join(&mut page);
            }
            if let Some(photos) = &mut photos {
                photos.join(&mut graph, &mut page).await?;
            }
            // A receiver that is closed has broken the read, and says so itself.
            if sender.send(Listed::Page(page)).is_err() {
                return Ok(doubts);
            }
        }
        doubts.extend(walk.doubt());
    }
    Ok(doubts)
}

/// Walks over all users with their managers.
async fn managers(graph: &mut Graph<'_>, options: &Options) -> Result<Managers, EntraErrorKind> {
    let mut url = list_url(options, &["users"])?;
    let top = PAGE_MANAGERS.to_string();
    url.query_pairs_mut().append_pair("$select", "id").append_pair("$expand", "manager").append_pair("$top", &top);
    let (mut managers, mut walk) = (Managers::default(), Walk::new(options.graph.url()));
    let mut next = Some(url);
    while let Some(url) = next {
        let page = graph.page(&url, Asked::Managers).await?;
        next = walk.take(&page)?;
        managers.take(&page);
    }
    Ok(managers)
}

/// Adds what is asked for of the people of a list. The filter holds for members of groups as for all users.
fn query(url: &mut Url, options: &Options, selected: &Selected) {
    let mut pairs = url.query_pairs_mut();
    pairs.append_pair("$select", &selected.select);
    if let Some(filter) = &options.filter {
        pairs.append_pair("$filter", filter);
    }
    pairs.append_pair("$count", "true").append_pair("$top", &PAGE_USERS.to_string());
    drop(pairs);
    write_spaces_plainly(url);
}

/// Writes spaces of a query as `%20`: `+` means a space in forms only. A plus sign itself is `%2B` by now.
fn write_spaces_plainly(url: &mut Url) {
    let query = url.query().map(|query| query.replace('+', "%20"));
    url.set_query(query.as_deref());
}

/// Finds the one group of that display name.
async fn group_of(graph: &mut Graph<'_>, options: &Options, name: &str) -> Result<String, EntraErrorKind> {
    let mut url = list_url(options, &["groups"])?;
    let filter = format!("displayName eq '{}'", name.replace('\'', "''"));
    url.query_pairs_mut().append_pair("$filter", &filter).append_pair("$select", "id").append_pair("$top", "2");
    write_spaces_plainly(&mut url);
    let page = graph.page(&url, Asked::Groups).await?;
    match page.value.as_slice() {
        [group] if page.next.is_none() => Ok(id(group).to_owned()),
        [] => Err(EntraErrorKind::Group(format!("there is no group called {name:?}; check `groups`"))),
        _ => Err(EntraErrorKind::Group(format!(
            "several groups are called {name:?}; name the one that is meant by its id"
        ))),
    }
}

/// Whether it is the id of a group: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_id(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_named_by_its_id_or_its_display_name() {
        for (text, fits) in [
            ("02bd9fd6-8f93-4758-87c3-1fb73740a315", true),
            ("02bd9fd6-8f93-4758-87c3-1fb73740a31", false),
            ("Staff", false),
            ("", false),
        ] {
            assert_eq!(is_id(text), fits, "{text}");
        }
    }

    #[test]
    fn a_filter_reaches_the_service_as_it_is_written() {
        let filter = "mail eq 'a+b@example.com' and accountEnabled eq true";
        let options = Options { filter: Some(filter.to_owned()), ..Options::of_test() };
        let mut url = list_url(&options, &["users"]).unwrap();
        query(&mut url, &options, &Selected { select: "id,mail".to_owned(), has_manager: false, has_photo: false });
        let text = url.as_str();
        assert!(text.contains("a%2Bb%40example.com%27%20and%20accountEnabled") && !text.contains('+'), "{text}");
        let sent = url.query_pairs().find(|(name, _)| name == "$filter").map(|(_, value)| value.into_owned());
        assert_eq!(sent.as_deref(), Some(filter));
    }

    #[test]
    fn a_name_stays_one_part_of_a_path() {
        let url = list_url(&Options::of_test(), &["groups", "../users?x#y", "transitiveMembers"]).unwrap();
        assert_eq!(url.as_str(), "https://graph.microsoft.com/v1.0/groups/..%2Fusers%3Fx%23y/transitiveMembers");
    }
}
