//! Garbage in every place of a request to every operation: it is refused, never fatal, and leaves nothing broken.
//!
//! By default 6,000 requests are made up, the same in every run; `ROSTERD_CASES` asks for another number of them and
//! `ROSTERD_SEED` for others. A failure names its case and shows the request.

mod request;
mod value;

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::operation::operations;
use crate::tables::RESOURCES;
use crate::{chance, openapi, xml};
use request::Garbage;
use value::Dice;

const CASES: u64 = 6_000;

/// How many cases one sandbox gets; then it must answer proper requests, and the same after a restart.
const ROUND: usize = 1_000;

/// What there is to name.
struct World {
    ids: Vec<i64>,
    description: Value,
}

impl World {
    fn of(sandbox: &Sandbox) -> Self {
        let entities = RESOURCES.iter().flat_map(|resource| sandbox.all(resource.name));
        let ids = entities.filter_map(|entity| entity["id"].as_i64()).chain([0, 1, -1]).collect();
        Self { ids, description: openapi::document() }
    }
}

/// Status, media type and body of an answer.
type Answered = (u16, String, Vec<u8>);

/// Sends a request and reads its answer; `None` where there was none.
async fn send(address: &str, request: &Garbage) -> Option<Answered> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The sandbox may answer a bad head and close before it has the body.
    let _ = stream.write_all(&request.head).await;
    let _ = stream.write_all(&request.body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let body = answer.split_off(end + 4);
    let head = String::from_utf8_lossy(&answer).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default().to_owned();
    Some((status, kind, body))
}

/// Whether it is an answer that may be given, in the media type that it names.
fn is_legal((status, kind, body): &Answered) -> bool {
    let is_readable = match kind.as_str() {
        _ if body.is_empty() => true,
        "application/json" => serde_json::from_slice::<Value>(body).is_ok(),
        "application/xml" | "text/xml" => xml::value(body).is_ok(),
        _ => true,
    };
    matches!(status, 200..=299 | 400..=499) && is_readable
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Every list that needs no id, as it is now.
async fn lists(rig: &Rig) -> Vec<(String, Value)> {
    let mut lists = Vec::new();
    for operation in operations().iter().filter(|operation| operation.is_list()) {
        let path = operation.template();
        if !path.contains('{') {
            let (status, list) = rig.get(&path).await;
            assert!(status == 200 && list.is_array(), "{path}: {status}");
            lists.push((path, list));
        }
    }
    lists
}

#[tokio::test]
async fn garbage_is_refused_and_breaks_nothing() {
    let (cases, seed) = (number("ROSTERD_CASES", CASES), number("ROSTERD_SEED", 1));
    let mut taken = BTreeSet::new();
    for first in (0..cases).step_by(ROUND) {
        round(seed, first..cases.min(first + ROUND as u64), &mut taken).await;
    }
    // A generator whose requests are all refused early tests nothing.
    assert!(cases < CASES || taken.len() >= 100, "only {taken:?} were ever taken");
}

/// Sends some cases to a sandbox of their own, since those that are taken remove what later ones could name.
async fn round(seed: u64, cases: Range<u64>, taken: &mut BTreeSet<&str>) {
    let folder = tempfile::tempdir().unwrap();
    // Some answers say how long ago something was.
    let clock = fixed_clock("2026-06-01T12:00:00Z");
    let kept = |options| Options { clock: clock.clone(), data: Some(folder.path().to_owned()), ..options };
    let rig = rig(kept(full())).await;
    let address = rig.sandbox.auth_url().trim_start_matches("http://").to_owned();
    let world = World::of(&rig.sandbox);
    for case in cases {
        let request = Garbage::throw(&mut Dice::new(chance::bits(seed, case)), &world);
        let name = format!("case {case} of seed {seed}");
        let answer = timeout(Duration::from_secs(20), send(&address, &request)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{name} took too long, {request}"));
        let answer = answer.unwrap_or_else(|| panic!("{name} got no answer, {request}"));
        let (status, kind, body) = &answer;
        assert!(is_legal(&answer), "{name}: {status} {kind} {}\n{request}", String::from_utf8_lossy(body));
        if *status < 300 {
            taken.insert(request.operation);
        }
    }
    // What was taken can be read by everybody, now and after a restart.
    let before = lists(&rig).await;
    rig.sandbox.stop().await;
    let rig = super::rig(kept(Options { rate: 0, ..Options::default() })).await;
    for ((path, after), (_, before)) in lists(&rig).await.into_iter().zip(before) {
        let (after, before) = (after.as_array().unwrap(), before.as_array().unwrap());
        assert_eq!(after.len(), before.len(), "{path} after a restart");
        for (after, before) in after.iter().zip(before) {
            assert_eq!(after, before, "{path} after a restart");
        }
    }
}
