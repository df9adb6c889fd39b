//! Contractor members, their organizations, and what joins them.

use std::io;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::chance::{bits, pick};
use super::super::store::Entities;
use super::super::tables::{INSURANCE, INSURANCE_TYPE, MEMBER, MEMBER_ELEMENT, MEMBERSHIP, ORG, ORG_GROUP, ROLE};
use super::common::{DAY, ago, ascii, day, element, location, numbered};
use super::people::{FIRST_NAMES, LAST_NAMES};

/// (id, title, type)
const ELEMENTS: &[(i64, &str, &str)] =
    &[(31, "Licence number", "text"), (32, "Trade", "text"), (33, "Own tools", "checkbox")];

const ROLES: &[&str] = &["Worker", "Supervisor", "Manager", "Safety Officer"];

const TRADES: &[&str] = &["Electrical", "Plumbing", "Scaffolding", "Cleaning", "Roofing", "Security"];

const PLACES: &[&str] = &["Harbour", "Hillside", "Central", "Southern", "Riverbank", "Coastal"];

/// (name, category)
const GROUPS: &[(&str, i64)] = &[("Preferred", 1), ("High risk work", 2), ("Maintenance", 2)];

const INSURANCES: &[&str] = &["Public liability", "Statutory liability", "Contract works", "Motor vehicle"];

/// How many members share an organization.
const CREW: u64 = 8;

/// Lays down the words that members and memberships are described with, where there are none yet.
pub(super) fn sow_words(entities: &mut Entities, now: Timestamp) -> io::Result<()> {
    let early = ago(now, 400 * DAY);
    if entities.rows(MEMBER_ELEMENT.name).is_empty() {
        let rows = ELEMENTS.iter().map(|described| element(&MEMBER_ELEMENT, described, early));
        entities.put(&MEMBER_ELEMENT, rows.collect())?;
    }
    if entities.rows(ROLE.name).is_empty() {
        let (resource, rows) = numbered(&ROLE, ROLES.len(), early, |number, _| json!({ "name": ROLES[number] }));
        entities.put(resource, rows)?;
    }
    Ok(())
}

pub(super) fn sow(entities: &mut Entities, members: u64, now: Timestamp) -> io::Result<()> {
    let early = ago(now, 300 * DAY);
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let orgs = members.div_ceil(CREW);
    let owner = entities.rows("staff").keys().next().copied();
    let group = |number: usize, _| json!({ "name": GROUPS[number].0, "category_id": GROUPS[number].1 });
    let insurance = |number: usize, _| json!({ "name": INSURANCES[number] });
    for (resource, rows) in [
        numbered(&ORG_GROUP, GROUPS.len(), early, group),
        numbered(&INSURANCE_TYPE, INSURANCES.len(), early, insurance),
        numbered(&ORG, count(orgs), early, |number, _| organization(number, owner, now)),
        numbered(&MEMBER, count(members), early, |number, _| member(number as u64, now)),
        numbered(&MEMBERSHIP, count(members + members / 10), early, |number, _| {
            membership(number as u64, members, orgs)
        }),
        numbered(&INSURANCE, count(2 * orgs), early, |number, _| policy(number as u64, orgs, now)),
    ] {
        entities.put(resource, rows)?;
    }
    Ok(())
}

fn organization(place: usize, owner: Option<i64>, now: Timestamp) -> Value {
    let number = place as u64;
    let name = format!("{} {} {}", pick(PLACES, 31, number), pick(TRADES, 32, number), number + 1);
    json!({
        "name": format!("{name} Ltd"), "type": pick(&["Company", "Sole trader"], 33, number), "tradingas": name,
        "legalid": format!("94290{:08}", number + 1), "legalid_type": "NZBN", "country": "NZ",
        "address": format!("{} Example Street", number + 1), "status": pick(&["active", "active", "pending"], 34, number),
        "email": format!("office{}@example.com", number + 1), "phone": format!("64 4555{:04}", number % 10_000),
        "locations": [{ "id": location(place), "start": day(ago(now, 300 * DAY)), "expires": null }],
        "organization_owner": owner, "groups": [ORG_GROUP.first_id + signed(number % GROUPS.len() as u64)],
        "customfields": { "1": pick(TRADES, 32, number) },
    })
}

fn member(number: u64, now: Timestamp) -> Value {
    let (first, last) = (pick(FIRST_NAMES, 41, number), pick(LAST_NAMES, 42, number));
    let token = json!([{ "type": "Access Card", "number": 20_000_000 + number, "issued": null, "expiry": null }]);
    json!({
        "name": format!("{first} {last}"), "title": pick(TRADES, 43, number),
        "service_provider_id": format!("SP{:05}", number + 1),
        "email": format!("{}.{}.sp{}@example.com", ascii(first), ascii(last), number + 1),
        "mobile": format!("64 2{:08}", 10_000_000 + number), "valid_from": day(ago(now, 300 * DAY)),
        "valid_to": day(ago(now, -200 * DAY)), "tokens": if bits(44, number).is_multiple_of(3) { token } else { json!([]) },
        "customfields": { "31": format!("LN{:06}", number + 1), "33": "1" },
    })
}

/// Every member's first organization, and then a second one for some of them.
fn membership(number: u64, members: u64, orgs: u64) -> Value {
    let (member, org) = if number < members { (number, number / CREW) } else { (number % members, orgs - 1) };
    let second = number >= members && member / CREW == org;
    json!({
        "org_id": ORG.first_id + signed(if second { 0 } else { org }), "member_id": MEMBER.first_id + signed(member),
        "roles": [ROLE.first_id + signed(bits(45, number) % ROLES.len() as u64)],
    })
}

fn policy(number: u64, orgs: u64, now: Timestamp) -> Value {
    let kind = pick(INSURANCES, 46, number);
    json!({
        "org_id": ORG.first_id + signed(number % orgs), "type": kind, "name": format!("{kind} policy"),
        "reference": format!("POL-{:05}", number + 1), "value": "1000000", "start": day(ago(now, 200 * DAY)),
        "expires": day(ago(now, -165 * DAY)), "tags": ["annual"],
        "documents": [{
            "id": 1 + number, "modified": ago(now, 200 * DAY).to_string(), "name": "Certificate of currency",
            "type": "application/pdf", "size": 48_000 + number,
        }],
    })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
