//! Whatever an answer holds, the client says that it is an error, or that a write is confirmed by no more than its
//! status: it never panics, and never takes garbage for an empty list (law 1).
//!
//! The named garbage is tried on every kind of call, about 2,850 cases. Besides, 3,000 random answers are drawn, each for
//! one kind of call; `ROSTERD_CASES` draws more.

mod calls;
mod inflated;
mod random;
mod table;

use std::env;

use calls::{Asked, Due, Outcome, calls};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use random::{Garbage, Sort, garbage};
use rosterd::api::{Client, Credential, ErrorKind, Options, SecretSource};
use tokio::runtime::Runtime;

use crate::support::answering::{Answering, answer, json};
use crate::support::caller::{client, options, without_retries};

/// How many random answers, unless more are asked for.
const CASES: u32 = 3_000;

/// A service that answers garbage, and who calls it: with a key, and for a token.
struct Rig {
    runtime: Runtime,
    service: Answering,
    client: Client,
    oauth: Client,
}

impl Rig {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let service = runtime.block_on(Answering::start());
        let with_key = options(service.url(), "key");
        let credential = Credential::Client {
            auth_url: service.auth_url(),
            client_id: "client".to_owned(),
            secret: SecretSource::Text("secret".into()),
            scopes: Vec::new(),
        };
        let oauth = client(&Options { credential, ..with_key.clone() });
        Self { runtime, service, client: client(&with_key), oauth }
    }

    /// Makes a call that is answered so.
    fn ask(&self, asked: &Asked, answers: &[Vec<u8>]) -> Outcome {
        self.service.answers(answers);
        let client = if asked.due == Due::Token { &self.oauth } else { &self.client };
        let outcome = self.runtime.block_on((asked.ask)(without_retries(client)));
        assert!(!self.service.seen().is_empty(), "{}: nothing was asked", asked.name);
        outcome
    }

    fn expect_refused(&self, asked: &Asked, garbage: &str, bytes: &[u8]) {
        let outcome = self.ask(asked, &[bytes.to_vec()]);
        assert!(matches!(outcome, Outcome::Refused(_)), "{} of {garbage}: {outcome:?}", asked.name);
    }

    fn expect_nothing(&self, asked: &Asked, garbage: &str, bytes: &[u8]) {
        let outcome = self.ask(asked, &[bytes.to_vec()]);
        assert!(matches!(outcome, Outcome::Nothing), "{} of {garbage}: {outcome:?}", asked.name);
    }
}

#[test]
fn law_1_what_is_no_answer_is_an_error_to_every_call() {
    let rig = Rig::new();
    for (name, bytes) in table::broken().into_iter().chain(table::not_json()) {
        calls().iter().for_each(|asked| rig.expect_refused(asked, name, &bytes));
    }
}

#[test]
fn law_1_json_of_a_wrong_shape_is_an_error_where_a_shape_is_due() {
    let rig = Rig::new();
    for asked in &calls() {
        let others = match asked.due {
            Due::List | Due::ListOfWrite => table::NO_LIST,
            Due::Entity => table::NO_ENTITY,
            Due::Nothing | Due::Image | Due::Token => &[],
        };
        for text in table::NEITHER.iter().chain(others) {
            match asked.due {
                // Any 2xx is success; nothing more was asked.
                Due::Nothing => rig.expect_nothing(asked, text, &json(text)),
                _ => rig.expect_refused(asked, text, &json(text)),
            }
        }
    }
}

#[test]
fn law_1_a_success_without_a_body_confirms_a_write_and_answers_no_question() {
    let rig = Rig::new();
    for status in [200, 201, 202, 204, 205, 299] {
        for (content_type, body) in
            [("", ""), ("application/json", ""), ("text/html", ""), ("application/json", " \r\n\t")]
        {
            // These two have no body by the rules of HTTP.
            if !body.is_empty() && [204, 205].contains(&status) {
                continue;
            }
            let bytes = answer(status, content_type, body.as_bytes());
            for asked in &calls() {
                let name = format!("{status} {content_type} {body:?}");
                if asked.is_write {
                    rig.expect_nothing(asked, &name, &bytes);
                } else {
                    rig.expect_refused(asked, &name, &bytes);
                }
            }
        }
    }
}

#[test]
fn law_1_an_error_is_an_error_whatever_its_body() {
    let rig = Rig::new();
    let bodies = [&b""[..], b"[]", b"{\"id\":7}", b"\xff\xfe\0", b"{\"error\":{\"error\":[[["];
    for status in [300, 307, 400, 401, 403, 408, 409, 422, 500, 503, 599, 999] {
        for body in bodies {
            let bytes = answer(status, "application/json", body);
            calls().iter().for_each(|asked| rig.expect_refused(asked, &status.to_string(), &bytes));
        }
    }
}

#[test]
fn law_1_a_walk_ends_in_an_error_where_a_later_page_is_garbage() {
    let rig = Rig::new();
    let walk = calls().into_iter().find(|asked| asked.name == "walk").unwrap();
    let shapes = table::NEITHER.iter().chain(table::NO_LIST).map(|text| (*text, json(text)));
    for (name, bytes) in table::broken().into_iter().chain(table::not_json()).chain(shapes) {
        let outcome = rig.ask(&walk, &[json("[{\"id\":1},{\"id\":2}]"), bytes]);
        assert!(matches!(outcome, Outcome::Refused(_)), "{name}: {outcome:?}");
        assert!(rig.service.seen()[1].line.contains("q=id%3E2"), "{name}: {:?}", rig.service.seen());
    }
}

#[test]
fn law_1_an_answer_above_sixteen_mebibytes_is_an_error_before_it_is_read() {
    const MEBIBYTE: usize = 1024 * 1024;
    let rig = Rig::new();
    let head =
        |more: &str| format!("HTTP/1.1 200 X\r\ncontent-type: application/json\r\nconnection: close\r\n{more}\r\n");
    let small = inflated::spaces(64 * MEBIBYTE);
    assert!(small.len() < MEBIBYTE, "{} bytes", small.len());
    let bombs = [
        ("gzip", [head("content-encoding: gzip\r\n").as_bytes(), &small].concat()),
        ("plain", [head("").as_bytes(), &vec![b' '; 17 * MEBIBYTE]].concat()),
    ];
    for (name, bytes) in &bombs {
        for asked in calls().iter().filter(|asked| asked.name != "photo head") {
            match rig.ask(asked, std::slice::from_ref(bytes)) {
                Outcome::Refused(ErrorKind::TooLarge { limit }) => assert_eq!(limit, 16 * MEBIBYTE),
                Outcome::Refused(ErrorKind::Token { problem, .. }) => assert!(problem.contains("larger"), "{problem}"),
                outcome => panic!("{} of {name}: {outcome:?}", asked.name),
            }
        }
    }
    let below = [head("").as_bytes(), &vec![b' '; 15 * MEBIBYTE], b"[{\"id\":7}]"].concat();
    let list = calls().into_iter().find(|asked| asked.name == "list").unwrap();
    assert!(matches!(rig.ask(&list, &[below]), Outcome::Read(1)));
}

#[test]
fn law_1_random_garbage_is_no_answer() {
    let cases = env::var("ROSTERD_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES).max(CASES);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let rig = Rig::new();
    let numbers: Vec<usize> = (0..calls().len()).collect();
    let outcome = TestRunner::new_with_rng(config, random).run(&(garbage(), select(numbers)), |(garbage, number)| {
        let asked = calls()[number];
        let outcome = rig.ask(&asked, std::slice::from_ref(&garbage.bytes));
        prop_assert!(is_right(&garbage, asked.due, &outcome), "{}: {:?}", asked.name, outcome);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// What may come of a random answer.
fn is_right(garbage: &Garbage, due: Due, outcome: &Outcome) -> bool {
    match (garbage.sort, outcome) {
        (_, Outcome::Read(0)) => false,
        (_, Outcome::Refused(_)) => garbage.sort != Sort::Neither || due != Due::Nothing,
        (Sort::Broken, _) => false,
        (_, Outcome::Nothing) => due == Due::Nothing,
        (Sort::Neither, Outcome::Read(_)) => false,
        (Sort::Perhaps, Outcome::Read(_)) => matches!(due, Due::Entity | Due::List | Due::ListOfWrite),
    }
}
