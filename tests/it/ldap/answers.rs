//! Against a server that says what a test wants.

use std::ops::Range;

use serde_json::Value;

use super::{config, world};
use crate::support::scripted::{Asked, BIND, Said, Scripted, code, done, entry};
use crate::support::slapd;
use crate::support::{Config, World};

/// What no line of `sync` may hold of the people.
const VALUES: [&str; 3] = ["Person ", "@example.com", "Moved"];

/// So many people.
fn entries(numbers: Range<usize>) -> Vec<Said> {
    numbers.map(|number| entry(number, &[])).collect()
}

/// Twenty of forty; the second of them has moved, so that a partial read is visible.
fn half() -> Vec<Said> {
    let mut half = entries(1..21);
    half[1] = entry(2, &[("title", &[b"Moved"])]);
    half
}

fn with(mut entries: Vec<Said>, last: impl IntoIterator<Item = Said>) -> Vec<Said> {
    entries.extend(last);
    entries
}

fn everybody(_: &Asked, _: usize) -> Vec<Said> {
    with(entries(1..41), [done(b"")])
}

/// A world in which forty people were synced from a server.
fn synced(lines: &str) -> (Scripted, World) {
    let server = Scripted::of_pages(everybody);
    let world = world(&[&server], lines);
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    (server, world)
}

/// What of the people must not change by a fault: everything but the second's title.
fn rest(world: &World) -> Vec<Value> {
    let mut all = world.staff();
    for person in all.iter_mut().filter(|person| person["employee_id"] == "P00002") {
        person["title"] = Value::Null;
        person["modified"] = Value::Null;
    }
    all
}

/// What a fault may do.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    /// The run fails (exit 1) and takes nothing.
    Fails,
    /// The run is held (exit 4) and takes nothing.
    Holds,
    /// The run is partial (exit 3): what came flows, no one leaves.
    Flows,
}

/// Lets forty people be synced, then the server say `script`, and everybody again.
fn check(
    name: &str,
    lines: &str,
    then: Then,
    words: &[&str],
    script: impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static,
) {
    let (server, world) = synced(lines);
    let before = rest(&world);
    server.say_pages(script);
    let writes = world.service().writes();
    let ran = world.sync().hides(&VALUES);
    let (code, status) = match then {
        Then::Fails => (1, "failed"),
        Then::Holds => (4, "held"),
        Then::Flows => (3, "partial"),
    };
    assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
    let (seen, complete, reason) = ran.ended();
    assert_eq!((seen.as_str(), complete), (status, false), "{name}: {reason}");
    for word in words {
        assert!(reason.contains(word), "{name}: {word:?} is missing in {reason:?}");
    }
    let flows = u64::from(then == Then::Flows);
    assert_eq!(ran.writes(), (0, flows, 0), "{name}: {reason}");
    assert_eq!((world.service().writes() - writes) as u64, flows, "{name}");
    assert_eq!(rest(&world), before, "{name}");
    server.say_pages(everybody);
    assert_eq!(world.sync().expect(0).writes(), (0, flows, 0), "{name}, after it");
    assert_eq!(rest(&world), before, "{name}, after it");
}

/// Half of the people, and then this.
fn then(last: Said) -> impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static {
    move |_, _| with(half(), [last.clone()])
}

#[test]
fn fault_65_and_66_any_limit_of_the_server_makes_the_read_incomplete() {
    for (number, words) in [
        (3, ["time limit exceeded, result code 3", "stopped short"]),
        (4, ["size limit exceeded, result code 4", "stopped short"]),
        (11, ["administrative limit exceeded, result code 11", "page_size"]),
    ] {
        check(&format!("code {number}"), "", Then::Flows, &words, then(code(number, "enough")));
    }
}

#[test]
fn fault_66_a_server_that_is_busy_in_the_middle_is_asked_once_more() {
    for number in [51, 52] {
        // The second page is refused twice.
        let (name, words) = (format!("code {number}"), ["went away in the middle", &format!("result code {number}")]);
        check(&name, "", Then::Flows, &words, move |_, pages| match pages {
            0 => with(half(), [done(b"next")]),
            _ => vec![code(number, "later")],
        });
    }
    let (server, world) = synced("");
    server.say_pages(|_, pages| match pages {
        0 => with(half(), [done(b"next")]),
        1 => vec![code(51, "later")],
        _ => with(entries(21..41), [done(b"")]),
    });
    let ran = world.sync().expect(0);
    assert_eq!((ran.ended().1, ran.writes()), (true, (0, 1, 0)), "it was asked again, and the read is whole");
}

#[test]
fn fault_66_a_server_that_is_busy_from_the_first_is_an_error_and_no_absence() {
    for number in [51, 52] {
        let words = ["no server can be read", "result code"];
        check(&format!("code {number}"), "", Then::Fails, &words, move |_, _| vec![code(number, "later")]);
    }
}

#[test]
fn fault_67_people_behind_a_referral_are_unread() {
    let reference = |url: &str| Said::Reference(url.to_owned());
    let elsewhere = "ldap://abroad.example.org/ou=people,dc=abroad";
    check("a reference", "", Then::Flows, &["1 referral that was not followed", elsewhere], move |_, _| {
        with(half(), [reference(elsewhere), done(b"")])
    });
    let zones = "ldap://DomainDnsZones.example.org/DC=DomainDnsZones,DC=example,DC=org";
    let lines = "ignore_referrals = [\"DomainDnsZones\"]\n";
    check("one of two", lines, Then::Flows, &["1 referral that was not followed", elsewhere], move |_, _| {
        with(half(), [reference(elsewhere), reference(zones), done(b"")])
    });
    let result = || Said::Done(10, "", vec![elsewhere.to_owned()], None);
    check("the result is one", "", Then::Holds, &[elsewhere], move |_, _| vec![result()]);
}

#[test]
fn fault_67_a_referral_that_is_known_to_lie_outside_makes_nothing_incomplete() {
    let (server, world) = synced("ignore_referrals = [\"DomainDnsZones\"]\n");
    let zones = "ldap://DomainDnsZones.example.org/DC=DomainDnsZones,DC=example,DC=org";
    server.say_pages(move |_, _| with(entries(1..40), [Said::Reference(zones.to_owned()), done(b"")]));
    let ran = world.sync().expect(0);
    assert_eq!((ran.ended().1, ran.writes()), (true, (0, 0, 1)), "one has left");
}

#[test]
fn fault_68_a_missing_base_is_an_alarm() {
    check("the only base", "", Then::Fails, &["does not exist", "check `base`"], |_, _| vec![code(32, "")]);
    check("on the second page", "", Then::Fails, &["does not exist"], |_, pages| match pages {
        0 => with(half(), [done(b"next")]),
        _ => vec![code(32, "")],
    });
    // 389 Directory Server gives one page without anything, and says so only of an entry.
    let (server, world) = synced("");
    server.say(|asked, _| match asked {
        asked if asked.is_page() => vec![code(0, "")],
        asked if asked.attributes == ["1.1"] => vec![code(32, "")],
        _ => vec![code(0, "")],
    });
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("does not exist"), "{ran:?}");
    world.expect_people(1..41);
}

#[test]
fn fault_69_an_empty_answer_removes_no_one() {
    check("with the usual guard", "", Then::Holds, &["min_records", "found no entries"], |_, _| vec![done(b"")]);
    let (server, mut world) = synced("");
    world.reconfigure(|mut config| {
        config.rest += "min_records = 0\n";
        config
    });
    server.say_pages(|_, _| vec![done(b"")]);
    let ran = world.sync().expect(3);
    assert_eq!((ran.ended().1, ran.writes()), (false, (0, 0, 0)), "{}", ran.reason());
    assert!(ran.reason().contains("found no entries"), "{}", ran.reason());
    world.expect_people(1..41);
}

#[test]
fn fault_70_and_75_a_server_that_falls_silent_or_goes_away_loses_no_one() {
    check("goes", "", Then::Flows, &["went away in the middle", "closed"], then(Said::Close));
    let lines = "timeout = \"5s\"\n";
    check("silent", lines, Then::Flows, &["went away in the middle", "no answer within 5 s"], then(Said::Silence));
    check("silent at once", lines, Then::Fails, &["no answer within 5 s"], |_, _| vec![Said::Silence]);
    check("goes at once", "", Then::Fails, &["the connection was closed"], |_, _| vec![Said::Close]);
    let lines = "total_timeout = \"5s\"\ntimeout = \"60s\"\n";
    check("slow as a whole", lines, Then::Flows, &["total_timeout"], then(Said::Silence));
}

#[test]
fn fault_75_silence_before_the_search_has_its_limit_too() {
    let (server, world) = synced("timeout = \"300ms\"\nbind_dn = \"cn=me\"\nbind_password = \"x\"\n");
    for silent_at in [BIND, crate::support::scripted::SEARCH] {
        server.say(move |asked, _| if asked.operation == silent_at { vec![Said::Silence] } else { vec![code(0, "")] });
        let ran = world.sync().expect(1);
        assert!(ran.reason().contains("no answer within"), "{}", ran.reason());
    }
}

#[test]
fn fault_71_only_an_empty_cookie_ends_the_pages() {
    let (server, world) = synced("");
    // An empty page, a page of 498 where 500 were asked for (here: 39 of 40), a page of one.
    server.say_pages(|_, pages| match pages {
        0 => vec![done(b"a")],
        1 => with(entries(1..40), [done(b"b")]),
        2 => vec![done(b"c")],
        _ => with(entries(40..41), [done(b"")]),
    });
    let ran = world.sync().expect(0);
    assert_eq!((ran.ended().1, ran.writes()), (true, (0, 0, 0)));
    let cookies: Vec<Vec<u8>> = server.asked().into_iter().filter_map(|asked| asked.cookie).collect();
    assert_eq!(cookies, [&b""[..], b"a", b"b", b"c"], "each page is asked for by the cookie of the one before");
}

#[test]
fn fault_71_a_lost_cookie_restarts_the_read_once() {
    for number in [53, 2, 12] {
        let (server, world) = synced("");
        server.say_pages(move |asked, pages| match (pages, asked.cookie.as_deref()) {
            // A person who left between the two passes is gone: the result of the first no longer counts.
            (0, _) => with(half(), [entry(99, &[]), done(b"lost")]),
            (1, _) => vec![code(number, "")],
            (_, Some(b"")) => with(entries(1..21), [done(b"next")]),
            _ => with(entries(21..41), [done(b"")]),
        });
        let ran = world.sync().expect(0);
        assert_eq!((ran.ended().1, ran.writes()), (true, (0, 0, 0)), "code {number}: {}", ran.reason());
    }
    let words = ["lost its place twice"];
    check("lost twice", "", Then::Flows, &words, |asked, _| match asked.cookie.as_deref() {
        Some(b"") => with(half(), [done(b"lost")]),
        _ => vec![code(53, "")],
    });
}

#[test]
fn fault_72_a_server_that_does_not_page_is_noticed() {
    check("it ignores the control", "", Then::Flows, &["ignores that the search is to be in pages"], then(code(0, "")));
    check("it refuses the control", "", Then::Fails, &["can't give results in pages"], |_, _| vec![code(12, "")]);
    let (server, world) = synced("");
    server.say_pages(everybody);
    world.sync().expect(0);
    let pages: Vec<bool> = server.asked().iter().filter(|asked| asked.is_page()).map(|asked| asked.critical).collect();
    assert!(!pages.is_empty() && pages.iter().all(|critical| *critical), "{pages:?}");
}

#[test]
fn a_server_without_pages_is_read_in_one_answer_where_that_is_asked_for() {
    let plainly = |last: u8, numbers: Range<usize>| {
        move |asked: &Asked, _: usize| match asked.attributes.iter().any(|name| name == "employeeNumber") {
            true if asked.cookie.is_none() => with(entries(numbers.clone()), [code(last, "")]),
            _ => vec![code(0, "")],
        }
    };
    let server = Scripted::start(plainly(0, 1..41));
    let world = world(&[&server], "page_size = 0\n");
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    server.say(plainly(4, 1..31));
    let ran = world.sync().expect(3);
    assert_eq!((ran.ended().1, ran.writes()), (false, (0, 0, 0)), "a limit is no end: {}", ran.reason());
    server.say(plainly(0, 1..40));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn fault_73_of_an_entry_that_comes_twice_the_later_counts() {
    let (server, world) = synced("");
    let title = |number, title: &'static [u8]| entry(number, &[("title", &[title])]);
    server.say_pages(move |_, pages| match pages {
        // The first moves and is met again; the second stands, and is met again otherwise; the third has no name any more
        // at first.
        0 => vec![title(1, b"Wrong"), title(2, b"Clerk"), entry(3, &[("cn", &[])]), done(b"next")],
        _ => with(vec![title(1, b"Right"), title(2, b"Right"), entry(3, &[])], with(entries(4..41), [done(b"")])),
    });
    let ran = world.sync().expect(0).hides(&VALUES);
    assert_eq!((ran.ended().1, ran.writes()), (true, (0, 2, 0)), "{}", ran.reason());
    assert!(ran.reason().contains("3 entries came twice"), "{}", ran.reason());
    assert_eq!([1, 2].map(|number| world.held_as(number).unwrap()["title"].clone()), ["Right", "Right"]);
}

#[test]
fn fault_76_a_value_that_cannot_be_used_concerns_its_field_or_its_row_alone() {
    for (name, spoilt, field, word) in [
        ("no UTF-8", entry(2, &[("title", &[b"\xff\xfe"])]), "title", "no text"),
        ("a long value", entry(2, &[("title", &[&[b'x'; 5000]])]), "title", "4 KiB"),
        ("a NUL", entry(2, &[("title", &[b"a\0b"])]), "title", "NUL"),
        ("no name", entry(2, &[("cn", &[])]), "name", "empty"),
    ] {
        let (server, world) = synced("");
        server.say_pages(move |_, _| {
            let mut all = entries(1..41);
            all[1] = spoilt.clone();
            all[2] = entry(3, &[("title", &[b"Moved"])]);
            with(all, [done(b"")])
        });
        let is_row = field == "name";
        let ran = world.sync().expect(if is_row { 3 } else { 0 }).hides(&VALUES);
        // Its key could be read, so the person is there, and the read is whole.
        assert_eq!((ran.ended().1, ran.writes()), (true, (0, 1, 0)), "{name}: {}", ran.reason());
        let plan = world.plan().job();
        let rejected = &plan[if is_row { "rejected" } else { "rejected_values" }][0];
        assert_eq!((rejected["key"].as_str(), rejected["line"].as_u64()), (Some("P00002"), None), "{name}: {plan}");
        assert_eq!(rejected["field"], field, "{name}");
        assert!(rejected["reason"].as_str().unwrap().contains(word), "{name}: {rejected}");
    }
}

#[test]
fn the_order_of_attributes_and_values_is_no_change() {
    let server =
        Scripted::of_pages(|_, _| vec![entry(1, &[("mail", &[b"z@example.com", b"a@example.com"])]), done(b"")]);
    let world = world(&[&server], "");
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    let gets = world.count("get_person");
    server.say_pages(|_, _| {
        let Said::Entry(dn, mut attributes) = entry(1, &[("mail", &[b"a@example.com", b"z@example.com"])]) else {
            unreachable!("it is an entry")
        };
        attributes.reverse();
        attributes.iter_mut().for_each(|(name, _)| name.make_ascii_uppercase());
        vec![Said::Entry(dn, attributes), done(b"")]
    });
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.job()["unchanged"].clone(), world.count("get_person")), ((0, 0, 0), 1.into(), gets));
}

#[test]
fn an_entry_without_a_readable_key_is_reported_by_its_name() {
    let (server, world) = synced("");
    server.say_pages(|_, _| {
        let mut all = entries(1..41);
        all[1] = entry(2, &[("employeeNumber", &[])]);
        with(all, [done(b"")])
    });
    let ran = world.sync().expect(3);
    assert_eq!((ran.ended().1, ran.writes()), (false, (0, 0, 0)), "{}", ran.reason());
    let rejected = &world.plan().job()["rejected"][0];
    assert_eq!((rejected["key"].clone(), rejected["line"].clone()), (Value::Null, Value::Null));
    assert!(rejected["reason"].as_str().unwrap().contains("uid=u2,ou=people"), "{rejected}");
    world.expect_people(1..41);
}

#[test]
fn law_8_of_an_entry_beyond_all_measure_only_the_largest_attribute_is_not_used() {
    let (server, world) = synced("");
    server.say_pages(|_, _| {
        let mut all = entries(1..40);
        all[1] = entry(2, &[("title", &[&vec![b'x'; 2 * 1024 * 1024]])]);
        all.push(entry(41, &[("title", &[&vec![b'x'; 2 * 1024 * 1024]])]));
        with(all, [done(b"")])
    });
    let ran = world.sync().expect(0);
    // The new one comes without a title, the other one keeps theirs, and who is missing leaves.
    assert_eq!(
        (ran.ended().1, ran.writes(), ran.job()["rejected_values"].as_u64()),
        (true, (1, 0, 1), Some(2)),
        "{ran:?}"
    );
    assert_eq!(world.held_as(2).unwrap()["title"], "Clerk");
}

#[test]
fn active_directory_is_read_as_it_writes() {
    // The bytes of a GUID are text by chance in the second.
    let guids: [&[u8]; 3] =
        [b"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\xff", b"abcdefghijklmnop", &[0x80; 16]];
    let person = move |number: usize, control: &[u8], expires: &[u8]| {
        let Said::Entry(dn, mut attributes) =
            entry(number, &[("userAccountControl", &[control]), ("accountExpires", &[expires])])
        else {
            unreachable!("it is an entry")
        };
        attributes.retain(|(name, _)| name != "entryUUID");
        attributes.push(("objectGUID".to_owned(), vec![guids[number - 1].to_vec()]));
        attributes.push(("whenCreated".to_owned(), vec![b"20260203040506.0Z".to_vec()]));
        Said::Entry(dn, attributes)
    };
    let server = Scripted::of_pages(move |_, _| {
        vec![person(1, b"512", b"0"), person(2, b"66048", b"9223372036854775807"), person(3, b"514", b"0"), done(b"")]
    });
    let mut configuration = config(slapd::source(&[server.url()], ""));
    configuration.job = "match_on = [\"email\"]\ninclude = \"{{ not (userAccountControl | bit(2)) }}\"\n\
        active_until = \"{{ accountExpires | filetime | date('%Y-%m-%dT%H:%M:%SZ') }}\"\n"
        .into();
    configuration.map = configuration.map.replace("{{ title }}", "{{ whenCreated | date('%Y%m%d%H%M%S.0Z') }}");
    let world = World::with(rosterd::sandbox::Options::default(), configuration);
    let preview = world.run(&["--json", "preview", "staff"]).expect(0).json();
    let keys: Vec<&str> = preview["rows"].as_array().unwrap().iter().filter_map(|row| row["key"].as_str()).collect();
    assert_eq!(
        keys,
        [
            "04030201-0605-0807-090a-0b0c0d0e0fff",
            "64636261-6665-6867-696a-6b6c6d6e6f70",
            "80808080-8080-8080-8080-808080808080"
        ]
    );
    assert_eq!(world.sync().expect(0).writes(), (2, 0, 0), "the third is disabled");
    assert_eq!(world.held_as(1).unwrap()["title"], "2026-02-03");
    server.say_pages(move |_, _| vec![person(1, b"512", b"0"), person(2, b"512", b"133537248000000000"), done(b"")]);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1), "the second expired");
}

/// A server of two people; the first has `count` titles, given in parts of two; `broken` parts are refused.
fn ranged(count: usize, broken: bool) -> Scripted {
    let part = move |from: usize| {
        let last = (from + 2).min(count);
        let end = if last == count { "*".to_owned() } else { (last - 1).to_string() };
        let values: Vec<Vec<u8>> = (from..last).map(|at| format!("t{at:03}").into_bytes()).collect();
        (format!("title;range={from}-{end}"), values)
    };
    Scripted::start(move |asked, _| {
        if asked.is_page() {
            let Said::Entry(dn, mut attributes) = entry(1, &[("title", &[])]) else { unreachable!("it is an entry") };
            attributes.push(part(0));
            return vec![Said::Entry(dn, attributes), entry(2, &[]), done(b"")];
        }
        let next = asked.attributes.first().and_then(|name| name.strip_prefix("title;range="));
        match next.and_then(|range| range.strip_suffix("-*")) {
            Some(_) if broken => vec![code(1, "no more")],
            Some(from) => vec![Said::Entry(asked.name.clone(), vec![part(from.parse().unwrap())]), code(0, "")],
            None => vec![code(0, "")],
        }
    })
}

#[test]
fn fault_76_the_parts_of_an_attribute_are_fetched_to_the_last() {
    for count in [2, 3, 7] {
        let server = ranged(count, false);
        let mut config = config(slapd::source(&[server.url()], ""));
        config.map = config.map.replace("{{ title }}", "{{ all['title'] | length }} {{ all['title'] | last }}");
        let world = World::with(rosterd::sandbox::Options::default(), config);
        assert_eq!(world.sync().expect(0).writes(), (2, 0, 0), "{count}");
        assert_eq!(world.held_as(1).unwrap()["title"], format!("{count} t{:03}", count - 1));
    }
}

#[test]
fn fault_76_an_attribute_with_an_unread_part_is_not_used_and_proves_nothing() {
    let server = ranged(7, true);
    let world = world(&[&server], "");
    let ran = world.sync().expect(3);
    assert_eq!((ran.ended().1, ran.writes()), (false, (2, 0, 0)), "{}", ran.reason());
    assert!(ran.reason().contains("not all values of title could be read"), "{}", ran.reason());
    assert!(world.held_as(1).unwrap()["title"].is_null());
    let rejected = world.plan().job()["rejected_values"][0].clone();
    assert_eq!((rejected["key"].as_str(), rejected["field"].as_str()), (Some("P00001"), Some("title")));
}

#[test]
fn fault_78_a_refused_bind_is_tried_once_and_nowhere_else() {
    let lines = "bind_dn = \"cn=me\"\nbind_password = \"wrong\"\n";
    let refusing = || {
        Scripted::start(|asked, _| {
            let data = "80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data 775, v2580";
            if asked.operation == BIND { vec![code(49, data)] } else { vec![code(0, "")] }
        })
    };
    let (first, second) = (refusing(), refusing());
    let world = world(&[&first, &second], lines);
    let ran = world.sync().expect(1).hides(&["wrong"]);
    assert!(ran.reason().contains("the bind was refused") && ran.reason().contains("locked"), "{}", ran.reason());
    assert_eq!((first.binds(), second.binds()), (1, 0));
}

#[test]
fn owncloud_460_the_next_server_is_read_when_the_first_gives_nothing() {
    let dead = Scripted::start(|_, _| vec![Said::Close]);
    let busy = Scripted::start(|asked, _| vec![code(if asked.is_page() { 52 } else { 0 }, "")]);
    let good = Scripted::of_pages(everybody);
    let world = world(&[&dead, &busy, &good], "");
    let ran = world.sync().expect(0);
    assert_eq!((ran.ended().1, ran.writes()), (true, (40, 0, 0)), "{}", ran.reason());
    assert!(ran.reason().contains(&dead.url()) && ran.reason().contains(&busy.url()), "{}", ran.reason());
}

/// What a server says that is as far as `csn`, and has these people.
fn at(csn: &'static str, numbers: Range<usize>) -> impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static {
    move |asked, _| {
        let shows = |name: &str, value: &str| {
            let attributes = vec![(name.to_owned(), vec![value.as_bytes().to_vec()])];
            vec![Said::Entry(asked.name.clone(), attributes), code(0, "")]
        };
        if asked.is_page() {
            with(entries(numbers.clone()), [done(b"")])
        } else if asked.attributes.iter().any(|name| name == "namingContexts") {
            shows("namingContexts", "dc=example,dc=org")
        } else if asked.attributes.iter().any(|name| name == "contextCSN") {
            shows("contextCSN", csn)
        } else {
            vec![code(0, "")]
        }
    }
}

#[test]
fn fault_79_a_replica_that_lags_removes_no_one() {
    const EARLY: &str = "20260101000000.000000Z#000000#000#000000";
    const LATE: &str = "20260102000000.000000Z#000000#000#000000";
    let (first, second) = (Scripted::start(at(LATE, 1..41)), Scripted::start(at(EARLY, 1..31)));
    let world = world(&[&first, &second], "");
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    first.say(|_, _| vec![Said::Close]);
    for _ in 0..2 {
        let ran = world.sync().expect(3);
        assert_eq!((ran.ended().1, ran.writes()), (false, (0, 0, 0)), "{}", ran.reason());
        assert!(ran.reason().contains("is behind what was read before"), "{}", ran.reason());
    }
    second.say(at(LATE, 1..31));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 10), "it has caught up, so they have left");
}

#[test]
fn fault_79_a_server_that_ends_its_import_while_it_is_read_removes_no_one() {
    const CSN: &str = "20260101000000.000000Z#000000#000#000000";
    /// A server in an import, with these people so far; at the end of the read it shows how far it is, if it `ends`.
    fn importing(numbers: Range<usize>, ends: bool) -> impl Fn(&Asked, usize) -> Vec<Said> + Send + Sync + 'static {
        let says = at(CSN, numbers);
        move |asked, pages| match asked.attributes.iter().any(|name| name == "contextCSN") {
            true if pages == 0 || !ends => vec![code(0, "")],
            _ => says(asked, pages),
        }
    }
    let server = Scripted::start(importing(1..41, false));
    let world = world(&[&server], "");
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    server.say(importing(1..39, true));
    let ran = world.sync().expect(3);
    assert_eq!((ran.ended().1, ran.writes()), (false, (0, 0, 0)), "{}", ran.reason());
    assert!(ran.reason().contains("in the middle of an import"), "{}", ran.reason());
}

#[test]
fn fault_79_a_server_that_does_not_show_how_far_it_is_is_believed_about_people_it_showed() {
    let (first, second) = (Scripted::of_pages(everybody), Scripted::of_pages(|_, _| with(entries(1..31), [done(b"")])));
    let world = world(&[&first, &second], "");
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    first.say(|_, _| vec![Said::Close]);
    for _ in 0..2 {
        let ran = world.sync().expect(3);
        assert_eq!((ran.ended().1, ran.writes()), (false, (0, 0, 0)), "{}", ran.reason());
    }
    second.say_pages(|_, _| with(entries(1..30), [done(b"")]));
    assert_eq!(world.sync().expect(3).writes(), (0, 0, 1));
}

#[test]
fn garbage_is_an_error_and_no_panic() {
    let (server, world) = synced("timeout = \"2s\"\n");
    for (name, bytes) in [
        ("no BER", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("an operation that is none", vec![0x30, 0x05, 0x02, 0x01, 0x02, 0x7e, 0x00]),
        ("an empty message", vec![0x30, 0x00]),
        ("an entry without parts", vec![0x30, 0x05, 0x02, 0x01, 0x02, 0x64, 0x00]),
        ("a message without end", vec![0x30, 0x84, 0x7f, 0xff, 0xff, 0xff, 0x02]),
    ] {
        server.say(move |_, _| vec![Said::Bytes(bytes.clone()), Said::Close]);
        let ran = world.sync();
        assert_eq!((ran.code, ran.writes()), (Some(1), (0, 0, 0)), "{name}: {ran:?}");
    }
    server.say_pages(everybody);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn the_parts_of_a_job_of_contractors_read_one_state_by_one_search() {
    const MAP: &str = "name = \"{{ cn }}\"\nemail = \"{{ mail }}\"\nservice_provider_id = \"{{ employeeNumber }}\"\n\
                       \"org.name\" = \"{{ o }}\"\n\"membership.roles\" = \"61\"\n";
    // Of every further search of one run, other people come.
    let server = Scripted::of_pages(|_, page| {
        let companies: [&[u8]; 2] = [b"Quay Ltd", b"Hill Ltd"];
        let start = page * 10;
        let all = (start..start + 10).map(|number| entry(number, &[("o", &companies[number % 2..=number % 2])]));
        with(all.collect(), [done(b"")])
    });
    let world = World::of(Config {
        name: "sites".into(),
        target: "contractor".into(),
        job: "key = \"{{ employeeNumber }}\"\n".into(),
        source: slapd::source(&[server.url()], ""),
        map: MAP.into(),
        ..Config::default()
    });
    let searches = || server.asked().iter().filter(|asked| asked.is_page()).count();
    world.plan().expect(0);
    assert_eq!(searches(), 1);
    let ran = world.sync().expect(0);
    assert_eq!(searches(), 2);
    let count = |what: &str| world.service().all(what).len();
    assert_eq!((count("sp.org"), count("sp.member"), count("sp.membership")), (2, 10, 10), "{ran:?}");
    let left = std::fs::read_dir(world.state()).unwrap().filter_map(Result::ok).map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with(".tmp")), "nothing is left of the rows");
}
