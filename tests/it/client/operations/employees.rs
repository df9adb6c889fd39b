//! Employees, their photos and movements, and the custom fields of both kinds.

use rosterd::api::{
    Api, Done, Element, Filter, ForMembers, ForStaff, Operator, Part, Photo, Query, Staff, StaffInput, StaffMovement,
    StaffMovementInput, TimeZone,
};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    lists(bench).await;
    people(bench).await;
    photos(bench).await;
    movements(bench).await;
    elements(bench).await;
}

async fn lists(bench: &mut Bench) {
    let staff = Api::<Staff>::root();
    let list = bench.row("staff.list GET /staff?time_zone=UTC 200", staff.list(&Query::default())).await;
    assert_eq!(list.len(), 9);
    let fields = ["name", "email", "title", "mobile", "employee_id", "location", "department", "account_status"];
    bench.shows(&list[3], "staff", 1004, &fields);

    let query = Query::default()
        .filter(Filter::default().and("created", Operator::Above, "2020-01-31").unwrap().id_above(id(1002)))
        .descending("id")
        .limit(1)
        .since("2020-01-02T03:04:05Z".parse().unwrap())
        .zone(TimeZone::PacificAuckland);
    let row =
        "staff.list GET /staff?q=created%3E2020-01-31%2Cid%3E1002&order=-id&limit=1&time_zone=Pacific%2FAuckland 200";
    let list = bench.row(row, staff.list(&query)).await;
    assert_eq!(list.iter().map(|one| one.id).collect::<Vec<_>>(), [id(1009)]);
    let modified = list[0].modified.clone().unwrap();
    assert!(modified.ends_with("+12:00") || modified.ends_with("+13:00"), "{modified}");
}

async fn people(bench: &mut Bench) {
    let staff = Api::<Staff>::root();
    let one = bench.row("staff.get GET /staff/1004?time_zone=UTC 200", staff.get(id(1004))).await.unwrap();
    let fields = ["created", "modified", "setup_method", "onsite_status", "customfields"];
    bench.shows(&one, "staff", 1004, &fields);
    let flags = (json!(one.remote.map(i32::from)), json!(one.globalroaming.map(i32::from)));
    let stored = bench.stored("staff", 1004);
    assert_eq!(flags, (stored["remote"].clone(), stored["globalroaming"].clone()));

    let mut input = StaffInput {
        name: Some("Ānahera Ó Briain".into()),
        altname: Some("安娜".into()),
        email: Some("anahera@example.com".into()),
        employee_id: Some("4711".into()),
        location: bench.stored("location", 12)["name"].as_str().map(str::to_owned),
        roletype: vec!["Fire Warden".into(), "First Aider".into()],
        cf: [("3".to_owned(), json!("L7")), ("5".to_owned(), json!("1"))].into(),
        globalroaming: Some(true),
        globalroaming_locations: Some(vec![11, 13]),
        ..StaffInput::default()
    };
    let made = bench.row("staff.create POST /staff 200", staff.create(&input)).await.unwrap();
    assert_eq!((made.name.as_deref(), made.altname.as_deref()), (Some("Ānahera Ó Briain"), Some("安娜")));
    assert_eq!((made.employee_id.as_deref(), made.role_types.len()), (Some("4711"), 2));
    let number = i64::from(made.id.get());
    let expected = json!({
        "name": "Ānahera Ó Briain", "altname": "安娜", "email": "anahera@example.com", "employee_id": "4711",
        "title": null, "customfields": {"3": "L7", "5": "1"}, "globalroaming": 1, "globalroaming_locations": [11, 13],
    });
    bench.holds("staff", number, &expected);
    assert_eq!(roles(bench, number), ["Fire Warden", "First Aider"]);

    input.title = Some("Planner".into());
    input.roletype = Vec::new();
    let row = format!("staff.update PUT /staff/{number} 200");
    let changed = bench.row(&row, staff.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.title.as_deref(), changed.role_types.len()), (Some("Planner"), 0));
    bench.holds("staff", number, &json!({"title": "Planner", "altname": "安娜", "ice": null}));
    assert!(roles(bench, number).is_empty());

    bench.row(&format!("staff.delete DELETE /staff/{number} 204"), staff.delete(made.id)).await;
    assert_eq!(bench.stored("staff", number), Value::Null);
}

/// The role types as stored, flat.
fn roles(bench: &Bench, number: i64) -> Vec<String> {
    let nested: Vec<Vec<String>> = serde_json::from_value(bench.stored("staff", number)["role_types"].clone()).unwrap();
    nested.concat()
}

async fn photos(bench: &mut Bench) {
    let staff = Api::<Staff>::root();
    let bytes = [&b"\x89PNG\r\n\x1a\n"[..], &[0, 255, 13, 10, 0]].concat();
    let photo = Photo::new(bytes.clone()).unwrap();
    let put = staff.replace_photo(id(1002), &photo);
    assert_eq!(bench.row("staff.photo.put PUT /staff/1002/photo 200", put).await, Done);
    let row = "staff.photo.get GET /staff/1002/photo?time_zone=UTC 200";
    let read = bench.row(row, staff.photo(id(1002))).await.unwrap();
    assert_eq!((read.media_type(), read.bytes()), ("image/png", bytes.as_slice()));
    let row = "staff.photo.head HEAD /staff/1002/photo?time_zone=UTC 200";
    let head = bench.row(row, staff.photo_head(id(1002))).await.unwrap();
    assert_eq!((head.media_type.as_str(), head.length), ("image/png", Some(bytes.len() as u64)));
}

async fn movements(bench: &mut Bench) {
    let movements = Api::<StaffMovement>::root();
    let input = StaffMovementInput {
        onsite_status: Some("onsite".into()),
        location_id: Some(12),
        staff_id: Some(1005),
        lacp_id: Some(120),
        zone_id: Some(303),
        remote: Some(false),
        ..StaffMovementInput::default()
    };
    let made = bench.row("staff.movement.put PUT /staff/movement 200", movements.put(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    assert_eq!((made.staff_id, made.location_id, made.zone_id), (Some(1005), Some(12), Some(303)));
    assert!(made.signed_in.is_some() && made.signed_out.is_none());
    let expected = json!({"staff_id": 1005, "location_id": 12, "zone_id": 303, "signed_out": null, "remote": false});
    bench.holds("staff.movement", number, &expected);
    bench.holds("staff", 1005, &json!({"onsite_status": "onsite"}));

    let row = format!("staff.movement.get GET /staff/movement/{number}?time_zone=UTC 200");
    let one = bench.row(&row, movements.get(made.id)).await.unwrap();
    bench.shows(&one, "staff.movement", number, &["created", "signed_in", "location_id", "staff_id", "zone_id"]);
    assert_eq!(one.lacp_in_name.as_deref(), Some("Front door"));
    let row = "staff.movement.list GET /staff/movement?time_zone=UTC 200";
    let list = bench.row(row, movements.list(&Query::default())).await;
    assert_eq!(list.len(), bench.count("staff.movement"));
    bench.shows(&list[0], "staff.movement", list[0].id.get().into(), &["signed_in", "signed_out", "mode_in"]);
}

async fn elements(bench: &mut Bench) {
    let elements = Api::<Element>::root();
    let call = elements.list_for::<ForStaff>();
    let row = "customfield.element.list-staff GET /customfield/element/staff?time_zone=UTC 200";
    let list = bench.row(row, call).await;
    bench.shows(&list[2], "customfield.element.staff", 5, &["title", "element_type", "is_visible", "cf_tab_id"]);
    let call = elements.list_for::<ForMembers>();
    let row = "customfield.element.list-sp-member GET /customfield/element/sp-member?time_zone=UTC 200";
    let list = bench.row(row, call).await;
    bench.shows(&list[0], "customfield.element.sp-member", 31, &["title", "element_type", "is_unique", "created_by"]);
}

/// The upload of the whole account: adds, updates and deletes are processed (specification, Employees). It comes
/// last, since it leaves two people.
pub(super) async fn upload(bench: &mut Bench) {
    let staff = Api::<Staff>::root();
    let kept = bench.stored("staff", 1001);
    let text = |name: &str| kept[name].as_str().map(str::to_owned);
    let person = |name: &str, email: Option<String>, employee_id: Option<String>| StaffInput {
        name: Some(name.into()),
        email,
        employee_id,
        ..StaffInput::default()
    };
    let people = [
        person("Renamed Person", text("email"), text("employee_id")),
        person("Added Person", Some("added@example.com".into()), Some("A1".into())),
    ];
    let left = bench.row("staff.bulk PUT /staff 200", staff.bulk(&people, &Part::Account)).await;
    let mut names: Vec<&str> = left.iter().flatten().filter_map(|one| one.name.as_deref()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Added Person", "Renamed Person"]);
    bench.holds("staff", 1001, &json!({"name": "Renamed Person", "email": kept["email"]}));
    assert_eq!(bench.count("staff"), 2);
}
