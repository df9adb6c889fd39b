//! JSON and XML, in and out; HEAD; methods that are not there.

use reqwest::header::{ACCEPT, ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use serde_json::json;

use super::*;
use crate::operation::{Operation, operations};

/// Sends a request with its own `Accept`, or none; gives status, media type and text.
async fn raw(
    rig: &Rig,
    method: &str,
    path: &str,
    accept: Option<&str>,
    body: Option<(&str, &str)>,
) -> (u16, String, String) {
    let url = format!("{}{path}", rig.sandbox.url());
    let mut request = rig.client.request(method.parse().unwrap(), url).header("authorization", "APIKEY sandbox-key");
    request = accept.into_iter().fold(request, |request, accept| request.header(ACCEPT, accept));
    if let Some((kind, body)) = body {
        request = request.header(CONTENT_TYPE, kind).body(body.to_owned());
    }
    let mut request = request.build().unwrap();
    if accept.is_none() {
        request.headers_mut().remove(ACCEPT);
    }
    let response = rig.client.execute(request).await.unwrap();
    let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
    (response.status().as_u16(), kind.unwrap_or_default(), response.text().await.unwrap())
}

/// A path with the same id in place of every parameter.
fn with_ids(template: &str, id: &str) -> String {
    let segment = |segment: &str| if segment.starts_with('{') { id.to_owned() } else { segment.to_owned() };
    template.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn an_answer_is_in_the_media_type_that_is_accepted() {
    let rig = rig(Options { seed_staff: 2, rate: 0, ..Options::default() }).await;
    for (accept, path, kind, begins) in [
        (Some("application/json"), "/staff", "application/json", "[{\"id\":1001"),
        (Some("application/xml"), "/staff", "application/xml", "<list type=\"array\"><staff><id type=\"number\">1001"),
        (Some("text/xml"), "/staff/1001", "text/xml", "<staff><id type=\"number\">1001"),
        // reqwest sends */* where nothing else is said.
        (None, "/location?limit=1", "application/xml", "<list type=\"array\"><location><id"),
        (None, "/staff/1", "application/xml", "<answer><error>there is no staff"),
        (Some("application/json"), "/staff/1", "application/json", "{\"error\":"),
        (None, "/shoe", "application/xml", "<answer><error>"),
        (None, "/staff?q=x", "application/xml", "<answer><error>"),
    ] {
        let (_, found, text) = raw(&rig, "GET", path, accept, None).await;
        assert_eq!(found, kind, "{accept:?} {path}");
        let body = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap_or(&text);
        assert!(body.starts_with(begins), "{accept:?} {path}: {text}");
    }
}

#[tokio::test]
async fn a_person_made_with_xml_is_the_one_made_with_json() {
    let rig = rig(Options { seed_staff: 1, rate: 0, ..Options::default() }).await;
    let xml = "<staff><name>Ana &amp; Bo</name><employee_id>77</employee_id><globalroaming>1</globalroaming>\
        <roletype><item>Host</item></roletype><cf><field id=\"3\">L7</field></cf></staff>";
    let (status, _, made) = raw(&rig, "POST", "/staff", Some("application/xml"), Some(("application/xml", xml))).await;
    assert_eq!(status, 200, "{made}");
    let body =
        json!({ "name": "Ana & Bo", "employee_id": 78, "globalroaming": 1, "roletype": ["Host"], "cf": { "3": "L7" } });
    assert_eq!(rig.send("POST", "/staff", Some(body)).await.0, 200);
    let mut people = rig.sandbox.all("staff").split_off(1);
    for person in &mut people {
        for own in ["id", "created", "modified", "employee_id"] {
            person.as_object_mut().unwrap().remove(own);
        }
    }
    assert_eq!(people[0], people[1]);
    // What XML answers is what JSON answers.
    for path in ["/staff", "/staff/1002", "/location"] {
        let (_, _, text) = raw(&rig, "GET", path, Some("text/xml"), None).await;
        assert_eq!(crate::xml::value(text.as_bytes()).unwrap(), rig.get(path).await.1, "{path}");
    }
}

#[tokio::test]
async fn a_body_of_no_known_kind_is_415_and_a_bad_one_400() {
    let rig = rig(Options { rate: 0, ..Options::default() }).await;
    for (kind, body, status) in [
        ("application/xml", "<staff><name>Ana</name></staff>", 200),
        ("application/xml", "<staff><name>Ana</staff>", 400),
        ("application/xml", "<!DOCTYPE s [<!ENTITY x 'y'>]><staff><name>&x;</name></staff>", 400),
        ("application/xml", "<list><staff/></list>", 400),
        ("application/json", "<staff/>", 400),
        ("text/plain", "{}", 415),
        ("application/x-www-form-urlencoded", "name=Ana", 415),
    ] {
        let (found, answered, text) = raw(&rig, "POST", "/staff", None, Some((kind, body))).await;
        assert_eq!((found, answered.as_str()), (status, "application/xml"), "{kind} {body}: {text}");
    }
}

#[tokio::test]
async fn a_fault_breaks_xml_as_it_breaks_json() {
    let rig = rig(Options { seed_staff: 2, rate: 0, ..Options::default() }).await;
    for (fault, status, kind, contains) in [
        ("status=503", 503, "application/xml", "<answer><error>a fault on purpose</error></answer>"),
        ("empty-list", 200, "application/xml", "<list type=\"array\"></list>"),
        ("not-found", 404, "application/xml", "<answer><error>not found</error></answer>"),
        ("html", 200, "text/html; charset=utf-8", "<h1>"),
        ("delay=1ms", 200, "application/xml", "<staff><id type=\"number\">1002"),
    ] {
        rig.sandbox.set_faults(vec![fault.parse().unwrap()]);
        let (found, answered, text) = raw(&rig, "GET", "/staff", None, None).await;
        assert_eq!((found, answered.as_str()), (status, kind), "{fault}");
        assert!(text.contains(contains), "{fault}: {text}");
    }
    for fault in ["cut-before", "cut-after", "half"] {
        rig.sandbox.set_faults(vec![fault.parse().unwrap()]);
        let request = rig.client.get(format!("{}/staff", rig.sandbox.url()));
        let sent = request.header("authorization", "APIKEY sandbox-key").send().await;
        let whole = match sent {
            Ok(response) => response.bytes().await.is_ok(),
            Err(_) => false,
        };
        assert!(!whole, "{fault}");
    }
}

#[tokio::test]
async fn a_roster_may_be_xml() {
    let rig = rig(Options { seed_staff: 3, rate: 0, ..Options::default() }).await;
    let xml =
        "<list><staff><name>Ana</name><employee_id>E00001</employee_id><token1number>7</token1number></staff></list>";
    let (status, _, text) = raw(&rig, "PUT", "/staff", None, Some(("application/xml", xml))).await;
    assert_eq!(status, 200, "{text}");
    let people = rig.sandbox.all("staff");
    assert_eq!((people.len(), &people[0]["name"], &people[0]["tokens"][0]["number"]), (1, &json!("Ana"), &json!(7)));
    // A lone person is no list of one.
    let (status, ..) =
        raw(&rig, "PUT", "/staff", None, Some(("application/xml", "<staff><name>Bo</name></staff>"))).await;
    assert_eq!((status, rig.sandbox.all("staff").len()), (400, 1));
}

#[tokio::test]
async fn numbers_and_flags_are_taken_as_text() {
    let rig = rig(full()).await;
    let xml = "<zone><name>Lab</name><location_id>11</location_id><maximum_occupancy>40</maximum_occupancy>\
        <spaces_enabled>true</spaces_enabled></zone>";
    let (status, _, text) = raw(&rig, "POST", "/zone", Some("application/json"), Some(("text/xml", xml))).await;
    let zone: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &zone["location_id"], &zone["maximum_occupancy"]), (200, &json!(11), &json!(40)));
    assert_eq!(zone["spaces_enabled"], true);
}

#[tokio::test]
async fn a_fault_breaks_a_photo_as_it_breaks_a_document() {
    let rig = rig(Options { seed_staff: 1, rate: 0, ..Options::default() }).await;
    let photo = vec![0x89_u8; 1000];
    let put = rig.request("PUT", "/staff/1001/photo").header(CONTENT_TYPE, "image/png").body(photo.clone());
    assert_eq!(put.send().await.unwrap().status(), 200);
    let get = || {
        rig.client.get(format!("{}/staff/1001/photo", rig.sandbox.url())).header("authorization", "APIKEY sandbox-key")
    };
    for (fault, status, kind) in [
        ("delay=1ms", 200, "image/png"),
        ("status=500", 500, "application/xml"),
        ("not-found", 404, "application/xml"),
        ("html", 200, "text/html; charset=utf-8"),
    ] {
        rig.sandbox.set_faults(vec![fault.parse().unwrap()]);
        let response = get().send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()[CONTENT_TYPE].to_str().unwrap()), (status, kind));
        assert_eq!(response.bytes().await.unwrap() == photo, kind == "image/png", "{fault}");
    }
    for fault in ["cut-before", "cut-after", "half"] {
        rig.sandbox.set_faults(vec![fault.parse().unwrap()]);
        let whole = match get().send().await {
            Ok(response) => response.bytes().await.is_ok(),
            Err(_) => false,
        };
        assert!(!whole, "{fault}");
    }
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let rig = rig(Options { seed_staff: 3, rate: 0, ..Options::default() }).await;
    // HEAD of a photo is an operation of its own.
    let reads = |operation: &&Operation| operation.method == "GET" && operation.name != "staff.photo.get";
    for operation in operations().iter().filter(reads) {
        let path = with_ids(&operation.template(), "1001");
        let head = rig.request("HEAD", &path).send().await.unwrap();
        let get = rig.request("GET", &path).send().await.unwrap();
        let facts = |response: &reqwest::Response| {
            let header = |name| response.headers().get(name).cloned();
            (response.status(), header(CONTENT_TYPE), header(CONTENT_LENGTH))
        };
        assert_eq!(facts(&head), facts(&get), "{path}");
        assert!(head.bytes().await.unwrap().is_empty() && get.content_length() != Some(0), "{path}");
    }
}

#[tokio::test]
async fn a_method_that_is_not_there_is_405_with_those_that_are() {
    let rig = rig(Options { rate: 0, ..Options::default() }).await;
    for operation in operations().iter().filter(|operation| !operation.is_token_request()) {
        let path = with_ids(&operation.template(), "7");
        for method in ["OPTIONS", "PATCH", "TRACE", "FROB"] {
            let response = rig.request(method, &path).send().await.unwrap();
            assert_eq!(response.status(), 405, "{method} {path}");
            let allowed = response.headers()[ALLOW].to_str().unwrap().to_owned();
            assert!(allowed.split(", ").any(|allowed| allowed == operation.method), "{path}: {allowed}");
        }
    }
    let url = format!("{}/oauth2/token", rig.sandbox.auth_url());
    let response = rig.client.get(url).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()[ALLOW].to_str().unwrap()), (405, "POST"));
}
