//! Lists, and walking them to their end.

use std::time::Duration;

use jiff::Timestamp;

use super::server::{Reply, Seen, Server, answer, client, json, ticking};
use crate::{Api, Error, ErrorKind, Location, Options, Query, Staff, Walked, list_all, walk};

/// A service that holds the ids 1 to `count` and answers at most `clamp` of them.
fn people(seen: &Seen, count: u32, clamp: u32) -> Reply {
    let query = |name: &str| {
        let (_, query) = seen.line.split_once('?')?;
        query.split('&').filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name).map(|(_, v)| v)
    };
    let above: u32 = query("q").map_or(0, |q| q.strip_prefix("id%3E").unwrap().parse().unwrap());
    assert_eq!((query("order"), query("limit")), (Some("id"), Some("100")));
    let page: Vec<String> = (above + 1..=count).take(clamp as usize).map(|id| format!("{{\"id\":{id}}}")).collect();
    json(200, &format!("[{}]", page.join(",")))
}

async fn walked(server: &Server, since: Option<Timestamp>) -> Result<(Walked, Vec<i32>), Error> {
    let mut ids = Vec::new();
    let walked =
        walk::<Staff>(&server.client(), since, |page| ids.extend(page.iter().map(|staff| staff.id.get()))).await?;
    Ok((walked, ids))
}

/// The rule that the list broke.
async fn lie(script: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> String {
    match walked(&Server::start(script).await, None).await {
        Err(Error { kind, .. }) => kind.to_string(),
        Ok(_) => "believed".to_owned(),
    }
}

#[tokio::test]
async fn a_short_page_does_not_end_the_walk() {
    let server = Server::start(|seen, _| people(seen, 250, 40)).await;
    let (walked, ids) = walked(&server, None).await.unwrap();
    assert_eq!(ids, (1..=250).collect::<Vec<i32>>());
    assert_eq!((walked.entities, walked.requests, walked.ended_by_404), (250, 8, false));
    assert_eq!(walked.date, Some("1994-11-06T08:49:37Z".parse().unwrap()));
    let calls = server.calls();
    assert_eq!(calls[0], "GET /v1/staff?order=id&limit=100&time_zone=UTC");
    assert_eq!(calls[1], "GET /v1/staff?q=id%3E40&order=id&limit=100&time_zone=UTC");
}

/// What is changed while later pages are read may stand on a page that was read before.
#[tokio::test]
async fn law_5_the_date_of_a_walk_is_that_of_its_first_answer() {
    let server = Server::start(|seen, number| match people(seen, 80, 40) {
        Reply::Bytes(bytes) if number > 0 => {
            Reply::Bytes(String::from_utf8(bytes).unwrap().replace(" 08:49:37 ", " 08:55:00 ").into_bytes())
        }
        reply => reply,
    })
    .await;
    let (walked, ids) = walked(&server, None).await.unwrap();
    assert_eq!((walked.requests, ids.len()), (3, 80));
    assert_eq!(walked.date, Some("1994-11-06T08:49:37Z".parse().unwrap()));
}

#[tokio::test]
async fn law_1_a_404_ends_a_walk_only_where_it_may() {
    let not_found = || json(404, r#"{"error":"no records found"}"#);
    let later = Server::start(move |seen, number| if number < 2 { people(seen, 80, 40) } else { not_found() }).await;
    let (end, ids) = walked(&later, None).await.unwrap();
    assert_eq!((ids.len(), end.ended_by_404), (80, true));

    let nothing = Server::start(move |_, _| not_found()).await;
    let (first, ids) = walked(&nothing, None).await.unwrap();
    assert_eq!((ids.len(), first.ended_by_404), (0, true));
    let (delta, _) = walked(&nothing, Some(Timestamp::UNIX_EPOCH)).await.unwrap();
    assert!(delta.ended_by_404 && delta.date.is_some());
}

#[tokio::test]
async fn fault_46_nothing_new_is_no_error() {
    let server = Server::start(|_, _| answer(304, &[], b"")).await;
    let (delta, ids) = walked(&server, Some("2026-01-02T03:04:05.6Z".parse().unwrap())).await.unwrap();
    assert_eq!((ids.len(), delta.requests), (0, 1));
    assert!(delta.date.is_some());
    assert_eq!(server.seen()[0].header("if-modified-since"), Some("2026-01-02T03:04:05"));
    let error = walked(&server, None).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Redirect { code: 304 }), "{error:?}");
}

#[tokio::test]
async fn fault_45_a_list_that_contradicts_itself_is_an_error() {
    let page = |text: &'static str| move |_: &Seen, _: usize| json(200, text);
    assert!(lie(page(r#"[{"id":1},{"id":2}]"#)).await.contains("lies before"));
    assert!(lie(page(r#"[{"id":2},{"id":1}]"#)).await.contains("order"));
    assert!(lie(page(r#"[{"id":1},{"id":1}]"#)).await.contains("twice"));
    assert!(lie(|_, number| json(200, ["[{\"id\":5}]", "[{\"id\":4}]"][number.min(1)])).await.contains("lies before"));
    assert!(lie(|_, number| json(200, ["[{\"id\":5}]", "[{}]"][number.min(1)])).await.contains("[0]"));
    assert!(
        lie(|_, number| if number == 0 { json(200, "[{\"id\":5}]") } else { json(200, "<") }).await.contains("JSON")
    );
}

#[tokio::test]
async fn law_1_a_failing_page_fails_the_walk() {
    let server = Server::start(|seen, number| if number == 0 { people(seen, 80, 40) } else { json(500, "") }).await;
    assert_eq!(walked(&server, None).await.unwrap_err().code(), Some(500));
    assert_eq!(server.calls().len(), 4);
}

#[tokio::test]
async fn a_page_that_takes_too_long_is_asked_for_in_parts() {
    ticking();
    let server = Server::start(|seen, _| match seen.line.as_str() {
        line if line.contains("limit=50") && line.contains("q=") => json(200, "[]"),
        line if line.contains("limit=50") => json(200, r#"[{"id":1}]"#),
        _ => Reply::Stall(Duration::from_secs(60)),
    })
    .await;
    let client = server.client();
    let walked = walk::<Staff>(&client, None, drop).await.unwrap();
    assert_eq!((walked.entities, walked.requests, client.requests()), (1, 2, 3));
}

#[tokio::test]
async fn a_list_that_does_not_come_ends_the_walk_at_its_third_time_out() {
    ticking();
    // (the largest page that comes, how many pages come before none does, requests, whether the walk ends well)
    for (comes_up_to, pages, requests, is_whole) in
        [(0, 0, 3, false), (0, 2, 5, false), (250, 3, 4, true), (62, 3, 5, true), (49, 3, 3, false)]
    {
        let came = std::sync::atomic::AtomicU32::new(0);
        let server = Server::start(move |seen, _| {
            let limit = |line: &str| line.split("limit=").nth(1)?.split(['&', ' ']).next()?.parse::<u32>().ok();
            let limit = limit(&seen.line).unwrap();
            let number = came.load(std::sync::atomic::Ordering::SeqCst) + 1;
            match comes_up_to {
                0 if number > pages => Reply::Stall(Duration::from_secs(60)),
                1.. if limit > comes_up_to => Reply::Stall(Duration::from_secs(60)),
                _ => {
                    came.store(number, std::sync::atomic::Ordering::SeqCst);
                    json(
                        200,
                        &if number < pages || comes_up_to == 0 {
                            format!("[{{\"id\":{number}}}]")
                        } else {
                            "[]".into()
                        },
                    )
                }
            }
        })
        .await;
        let options = Options { page_size: 1000, ..server.options() };
        let client = client(&options);
        let walked = walk::<Staff>(&client, None, drop).await;
        assert_eq!((walked.is_ok(), client.requests()), (is_whole, requests), "{comes_up_to} {pages}: {walked:?}");
    }
}

#[tokio::test]
async fn law_1_a_plain_list_that_says_404_is_an_error() {
    let server = Server::start(|_, _| json(404, "")).await;
    let error = server.client().send(Api::<Location>::root().list(&Query::default())).await.unwrap_err();
    assert_eq!(error.code(), Some(404));
}

/// The ids of a list that has no order, and how often it was asked; or the rule that it broke.
async fn listed(answer: impl Fn(u32) -> Option<Vec<u32>> + Send + Sync + 'static) -> Result<(Vec<i32>, usize), String> {
    let server = Server::start(move |seen, _| {
        assert!(!seen.line.contains("order="), "{}", seen.line);
        let above = seen
            .line
            .split_once("q=id%3E")
            .map_or(0, |(_, rest)| rest.split(['&', ' ']).next().unwrap().parse().unwrap());
        match answer(above) {
            None => json(404, "{}"),
            Some(ids) => {
                let all: Vec<String> = ids.iter().map(|id| format!("{{\"id\":{id}}}")).collect();
                json(200, &format!("[{}]", all.join(",")))
            }
        }
    })
    .await;
    match list_all::<Location>(&server.client()).await {
        Ok(all) => {
            let ids = all.map(|all| all.iter().map(|one| one.id.get()).collect()).unwrap_or_default();
            Ok((ids, server.calls().len()))
        }
        Err(error) => Err(error.kind.to_string()),
    }
}

#[tokio::test]
async fn law_1_a_list_without_an_order_is_read_to_its_end_however_the_service_cuts_it() {
    let all = |count: i32| (1..=count).collect::<Vec<i32>>();
    let cut_at = |clamp: usize| move |above: u32| Some((above + 1..=130).take(clamp).collect());
    assert_eq!(listed(cut_at(100)).await, Ok((all(130), 2)));
    assert_eq!(listed(cut_at(60)).await, Ok((all(130), 3)), "a limit of the service's own");
    assert_eq!(listed(|above| Some((above + 1..=100).collect())).await, Ok((all(100), 2)));
    assert_eq!(listed(|above| if above < 100 { Some((1..=100).collect()) } else { None }).await, Ok((all(100), 2)));
    assert_eq!(listed(|_| Some((1..=100).collect())).await, Ok((all(100), 2)), "the filter was ignored");
    assert_eq!(listed(|_| Some((1..=49).rev().collect())).await, Ok((all(49), 1)), "so few are whole");
    assert_eq!(listed(|_| None).await, Ok((Vec::new(), 1)));
    let by_name = |above: u32| Some(if above == 0 { (31..=130).rev().collect() } else { vec![131] });
    let error = listed(by_name).await.unwrap_err();
    assert!(error.contains("not in order of id"), "{error}");
}
