//! 429 and 500: the service is asked too often, or breaks.

use std::time::{Duration, Instant};

use rosterd::api::{Api, ErrorKind, Fate, Query, Retry, Staff, StaffInput};
use rosterd::sandbox::Options;

use super::{refused, sandbox};
use crate::support::caller::{id, without_retries};

fn faults(spec: &str) -> Options {
    Options { faults: vec![spec.parse().unwrap()], ..Options::default() }
}

#[tokio::test]
async fn a_429_holds_up_every_request_for_as_long_as_it_says_and_is_no_failure() {
    let (sandbox, client) = sandbox(faults("staff.get status=429 retry-after=1 times=1")).await;
    let begin = Instant::now();
    let waiting = client.clone();
    let first = tokio::spawn(async move { waiting.send(Api::<Staff>::root().get(id(1001))).await });
    while client.budget().blocked_until.is_none() {
        tokio::task::yield_now().await;
    }
    let second = client.send(Api::<Staff>::root().get(id(1002))).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!((second.status, first.await.unwrap().unwrap().status), (200, 200));
    let requests = sandbox.requests();
    assert_eq!(requests.iter().filter(|request| request.status == 429).count(), 1);
    let again = requests.iter().skip(1).map(|request| request.at_millis).min().unwrap();
    assert!(again - requests[0].at_millis >= 1_000, "{requests:?}");
}

#[tokio::test]
async fn a_429_of_the_rate_limit_says_how_long_and_nothing_is_sent_meanwhile() {
    let (sandbox, client) = sandbox(Options { rate: 3, ..Options::default() }).await;
    for number in 1001..1004 {
        client.send(Api::<Staff>::root().get(id(number))).await.unwrap();
    }
    let waiting = client.clone();
    let fourth = tokio::spawn(async move { waiting.send(Api::<Staff>::root().get(id(1004))).await.map(drop) });
    while client.budget().blocked_until.is_none() {
        tokio::task::yield_now().await;
    }
    let left = client.budget().blocked_until.unwrap().duration_since(rosterd::clock::Clock::system().now()).as_secs();
    assert!((50..=61).contains(&left), "{left} s: the first of three requests is a minute old then");
    assert!(!fourth.is_finished());
    assert_eq!((sandbox.requests().len(), sandbox.refused_by_rate()), (4, 1));
    fourth.abort();
}

#[tokio::test]
async fn a_500_to_a_write_leaves_its_fate_unknown_and_is_not_sent_again() {
    let (sandbox, client) = sandbox(faults("write status=500")).await;
    let person = StaffInput { name: Some("New".into()), ..StaffInput::default() };
    let staff = Api::<Staff>::root();
    for error in [refused(&client, staff.create(&person)).await, refused(&client, staff.delete(id(1001))).await] {
        assert!(matches!(error.kind, ErrorKind::Status { code: 500, .. }), "{error:?}");
        assert_eq!((error.fate(), error.retry()), (Fate::Unknown, Retry::Later));
    }
    assert_eq!(sandbox.requests().len(), 2, "each was sent once");
    assert_eq!(sandbox.all("staff").len(), 9);
}

#[tokio::test]
async fn a_500_that_passes_costs_a_read_nothing() {
    let (sandbox, client) = sandbox(faults("staff.list status=500 times=1")).await;
    assert_eq!(client.send(Api::<Staff>::root().list(&Query::default())).await.unwrap().value.len(), 9);
    assert_eq!(sandbox.requests().iter().map(|request| request.status).collect::<Vec<_>>(), [500, 200]);
}

#[tokio::test]
async fn a_500_that_stays_is_an_error_that_names_it() {
    let (sandbox, client) = sandbox(faults("staff.list status=500")).await;
    let error = refused(without_retries(&client), Api::<Staff>::root().list(&Query::default())).await;
    let ErrorKind::RetriesExhausted { last } = &error.kind else { panic!("{error:?}") };
    assert!(matches!(**last, ErrorKind::Status { code: 500, .. }), "{last:?}");
    assert_eq!((error.code(), error.retry(), sandbox.requests().len()), (Some(500), Retry::Later, 1));
}
