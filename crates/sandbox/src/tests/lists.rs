//! Lists: paging, filters, changes since, zones, the service's clock.

use jiff::SignedDuration;
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_walk_by_id_meets_everybody_once() {
    let rig = rig(Options { seed_staff: 25, page_max: 10, rate: 0, ..Options::default() }).await;
    let mut met = Vec::new();
    for pages in 0.. {
        let after = met.last().copied().unwrap_or(0);
        let page = rig.ids(&format!("/staff?order=id&limit=1000&q=id%3E{after}")).await;
        met.extend(&page);
        if page.is_empty() {
            assert_eq!(pages, 3);
            break;
        }
    }
    assert_eq!(met, (1001..=1025).collect::<Vec<i64>>());
    assert_eq!(rig.ids("/staff?limit=4").await, [1001, 1002, 1003, 1004]);
    assert_eq!(rig.ids("/staff?order=-id&limit=2").await, [1025, 1024]);
    assert_eq!(rig.ids("/staff").await.len(), 10);
}

#[tokio::test]
async fn a_filter_is_applied_and_a_bad_one_is_400() {
    let rig = rig(Options { seed_staff: 200, rate: 0, ..Options::default() }).await;
    let everyone = rig.sandbox.all("staff");
    let person = &everyone[41];
    let id = person["id"].as_i64().unwrap();
    let last = person["name"].as_str().unwrap().split_once(' ').unwrap().1;
    for query in [
        format!("email:{}", person["email"].as_str().unwrap()),
        format!("employee_id:{}", person["employee_id"].as_str().unwrap()),
        format!("id>{},id<{}", id - 1, id + 1),
    ] {
        let response = rig.request("GET", "/staff").query(&[("q", &query)]).send().await.unwrap();
        assert_eq!(response.json::<Value>().await.unwrap()[0]["id"], id, "{query}");
    }
    let response = rig.request("GET", "/staff").query(&[("q", format!("name%{last}"))]).send().await.unwrap();
    let named: Vec<Value> = response.json().await.unwrap();
    assert!(named.len() > 1 && named.iter().all(|one| one["name"].as_str().unwrap().contains(last)));
    for query in ["q=shoe:9", "q=id", "order=shoe", "limit=0", "limit=x", "page=2", "q=%FF"] {
        assert_eq!(rig.get(&format!("/staff?{query}")).await.0, 400, "{query}");
    }
}

#[tokio::test]
async fn an_empty_list_is_empty_or_404() {
    for (empty_as_404, expected) in [(false, 200), (true, 404)] {
        let rig = rig(Options { empty_as_404, ..Options::default() }).await;
        assert_eq!(rig.get("/staff").await.0, expected);
        assert_eq!(rig.get("/location").await.0, 200);
        assert_eq!(rig.get("/location?q=id%3E99").await.0, expected);
    }
}

#[tokio::test]
async fn changes_since_are_by_the_services_own_clock() {
    let clock = fixed_clock("2026-01-02T03:04:05.500Z");
    let options = Options { clock, clock_offset: SignedDuration::from_mins(-90), ..Options::default() };
    let rig = rig(options).await;
    rig.sandbox.put("staff", json!({ "name": "Old", "modified": "2026-01-02T01:34:04Z" }));
    let (_, ana) = rig.send("POST", "/staff", Some(json!({ "name": "Ana" }))).await;
    assert_eq!(ana["modified"], "2026-01-02T01:34:05+00:00");
    for (since, expected) in [
        ("2026-01-02T01:34:04", Some(2)),
        ("2026-01-02T01:34:05", Some(1)),
        ("2026-01-02T01:34:06", Some(0)),
        ("2026-01-02T01:34:05Z", None),
        ("Fri, 02 Jan 2026 01:34:05 GMT", None),
    ] {
        let response = rig.request("GET", "/staff").header("if-modified-since", since).send().await.unwrap();
        assert_eq!(response.headers()["date"], "Fri, 02 Jan 2026 01:34:05 GMT");
        assert_eq!(response.headers().get_all("date").iter().count(), 1);
        let list: Value = response.json().await.unwrap();
        assert_eq!(list.as_array().map(Vec::len), expected, "{since}");
    }
}

#[tokio::test]
async fn times_are_written_in_the_zone_asked_for() {
    let rig = rig(Options::default()).await;
    let token = json!({ "type": "card", "number": 7, "issued": "2021-10-06T02:35:50Z", "expiry": null });
    let at = "2021-10-06T02:35:50Z";
    let id = rig.sandbox.put("staff", json!({ "created": at, "modified": at, "last_login": at, "tokens": [token] }));
    for (query, expected) in [
        ("", "2021-10-06T02:35:50+00:00"),
        ("?time_zone=UTC", "2021-10-06T02:35:50+00:00"),
        ("?time_zone=Pacific/Auckland", "2021-10-06T15:35:50+13:00"),
    ] {
        let (_, entity) = rig.get(&format!("/staff/{id}{query}")).await;
        for time in [&entity["created"], &entity["modified"], &entity["last_login"], &entity["tokens"][0]["issued"]] {
            assert_eq!(time, expected, "{query}");
        }
        assert_eq!(entity["tokens"][0]["expiry"], Value::Null);
    }
}

#[tokio::test]
async fn custom_field_elements_are_one_plain_list() {
    let rig = rig(Options { page_max: 1, ..Options::default() }).await;
    assert_eq!(rig.ids("/location").await.len(), 6);
    assert_eq!(rig.ids("/location?limit=2").await.len(), 2);
    let (status, elements) = rig.get("/customfield/element/staff").await;
    assert_eq!(status, 200);
    let shown: Vec<_> = elements
        .as_array()
        .unwrap()
        .iter()
        .map(|element| {
            (
                element["id"].as_i64().unwrap(),
                element["title"].as_str().unwrap(),
                element["element_type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(shown, [(3, "Locker", "text"), (4, "Shirt size", "text"), (5, "First aider", "checkbox")]);
    assert_eq!(rig.get("/customfield/element/staff?q=id%3E3").await.0, 400);
    assert_eq!(rig.get("/location?order=id").await.0, 400);
}
