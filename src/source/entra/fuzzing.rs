//! Made-up answers of Microsoft, and what must hold of each.

use std::time::Duration;

use reqwest::Url;

use super::limits::VALUE_BYTES_MAX;
use super::manager::Managers;
use super::options::Options;
use super::page::{ListPage, id};
use super::photo::{BatchAnswer, reference, user_of};
use super::property::{Properties, Values};
use super::refusal;
use super::request::is_within;
use super::walk::Walk;
use crate::source::{ColumnRequirement, Name, RequiredColumns};

/// The properties that are read.
const NAMES: [&str; 7] =
    ["mail", "business_phones", "manager", "manager_id", "photo", "extension_attribute1", "employee_org_data_division"];

/// The address below which each page lies.
const ROOT: &str = "https://graph.example.com/v1.0";

/// Pages of a list, each on a line.
pub(crate) fn entra(bytes: &[u8]) {
    let root = Url::parse(ROOT).expect("it is an address");
    let (mut walk, mut managers) = (Walk::new(&root), Managers::default());
    for body in bytes.split(|byte| *byte == b'\n') {
        refused(body);
        photos(body);
        let Ok(mut page) = ListPage::parse(body) else { continue };
        let (seen, count) = (walk.seen(), page.value.len());
        if let Ok(Some(next)) = walk.take(&page) {
            let is_there = (next.scheme(), next.host_str(), next.port()) == ("https", Some("graph.example.com"), None);
            assert!(is_there && next.path().starts_with("/v1.0/"), "a page is looked for where the first one was");
            assert!(next.username().is_empty() && next.password().is_none(), "nobody is named in an address");
        }
        assert!(walk.seen() - seen <= count as u64, "a page shows no more than it has");
        managers.take(&page);
        managers.join(&mut page);
        page.value.iter().for_each(|user| {
            assert!(!id(user).is_empty(), "an object has an id");
            values(user);
        });
    }
    _ = walk.doubt();
}

/// What is shown of a refusal (law 11).
fn refused(body: &[u8]) {
    let (code, token) = (refusal::code(body), refusal::of_token(400, body));
    let is_plain = |text: &str| text.chars().all(|letter| letter.is_ascii() && !letter.is_control());
    assert!(is_plain(&code) && is_plain(&token), "what the service said is not shown");
    _ = refusal::hint(400, body, true);
}

/// The answer to a batch of requests for photos.
fn photos(body: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<BatchAnswer>(body) else { return };
    for part in &answer.responses {
        let (limit, elapsed) = (Options::TIMEOUT, Duration::from_secs(1));
        assert!(part.wait().is_none_or(|wait| !is_within(limit, elapsed, wait) || wait <= limit), "a wait has an end");
        let version = part.body.get("@odata.mediaEtag").and_then(serde_json::Value::as_str).unwrap_or_default();
        if let Some(made) = reference(&part.id, version) {
            assert_eq!(user_of(&made), Some(part.id.as_str()), "a reference leads to its user");
            assert!(!made.contains(char::is_control), "a reference is one line");
        }
    }
}

fn values(user: &serde_json::Map<String, serde_json::Value>) {
    let need = |name: &str| ColumnRequirement { name: Name::Plain(name.to_owned()), optional: false };
    let wanted = RequiredColumns { needs: NAMES.map(need).into(), ..RequiredColumns::default() };
    let properties = Properties::new(&wanted, &Options::of_test());
    for at in 0..NAMES.len() {
        if let Values::Texts(texts) = properties.values(at, user) {
            assert!(texts.iter().all(|text| !text.is_empty() && text.len() <= VALUE_BYTES_MAX), "a value is one");
            assert!(texts.is_sorted_by(|one, other| one < other), "each value is there once");
        }
    }
}
