//! Answers in the many forms that services of this kind give them: read as what they mean, and written back whole.

use rosterd::api::{
    Api, CarryError, Client, Community, CommunityMember, ErrorKind, Filter, Gettable, Induction, InductionHolder,
    Insurance, Listable, Member, Membership, Organization, Placed, Query, Question, Root, Staff, StaffMovement,
    VisitorEvent, Zone,
};
use serde_json::{Value, json};

use crate::support::answering::{Answering, answer, json as answered};
use crate::support::caller::{client, id, options};

/// A service that answers what a row says, and its client.
struct Rig {
    service: Answering,
    client: Client,
}

async fn rig() -> Rig {
    let service = Answering::start().await;
    let client = client(&options(service.url(), "key"));
    Rig { service, client }
}

/// A marker for a field that is not there.
const MISSING: &str = "missing";

impl Rig {
    /// Reads one entity from this text.
    async fn read<R: Gettable>(&self, api: &Api<R>, body: &str) -> R {
        self.service.answers(&[answered(body)]);
        let answer = self.client.send(api.get(id(7))).await;
        answer.unwrap_or_else(|error| panic!("{}: {body}: {:?}", R::NAME, error.kind)).value.unwrap()
    }

    /// Every form of a field is read as the same.
    async fn forms<R: Gettable>(&self, api: &Api<R>, field: &str, forms: &[&str], expected: Value) {
        for form in forms {
            let held = if *form == MISSING { String::new() } else { format!(",\"{field}\":{form}") };
            let entity = self.read(api, &format!("{{\"id\":7{held}}}")).await;
            assert_eq!(serde_json::to_value(&entity).unwrap()[field], expected, "{}.{field} of {form}", R::NAME);
            assert_eq!(entity.unreadable(), <&[&str]>::default(), "{}.{field} of {form}", R::NAME);
        }
    }

    /// The ids of a list of this text.
    async fn listed<R: Listable + Placed<Scope = Root>>(&self, body: &str) -> Vec<i32> {
        self.service.answers(&[answered(body)]);
        let list = self.client.send(Api::<R>::root().list(&Query::default())).await;
        let list = list.unwrap_or_else(|error| panic!("{}: {body}: {:?}", R::NAME, error.kind)).value;
        list.iter().map(|entity| entity.id().get()).collect()
    }

    /// What the last request carried.
    fn put(&self) -> Value {
        let seen = self.service.seen();
        assert_eq!(seen.len(), 2, "one GET, one PUT");
        assert!(seen[0].line.starts_with("GET ") && seen[1].line.starts_with("PUT "), "{seen:?}");
        seen[1].json()
    }
}

/// No value at all, in all its forms.
const NO_TEXT: &[&str] = &["null", "\"\"", MISSING];
const YES: &[&str] = &["true", "1", "\"1\"", "\"true\""];
const NO: &[&str] = &["false", "0", "\"0\"", "\"false\""];

#[tokio::test]
async fn numbers_come_as_text_and_text_as_numbers() {
    let rig = rig().await;
    let (zones, members, movements) = (Api::<Zone>::root(), Api::<Member>::root(), Api::<StaffMovement>::root());
    rig.forms(&zones, "maximum_occupancy", &["12", "\"12\""], json!(12)).await;
    rig.forms(&zones, "maximum_occupancy", &["0", "\"0\""], json!(0)).await;
    rig.forms(&zones, "maximum_occupancy", NO_TEXT, Value::Null).await;
    rig.forms(&members, "cur_location_id", &["-3", "\"-3\""], json!(-3)).await;
    rig.forms(&members, "service_provider_id", &["12", "\"12\""], json!("12")).await;
    rig.forms(&members, "service_provider_id", &["\"00012\""], json!("00012")).await;
    rig.forms(&members, "cur_location", &["true", "\"true\""], json!("true")).await;
    rig.forms(&members, "phone", NO_TEXT, Value::Null).await;
    rig.forms(&Api::<Staff>::root(), "employee_id", &["4711", "\"4711\""], json!("4711")).await;
    rig.forms(&Api::<Insurance>::root(), "value", &["1000000", "\"1000000\""], json!("1000000")).await;
    rig.forms(&movements, "signed_in_lat", &["-36.5", "\"-36.5\""], json!(-36.5)).await;
    rig.forms(&movements, "signed_in_accuracy", NO_TEXT, Value::Null).await;
    let holders = Api::<Induction>::root().below::<InductionHolder>(id(3));
    rig.forms(&holders, "staff_id", &["5", "\"5\""], json!(5)).await;
}

#[tokio::test]
async fn flags_come_as_numbers_words_and_text() {
    let rig = rig().await;
    let (events, staff, questions) = (Api::<VisitorEvent>::root(), Api::<Staff>::root(), Api::<Question>::root());
    for (forms, expected) in [(YES, json!(true)), (NO, json!(false)), (NO_TEXT, Value::Null)] {
        rig.forms(&events, "assistance", forms, expected.clone()).await;
        rig.forms(&staff, "remote", forms, expected.clone()).await;
        rig.forms(&staff, "globalroaming", forms, expected.clone()).await;
        rig.forms(&questions, "compulsory", forms, expected.clone()).await;
        rig.forms(&Api::<Membership>::root(), "locations_same_as_org", forms, expected).await;
    }
}

#[tokio::test]
async fn objects_come_as_lists_and_lists_within_lists() {
    let rig = rig().await;
    let (staff, organizations) = (Api::<Staff>::root(), Api::<Organization>::root());
    rig.forms(&staff, "customfields", &["{}", "[]", "null", "\"\"", MISSING], json!({})).await;
    rig.forms(&organizations, "customfields", &["{\"4\":\"[1,2]\",\"5\":1}"], json!({"4": "[1,2]", "5": 1})).await;
    let names =
        ["[\"a\",\"b\"]", "[[\"a\",\"b\"]]", "[[\"a\"],[\"b\"]]", "[{\"id\":1,\"name\":\"a\"},{\"name\":\"b\"}]"];
    rig.forms(&staff, "role_types", &names, json!(["a", "b"])).await;
    rig.forms(&staff, "role_types", &["[]", "[[]]", "null", "\"\"", MISSING], json!([])).await;
    rig.forms(&organizations, "logs", &["[]", "{}", "null", "\"\"", MISSING], json!([])).await;
    let place = json!([{"id": 4, "name": "Quay", "start": "2026-01-01", "expires": null}]);
    let places = [
        "[{\"id\":4,\"name\":\"Quay\",\"start\":\"2026-01-01\"}]",
        "[[{\"id\":\"4\",\"name\":\"Quay\",\"start\":\"2026-01-01\",\"expires\":\"\"}]]",
    ];
    rig.forms(&organizations, "locations", &places, place).await;
    let community = Api::<Community>::root().below::<CommunityMember>(id(3));
    rig.forms(&community, "customfields", &["[{\"a\":1}]"], json!([{"a": 1}])).await;
}

#[tokio::test]
async fn lists_come_bare_and_wrapped() {
    let rig = rig().await;
    for body in [
        r#"[{"id":7},{"id":8}]"#,
        r#"[{"id":"7"},{"id":8,"tokens":[]}]"#,
        r#"{"event":[{"id":7},{"id":8}]}"#,
        r#"{"total":2,"next":null,"links":{"self":"x"},"data":[{"id":7},{"id":8}]}"#,
        " \r\n[{\"id\":7},{\"id\":8}]\n",
    ] {
        assert_eq!(rig.listed::<VisitorEvent>(body).await, [7, 8], "{body}");
        assert_eq!(rig.listed::<Staff>(body).await, [7, 8], "{body}");
        assert_eq!(rig.listed::<Zone>(body).await, [7, 8], "{body}");
    }
    for body in ["[]", r#"{"event":[]}"#] {
        assert!(rig.listed::<VisitorEvent>(body).await.is_empty(), "{body}");
    }
    let organizations = Api::<Organization>::root();
    for body in [r#"{"group":[{"id":"5","name":"A","category_id":"2"}]}"#, r#"[{"id":5,"name":"A","category_id":2}]"#] {
        rig.service.answers(&[answered(body)]);
        let groups = rig.client.send(organizations.groups(id(7), &Filter::default())).await.unwrap().value;
        assert_eq!((groups.len(), groups[0].id, groups[0].category_id), (1, Some(5), Some(2)), "{body}");
    }
}

#[tokio::test]
async fn one_entity_comes_alone_and_in_an_envelope() {
    let rig = rig().await;
    let members = Api::<Member>::root();
    for body in [
        r#"{"id":7,"name":"Ada","logs":{}}"#,
        r#"{"member":{"id":"7","name":"Ada"}}"#,
        r#"{"status":"ok","data":{"id":7,"name":"Ada"}}"#,
    ] {
        assert_eq!(rig.read(&members, body).await.name.as_deref(), Some("Ada"), "{body}");
        let only = Query::default().only(id(7));
        rig.service.answers(&[answered(r#"{"id":7,"name":"Ada"}"#)]);
        let list = rig.client.send(members.list(&only)).await.unwrap().value;
        assert_eq!(list.len(), 1, "a list of one id may be that one (specification, Contractor members)");
    }
    for content_type in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/hal+json"] {
        rig.service.answers(&[answer(203, content_type, br#"{"id":7}"#)]);
        assert!(rig.client.send(members.get(id(7))).await.unwrap().value.is_some(), "{content_type}");
    }
}

#[tokio::test]
async fn law_2_what_was_read_in_any_form_is_written_in_one() {
    let rig = rig().await;
    let body = r#"{"id":"7","created":"x","name":"Ada","employee_id":4711,"globalroaming":"0","role_types":[["a"],["b"]],
        "customfields":[],"onsite_status":"onsite","phone":""}"#;
    rig.service.answers(&[answered(body), answer(204, "", b"")]);
    let changed = rig.client.modify::<Staff>(id(7), |input| input.title = Some("Dr".into())).await.unwrap();
    assert!(changed.value.is_none(), "a write may be confirmed without a body");
    let sent = rig.put();
    let expected = json!({
        "name": "Ada", "employee_id": 4711, "globalroaming": 0, "globalroaming_locations": [], "roletype": ["a", "b"],
        "cf": {}, "onsite_status": "onsite", "phone": null, "title": "Dr", "altname": null, "email": null, "mobile": null,
        "ice": null, "location": null,
    });
    assert_eq!(sent, expected);

    let body =
        r#"{"id":7,"org_id":"3","member_id":4,"roles":[{"id":"1","name":"x"}],"locations":[[{"id":2,"name":"y"}]]}"#;
    rig.service.answers(&[answered(body), answered(body)]);
    rig.client.modify::<Membership>(id(7), |_| ()).await.unwrap();
    let expected = json!({
        "org_id": 3, "member_id": 4, "roles": [1], "locations": [{"id": 2, "start": null, "expires": null}],
    });
    assert_eq!(rig.put(), expected);

    let holders = Api::<Induction>::root().below::<InductionHolder>(id(3));
    let body = r#"{"id":7,"completed":"2026-01-01T00:00:00+00:00","staff_id":5,"sp_member_id":null}"#;
    rig.service.answers(&[answered(body), answered(body)]);
    rig.client.modify_in(&holders, id(7), |_| ()).await.unwrap();
    let expected = json!({"completed": "2026-01-01T00:00:00+00:00", "staff_id": "5", "sp_member_id": null});
    assert_eq!(rig.put(), expected, "its ids are integers inside text (specification, Induction holder)");
}

#[tokio::test]
async fn law_2_fields_that_no_specification_names_are_kept_and_carried_back() {
    let rig = rig().await;
    let body = r#"{"id":7,"name":"Roof","badge":{"b":[1,null]},"locations":[{"id":1,"colour":"red"}]}"#;
    rig.service.answers(&[answered(body), answered(body)]);
    rig.client.modify::<Zone>(id(7), |input| input.spaces = Some(2)).await.unwrap();
    let sent = rig.put();
    assert_eq!((&sent["badge"], &sent["name"], &sent["spaces"]), (&json!({"b": [1, null]}), &json!("Roof"), &json!(2)));

    rig.service.answers(&[answered(body), answered(body)]);
    let read = rig.client.modify::<Organization>(id(7), |_| ()).await.unwrap().value.unwrap();
    assert_eq!(read.extra["badge"], json!({"b": [1, null]}));
    let sent = rig.put();
    assert_eq!((&sent["badge"], &sent["locations"][0]["colour"]), (&json!({"b": [1, null]}), &json!("red")));
}

#[tokio::test]
async fn law_2_a_field_in_no_known_form_keeps_its_entity_from_being_written() {
    let rig = rig().await;
    for (body, field) in [
        (r#"{"id":7,"name":["Roof"]}"#, "name"),
        (r#"{"id":7,"spaces":1.5}"#, "spaces"),
        (r#"{"id":7,"spaces":"many"}"#, "spaces"),
        (r#"{"id":7,"spaces_enabled":2}"#, "spaces_enabled"),
        (r#"{"id":7,"spaces_title":{"a":1}}"#, "spaces_title"),
    ] {
        rig.service.answers(&[answered(body)]);
        let refused = rig.client.modify::<Zone>(id(7), |_| ()).await.unwrap_err().kind;
        let is_named = matches!(&refused, ErrorKind::Carry(CarryError::Unreadable { field: named }) if *named == field);
        assert!(is_named, "{body}: {refused:?}");
        assert_eq!(rig.service.seen().len(), 1, "{body}: nothing is sent");
    }
    // A field that is not sent prevents nothing.
    rig.service.answers(&[answered(r#"{"id":7,"status":["x"]}"#), answer(204, "", b"")]);
    rig.client.modify::<Zone>(id(7), |_| ()).await.unwrap();
}
