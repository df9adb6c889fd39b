//! What lists can be asked (specification, Common behaviour), through the client: filters, order, paging, changes since
//! a time, zones of time.

use rosterd::api::{
    Api, Client, Filter, Member, Operator, Page, Pages, Query, Question, Raw, Staff, StaffInput, TimeZone, Visit,
    VisitorEvent, VisitorGroup, walk,
};
use rosterd::clock::Clock;
use rosterd::sandbox::{Options, Sandbox};
use serde_json::{Value, json};

use crate::support::caller::{client, id, key_options};
use crate::support::shown;

/// People with known names, made one day after the other.
const PEOPLE: [(i64, &str, &str); 4] = [
    (1, "Anna Berg", "2026-01-01T10:00:00+00:00"),
    (2, "Bert Anders", "2026-01-02T10:00:00+00:00"),
    (3, "Carl Holm", "2026-01-03T10:00:00+00:00"),
    (4, "Dan Annandale", "2026-01-04T10:00:00+00:00"),
];

async fn rig(options: Options) -> (Sandbox, Client) {
    let clock = Clock::fixed("2026-06-01T12:00:00Z".parse().unwrap());
    let sandbox = Sandbox::start(Options { rate: 0, clock: shown(&clock), ..options }).await.unwrap();
    for (number, name, modified) in PEOPLE {
        let token = json!([{"type": "card", "number": 7_700 + number, "issued": null, "expiry": null}]);
        let person = json!({
            "id": number, "name": name, "created": modified, "modified": modified, "employee_id": format!("E{number}"),
            "email": format!("p{number}@example.com"), "tokens": token,
        });
        sandbox.put("staff", person.clone());
        sandbox.put("sp.member", person);
    }
    let client = client(&key_options(&sandbox));
    (sandbox, client)
}

fn filter(field: &str, operator: Operator, value: &str) -> Filter {
    Filter::default().and(field, operator, value).unwrap()
}

async fn listed(client: &Client, query: Query<Staff>) -> Vec<i32> {
    let list = client.send(Api::<Staff>::root().list(&query)).await.unwrap().value;
    list.iter().map(|person| person.id.get()).collect()
}

#[tokio::test]
async fn each_operator_finds_what_it_says() {
    let (_sandbox, client) = rig(Options::default()).await;
    for (filter, expected) in [
        (filter("name", Operator::Equals, "Carl Holm"), &[3][..]),
        (filter("name", Operator::Equals, "Carl"), &[]),
        // Of a name both the first and the last begin with it.
        (filter("name", Operator::StartsWith, "An"), &[1, 2, 4]),
        (filter("name", Operator::StartsWith, "erg"), &[]),
        (filter("email", Operator::StartsWith, "p3"), &[3]),
        (filter("name", Operator::Matches, "%ann%"), &[1, 4]),
        (filter("name", Operator::Matches, "%holm"), &[3]),
        (filter("email", Operator::Matches, "p%@example.com"), &[1, 2, 3, 4]),
        (filter("id", Operator::Above, "2"), &[3, 4]),
        (filter("id", Operator::Below, "2"), &[1]),
        (filter("created", Operator::Above, "2026-01-03"), &[3, 4]),
        (filter("created", Operator::Below, "2026-01-03"), &[1, 2]),
        (Filter::token("7703").unwrap(), &[3]),
        (Filter::token("7799").unwrap(), &[]),
        // All terms apply.
        (filter("name", Operator::StartsWith, "An").id_above(id(1)).and("id", Operator::Below, "4").unwrap(), &[2]),
    ] {
        assert_eq!(listed(&client, Query::default().filter(filter.clone())).await, expected, "{filter:?}");
    }
    let members = Query::<Member>::default().filter(Filter::token("7702").unwrap());
    let members = client.send(Api::<Member>::root().list(&members)).await.unwrap().value;
    assert_eq!(members.iter().map(|member| member.id).collect::<Vec<_>>(), [id(2)]);
}

#[tokio::test]
async fn lists_are_ordered_and_limited() {
    let (_sandbox, client) = rig(Options::default()).await;
    assert_eq!(listed(&client, Query::default().ascending("name")).await, [1, 2, 3, 4]);
    assert_eq!(listed(&client, Query::default().descending("name")).await, [4, 3, 2, 1]);
    assert_eq!(listed(&client, Query::default().descending("created").limit(2)).await, [4, 3]);
    let next = filter("id", Operator::Above, "2");
    assert_eq!(listed(&client, Query::default().filter(next).ascending("id").limit(1)).await, [3]);
}

#[tokio::test]
async fn pages_by_id_bring_everything_once_even_where_the_limit_is_clamped() {
    for page_max in [1, 2, 3, 5_000] {
        let (sandbox, client) = rig(Options { seed_staff: 11, page_max, ..Options::default() }).await;
        let mut ids = Vec::new();
        let walked =
            walk::<Staff>(&client, None, |page| ids.extend(page.iter().map(|person| i64::from(person.id.get())))).await;
        let stored: Vec<i64> = sandbox.all("staff").iter().map(|person| person["id"].as_i64().unwrap()).collect();
        assert_eq!((ids, walked.unwrap().entities), (stored, 15), "{page_max}");
        let query = Query::default().filter(filter("name", Operator::StartsWith, "An")).limit(2);
        let mut pages = Pages::<Staff>::new(&client, query.filter(filter("id", Operator::Below, "5")));
        let mut count = 0;
        while let Some(page) = pages.next().await.unwrap() {
            count += page.len();
        }
        assert_eq!(count, 4, "{page_max}");
    }
}

#[tokio::test]
async fn pages_by_number_follow_one_another() {
    let (_sandbox, client) = rig(Options { seed_contractors: 5, ..Options::default() }).await;
    let mut ids = Vec::new();
    for page in 1..=4 {
        let query = Query::<Question>::default().ascending("id").limit(1).page(page);
        ids.extend(
            client.send(Api::<Question>::root().list(&query)).await.unwrap().value.iter().map(|one| one.id.get()),
        );
    }
    assert_eq!(ids, [5001, 5002, 5003]);
}

#[tokio::test]
async fn only_what_changed_since_is_listed() {
    let (_sandbox, client) = rig(Options::default()).await;
    let since = |text: &str| Query::<Staff>::default().since(text.parse().unwrap());
    assert_eq!(listed(&client, since("2026-01-02T09:59:59Z")).await, [2, 3, 4]);
    assert_eq!(
        listed(&client, since("2026-01-02T23:00:00+13:00")).await,
        [2, 3, 4],
        "the instant counts, not the zone"
    );
    assert!(listed(&client, since("2026-01-04T10:00:01Z")).await.is_empty());
    let change = StaffInput { name: Some("Anna Changed".into()), ..StaffInput::default() };
    client.send(Api::<Staff>::root().replace(id(1), &change)).await.unwrap();
    assert_eq!(listed(&client, since("2026-05-01T00:00:00Z")).await, [1], "an update counts as a change");
}

#[tokio::test]
async fn a_list_without_hits_may_be_200_or_404_and_is_empty() {
    for empty_as_404 in [false, true] {
        let (_sandbox, client) = rig(Options { empty_as_404, ..Options::default() }).await;
        assert!(listed(&client, Query::default().filter(filter("name", Operator::Equals, "Nobody"))).await.is_empty());
        // The request was for all, so the client takes a 404 for what it may be: a fault.
        let all = client.send(Api::<VisitorEvent>::root().list(&Query::default())).await;
        assert_eq!(all.is_err(), empty_as_404);
        let page = client.send(Api::<VisitorEvent>::root().page(&Query::default())).await.unwrap().value;
        assert_eq!(page == Page::Absent, empty_as_404);
    }
}

#[tokio::test]
async fn times_are_written_in_the_zone_that_is_named() {
    let (_sandbox, client) = rig(Options { seed_contractors: 3, ..Options::default() }).await;
    for (zone, expected) in [
        (TimeZone::Utc, "2026-01-02T10:00:00+00:00"),
        (TimeZone::PacificAuckland, "2026-01-02T23:00:00+13:00"),
        (TimeZone::AsiaKolkata, "2026-01-02T15:30:00+05:30"),
        (TimeZone::AmericaBuenosAires, "2026-01-02T07:00:00-03:00"),
        (TimeZone::PacificHonolulu, "2026-01-02T00:00:00-10:00"),
    ] {
        let one = client.send(Api::<Staff>::root().get(id(2)).zone(zone)).await.unwrap().value.unwrap();
        assert_eq!((one.created.as_deref(), one.modified.as_deref()), (Some(expected), Some(expected)), "{zone}");
        let list = client.send(Api::<Staff>::root().list(&Query::default().zone(zone))).await.unwrap().value;
        assert_eq!(list[1].created.as_deref(), Some(expected), "{zone}");
    }
    for zone in TimeZone::ALL {
        let groups = client.send(Api::<VisitorGroup>::root().list(&Query::default().zone(*zone))).await;
        let visit = client.send(Api::<Visit>::root().get(id(75_001)).zone(*zone)).await;
        assert!(groups.is_ok() && visit.is_ok(), "{zone} is of the specification's list");
    }
    let unknown = client.raw(Raw {
        operation: "staff.list".into(),
        parameters: vec![("time_zone".into(), "pacific/auckland".into())],
        ..Default::default()
    });
    assert_eq!(unknown.await.unwrap().status, 400, "names of zones are case-sensitive");
}

#[tokio::test]
async fn a_put_replaces_and_custom_fields_alone_change_alone() {
    let (sandbox, client) = rig(Options::default()).await;
    sandbox.edit("staff", 1, json!({"customfields": {"3": "L1"}, "title": "Planner", "phone": "64 9"}));
    let put = |body: Value| Raw {
        operation: "staff.update".into(),
        parameters: vec![("id".into(), "1".into())],
        body: Some(body.to_string().into_bytes()),
        ..Default::default()
    };
    let stored = || sandbox.all("staff")[0].clone();
    for body in [json!({"id": 1, "cf": {"4": "XL"}}), json!({"id": 1, "customfields": {"4": "XL"}})] {
        assert!(client.raw(put(body)).await.unwrap().is_success());
        assert_eq!((&stored()["title"], &stored()["name"]), (&json!("Planner"), &json!("Anna Berg")));
        assert_eq!(stored()["customfields"]["4"], "XL");
    }
    assert!(client.raw(put(json!({"name": "Anna Berg", "title": "Lead"}))).await.unwrap().is_success());
    assert_eq!(
        (&stored()["title"], &stored()["phone"], &stored()["email"]),
        (&json!("Lead"), &Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn no_list_is_longer_than_its_maximum() {
    let (sandbox, client) = rig(Options { seed_contractors: 1, page_max: 100_000, ..Options::default() }).await;
    // Of the limits of the specification, those that a test reaches fast.
    for (resource, operation, path, maximum) in [
        ("notification", "notification.list", None, 200),
        ("induction.holder", "induction.holder.list", Some("901"), 1_000),
        ("sp.member.movement", "sp.member.movement.list", None, 3_000),
    ] {
        for _ in 0..=maximum {
            sandbox.put(resource, json!({"induction_id": 901, "sp_member_id": 1}));
        }
        let parameters = path.map(|number| ("id".to_owned(), number.to_owned())).into_iter().collect();
        let answer = client.raw(Raw { operation: operation.into(), parameters, ..Raw::default() }).await.unwrap();
        let list: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, list.len()), (200, maximum), "{operation}");
    }
}
