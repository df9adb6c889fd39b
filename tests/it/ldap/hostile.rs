//! Servers that mean harm: whatever they send, the program neither ends by it nor grows by it, and obeys a request to
//! end.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::world;
use crate::support::Config;
use crate::support::scripted::{BIND, Said, Scripted, code, done, entry, tagged};

/// A message with this number and operation.
fn message(number: u8, operation: u8, content: &[u8]) -> Vec<u8> {
    tagged(0x30, &[tagged(0x02, &[number]), tagged(operation, content)].concat())
}

/// So many values, each in the next.
fn nested(depth: usize) -> Vec<u8> {
    (0..depth).fold(Vec::new(), |inner, _| tagged(0x30, &inner))
}

#[test]
fn a_message_beyond_a_limit_ends_the_read_and_nothing_else() {
    let deep = nested(10_000);
    let many = [0x04, 0].repeat(260_000);
    for (name, bytes, words) in [
        ("nested 10,000 deep", message(1, 0x61, &deep), "nested more than"),
        ("nested in an entry", message(2, 0x64, &deep), "nested more than"),
        ("a length of 600 MiB", vec![0x30, 0x84, 0x25, 0x80, 0, 0, 0x02], "more than 16 MiB"),
        ("a length of all bits", [&[0x30, 0x88][..], &[0xff; 8]].concat(), "more than 16 MiB"),
        ("very many values", message(2, 0x64, &many), "more than 250000 values"),
    ] {
        for bound in [true, false] {
            // Before the bind, and after it.
            let bytes = bytes.clone();
            let server = Scripted::start(move |asked, _| match asked.operation {
                BIND if bound => vec![code(0, "")],
                _ => vec![Said::Bytes(bytes.clone()), Said::Silence],
            });
            let world = world(&[&server], "bind_dn = \"cn=me\"\nbind_password = \"x\"\n");
            let ran = world.sync().expect(1);
            assert!(ran.reason().contains(words), "{name}: {}", ran.reason());
        }
    }
}

#[test]
fn of_an_entry_that_is_too_large_only_the_largest_attribute_is_left_out() {
    let server = Scripted::of_pages(|_, _| {
        vec![entry(1, &[]), entry(2, &[("title", &[&vec![b'x'; 10 * 1024 * 1024]])]), entry(3, &[]), done(b"")]
    });
    let world = world(&[&server], "");
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["rejected_values"].as_u64()), ((3, 0, 0), Some(1)), "{}", ran.reason());
}

#[test]
fn a_value_that_an_entry_has_only_with_options_is_named_and_a_template_can_use_it() {
    let german: &[&[u8]] = &[b"Schlosserin"];
    let first = entry(1, &[("title", &[]), ("title;lang-de", german)]);
    let others = [entry(2, &[("title;lang-de", german)]), entry(3, &[]), done(b"")];
    let server = Scripted::of_pages(move |_, _| [first.clone()].into_iter().chain(others.clone()).collect());
    let mut world = world(&[&server], "");
    let named = "1 entry has a value of `title` only as `title;lang-de`";
    for _ in 0..2 {
        let ran = world.sync().expect(0);
        assert!(ran.reason().contains(named) && ran.reason().contains("source['title;lang-de']"), "{}", ran.reason());
    }
    assert_eq!(world.service().all("staff").iter().filter(|one| one["title"] == "Clerk").count(), 2);
    world.reconfigure(|config| Config {
        map: config.map.replace("{{ title }}", "{{ source['title;lang-de'] }}"),
        ..config
    });
    world.sync();
    world.run(&["approve", "staff"]).expect(0);
    let ran = world.sync().expect(0);
    assert!(!ran.reason().contains("lang-de"), "{}", ran.reason());
    assert_eq!(world.service().all("staff").iter().filter(|one| one["title"] == "Schlosserin").count(), 2);
}

#[test]
fn a_read_without_end_is_ended_on_request() {
    for (name, bytes) in [
        ("answers that nobody asked for", message(2, 0x79, b"")),
        ("half a message, and then a byte at a time", vec![0x30]),
        ("one entry again and again", message(2, 0x64, &[tagged(0x04, b"uid=a"), tagged(0x30, b"")].concat())),
    ] {
        let slow = name.starts_with("half");
        let server = Scripted::start(move |_, _| match slow {
            true => vec![Said::Bytes(bytes.clone()), Said::Silence],
            false => vec![Said::Endless(bytes.repeat(1000))],
        });
        let world = world(&[&server], "timeout = \"1h\"\ntotal_timeout = \"2h\"\n");
        let child = world.command(&["sync", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while server.asked().is_empty() {
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{name}: {output:?}");
        // A run that was asked to end says nothing of how its job is.
        let status = world.run(&["status", "--json"]);
        assert!(!status.out.contains("failed"), "{name}: {status:?}");
    }
}
