//! Faults of the regression list and incidents of the field that no other file is about, each under its number or name.

use std::process::{Child, Command, Stdio};

use rosterd::sandbox::Options;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::daemon::eventually;
use crate::support::faked::Faked;
use crate::support::held::freeze;
use crate::support::ports::free_port;
use crate::support::{Config, HEADER, Ran, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn deleting(job: &str) -> Config {
    Config::rest(LEAVE_AT_ONCE).job(job)
}

fn boss(numbers: std::ops::Range<usize>, first: usize) -> String {
    people(numbers).replace(&row(first, "Clerk"), &row(first, "Boss"))
}

#[test]
fn fault_15_with_the_state_gone_no_one_is_made_no_one_removed_and_true_differences_are_written() {
    let world = World::synced(deleting(""), 10);
    world.person(90, "Foreign");
    world.lose_state();
    assert_eq!(world.sync_of(boss(1..9, 1)).expect(0).writes(), (0, 1, 0));
    assert_eq!(world.staff().len(), 11);
}

#[test]
fn fault_23_and_64_a_sync_that_was_stopped_for_a_while_goes_on_and_sends_on_what_is_true_then() {
    let world = World::synced(Config::rest("[job.guard]\nmax_updates = \"off\"\n"), 40);
    world.csv(people(1..41).replace("Clerk", "Baker"));
    world.faults(&["staff.update hold after=2"]);
    let mut child = world.start(&["sync"]);
    world.until_any_is_held();
    freeze(child.id());
    let late = world.held_as(40).unwrap()["id"].as_i64().unwrap();
    assert_eq!(world.held_as(40).unwrap()["title"], "Clerk", "its turn is to come");
    world.service().edit("staff", late, json!({"mobile": "64 219999999"}));
    world.faults(&[]);
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    assert!(child.wait().unwrap().success());
    let person = world.held_as(40).unwrap();
    assert_eq!((&person["title"], &person["mobile"]), (&json!("Baker"), &json!("64 219999999")));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_47_two_people_at_the_service_with_one_number_are_held_and_none_is_picked() {
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, deleting(""));
    let ids = [world.person(1, "Clerk"), world.person(1, "Clerk")];
    world.csv(boss(1..4, 1));
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        let reason = ran.reason();
        assert!(ids.iter().all(|id| reason.contains(&id.to_string())), "{reason}");
    }
    assert_eq!((world.count("staff.update"), world.staff().len()), (0, 4));
}

#[test]
fn fault_49_what_a_person_edits_between_the_read_and_the_write_of_a_run_survives() {
    let world = World::synced(Config::default(), 5);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.csv(boss(1..6, 1));
    world.faults(&["staff.get hold-before"]);
    let mut child = world.start(&["sync"]);
    // The listing is read, and the copy on which the write is built is not.
    world.until_held(1);
    world.service().edit("staff", id, json!({"mobile": "64 211111111", "altname": "Pip"}));
    world.faults(&[]);
    assert!(child.wait().unwrap().success());
    let person = world.one(id);
    let seen = (&person["title"], &person["mobile"], &person["altname"]);
    assert_eq!(seen, (&json!("Boss"), &json!("64 211111111"), &json!("Pip")));
}

#[test]
fn fault_50_a_create_that_is_answered_without_the_person_is_looked_up() {
    for answer in ["staff.create status-after=204", "staff.create status-after=201"] {
        let world = World::new(Options { accept_duplicates: true, ..Options::default() });
        world.csv(people(1..4));
        world.faults(&[answer]);
        let ran = world.sync();
        world.faults(&[]);
        world.expect_people(1..4);
        assert_eq!(world.count("staff.create"), 3, "{answer}: nothing is sent twice: {ran:?}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "{answer}");
        assert_eq!(world.run(&["status", "--json"]).job()["known"], 3, "{answer}");
    }
}

#[test]
fn fault_52_a_proxy_of_the_environment_is_not_used() {
    let world = World::default();
    world.csv(people(1..4));
    let mut command = world.command(&["sync", "--json"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:9");
    }
    assert_eq!(command.output().unwrap().status.code(), Some(0));
    world.expect_people(1..4);
}

#[test]
fn a_proxy_never_sees_what_goes_to_this_machine() {
    let proxy = crate::support::mailer::Server::proxy();
    let api = format!("proxy = \"http://127.0.0.1:{}\"\n{}", proxy.port, Config::default().api);
    let world = World::of(Config { api, ..Config::default() });
    world.csv(people(1..4));
    world.sync().expect(0);
    let heard = proxy.heard();
    assert!(heard.open.is_empty() && heard.secret.is_empty() && heard.whole.is_empty(), "{heard:?}");
}

/// A TLS server that is no service, ended when it is dropped.
struct Tls(Child);

impl Drop for Tls {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves with a certificate for `name` alone; returns the port.
fn serve_tls(world: &World, name: &str, more: &[&str]) -> (Tls, u16) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=trial", "-addext", &format!("subjectAltName={name}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(world.dir())
        .output();
    assert!(made.unwrap().status.success());
    let port = free_port();
    let server = Command::new("openssl")
        .args(["s_server", "-quiet", "-www", "-key", "key.pem", "-cert", "cert.pem", "-accept", &port.to_string()])
        .args(more)
        .current_dir(world.dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let server = Tls(server.unwrap());
    eventually("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    (server, port)
}

/// A sync over TLS to a server with a certificate for `name`, which is trusted or not; its reason has `word`.
fn check_tls(name: &str, trusted: bool, more: &[&str], word: &str) {
    let world = World::default();
    world.csv(people(1..4));
    let (_server, port) = serve_tls(&world, name, more);
    let ca = if trusted { "\nca_file = \"cert.pem\"" } else { "" };
    let text = world.config_text();
    let service = format!("{}\"", world.service().url());
    world.put_config(&text.replace(&service, &format!("https://127.0.0.1:{port}/v1\"{ca}")));
    let reason = world.sync().expect(1).reason();
    assert!(reason.contains(word), "{name}, trusted: {trusted}, {more:?}: {reason}");
}

#[test]
fn fault_51_a_certificate_of_an_unknown_issuer_or_of_another_host_and_old_tls_fail_closed() {
    if Command::new("openssl").arg("version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "openssl must be there in CI");
        eprintln!("skipped: there is no openssl");
        return;
    }
    // The last is trusted and spoken to, and what it says is no JSON: so it is TLS that stops the others.
    let cases: [(&str, bool, &[&str], &str); 4] = [
        ("IP:127.0.0.1", false, &[], "UnknownIssuer"),
        ("DNS:other.example.com", true, &[], "not valid for name"),
        ("IP:127.0.0.1", true, &["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"], "ProtocolVersion"),
        ("IP:127.0.0.1", true, &[], "JSON"),
    ];
    std::thread::scope(|scope| {
        for (name, trusted, more, word) in cases {
            scope.spawn(move || check_tls(name, trusted, more, word));
        }
    });
}

#[test]
fn fault_59_a_certificate_that_is_not_valid_yet_in_1970_makes_people_look_at_the_clock() {
    let world = World::default();
    world.csv(people(1..4));
    let Some(clock) = Faked::at(&world, "1970-01-01 00:05:00") else { return };
    let (_server, port) = serve_tls(&world, "IP:127.0.0.1", &[]);
    let text = world.config_text();
    let service = format!("{}\"", world.service().url());
    let tls = format!("https://127.0.0.1:{port}/v1\"\nca_file = \"cert.pem\"");
    world.put_config(&text.replace(&service, &tls));
    let mut command = world.command(&["sync", "--json"]);
    clock.tell(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("is this machine's clock right? it says 1970-01-01T00:05:"), "{text}");
}

/// Two jobs whose files both have the people 1 to 3, with different titles.
fn two_sources() -> World {
    let second = "[job.guard]\nmax_updates = \"off\"\n[[job]]\nname = \"other\"\ntarget = \"staff\"\n\
                  key = \"{{ employee_no }}\"\nmatch_on = [\"employee_id\"]\n[job.source]\ntype = \"csv\"\npath = \"other.csv\"\n\
                  settle = \"0s\"\n[job.map]\nname = \"{{ name }}\"\nemployee_id = \"{{ employee_no }}\"\ntitle = \"{{ title }}\"\n";
    let world = World::of(Config::rest(second));
    world.csv(people(1..4));
    world.put("other.csv", people(1..6).replace("Clerk", "Baker").as_bytes());
    world
}

#[test]
fn law_6_fault_99_a_person_in_two_sources_belongs_to_the_first_and_never_flips() {
    let world = two_sources();
    let ran = world.sync().expect(4).json();
    let held = &ran["jobs"][1];
    assert_eq!((&held["created"], &held["held"]), (&json!(2), &json!(3)), "{ran}");
    assert!(held["reason"].as_str().unwrap().contains("of job staff"), "the owner is named: {ran}");
    let writes = world.service().writes();
    for _ in 0..2 {
        world.sync().expect(4);
        assert_eq!(world.run(&["plan", "--json"]).json()["jobs"][0]["changes"], json!([]));
    }
    assert_eq!((world.service().writes(), &world.held_as(1).unwrap()["title"]), (writes, &json!("Clerk")));
}

/// No one is removed, and there is a notice.
fn nobody_left(world: &World, ran: &Ran, count: usize) {
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert_eq!((ran.writes().2, world.staff().len()), (0, count), "{ran:?}");
}

#[test]
fn incident_opnsense_10128_a_filter_that_suddenly_lets_no_one_in_removes_no_one() {
    let world = World::synced(deleting("include = \"{{ title == 'Clerk' }}\"\n"), 43);
    let ran = world.sync_of(people(1..44).replace("Clerk", "clerk"));
    assert!(ran.reason().contains("min_records"), "{ran:?}");
    nobody_left(&world, &ran, 43);
    let ran = world.sync_of(people(1..44).replacen("Clerk", "clerk", 40));
    assert!(ran.reason().contains("max_leavers: 40 people"), "{ran:?}");
    nobody_left(&world, &ran, 43);
}

#[test]
fn incident_nextcloud_6699_a_changed_password_is_never_data() {
    let mut world = World::synced(deleting(""), 10);
    world.reconfigure(|config| Config { credential: "api_key = \"changed there\"".into(), ..config });
    let ran = world.sync_of(people(1..8));
    nobody_left(&world, &ran, 10);
    assert_eq!((ran.code, ran.ended().0.as_str()), (Some(1), "failed"));
    world.reconfigure(|config| Config { credential: Config::default().credential, ..config });
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 3));
}

#[test]
fn incident_lightdash_22402_a_conflict_with_an_unseen_person_is_tried_once() {
    let world = World::synced(Config::default(), 3);
    world.faults(&["staff.create status=409"]);
    world.csv(people(1..5));
    let before = world.count("staff.create");
    for _ in 0..3 {
        let ran = world.sync().expect(3);
        assert_eq!(ran.job()["parked"], 1, "{ran:?}");
    }
    assert_eq!((world.count("staff.create") - before, world.count("staff.update")), (1, 0));
    assert_eq!(world.staff().len(), 3);
}

#[test]
fn incident_synaq_2022_a_source_of_months_ago_is_held_and_not_carried_out() {
    let world = World::synced(deleting(""), 30);
    let old = (1..21).fold(HEADER.to_owned(), |text, number| text + &row(number, "Trainee"));
    let ran = world.sync_of(old).expect(4);
    let reason = ran.reason();
    assert!(reason.contains("max_updates: 20 of 30") && reason.contains("max_leavers: 10 people"), "{reason}");
    assert_eq!((ran.writes(), world.texts("title")[0].as_str()), ((0, 0, 0), "Clerk"));
}

#[test]
fn incident_basecamp_mcp_43_what_an_update_does_not_name_stays_as_it_was() {
    let world = World::synced(Config::default(), 3);
    let id = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"phone": "64 95551234", "altname": "Pip", "customfields": {"3": "L 17"}}));
    world.sync_of(boss(1..4, 1)).expect(0);
    let person = world.one(id);
    let seen = (&person["title"], &person["phone"], &person["altname"], &person["customfields"]["3"]);
    assert_eq!(seen, (&json!("Boss"), &json!("64 95551234"), &json!("Pip"), &json!("L 17")));
}

/// Two machines with one credential, each with a list of its own: what one writes the other takes for an edit.
#[test]
fn fault_21_another_rosterd_at_the_same_people_is_reported() {
    let world = World::synced(Config::rest("[job.guard]\nmax_updates = \"off\"\n"), 3);
    let text = world.config_text();
    let other = text.replace("dir = \"state\"", "dir = \"other\"").replace("staff.csv", "other.csv");
    world.put("other.toml", other.as_bytes());
    world.put("other.csv", people(1..4).replace(&row(2, "Clerk"), &row(2, "Baker")).as_bytes());
    let there = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
        command.env_clear().current_dir(world.dir()).args(["--config", "other.toml", "sync", "--json"]);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }.expect(0)
    };
    for round in 1..4 {
        assert_eq!(there().writes(), (0, 1, 0));
        let ran = world.sync().expect(0);
        assert_eq!(ran.writes(), (0, 1, 0));
        let told = ran.reason().contains("1 person was changed at the service again each time")
            && ran.reason().contains("P00002");
        assert_eq!(told, round == 3, "round {round}: {ran:?}");
    }
    assert!(there().reason().contains("another rosterd"), "the other one is told too");
    let ran = world.sync_of(people(1..4).replace(&row(2, "Clerk"), &row(2, "Chief"))).expect(0);
    assert!(!ran.reason().contains("another rosterd"), "what the source changed itself is no contest: {ran:?}");
}

#[test]
fn fault_21_a_limit_that_another_program_uses_up_is_reported() {
    let world = World::synced(Config::default(), 3);
    world.faults(&["staff.update status=429 retry-after=1 times=2"]);
    let ran = world.sync_of(people(1..4).replace(&row(2, "Clerk"), &row(2, "Baker"))).expect(0);
    assert_eq!(ran.writes(), (0, 1, 0));
    assert!(ran.reason().contains("asked 2 times to slow down though the limit was kept"), "{ran:?}");
    let ran = world.sync_of(people(1..4)).expect(0);
    assert!(!ran.reason().contains("slow down"), "{ran:?}");
}

#[test]
fn fault_60_a_clock_ten_minutes_off_is_reported_and_nothing_goes_by_it() {
    for (minutes, words) in [(10, "10 minutes behind the service's"), (-10, "10 minutes ahead of the service's")] {
        let clock_offset = jiff::SignedDuration::from_mins(minutes);
        let world = World::with(Options { clock_offset, ..Options::default() }, Config::default());
        world.csv(people(1..4));
        let ran = world.sync().expect(0);
        assert!(ran.reason().contains(words) || ran.reason().contains(&words.replace("10", "9")), "{ran:?}");
        let ran = world.sync().expect(0);
        assert_eq!((ran.ended().0.as_str(), ran.writes()), ("done", (0, 0, 0)), "{ran:?}");
    }
}
