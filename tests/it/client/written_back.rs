//! A replacing PUT wipes nothing (law 2): an entity that is read and written back is as it was, whatever it holds, for
//! every resource that has one; a changed field changes itself; and what no answer shows keeps an entity from being
//! sent.

mod fields;
mod subject;
mod subjects;
mod values;

use rosterd::api::Membership;
use rosterd::sandbox::Options;
use serde_json::json;
use subject::World;
use subjects::subjects;

use crate::support::caller::id;

/// How many entities of each resource.
const CASES: u32 = 40;

/// What can be written and not be read: these keep an entity from being sent until the caller says what they hold. Of
/// the first that is so where the employee roams and no answer shows where; so it does not stand among an input's own.
const UNSHOWN: [&str; 4] = [
    "staff.globalroaming_locations",
    "qualification.certification_type_id",
    "community.member.year",
    "visitor.register.staff_id",
];

#[test]
fn law_2_what_no_answer_shows_is_known() {
    let hidden: Vec<String> = subjects(false).iter().flat_map(|subject| subject.hidden()).collect();
    assert_eq!(hidden, UNSHOWN[1..]);
}

#[test]
fn law_2_what_is_written_back_is_as_it_was() {
    let world = World::new(Options::default());
    subjects(false).iter().for_each(|subject| subject.come_back_whole(&world, CASES));
}

#[test]
fn law_2_one_changed_field_changes_nothing_else() {
    let world = World::new(Options::default());
    subjects(false).iter().for_each(|subject| subject.change_alone(&world, CASES));
}

#[test]
fn law_2_where_roaming_is_shown_it_is_written_back_too() {
    let world = World::new(Options { show_roaming: true, ..Options::default() });
    subjects(true)[0].come_back_whole(&world, CASES);
}

/// `locations_same_as_org` is no input (specification, Contractor membership), so the locations are all that a PUT can
/// keep: no one loses a place by it, and they no longer follow the organization's.
#[test]
fn law_2_a_membership_keeps_the_locations_that_it_inherits_as_its_own() {
    let world = World::new(Options::default());
    let locations = json!([{"id": 12, "start": "2026-01-02", "expires": null}]);
    world.sandbox.edit("sp.org", 401, json!({"locations": locations}));
    let number = world.sandbox.put("sp.membership", json!({"org_id": 401, "member_id": 2003, "locations": []}));
    let sent = world.client.modify::<Membership>(id(number), |_| ());
    let shown = world.runtime.block_on(sent).unwrap().value.unwrap();
    assert_eq!(shown.locations[0].start.as_deref(), Some("2026-01-02"));
    let stored = world.sandbox.all("sp.membership").into_iter().find(|one| one["id"] == number).unwrap();
    assert_eq!(stored["locations"], locations);
}
