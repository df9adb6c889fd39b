//! Reads that do not come to their end, or do not prove that they saw everyone.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{HIDDEN, synced};
use crate::support::graph::{json_answer, refusal};
use crate::support::web::{Arrived, Part, answer, framed};

/// What is said in place of the right page of that number.
type Fault = fn(Value) -> Vec<Part>;

/// The only fault is on page `at`.
fn faulty(at: usize, fault: Fault) -> impl Fn(usize, &Arrived, Value) -> Vec<Part> + Send + Sync {
    move |number, _, page| if number == at { fault(page) } else { json_answer(200, "", &page) }
}

#[test]
fn law_1_a_read_that_breaks_at_any_page_removes_no_one() {
    let (graph, world) = synced("");
    graph.change(|tenant| drop(tenant.users.drain(..3)));
    let cases: [(Fault, &str); 12] = [
        (|_| Vec::new(), "it can't be reached"),
        (
            |page| framed(200, "application/json", "content-length: 99999\r\n", page.to_string().as_bytes()),
            "it can't be reached",
        ),
        (|page| answer(200, "application/json", "", &page.to_string().as_bytes()[..50]), "its answer is no page"),
        (|_| answer(200, "text/html", "", b"<html>"), "its answer is no page"),
        (|_| json_answer(200, "", &json!({})), "its answer is no page"),
        (
            |_| refusal(404, "Directory_ExpiredPageToken"),
            "it answered 404 (Directory_ExpiredPageToken) to a request for users",
        ),
        (|_| refusal(410, "Gone"), "it answered 410 (Gone)"),
        (|_| refusal(403, "Authorization_RequestDenied"), "give the app the application permission User.Read.All"),
        (|_| refusal(500, "InternalServerError"), "it answered 500 (InternalServerError)"),
        (|_| answer(302, "text/html", "location: https://evil.example/\r\n", b""), "redirects are not followed"),
        (
            |mut page| {
                page["@odata.nextLink"] = json!("https://evil.example/v1.0/users?$skiptoken=s3cret");
                json_answer(200, "", &page)
            },
            "the link to the next page leads elsewhere (https://evil.example), which is not followed",
        ),
        (
            |mut page| {
                page["@odata.nextLink"] = json!("//");
                json_answer(200, "", &page)
            },
            "the link to the next page leads elsewhere (no address)",
        ),
    ];
    for at in 0..4 {
        for (fault, said) in cases {
            graph.say(faulty(at, fault));
            let ran = world.sync().hides(&HIDDEN).expect(1);
            let (status, complete, reason) = ran.ended();
            assert!(status == "failed" && !complete && reason.contains(said), "page {at}: {reason}");
            assert_eq!((ran.writes(), graph.lists()), ((0, 0, 0), at + 1), "page {at}: {reason}");
            world.expect_people(1..41);
        }
    }
    graph.recover();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 3));
}

#[test]
fn law_1_a_count_that_does_not_fit_removes_no_one() {
    let (graph, world) = synced("");
    graph.change(|tenant| {
        tenant.users.remove(0);
        tenant.users[0]["jobTitle"] = json!("Moved");
    });
    let cases: [(usize, Fault, &str); 4] = [
        (
            0,
            |mut page| {
                page["@odata.count"] = json!(40);
                json_answer(200, "", &page)
            },
            "the service counted 40 users and showed 39",
        ),
        (
            0,
            |mut page| {
                page.as_object_mut().unwrap().remove("@odata.count");
                json_answer(200, "", &page)
            },
            "did not say how many there are (@odata.count)",
        ),
        (
            2,
            |mut page| {
                page.as_object_mut().unwrap().remove("@odata.nextLink");
                json_answer(200, "", &page)
            },
            "the service counted 39 users and showed 30",
        ),
        (
            1,
            |mut page| {
                page["value"] = json!([]);
                json_answer(200, "", &page)
            },
            "the service counted 39 users and showed 29",
        ),
    ];
    for (number, (at, fault, said)) in cases.into_iter().enumerate() {
        graph.say(faulty(at, fault));
        let ran = world.sync().hides(&HIDDEN).expect(3);
        let (status, complete, reason) = ran.ended();
        assert!(status == "partial" && !complete && reason.contains(said), "{reason}");
        assert_eq!(ran.writes(), (0, u64::from(number == 0), 0), "what came flows, and no one leaves");
        world.expect_people(1..41);
    }
    graph.recover();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn law_1_no_users_at_all_is_no_proof() {
    let (graph, world) = synced("");
    graph.change(|tenant| tenant.users.clear());
    let ran = world.sync().hides(&HIDDEN);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.writes(), (0, 0, 0));
    world.expect_people(1..41);
}

#[test]
fn an_empty_page_with_a_link_is_not_the_end() {
    let (graph, world) = synced("");
    graph.say(|number, arrived, page| {
        let host = arrived.header("host").unwrap();
        match number {
            // The first page is given once more behind an empty one, which has the count.
            0 => {
                let next = format!("http://{host}{}&again=1", arrived.line.trim_start_matches("GET "));
                json_answer(200, "", &json!({ "@odata.count": 40, "@odata.nextLink": next, "value": [] }))
            }
            _ => json_answer(200, "", &page),
        }
    });
    let ran = world.sync().hides(&HIDDEN).expect(0);
    assert_eq!((ran.writes(), graph.lists()), ((0, 0, 0), 5));
}

#[test]
fn pages_that_go_round_end_the_run() {
    let (graph, world) = synced("");
    graph.say(|_, arrived, mut page| {
        let host = arrived.header("host").unwrap();
        page["@odata.nextLink"] = json!(format!("http://{host}/v1.0/users?%24select=id&%24count=true&%24skiptoken=10"));
        json_answer(200, "", &page)
    });
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("the same link to the next page came twice"), "{ran:?}");
    world.expect_people(1..41);
}

#[test]
fn a_token_that_expires_in_the_middle_is_replaced_once() {
    let (graph, world) = synced("");
    graph.change(|tenant| drop(tenant.users.remove(0)));
    graph.say(|number, _, page| match number {
        2 => refusal(401, "InvalidAuthenticationToken"),
        _ => json_answer(200, "", &page),
    });
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (0, 0, 1));
    graph.say(|_, _, _| refusal(401, "InvalidAuthenticationToken"));
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("it does not take the token"), "{ran:?}");
    assert_eq!(graph.lists(), 1, "a new token that is refused is not replaced");
    world.expect_people(2..41);
}

#[test]
fn a_service_that_is_busy_is_asked_again_within_the_time_of_the_read() {
    let (graph, world) = synced("");
    graph.change(|tenant| drop(tenant.users.remove(0)));
    graph.say(|number, _, page| match number {
        1 => json_answer(429, "retry-after: 0\r\n", &json!({})),
        3 => json_answer(503, "retry-after: 0\r\n", &json!({})),
        _ => json_answer(200, "", &page),
    });
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (0, 0, 1));
    assert_eq!(graph.lists(), 6);
    graph.say(|_, _, _| json_answer(429, "retry-after: 0\r\n", &json!({})));
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("it answered 429 to a request for users; it is busy"), "{ran:?}");
    graph.say(|_, _, _| json_answer(429, "retry-after: 3600\r\n", &json!({})));
    world.edit_config("type =", "timeout = \"30s\"\ntype =");
    let ran = world.sync().expect(1);
    let said =
        "it answered 429 to a request for users and asks to wait 3600 s, which is longer than this read may take";
    assert!(ran.reason().contains(said), "{ran:?}");
    world.expect_people(2..41);
}

#[test]
fn a_place_of_tokens_that_is_busy_is_asked_again_as_well() {
    let (graph, world) = synced("");
    graph.change(|tenant| {
        drop(tenant.users.remove(0));
        tenant.no_token_now = vec![(503, "retry-after: 0\r\n"), (429, "retry-after: 0\r\n")];
    });
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (0, 0, 1));
    for (now, said) in [
        (vec![(429, "retry-after: 0\r\n"); 10], "it answered 429 and issued no token: it is busy"),
        (vec![(503, "retry-after: 3600\r\n")], "it answered 503 to the request for a token and asks to wait 3600 s"),
        (vec![(401, "")], "it answered 401 and issued no token"),
    ] {
        graph.change(|tenant| tenant.no_token_now = now);
        let ran = world.sync().hides(&HIDDEN).expect(1);
        assert!(ran.reason().contains(said), "{said}: {ran:?}");
    }
    world.expect_people(2..41);
}

#[test]
fn law_1_a_run_that_is_ended_in_the_middle_of_a_walk_removes_no_one() {
    let (graph, world) = synced("");
    graph.change(|tenant| drop(tenant.users.remove(0)));
    let endless = |_: Value| {
        let head = framed(200, "application/json", "content-length: 999999\r\n", b"{");
        head.into_iter().chain([Part::Drip(b" ".to_vec())]).collect()
    };
    let cases: [(&str, Fault); 2] =
        [("a page without end", endless), ("a long wait", |_| json_answer(429, "retry-after: 900\r\n", &json!({})))];
    for (name, fault) in cases {
        graph.say(faulty(2, fault));
        let child = world.command(&["sync", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while graph.lists() < 3 {
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}: {output:?}");
        world.expect_people(1..41);
    }
    graph.recover();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn law_1_a_walk_over_managers_that_breaks_removes_no_one() {
    let (graph, world) = synced("");
    world.edit_config("{{ job_title }}", "{{ job_title }} {{ manager }}");
    graph.change(|tenant| drop(tenant.users.remove(0)));
    for at in 0..4 {
        graph.say(faulty(at, |_| refusal(500, "InternalServerError")));
        let ran = world.sync().hides(&HIDDEN).expect(1);
        assert!(ran.reason().contains("to a request for the managers of users"), "{ran:?}");
        world.expect_people(1..41);
    }
}
