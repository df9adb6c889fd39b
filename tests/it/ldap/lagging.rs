//! Servers of which one may be behind another: who is missing there need not be gone.

use std::ops::Range;

use super::{config, world};
use crate::support::World;
use crate::support::scripted::{Asked, Said, Scripted, code, done, entry, vector};
use crate::support::slapd;

/// A domain controller, and the people that it shows.
#[derive(Clone, Default)]
struct Controller {
    /// Its invocation id as one letter.
    invocation: u8,
    /// Its own last change.
    usn: u64,
    /// What it counts after it was read, if a user writes meanwhile.
    usn_after: Option<u64>,
    /// What it has of the others; an account that may not see it is shown nothing.
    vector: Vec<(u8, u64)>,
    people: Vec<usize>,
    /// Of those, who is disabled.
    disabled: Vec<usize>,
    /// Whether the connection breaks before the end.
    breaks: bool,
}

fn controller(invocation: u8, usn: u64, vector: &[(u8, u64)], people: Range<usize>) -> Controller {
    Controller { invocation, usn, vector: vector.to_vec(), people: people.collect(), ..Controller::default() }
}

impl Controller {
    fn says(&self, asked: &Asked, pages: usize) -> Vec<Said> {
        if asked.is_page() {
            let person = |number: &usize| {
                let title: &[u8] = if self.disabled.contains(number) { b"Gone" } else { b"Clerk" };
                entry(*number, &[("title", &[title])])
            };
            let end = if self.breaks { Said::Close } else { done(b"") };
            return self.people.iter().map(person).chain([end]).collect();
        }
        let usn = self.usn_after.filter(|_| pages > 0).unwrap_or(self.usn).to_string();
        let values: Vec<(&str, Vec<u8>)> = match asked.name.as_str() {
            "" => vec![
                ("highestCommittedUSN", usn.into_bytes()),
                ("dsServiceName", b"CN=NTDS Settings,CN=Servers,CN=Configuration".to_vec()),
                ("namingContexts", b"dc=example,dc=org".to_vec()),
            ],
            "dc=example,dc=org" if !self.vector.is_empty() => vec![("replUpToDateVector", vector(&self.vector))],
            "dc=example,dc=org" => Vec::new(),
            _ => vec![("invocationId", vec![self.invocation; 16])],
        };
        let attributes = values.into_iter().map(|(name, value)| (name.to_owned(), vec![value])).collect();
        vec![Said::Entry(asked.name.clone(), attributes), code(0, "")]
    }
}

/// What is read next, and what becomes of it.
struct Read {
    what: &'static str,
    /// Which server is there: the first or the second.
    server: usize,
    as_it_is: Controller,
    /// How many are removed, and whether the read says so of everybody.
    removed: u64,
    complete: bool,
}

fn read(what: &'static str, server: usize, as_it_is: Controller, removed: u64, complete: bool) -> Read {
    Read { what, server, as_it_is, removed, complete }
}

/// A job that reads two servers, of which one at a time is there.
struct Domain {
    servers: [Scripted; 2],
    world: World,
}

impl Domain {
    fn new() -> Self {
        let servers = [Scripted::start(|_, _| vec![Said::Close]), Scripted::start(|_, _| vec![Said::Close])];
        let urls: Vec<String> = servers.iter().map(Scripted::url).collect();
        let mut config = config(slapd::source(&urls, ""));
        config.job += "include = \"{{ title != 'Gone' }}\"\n";
        Self { world: World::with(rosterd::sandbox::Options::default(), config), servers }
    }

    fn answers(&self, server: usize, controller: &Controller) {
        let controller = controller.clone();
        self.servers[1 - server].say(|_, _| vec![Said::Close]);
        self.servers[server].say(move |asked, pages| controller.says(asked, pages));
    }

    fn check(&self, name: &str, reads: Vec<Read>) {
        for Read { what, server, as_it_is, removed, complete } in reads {
            self.answers(server, &as_it_is);
            let ran = self.world.sync();
            let (_, seen, reason) = ran.ended();
            assert_eq!((ran.writes().2, seen), (removed, complete), "{name}, {what}: {reason}");
            assert_eq!(ran.code, Some(if complete { 0 } else { 3 }), "{name}, {what}: {ran:?}");
        }
    }
}

#[test]
fn law_1_fault_79_only_a_server_that_saw_what_showed_a_person_says_that_they_are_gone() {
    const A: u8 = b'a';
    const B: u8 = b'b';
    let of = controller;
    let is = read;
    for (name, reads) in [
        (
            "a controller that was never read lags for good, and shows how far it is",
            vec![
                is("the first", 0, of(A, 1000, &[(B, 500)], 1..41), 0, true),
                is("the other", 1, of(B, 700, &[(A, 900)], 1..36), 0, false),
                is("the other again", 1, of(B, 710, &[(A, 900)], 1..36), 0, false),
                is("it comes nearer, without being there", 1, of(B, 720, &[(A, 999)], 1..36), 0, false),
                is("it has caught up", 1, of(B, 730, &[(A, 1000)], 1..36), 5, true),
            ],
        ),
        (
            "the same where the account may not see how far it is",
            vec![
                is("the first", 0, of(A, 1000, &[], 1..41), 0, true),
                is("the other", 1, of(B, 7000, &[], 1..36), 0, false),
                is("the other again", 1, of(B, 7001, &[], 1..36), 0, false),
                is("whom it showed itself has left", 1, of(B, 7002, &[], 1..35), 1, false),
                is("the first is back with them", 0, of(A, 1001, &[], 1..41), 0, true),
            ],
        ),
        (
            "a controller that is known lags",
            vec![
                is("the second, with everybody", 1, of(B, 500, &[], 1..41), 0, true),
                is("the first, with joiners", 0, of(A, 1000, &[], 1..46), 0, true),
                is("the second, without them", 1, of(B, 510, &[], 1..41), 0, false),
                is("the second, with them", 1, of(B, 520, &[], 1..46), 0, true),
                is("one of them leaves there", 1, of(B, 530, &[], 1..45), 1, true),
            ],
        ),
        (
            "names that stand for two controllers by turns",
            vec![
                is("the first", 0, of(A, 1000, &[], 1..41), 0, true),
                is("the second", 1, of(B, 500, &[], 1..41), 0, true),
                is("the first, without one", 0, of(A, 1010, &[], 1..40), 0, false),
                is("the second, without them", 1, of(B, 510, &[], 1..40), 1, true),
            ],
        ),
        (
            "laid back from a copy, under the same identity",
            vec![
                is("before", 0, of(A, 1000, &[], 1..41), 0, true),
                is("after", 0, of(A, 800, &[], 1..36), 0, false),
                is("again", 0, of(A, 810, &[], 1..36), 0, false),
                is("it counts on, and has not passed what was", 0, of(A, 999, &[], 1..36), 0, false),
                is("it has", 0, of(A, 1001, &[], 1..36), 5, true),
            ],
        ),
        (
            "restored under a new identity, as it should be",
            vec![
                is("before", 0, of(A, 1000, &[], 1..41), 0, true),
                is("after", 0, of(B, 2000, &[(A, 800)], 1..36), 0, false),
                is("again", 0, of(B, 2010, &[(A, 800)], 1..36), 0, false),
                is("it has the rest from elsewhere", 0, of(B, 2020, &[(A, 1000)], 1..41), 0, true),
            ],
        ),
        (
            "an old value that says of somebody that they are gone",
            vec![
                is("the first", 0, of(A, 1000, &[], 1..41), 0, true),
                is(
                    "the second knows an old state",
                    1,
                    Controller { disabled: vec![3], ..of(B, 500, &[], 1..41) },
                    0,
                    false,
                ),
                is("the first says so too", 0, Controller { disabled: vec![3], ..of(A, 1010, &[], 1..41) }, 1, true),
                is("the second still does", 1, Controller { disabled: vec![3], ..of(B, 510, &[], 1..41) }, 0, true),
            ],
        ),
        (
            "somebody comes while the first is read",
            vec![
                is("the first", 0, Controller { usn_after: Some(1005), ..of(A, 1000, &[(B, 500)], 1..41) }, 0, true),
                is("the second has most of it", 1, of(B, 510, &[(A, 1002)], 1..40), 0, false),
                is("the second has all of it", 1, of(B, 520, &[(A, 1005)], 1..40), 1, true),
            ],
        ),
        (
            "a read that breaks shows a joiner",
            vec![
                is("the first", 0, of(A, 1000, &[(B, 500)], 1..41), 0, true),
                is("it breaks", 0, Controller { breaks: true, ..of(A, 1010, &[(B, 500)], 1..42) }, 0, false),
                is("the second is as far as the first began", 1, of(B, 510, &[(A, 1010)], 1..41), 0, false),
                is("the first is back", 0, of(A, 1020, &[(B, 510)], 1..42), 0, true),
            ],
        ),
    ] {
        Domain::new().check(name, reads);
    }
}

#[test]
fn law_1_fault_79_a_person_may_say_that_the_directory_is_right_as_it_is() {
    let domain = Domain::new();
    let refused = domain.world.run(&["approve", "staff", "--server"]).expect(1);
    assert!(refused.err.contains("in doubt"), "{}", refused.err);
    domain.check(
        "the first is lost for good",
        vec![
            read("the first", 0, controller(b'a', 1000, &[(b'b', 1)], 1..41), 0, true),
            read("the second", 1, controller(b'b', 700, &[(b'a', 900)], 1..36), 0, false),
        ],
    );
    let reason = domain.world.sync().hides(&["Person ", "@example.com"]).reason();
    for word in ["5 known people are missing there", "P00036", "approve staff --server", &domain.servers[1].url()] {
        assert!(reason.contains(word), "{word:?} is missing in {reason:?}");
    }
    domain.world.run(&["approve", "staff", "--server"]).expect(0);
    let past = domain.world.run(&["history"]).expect(0);
    assert!(past.out.contains("believed the server"), "{}", past.out);
    // Not any server is believed by that, but this one, from where it was.
    domain
        .check("somebody older", vec![read("an older one", 0, controller(b'c', 10, &[(b'a', 800)], 1..20), 0, false)]);
    domain.check(
        "the second",
        vec![read("goes on", 1, controller(b'b', 701, &[(b'a', 900), (b'c', 10)], 1..36), 5, true)],
    );
    domain.world.run(&["approve", "staff", "--server"]).expect(1);
}

#[test]
fn fault_79_what_may_be_old_is_reported_as_such() {
    let domain = Domain::new();
    domain.check(
        "two controllers",
        vec![
            read("the first", 0, controller(b'a', 1000, &[], 1..41), 0, true),
            read("the second, with a joiner", 1, controller(b'b', 10, &[], 1..42), 0, true),
        ],
    );
    let reason = domain.world.sync().expect(0).reason();
    assert!(!reason.contains("may be old"), "it is the one that was read last: {reason}");
    domain.answers(0, &controller(b'a', 1001, &[], 1..43));
    let reason = domain.world.sync().expect(0).reason();
    assert!(reason.contains("may be behind") && reason.contains("may be old"), "{reason}");
}

#[test]
fn fault_79_a_narrowed_run_shows_people_too() {
    let domain = Domain::new();
    domain.check("the first", vec![read("the first", 0, controller(b'a', 1000, &[(b'b', 1)], 1..41), 0, true)]);
    domain.answers(0, &controller(b'a', 1100, &[(b'b', 1)], 1..42));
    assert_eq!(domain.world.run(&["sync", "staff", "--key", "P00041", "--json"]).expect(0).writes(), (1, 0, 0));
    domain.check(
        "the second is behind that",
        vec![read("the second", 1, controller(b'b', 20, &[(b'a', 1050)], 1..41), 0, false)],
    );
}

#[test]
fn fault_79_the_389_directory_server_shows_how_far_it_is_in_its_own_way() {
    /// A server with these people: its `nsds50ruv` where it is replicated, else its own count.
    fn at(
        replica: Option<&'static str>,
        usn: &'static str,
        numbers: Range<usize>,
    ) -> impl Fn(&Asked, usize) -> Vec<Said> {
        move |asked, _| {
            let shows = |attributes: &[(&str, &str)]| {
                let attributes =
                    attributes.iter().map(|(name, value)| ((*name).to_owned(), vec![value.as_bytes().to_vec()]));
                vec![Said::Entry(asked.name.clone(), attributes.collect()), code(0, "")]
            };
            let wants = |name: &str| asked.attributes.iter().any(|asked| asked == name);
            if asked.is_page() {
                return numbers.clone().map(|number| entry(number, &[])).chain([done(b"")]).collect();
            }
            match replica {
                _ if wants("namingContexts") => shows(&[
                    ("vendorName", "389 Project"),
                    ("namingContexts", "dc=example,dc=org"),
                    ("lastusn;userroot", usn),
                ]),
                Some(last) if wants("nsds50ruv") => shows(&[("nsds50ruv", last)]),
                _ => vec![code(0, "")],
            }
        }
    }
    const EARLY: Option<&str> = Some("{replica 1 ldap://a:389} 65000000000000010000 65000000000000010000");
    const LATE: Option<&str> = Some("{replica 1 ldap://a:389} 65000000000000010000 66000000000000010000");
    for (name, before, older, after) in [
        ("replicated", (LATE, "9"), (EARLY, "9"), (LATE, "9")),
        ("alone", (None, "200"), (None, "90"), (None, "201")),
        ("imported", (None, "200"), (None, "-1"), (None, "201")),
    ] {
        let server = Scripted::start(at(before.0, before.1, 1..41));
        let world = world(&[&server], "");
        assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
        server.say(at(older.0, older.1, 1..31));
        for _ in 0..2 {
            let ran = world.sync().expect(3);
            assert_eq!(ran.writes(), (0, 0, 0), "{name}: {}", ran.reason());
        }
        server.say(at(after.0, after.1, 1..31));
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 10), "{name}");
    }
}

#[test]
fn law_1_who_moves_between_two_bases_while_they_are_read_is_not_removed() {
    for (changes, removed) in [(false, 2), (true, 0)] {
        let server = Scripted::start(|_, _| vec![Said::Close]);
        let source = slapd::source(&[server.url()], "").replace(
            "base = \"ou=people,dc=example,dc=org\"",
            "base = [\"ou=people,dc=example,dc=org\", \"ou=staff,dc=example,dc=org\"]",
        );
        let world = World::with(rosterd::sandbox::Options::default(), config(source));
        let say = |people: Range<usize>, usn_after: Option<u64>| {
            let of = |people: Range<usize>| Controller { usn_after, ..controller(b'a', 1000, &[(b'b', 1)], people) };
            let (first, second) = (of(people.start..10), of(10..people.end));
            server.say(move |asked, pages| match asked.name.starts_with("ou=staff") {
                true => second.says(asked, pages),
                false => first.says(asked, pages),
            });
        };
        say(1..21, None);
        world.sync().expect(0);
        // Two were in the second base when the first was read, and the other way round.
        say(1..19, changes.then_some(1001));
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes().2, &ran.job()["missing"]), (removed, &2.into()), "{ran:?}");
        say(1..20, None);
        assert_eq!(world.sync().expect(0).writes().2, u64::from(changes), "who is missing again left");
        assert_eq!(world.staff().len(), 19);
    }
}
