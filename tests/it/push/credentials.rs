//! Several credentials of one account.

use std::collections::{BTreeMap, BTreeSet};

use rosterd::sandbox::Options;

use crate::support::config::Config;
use crate::support::{World, people};

/// A world with a further credential, whose lines these are, and so many requests a minute for each.
fn world(options: Options, further: &str, rate: u32) -> World {
    let credential = "api_key_file = \"api_key\"\ncredentials = [{ FURTHER }]".replace("FURTHER", further);
    let api = format!("requests_per_minute = {rate}\n");
    let world = World::with(options, Config { credential, api, ..Config::default() });
    world.put("secret", world.service().options().client_secret.as_bytes());
    world.put_config(&world.config_text().replace("AUTH", &world.service().auth_url()));
    world
}

const CLIENT: &str = "auth_url = \"AUTH\", client_id = \"sandbox-client\", client_secret_file = \"secret\"";

/// How many writes came by each credential.
fn writes(world: &World) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    for request in world.service().requests().into_iter().filter(|request| request.method == "POST") {
        *writes.entry(request.credential).or_default() += 1;
    }
    writes
}

#[test]
fn law_12_two_credentials_share_a_load_and_each_keeps_its_own_limit() {
    let world = world(Options { rate: 100, ..Options::default() }, CLIENT, 100);
    assert_eq!(world.sync_of(people(0..150)).expect(0).writes(), (150, 0, 0));
    world.expect_people(0..150);
    let writes = writes(&world);
    assert_eq!(writes.len(), 2, "{writes:?}");
    assert_eq!(writes.values().sum::<usize>(), 150, "{writes:?}");
    assert!(writes.values().all(|count| *count > 40), "{writes:?}");
    assert_eq!(world.service().refused_by_rate(), 0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn what_is_sent_again_for_a_person_goes_by_the_credential_that_sent_it_before() {
    let world = world(Options { rate: 100, ..Options::default() }, CLIENT, 100);
    world.put_config(&(world.config_text() + "[job.guard]\nmax_updates = 200\n"));
    for number in 0..105 {
        world.person(number, "Clerk");
    }
    world.sync_of(people(0..105)).expect(0);
    world.faults(&["staff.update status=500 every=7"]);
    let ran = world.sync_of(people(0..105).replace("Clerk", "Baker")).expect(0);
    assert_eq!(ran.writes(), (0, 105, 0));
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in world.service().requests().into_iter().filter(|request| request.operation == "staff.update") {
        sent.entry(request.path).or_default().push(request.credential);
    }
    assert_eq!(sent.len(), 105);
    assert!(sent.values().any(|credentials| credentials.len() > 1), "nothing was sent again");
    for (path, credentials) in &sent {
        assert!(credentials.iter().all(|other| *other == credentials[0]), "{path}: {credentials:?}");
    }
    assert_eq!(sent.values().map(|credentials| &credentials[0]).collect::<BTreeSet<_>>().len(), 2);
}

#[test]
fn little_to_do_goes_by_the_first_credential_alone() {
    let world = world(Options::default(), CLIENT, 100);
    assert_eq!(world.sync_of(people(0..50)).expect(0).writes(), (50, 0, 0));
    let credentials: BTreeSet<String> =
        world.service().requests().into_iter().map(|request| request.credential).collect();
    assert_eq!(credentials.len(), 1, "{credentials:?}");
}

#[test]
fn a_further_credential_that_is_refused_stops_no_one_and_the_run_says_so() {
    // It may read, and not write.
    let options = Options { scopes: vec!["staff:read".into()], ..Options::default() };
    for (further, options) in [
        (CLIENT.to_owned(), options),
        (CLIENT.replace("sandbox-client", "strange-client"), Options::default()),
        ("api_key = \"strange\"".to_owned(), Options::default()),
    ] {
        let world = world(options, &further, 60);
        let ran = world.sync_of(people(0..65)).expect(0);
        assert_eq!(ran.writes(), (65, 0, 0), "{further}");
        world.expect_people(0..65);
        assert_eq!(writes(&world).values().copied().max(), Some(65), "{further}: {:?}", writes(&world));
        let reason = ran.reason();
        assert!(reason.contains("further credential 1 ("), "{further}: {reason}");
    }
}

#[test]
fn a_credential_that_is_named_twice_is_refused() {
    let world = world(Options::default(), "api_key_file = \"api_key\"", 100);
    let refused = world.sync_of(people(0..3)).expect(2);
    let line = world.config_text().lines().position(|line| line.starts_with("credentials")).unwrap() + 1;
    assert!(refused.err.contains(&format!(":{line}: api.credentials.api_key_file: is the same")), "{refused:?}");
    assert!(refused.err.contains(&format!("api.api_key_file on line {}", line - 1)), "{refused:?}");
    world.run(&["check", "--offline"]).expect(2);
    assert_eq!(world.service().requests().len(), 0);
}

#[test]
fn the_first_of_the_list_is_the_credential_where_api_itself_has_none() {
    let world = world(Options::default(), CLIENT, 100);
    world.put_config(&world.config_text().replace("api_key_file = \"api_key\"\n", ""));
    assert_eq!(world.sync_of(people(0..5)).expect(0).writes(), (5, 0, 0));
    let checked = world.run(&["check"]).expect(0);
    assert!(!checked.out.contains("further credential"), "{checked:?}");
}
