//! A directory as a lookup whose server is behind the one that was read before.

use super::LEAVE_AT_ONCE;
use crate::support::scripted::{Said, Scripted, code, done, entry, vector};
use crate::support::{Config, World, people, slapd};

/// A domain controller `invocation` at its own change `usn`, which has that much of the others.
fn says(server: &Scripted, invocation: u8, usn: u64, others: &[(u8, u64)], title: &'static str) {
    let others = others.to_vec();
    server.say(move |asked, _| {
        if asked.is_page() {
            let person = |number| entry(number, &[("title", &[title.as_bytes()])]);
            return (1..41).map(person).chain([done(b"")]).collect();
        }
        let values: Vec<(&str, Vec<u8>)> = match asked.name.as_str() {
            "" => vec![
                ("highestCommittedUSN", usn.to_string().into_bytes()),
                ("dsServiceName", b"CN=NTDS Settings,CN=Servers,CN=Configuration".to_vec()),
                ("namingContexts", b"dc=example,dc=org".to_vec()),
            ],
            "dc=example,dc=org" => vec![("replUpToDateVector", vector(&others))],
            _ => vec![("invocationId", vec![invocation; 16])],
        };
        let attributes = values.into_iter().map(|(name, value)| (name.to_owned(), vec![value])).collect();
        vec![Said::Entry(asked.name.clone(), attributes), code(0, "")]
    });
}

#[test]
fn law_1_a_lookup_that_lags_is_not_believed_until_it_has_caught_up() {
    let server = Scripted::start(|_, _| vec![Said::Close]);
    let lookup = format!(
        "[job.lookup.directory]\non = \"{{{{ employee_no }}}}\"\nkey = \"{{{{ employeeNumber }}}}\"\n[job.lookup.directory.source]\n{}\n",
        slapd::source(&[server.url()], "")
    );
    let map = "name = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\nmobile = \"0215\"\ntitle = \"{{ directory.title }}\"\n";
    let job = "key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n";
    let config = Config {
        job: job.into(),
        map: map.into(),
        ..Config::rest(&format!("{lookup}{LEAVE_AT_ONCE}max_updates = \"off\"\n"))
    };
    let world = World::of(config);
    says(&server, b'a', 1000, &[(b'b', 500)], "New");
    assert_eq!(world.sync_of(people(1..41)).expect(0).writes(), (40, 0, 0));
    for (what, invocation, usn, others, title, code, updated) in [
        ("the other one lags", b'b', 700, [(b'a', 900)], "Old", 3, 0),
        ("it lags still", b'b', 710, [(b'a', 999)], "Old", 3, 0),
        ("it has caught up", b'b', 720, [(b'a', 1000)], "Newer", 0, 40),
        ("the first one was laid back", b'a', 800, [(b'b', 500)], "Old", 3, 0),
    ] {
        says(&server, invocation, usn, &others, title);
        let ran = world.sync();
        let (_, complete, reason) = ran.ended();
        assert_eq!((ran.code, ran.writes()), (Some(code), (0, updated, 0)), "{what}: {reason}");
        assert!(complete && (code == 0 || reason.contains("is behind what was read before")), "{what}: {reason}");
    }
    world.run(&["approve", "staff", "--server"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 40, 0), "a person says that it is right");
}
