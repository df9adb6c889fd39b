//! What may be wrong with an answer.

use super::{HIDDEN, synced};
use crate::support::web::{Part, Web, answer, file, framed};
use crate::support::{World, people, row};

/// Twenty of forty, the second of them moved, which shows where it was taken.
fn half() -> String {
    people(1..21).replace(&row(2, "Clerk"), &row(2, "Moved"))
}

/// Lets forty people be synced, then the server give each answer, and everybody again. No answer is taken.
fn fails(answers: impl IntoIterator<Item = (&'static str, &'static str, Vec<Part>)>) {
    let (web, world) = synced("timeout = \"5s\"\nsize_max = \"64KB\"\n");
    let before = world.staff();
    for (name, word, parts) in answers {
        web.say(move |_, _| parts.clone());
        let ran = world.sync().hides(&HIDDEN);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        let (status, complete, reason) = ran.ended();
        assert_eq!((status.as_str(), complete, ran.writes()), ("failed", false, (0, 0, 0)), "{name}: {reason}");
        assert!(reason.contains(word), "{name}: {word:?} is missing in {reason:?}");
        assert_eq!(world.staff(), before, "{name}");
    }
    everybody_is_there(&web, &world, 0);
    assert_eq!(world.staff(), before);
}

/// Has the server give everybody again; so many people are put back to what they were.
fn everybody_is_there(web: &Web, world: &World, updated: u64) {
    web.say(|_, _| file(&people(1..41)));
    assert_eq!(world.sync().expect(0).writes(), (0, updated, 0));
}

/// A body in chunks, without the last one.
fn chunked(body: &str) -> Vec<u8> {
    format!("{:x}\r\n{body}\r\n", body.len()).into_bytes()
}

#[test]
fn law_1_an_answer_that_is_cut_anywhere_takes_nobody_away() {
    let (half, whole) = (half(), people(1..41));
    let length = format!("content-length: {}\r\n", whole.len());
    let head = "HTTP/1.1 200 X\r\ncontent-type: text/csv\r\n";
    let cut = |bytes: &[u8]| vec![Part::Bytes(bytes.to_vec())];
    let short = |end: usize| framed(200, "text/csv", &length, &half.as_bytes()[..end]);
    let chunk = |bytes: &[u8]| framed(200, "text/csv", "transfer-encoding: chunked\r\n", bytes);
    let ended = "the answer ended after";
    fails([
        ("no word", "it can't be reached", cut(b"")),
        ("in the head", "it can't be reached", cut(head.as_bytes())),
        ("no answer of the web", "it can't be reached", cut(b"220 mail.example.com ESMTP\r\n\r\n")),
        ("before the body", ended, short(0)),
        ("in the header line", ended, short(9)),
        ("at the end of a row", ended, short(half.len())),
        ("in a row", ended, short(half.len() - 9)),
        ("before the first chunk", ended, chunk(b"")),
        ("in a chunk", ended, chunk(&chunked(&half)[..200])),
        ("before the last chunk", ended, chunk(&chunked(&half))),
        ("in the last chunk", ended, chunk(&[&chunked(&half)[..], b"0\r"].concat())),
    ]);
}

#[test]
fn law_1_an_end_of_the_connection_is_not_the_end_of_the_list() {
    // The last row counts where a file may end without a line end; but this file may not end there at all.
    let cut = half() + row(21, "Clerk").trim_end_matches("erk\n");
    for (lines, body) in [("", half()), ("final_newline = false\n", cut)] {
        let (web, world) = synced(lines);
        web.say(move |_, _| framed(200, "text/csv", "", body.as_bytes()));
        let ran = world.sync().hides(&HIDDEN).expect(3);
        let (status, complete, reason) = ran.ended();
        assert_eq!((status.as_str(), complete, ran.writes()), ("partial", false, (0, 1, 0)), "{reason}");
        assert!(reason.contains("neither how long its answer is nor where it ends"), "{reason}");
        world.expect_people(1..41);
        everybody_is_there(&web, &world, 1);
    }
}

#[test]
fn law_1_what_is_no_file_takes_nobody_away() {
    let half = half();
    let page = b"<!DOCTYPE html><html><body>Log in</body></html>";
    let gzip = |body: &[u8]| answer(200, "text/csv", "content-encoding: gzip\r\n", body);
    let status = |status: u16| answer(status, "text/csv", "", half.as_bytes());
    let redirect = "location: https://login.example.com/in?back=s3cret\r\n";
    fails([
        ("a login page", "200 with an HTML page (as text/html)", answer(200, "text/html; charset=utf-8", "", page)),
        ("a page that is called text", "an HTML page (as text/plain)", answer(200, "text/plain", "", page)),
        ("JSON", "200 with application/json", answer(200, "application/json", "", b"[]")),
        ("a redirect", "302, a redirect to https://login.example.com,", answer(302, "text/csv", redirect, b"")),
        ("gzip", "content encoding gzip", gzip(half.as_bytes())),
        ("not modified", "304, \"not modified\"", answer(304, "text/csv", "", b"")),
        ("nothing", "it is empty", answer(200, "text/csv", "", b"")),
        ("no content", "it answered 204", framed(204, "text/csv", "", b"")),
        ("a part", "it answered 206", status(206)),
        ("a refusal", "401: the credential was not taken", status(401)),
        ("not allowed", "403: the credential was not taken", status(403)),
        ("not there", "404; check `url`", status(404)),
        ("out of order", "500; the next run asks again", status(500)),
        ("busy for longer than the run", "429", answer(429, "text/csv", "retry-after: 3600\r\n", b"")),
        ("busy for ever", "503", answer(503, "text/csv", "retry-after: 0\r\n", b"")),
        ("busy", "503", answer(503, "text/csv", "", b"")),
    ]);
}

#[test]
fn an_answer_has_a_size_and_a_time() {
    let endless = |lines: &str| {
        let mut parts = framed(200, "text/csv", lines, people(1..41).as_bytes());
        parts.push(Part::Endless(row(41, "Clerk").repeat(40).into_bytes()));
        parts
    };
    let mut drip = framed(200, "text/csv", "content-length: 60000\r\n", people(1..21).as_bytes());
    drip.push(Part::Drip(b"x".to_vec()));
    let max = "more than the 64000 bytes that `size_max` allows";
    let slow = "took longer than 5 s";
    fails([
        ("endless", max, endless("")),
        ("too long", max, endless("content-length: 64001\r\n")),
        ("slow", slow, drip),
        ("silent", slow, vec![Part::Drip(Vec::new())]),
    ]);
}

#[test]
fn a_server_that_says_when_is_asked_again() {
    let (web, world) = synced("");
    web.say(|_, before| match before {
        0 => answer(503, "text/html", "retry-after: 0\r\n", b""),
        1 => answer(429, "text/html", "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", b""),
        _ => file(&people(1..42)),
    });
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    assert_eq!(web.arrived().len(), 3);
}
