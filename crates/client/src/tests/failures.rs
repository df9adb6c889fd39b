//! Failures of connections and answers, and how the client reports them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::server::{Reply, Server, answer, bytes, client, json, ticking};
use crate::RemoteId;
use crate::clock::Clock;
use crate::options::MaySend;
use crate::{
    Api, BudgetPlace, Call, Client, Deleted, Error, ErrorKind, Fate, Options, Query, Raw, Retry, SendGuard, Staff,
    StaffInput,
};

fn get() -> Call<Option<Staff>> {
    Api::<Staff>::root().get(RemoteId::new(7).unwrap())
}

fn put() -> Call<Option<Staff>> {
    let input = StaffInput { name: Some("Ada Canary".to_owned()), ..StaffInput::default() };
    Api::<Staff>::root().replace(RemoteId::new(7).unwrap(), &input)
}

/// The name of the error's kind.
fn kind(error: &Error) -> String {
    format!("{:?}", error.kind).split([' ', '(']).next().unwrap().to_owned()
}

/// What a GET and a PUT make of an answer: the kind of error, the number of requests, the fate of the PUT.
async fn check(reply: Reply, expected_kind: &str, reads: usize, fate: Fate) {
    let server = Server::start(move |_, _| reply.clone()).await;
    let error = server.client().send(get()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), server.calls().len()), (expected_kind, reads), "GET: {error:?}");
    let error = server.client().send(put()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.fate()), (expected_kind, fate), "PUT: {error:?}");
    assert_eq!(server.calls().len(), reads + 1, "a write is sent once: {error:?}");
}

#[tokio::test]
async fn fault_28_a_write_whose_connection_breaks_is_unknown_and_sent_once() {
    check(bytes(""), "Cut", 3, Fate::Unknown).await;
    check(bytes("HTTP/1.1 200 OK\r\ncontent-ty"), "Cut", 3, Fate::Unknown).await;
}

/// The process stood still after the first look, or the connection took long to make.
#[tokio::test]
async fn law_3_a_write_whose_time_is_over_when_its_first_bytes_are_about_to_leave_stays_here() {
    let server = Server::start(|_, _| json(200, "{\"id\":7}")).await;
    let looks = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&looks);
    let may_send: MaySend = Arc::new(move |_| match seen.fetch_add(1, Ordering::SeqCst) {
        0 | 2 | 3 => Ok("here".to_owned()),
        _ => Err("over".to_owned()),
    });
    let guard = SendGuard { may_send, write_timeout: Duration::from_secs(20) };
    let client = client(&Options { send_guard: Some(guard), ..server.options() });
    let error = client.send(put()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.fate()), ("Withheld", Fate::NotSent));
    assert_eq!((looks.load(Ordering::SeqCst), client.budget().used, server.calls().len()), (2, 0, 0));
    client.send(put()).await.unwrap();
    assert_eq!((looks.load(Ordering::SeqCst), server.calls().len()), (4, 1));
    let seen = &server.seen()[0];
    assert_eq!(seen.header("content-length"), Some(seen.body.len().to_string().as_str()), "its length is said as ever");
}

#[tokio::test]
async fn law_12_a_request_whose_answer_is_lost_has_used_the_budget() {
    let server = Server::start(|_, _| bytes("")).await;
    let client = client(&Options { requests_per_minute: 5, ..server.options() });
    for number in 1..=3 {
        assert_eq!(client.send(put()).await.unwrap_err().fate(), Fate::Unknown);
        assert_eq!((client.budget().used, client.requests()), (number, number.into()));
    }
    assert_eq!((client.free_in(2), client.free_in(3) > Duration::ZERO), (Duration::ZERO, true));
}

#[tokio::test]
async fn fault_40_a_cut_body_is_no_answer() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    check(bytes(&format!("{head}content-length: 90\r\n\r\n{{\"id\":7}}")), "Cut", 3, Fate::Unknown).await;
    check(bytes(&format!("{head}transfer-encoding: chunked\r\n\r\n8\r\n{{\"id\":7}}\r\n")), "Cut", 3, Fate::Unknown)
        .await;
    check(bytes(&format!("{head}connection: close\r\n\r\n{{\"id\":7,")), "NotJson", 1, Fate::Unknown).await;
    let gzip = format!("{head}content-encoding: gzip\r\ncontent-length: 12\r\n\r\n");
    let mut cut = gzip.into_bytes();
    cut.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0x63, 0x60]);
    check(Reply::Bytes(cut), "Cut", 3, Fate::Unknown).await;
}

#[tokio::test]
async fn fault_38_a_login_page_is_an_error_at_once() {
    check(answer(200, &[("content-type", "text/html")], b"<html>log in</html>"), "NotJson", 1, Fate::Unknown).await;
}

#[tokio::test]
async fn fault_39_a_read_without_a_body_is_an_error() {
    let server = Server::start(|_, _| answer(204, &[], b"")).await;
    assert_eq!(kind(&server.client().send(get()).await.unwrap_err()), "NotJson");
    assert_eq!(server.client().send(put()).await.unwrap().value, None);
}

#[tokio::test]
async fn fault_43_a_redirect_is_not_followed() {
    let server = Server::start(|_, _| answer(302, &[("location", "/v1/elsewhere")], b"")).await;
    for error in [server.client().send(get()).await.unwrap_err(), server.client().send(put()).await.unwrap_err()] {
        assert_eq!((kind(&error).as_str(), error.retry()), ("Redirect", Retry::Never("base_url must change")));
    }
    assert_eq!(server.calls(), ["GET /v1/staff/7?time_zone=UTC", "PUT /v1/staff/7"]);
}

#[tokio::test]
async fn fault_32_a_failing_service_is_asked_three_times_and_written_to_once() {
    for code in [500, 502, 503, 504] {
        check(json(code, r#"{"error":"broken"}"#), "Status", 3, Fate::Unknown).await;
    }
    check(json(501, ""), "Status", 1, Fate::Unknown).await;
}

#[tokio::test]
async fn fault_37_what_is_refused_says_why_and_names_no_one() {
    check(json(400, "{}"), "Status", 1, Fate::Refused).await;
    let server = Server::start(|_, _| json(409, r#"{"error":"Ada Canary (k3y-canary) exists"}"#)).await;
    let error = server.client().send(put()).await.unwrap_err();
    assert_eq!((error.code(), error.fate()), (Some(409), Fate::Refused));
    assert_eq!(error.words(), Some("*** (***) exists"));
    assert!(!format!("{error:?} {error} {}", error.kind).contains("anary"));
}

#[tokio::test]
async fn fault_35_what_is_gone_is_deleted_already() {
    let server = Server::start(|_, number| answer(if number == 0 { 204 } else { 404 }, &[], b"")).await;
    let delete = || Api::<Staff>::root().delete(RemoteId::new(7).unwrap());
    assert_eq!(server.client().send(delete()).await.unwrap().value, Deleted::Now);
    assert_eq!(server.client().send(delete()).await.unwrap().value, Deleted::Already);
    assert_eq!(server.client().send(get()).await.unwrap().value, None);
    assert_eq!(server.client().send(put()).await.unwrap_err().fate(), Fate::Refused);
}

#[tokio::test]
async fn fault_26_a_refused_connection_sends_nothing_and_uses_no_budget() {
    let server = Server::start(|_, _| json(200, "[]")).await;
    let mut options = server.options();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    options.base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let client = client(&options);
    let error = client.send(put()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.fate()), ("Connect", Fate::NotSent));
    assert_eq!((client.requests(), client.budget().used), (0, 0));
}

#[tokio::test]
async fn fault_41_an_answer_that_never_comes_ends_with_the_deadline() {
    ticking();
    let server = Server::start(|_, _| Reply::Stall(Duration::from_secs(60))).await;
    let client = server.client();
    let error = client.send(put()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.fate(), client.requests()), ("TimeOut", Fate::Unknown, 1));
    assert_eq!(kind(&client.send(get()).await.unwrap_err()), "TimeOut");
    assert_eq!(client.requests(), 4);
}

#[tokio::test]
async fn fault_42_a_small_body_that_grows_is_cut_off() {
    let bomb = zeros_as_gzip(17 * 1024 * 1024);
    assert!(bomb.len() < 120_000);
    let reply = answer(200, &[("content-type", "application/json"), ("content-encoding", "gzip")], &bomb);
    let server = Server::start(move |_, _| reply.clone()).await;
    assert_eq!(kind(&server.client().send(get()).await.unwrap_err()), "TooLarge");
}

/// A gzip member of zeros, one fixed-code block: a zero, then copies of 258 bytes; without its end.
fn zeros_as_gzip(count: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let (mut bits, mut width) = (0_u64, 0_u32);
    let mut push = |code: u64, length: u32| {
        bits |= code << width;
        width += length;
        while width >= 8 {
            bytes.push((bits & 0xff) as u8);
            bits >>= 8;
            width -= 8;
        }
    };
    push(0b011, 3);
    push(0b0000_1100, 8);
    for _ in 0..count / 258 {
        push(0b1010_0011, 8);
        push(0, 5);
    }
    bytes
}

#[tokio::test]
async fn fault_29_a_429_is_waited_out_and_is_no_failure() {
    let server = Server::start(|_, number| match number {
        0 => answer(429, &[("retry-after", "1")], b"slow down"),
        _ => json(200, r#"{"id":7}"#),
    })
    .await;
    let client = server.client();
    let begin = Instant::now();
    assert!(client.send(put()).await.unwrap().value.is_some());
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert_eq!(client.requests(), 2);
}

/// Fails unless nothing is sent until so many seconds after an answer that came between `before` and now; the clocks of the
/// budget and of the wall may differ by a second.
fn expect_blocked(client: &Client, before: Timestamp, seconds: i64) {
    let until = client.budget().blocked_until.unwrap();
    let after = |time: Timestamp, slack: i64| time + SignedDuration::from_secs(seconds + slack);
    let (first, last) = (after(before, -1), after(Clock::system().now(), 1));
    assert!((first..=last).contains(&until), "{until} is not in {first}..={last}");
}

#[tokio::test]
async fn fault_30_a_429_without_a_time_stops_everything_for_a_minute() {
    let server = Server::start(|_, _| answer(429, &[], b"")).await;
    let client = server.client();
    let raw = Raw { operation: "staff.list".to_owned(), ..Raw::default() };
    let before = Clock::system().now();
    assert_eq!(client.raw(raw).await.unwrap().status, 429);
    let other = tokio::time::timeout(Duration::from_millis(50), client.send(get())).await;
    assert!(other.is_err() && client.requests() == 1);
    expect_blocked(&client, before, 60);
}

#[tokio::test]
async fn fault_33_a_503_that_says_how_long_holds_all_up_across_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| answer(503, &[("retry-after", "100000")], b"")).await;
    let options = Options { budget: BudgetPlace::File(folder.path().join("budget")), ..server.options() };
    let before = Clock::system().now();
    let error = client(&options).send(put()).await.unwrap_err();
    assert_eq!((error.fate(), error.retry()), (Fate::Unknown, Retry::After(Duration::from_secs(100_000))));
    let restarted = client(&options);
    expect_blocked(&restarted, before, 900);
    assert_eq!((restarted.budget().used, restarted.requests()), (1, 0));
}

#[tokio::test]
async fn law_12_without_its_record_nothing_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(|_, _| json(200, "[]")).await;
    let options = Options { budget: BudgetPlace::File(folder.path().join("missing/budget")), ..server.options() };
    let client = client(&options);
    let error = client.send(put()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.fate(), server.calls().len()), ("Budget", Fate::NotSent, 0));
    assert_eq!((client.budget().used, client.budget().limit), (1_000, 1_000));
}

#[tokio::test]
async fn a_run_that_fails_too_often_ends() {
    let server = Server::start(|_, _| json(500, "")).await;
    let client = server.client();
    for _ in 0..5 {
        assert_eq!(kind(&client.send(get()).await.unwrap_err()), "Status");
    }
    let error = client.send(get()).await.unwrap_err();
    assert_eq!((kind(&error).as_str(), error.code()), ("RetriesExhausted", Some(500)));
    client.begin_run();
    assert_eq!(kind(&client.send(get()).await.unwrap_err()), "Status");
}

#[tokio::test]
async fn any_status_is_an_answer_to_a_raw_request() {
    let server = Server::start(|seen, _| match seen.line.as_str() {
        "GET /v1/staff?q=name%25A" => json(500, "{}"),
        "PUT /v1/staff/7" => answer(200, &[("content-type", "text/html")], b"<p>"),
        _ => json(403, r#"{"error":"no"}"#),
    })
    .await;
    let client = server.client();
    let raw = |operation: &str, name: &str, value: &str| Raw {
        operation: operation.to_owned(),
        parameters: vec![(name.to_owned(), value.to_owned())],
        ..Raw::default()
    };
    assert_eq!(client.raw(raw("staff.list", "q", "name%A")).await.unwrap().status, 500);
    assert_eq!(client.raw(raw("staff.update", "id", "7")).await.unwrap().body, b"<p>");
    assert_eq!(client.raw(raw("staff.get", "id", "7")).await.unwrap().status, 403);
    let put = &server.seen()[1];
    assert_eq!((put.header("content-length"), put.header("accept")), (Some("0"), Some("application/json")));
    let error = client.raw(raw("staff.gett", "id", "7")).await.unwrap_err();
    assert!(error.kind.to_string().contains("staff.get?"), "{}", error.kind);
    let error = client.raw(raw("staff.get", "ID", "7")).await.unwrap_err();
    assert!(error.kind.to_string().contains("\"id\""), "{}", error.kind);
    assert_eq!(server.calls().len(), 3);
}

#[tokio::test]
async fn no_more_are_in_flight_than_the_budget_is_worth() {
    let server = Server::start(|_, _| Reply::Stall(Duration::from_secs(60))).await;
    let client = server.client();
    let most = client.in_flight();
    let sends = (0..most + 12).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.send(Api::<Staff>::root().list(&Query::default())).await })
    });
    let sends: Vec<_> = sends.collect();
    while server.calls().len() < most {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((server.calls().len(), client.budget().used as usize), (most, most));
    sends.iter().for_each(tokio::task::JoinHandle::abort);
}

#[test]
fn an_error_says_why_where_it_is_printed_alone_and_once_where_its_causes_are() {
    let error = || Error { operation: "staff.update", kind: ErrorKind::Missing };
    let whole = "staff.update failed: there is nothing of that id at the service";
    assert_eq!(error().to_string(), whole);
    assert_eq!(crate::fault::chain(&error()), whole);
}
