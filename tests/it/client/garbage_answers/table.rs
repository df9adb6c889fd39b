//! The garbage that has a name.

use super::inflated;
use crate::support::answering::{answer, json};

/// An answer that is none to any call, though its status be one of success.
pub(super) fn broken() -> Vec<(&'static str, Vec<u8>)> {
    let raw = |text: &str| text.as_bytes().to_vec();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let encoded = |encoding: &str, body: &[u8]| {
        let head = format!("{head}connection: close\r\ncontent-encoding: {encoding}\r\n\r\n");
        [head.as_bytes(), body].concat()
    };
    vec![
        ("nothing at all", Vec::new()),
        ("bytes of no protocol", vec![0, 255, 13, 10, 13, 10, 7]),
        ("a TLS alert", vec![0x15, 3, 1, 0, 2, 2, 70]),
        ("a status line and no more", raw("HTTP/1.1 200 OK\r\n")),
        ("half a head", raw("HTTP/1.1 200 OK\r\ncontent-ty")),
        ("another version", raw("HTTP/9.9 200 OK\r\n\r\n[]")),
        ("a status of words", raw("HTTP/1.1 yes OK\r\n\r\n[]")),
        ("a status of four digits", raw("HTTP/1.1 2000 OK\r\n\r\n[]")),
        ("a header without a colon", raw(&format!("{head}nonsense\r\n\r\n{{\"id\":7}}"))),
        ("a header of control characters", raw("HTTP/1.1 200 OK\r\na\u{1}b: \u{0}\r\n\r\n[]")),
        ("a head without an end", raw(&format!("HTTP/1.1 200 OK\r\n{}", "a: b\r\n".repeat(5_000)))),
        ("another protocol switched to", raw("HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n[]")),
        ("go on, and nothing", raw("HTTP/1.1 100 Continue\r\n\r\n")),
        ("a length that is too long", raw(&format!("{head}content-length: 90\r\n\r\n{{\"id\":7}}"))),
        ("a length that is too short", raw(&format!("{head}content-length: 5\r\n\r\n[{{\"id\":7}}]"))),
        ("two lengths", raw(&format!("{head}content-length: 2\r\ncontent-length: 8\r\n\r\n[]      "))),
        ("a length below nothing", raw(&format!("{head}content-length: -2\r\n\r\n[]"))),
        ("chunks of no size", raw(&format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n"))),
        ("chunks without an end", raw(&format!("{head}transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n"))),
        ("a redirect", raw("HTTP/1.1 302 X\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n")),
        ("nothing new, though nobody asked", answer(304, "", b"")),
        ("gzip that is none", encoded("gzip", b"[]")),
        ("gzip that is cut", encoded("gzip", &inflated::spaces(1_000)[..20])),
        ("an encoding that nobody asked for", encoded("br", b"\x8b\x02\x80[]\x03")),
    ]
}

/// A success whose body is no JSON, whatever it says that it is.
pub(super) fn not_json() -> Vec<(&'static str, Vec<u8>)> {
    let deep = |open: &str, close: &str| format!("{}7{}", open.repeat(200), close.repeat(200));
    vec![
        ("a page", answer(200, "text/html", b"<html><body>Sign in</body></html>")),
        ("a page that calls itself JSON", json("<html></html>")),
        ("XML", answer(200, "application/xml", b"<staff><item><id>7</id></item></staff>")),
        ("XML that calls itself JSON", json("<?xml version=\"1.0\"?><staff/>")),
        ("JSON that calls itself a page", answer(200, "text/html", b"[{\"id\":7}]")),
        ("JSON that calls itself text", answer(201, "text/plain; charset=utf-8", b"{\"id\":7}")),
        ("JSON that calls itself nothing", answer(200, "", b"{\"id\":7}")),
        ("JSON that calls itself almost so", answer(200, "application/jsonp", b"{\"id\":7}")),
        ("a type of no letters", answer(200, ";;;", b"[]")),
        ("words", json("no records found")),
        ("half an object", json("{\"id\":7,\"na")),
        ("half a list", json("[{\"id\":7},")),
        ("a list and more", json("[{\"id\":7}]]")),
        ("two documents", json("{\"id\":7}{\"id\":7}")),
        ("no text", answer(200, "application/json", b"{\"id\":7,\"name\":\"\xff\xfe\"}")),
        ("UTF-16", answer(200, "application/json", b"\xff\xfe[\0]\0")),
        ("lone surrogates", json(r#"{"id":7,"name":"\ud800"}"#)),
        ("a byte order mark", json("\u{feff}[{\"id\":7}]")),
        ("single quotes", json("{'id':7}")),
        ("a number that is none", json("{\"id\":NaN}")),
        ("a number without a bound", json("[{\"id\":7,\"x\":1e999}]")),
        ("a name twice", json("{\"id\":7,\"id\":7}")),
        ("a name twice, deep inside", json("[{\"id\":7,\"x\":{\"a\":1,\"a\":1}}]")),
        ("lists within lists", json(&deep("[", "]"))),
        ("objects within objects", json(&deep("{\"id\":", "}"))),
    ]
}

/// JSON that is neither a list nor an entity.
pub(super) const NEITHER: &[&str] = &[
    "null",
    "true",
    "0",
    "7",
    "1e300",
    "\"[]\"",
    "\"\"",
    "{}",
    "{\"error\":\"no\"}",
    "{\"count\":0,\"next\":null}",
    "{\"staff\":null}",
    "{\"staff\":7}",
    "{\"staff\":[7]}",
    "{\"staff\":[null]}",
    "{\"staff\":[{\"id\":7}],\"more\":[{\"id\":8}]}",
    "{\"a\":{\"id\":7},\"b\":{\"id\":7}}",
    "[null]",
    "[7]",
    "[[]]",
    "[[{\"id\":7}]]",
    "[\"7\"]",
    "[{}]",
    "[{\"id\":7},null]",
    "[{\"id\":7},{\"name\":\"x\"}]",
    "[{\"id\":null}]",
    "[{\"id\":0}]",
    "[{\"id\":-7}]",
    "[{\"id\":7.5}]",
    "[{\"id\":\"seven\"}]",
    "[{\"id\":\"07\"}]",
    "[{\"id\":true}]",
    "[{\"id\":[7]}]",
    "[{\"id\":2147483648}]",
    "[{\"id\":123456789012345678901234567890}]",
    "{\"id\":null}",
    "{\"id\":{\"id\":7}}",
    "{\"id\":7e2}",
    "{\"id\":-1,\"asset_id\":null,\"list\":[]}",
];

/// An entity, or one in an envelope, where a list is due.
pub(super) const NO_LIST: &[&str] =
    &["{\"id\":7}", "{\"id\":7,\"staff\":[{\"id\":8}]}", "{\"staff\":{\"id\":7,\"asset_id\":7}}"];

/// A list, or another entity than was asked for, where one entity is due.
pub(super) const NO_ENTITY: &[&str] = &["[]", "[{\"id\":7,\"asset_id\":7}]", "{\"staff\":[{\"id\":7}]}"];
