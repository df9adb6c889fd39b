//! Injected faults.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

fn faults(specs: &[&str]) -> Options {
    let faults = specs.iter().map(|spec| spec.parse().unwrap()).collect();
    Options { faults, seed_staff: 20, rate: 0, ..Options::default() }
}

/// Creates a person; `None` where the connection broke instead of answering.
async fn create(rig: &Rig) -> Option<u16> {
    let body = json!({ "name": "Ana", "email": "ana@example.com" });
    let response = rig.request("POST", "/staff").json(&body).send().await.ok()?;
    let status = response.status().as_u16();
    response.bytes().await.ok().map(|_| status)
}

#[tokio::test]
async fn a_fault_answers_or_cuts_and_acts_or_does_not() {
    for (spec, answered, acted) in [
        ("status=500", Some(500), false),
        ("status-after=502", Some(502), true),
        ("cut-before", None, false),
        ("cut-after", None, true),
        ("half", None, true),
        ("html", Some(200), false),
        ("empty-list", Some(200), false),
        ("not-found", Some(404), false),
        ("delay=1ms", Some(200), true),
        ("GET status=500", Some(200), true),
    ] {
        let rig = rig(faults(&[spec])).await;
        assert_eq!(create(&rig).await, answered, "{spec}");
        let there = rig.sandbox.all("staff").iter().any(|person| person["email"] == "ana@example.com");
        assert_eq!((there, rig.sandbox.writes()), (acted, usize::from(acted)), "{spec}");
        assert_eq!(rig.sandbox.requests().len(), 1, "{spec}: the caller's library sent it again");
    }
}

/// Waits for what has to come.
async fn until(is_so: impl Fn() -> bool) {
    let comes = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), comes).await.expect("it comes");
}

#[tokio::test]
async fn what_is_held_is_done_before_or_after_its_release_as_it_says() {
    for (spec, acted) in [("hold", 2), ("hold-before", 0)] {
        let rig = rig(Options { accept_duplicates: true, ..faults(&[&format!("staff.create {spec} times=3")]) }).await;
        let released = async {
            until(|| rig.sandbox.held() == 2).await;
            assert_eq!(rig.sandbox.writes(), acted, "{spec}");
            assert_eq!(rig.sandbox.release(), 2);
            assert_eq!(rig.sandbox.held(), 0, "{spec}: who is released is held no more");
        };
        let (one, other, ()) = tokio::join!(create(&rig), create(&rig), released);
        assert_eq!((one, other, rig.sandbox.writes()), (Some(200), Some(200), 2), "{spec}");
        // The next one waits again, and other faults in place of these release it too.
        let replaced = async {
            until(|| rig.sandbox.held() == 1).await;
            rig.sandbox.set_faults(Vec::new());
        };
        let (third, ()) = tokio::join!(create(&rig), replaced);
        assert_eq!((third, rig.sandbox.writes()), (Some(200), 3), "{spec}");
    }
}

#[tokio::test]
async fn a_cut_connection_carries_no_byte_and_half_an_answer_only_half() {
    for (spec, half) in [("cut-before", false), ("half", true)] {
        let rig = rig(faults(&[spec])).await;
        let mut stream = TcpStream::connect(rig.sandbox.auth_url().trim_start_matches("http://")).await.unwrap();
        let head = "GET /v1/staff HTTP/1.1\r\nhost: x\r\nauthorization: APIKEY sandbox-key\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await;
        let text = String::from_utf8_lossy(&received);
        assert_eq!(!text.is_empty(), half, "{spec}: {text}");
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let promised = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            assert_eq!(body.len(), promised.parse::<usize>().unwrap() / 2);
        }
    }
}

#[tokio::test]
async fn a_connection_is_good_again_after_a_fault_that_passed() {
    let rig = rig(faults(&["list cut-before nth=2", "staff.list status=503 retry-after=3 nth=3"])).await;
    assert_eq!(rig.ids("/staff").await.len(), 20);
    assert!(rig.request("GET", "/staff").send().await.is_err());
    let response = rig.request("GET", "/staff").send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["retry-after"]), (503, &"3".parse().unwrap()));
    assert_eq!(rig.ids("/staff").await.len(), 20);
    rig.sandbox.set_faults(vec!["list empty-list".parse().unwrap()]);
    assert_eq!(rig.get("/staff").await, (200, json!([])));
    let statuses: Vec<u16> = rig.sandbox.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [200, 0, 503, 200, 200]);
}

#[tokio::test]
async fn law_3_who_hangs_up_does_not_undo_the_request() {
    let rig = rig(faults(&["staff.create hold-before"])).await;
    tokio::select! {
        _ = create(&rig) => panic!("it is held"),
        () = until(|| rig.sandbox.held() == 1) => {}
    }
    assert_eq!(rig.sandbox.all("staff").len(), 20);
    rig.sandbox.release();
    until(|| rig.sandbox.all("staff").len() == 21).await;
}

#[tokio::test]
async fn delayed_answers_do_not_wait_for_one_another() {
    let rig = rig(Options { delay: Duration::from_secs(3600), accept_duplicates: true, ..faults(&[]) }).await;
    let creates = futures_util::future::join_all((0..20).map(|_| create(&rig)));
    tokio::select! {
        answered = creates => panic!("they are delayed: {answered:?}"),
        () = until(|| rig.sandbox.writes() == 20) => {}
    }
}

#[tokio::test]
async fn the_token_endpoint_fails_where_it_is_named() {
    let rig = rig(faults(&["status=500", "/oauth2 html nth=2"])).await;
    let url = format!("{}/oauth2/token", rig.sandbox.auth_url());
    for expected in ["application/json", "text/html; charset=utf-8"] {
        let request = rig.client.post(&url).basic_auth("sandbox-client", Some("sandbox-secret"));
        let response = request.form(&[("grant_type", "client_credentials")]).send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &expected.parse().unwrap())
        );
    }
}
