//! What waits of earlier files: it is sent, or let go of, by what later files and people say, and by nothing else.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use serde_json::json;

use super::{Inbox, LEAVE_AT_ONCE, inbox_of, world};
use crate::support::{Config, HEADER, World, people, row};

const GONE: &str = "include = \"{{ title != 'gone' }}\"\n";

/// A job of which a title says who is gone, with an inbox of this mode.
fn stating(mode: &str, job: &str, rest: &str) -> World {
    let mut world = world(&format!("mode = \"{mode}\"\n"), &format!("{LEAVE_AT_ONCE}{rest}"));
    world.reconfigure(|config| config.job(GONE).job(job));
    world
}

fn only(rows: &[String]) -> String {
    HEADER.to_owned() + &rows.concat()
}

#[test]
fn whose_match_was_rejected_is_asked_about_as_a_new_person_though_the_file_comes_once() {
    for mode in ["full", "changes"] {
        let world = world(&format!("mode = \"{mode}\"\n"), "");
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..6));
        world.sync().expect(0);
        world.service().put("staff", json!({"name": "Xena", "email": "person9@example.com", "employee_id": "77"}));
        inbox.drop("b.csv", if mode == "full" { people(1..6) } else { HEADER.to_owned() } + &row(9, "Clerk"));
        let ran = world.sync().expect(4);
        assert!(ran.reason().contains("whose employee_id is another"), "{mode}: {ran:?}");
        world.run(&["reject", "staff"]).expect(0);
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            assert!(ran.reason().contains("approve it to create a new person"), "{mode}: {ran:?}");
        }
        // The service takes an email once, so it refuses the new one: no one else gets their values.
        world.run(&["approve", "staff"]).expect(0);
        let ran = world.sync().expect(3);
        assert_eq!((ran.writes(), &ran.job()["parked"]), ((0, 0, 0), &1.into()), "{mode}: {ran:?}");
        let xena = world.staff().into_iter().find(|one| one["employee_id"] == "77").unwrap();
        assert_eq!(xena["name"], "Xena", "{mode}");
    }
}

#[test]
fn law_1_a_removal_that_waits_ends_where_a_later_file_has_the_person_as_they_always_were() {
    let world = stating("changes", "", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..6));
    world.sync().expect(0);
    let id = world.held_as(3).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"onsite_status": "onsite"}));
    inbox.drop("b.csv", only(&[row(3, "Clerk")]));
    world.sync().expect(0);
    inbox.drop("c.csv", only(&[row(3, "gone")]));
    world.sync().expect(0);
    inbox.drop("d.csv", only(&[row(3, "Clerk"), row(4, "Clerk")]));
    world.sync().expect(0);
    world.service().edit("staff", id, json!({"onsite_status": "offsite"}));
    let ran = world.sync().expect(0);
    assert_eq!((world.staff().len(), ran.writes()), (5, (0, 0, 0)), "{ran:?}");
    let status = world.run(&["status", "--json"]).job();
    assert_eq!((&status["held"], &status["queued"]), (&0.into(), &0.into()), "{status}");
}

#[test]
fn what_was_approved_is_not_sent_while_the_job_does_not_write() {
    let mut world = stating("changes", "writes = \"approve\"\n", "");
    Inbox(&world).drop("a.csv", people(1..4));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.reconfigure(|config| Config { job: config.job.replace("\"approve\"", "\"off\""), ..config });
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &3.into()), "{ran:?}");
    world.reconfigure(|config| Config { job: config.job.replace("\"off\"", "\"auto\""), ..config });
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
}

#[test]
fn law_7_a_run_for_one_person_sends_nothing_of_others() {
    let world = stating("changes", "writes = \"approve\"\n", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..6));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    inbox.drop("b.csv", only(&[row(3, "gone")]));
    world.sync().expect(4);
    world.run(&["approve", "staff", "P00003"]).expect(0);
    let ran = world.run(&["sync", "--json", "--key", "P00004"]).expect(0);
    assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 5), "{ran:?}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn who_was_said_to_be_gone_stays_for_the_grace_whatever_becomes_of_the_file() {
    let world = world("", "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n[job.guard]\nmax_missing = 3\n");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..21));
    world.sync().expect(0);
    inbox.drop("b.csv", people(6..21));
    world.sync().expect(4);
    world.run(&["approve", "staff"]).expect(0);
    // Someone else is forgotten, and no private copy of the list is left.
    world.run(&["forget", "P00020"]).expect(0);
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 20), "{ran:?}");
    }
}

#[test]
fn law_1_no_grace_begins_with_a_file_that_seems_to_be_an_older_export() {
    let world = world("", "[job.leavers]\naction = \"delete\"\ngrace = \"24h\"\n");
    let inbox = Inbox(&world);
    inbox.drop("s-2026-11-20.csv", people(1..21));
    world.sync().expect(0);
    // (first person of the file, its day, how many are missing since)
    for (first, day, missing) in [(2, 19, 0), (2, 21, 1), (3, 18, 1), (3, 22, 2)] {
        inbox.drop(&format!("s-2026-11-{day}.csv"), people(first..21));
        let ran = world.sync().expect(0);
        assert_eq!(ran.job()["missing"], missing, "{day}: {ran:?}");
        assert_eq!(ran.reason().contains("older export"), day < 20, "{day}: {ran:?}");
    }
}

#[test]
fn law_1_a_file_after_which_another_waits_removes_no_one() {
    let world = world("", LEAVE_AT_ONCE);
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..21));
    world.sync().expect(0);
    let before = world.held_as(1).unwrap()["id"].clone();
    inbox.drop("b.csv", people(2..21));
    inbox.drop("c.csv", people(1..22));
    let ran = world.sync().expect(0);
    assert_eq!((&world.held_as(1).unwrap()["id"], world.staff().len()), (&before, 21), "{ran:?}");
    inbox.drop("d.csv", people(1..22));
    inbox.drop("e.csv", people(2..22));
    let ran = world.sync().expect(0);
    assert!(world.held_as(1).is_none(), "the last one counts: {ran:?}");
    // A plan is of the file that is read next, and says of no one that they leave by it.
    inbox.drop("e2.csv", people(3..22));
    inbox.drop("e3.csv", people(2..22));
    let plan = world.plan().expect(0).job();
    assert_eq!(plan["changes"], json!([]), "{plan}");
    world.sync().expect(0);
    // Where the last one is not used, the one before it counts.
    for (gone, after) in [(3, Some("the same")), (4, None)] {
        let text = people(gone..22);
        inbox.drop(&format!("f{gone}.csv"), &text);
        inbox.drop(&format!("g{gone}.csv"), after.map_or("Nonsense\n1\n".to_owned(), |_| text.clone()));
        let ran = world.sync();
        assert!(world.held_as(gone - 1).is_none() && world.held_as(gone).is_some(), "{after:?}: {ran:?}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn what_has_to_be_mended_at_the_service_goes_on_once_it_is() {
    let world = world("mode = \"changes\"\n", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..4));
    world.sync().expect(0);
    let twins: Vec<i64> = ["Ann", "Bea"]
        .map(|name| world.service().put("staff", json!({"name": name, "employee_id": "P00007"})))
        .to_vec();
    inbox.drop("b.csv", only(&[row(7, "Clerk")]));
    let ran = world.sync().expect(4);
    assert!(ran.reason().contains("make it unique there"), "{ran:?}");
    let told = world.run(&["sync"]);
    assert!(told.out.contains("there is nothing to approve"), "{told:?}");
    assert!(world.service().remove("staff", twins[1]));
    let config = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(&config.replace("[state]\n", "[state]\nfull_pull = \"1s\"\n"));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let ran = world.sync();
    let (code, again) = (ran.code, world.sync().code);
    let is_asked = ran.reason().contains("approve it if it is the same person");
    assert!(code == Some(0) || (is_asked && again == Some(4)), "the record is looked at again: {ran:?}");
}

#[test]
fn what_waits_of_someone_is_for_nothing_once_their_last_day_has_passed() {
    let clock = Clock::fixed("2027-03-01T00:00:00Z".parse().unwrap());
    let config = Config::rest(LEAVE_AT_ONCE).job("active_until = \"{{ until }}\"\n");
    let mut world = inbox_of(World::at(&clock, config));
    world.reconfigure(|config| Config { source: "settle = \"0s\"\nmode = \"changes\"\n".into(), ..config });
    let header = HEADER.replace('\n', ",Until\n");
    let dated = |number, until: &str| format!("{},{until}\n", row(number, "Clerk").trim_end());
    let twins = ["Ann", "Bea"].map(|name| {
        world.service().put("staff", json!({"name": name, "employee_id": "P00007", "email": "person7@example.com"}))
    });
    Inbox(&world).drop("a.csv", header + &dated(1, "") + &dated(7, "2027-03-03"));
    let report = world.sync_at(&clock);
    assert_eq!((report.counts.created, report.counts.held), (1, 1), "{report:?}");
    assert!(world.service().remove("staff", twins[0]) && world.service().remove("staff", twins[1]));
    clock.advance(SignedDuration::from_hours(24 * 9));
    for _ in 0..3 {
        let report = world.sync_at(&clock);
        assert_eq!((report.counts.created, world.staff().len()), (0, 1), "{report:?}");
        clock.advance(SignedDuration::from_hours(30));
    }
    assert_eq!(world.sync_at(&clock).counts.held, 0, "nothing waits of them");
}

/// The state of one clock: the service's and this machine's.
fn at(clock: &Clock, job: &str, header: &str, first: impl AsRef<[u8]>) -> World {
    let config = Config { job: Config::default().job + job, source: "settle = \"0s\"\n".into(), ..Config::default() };
    let world = inbox_of(World::at(clock, config));
    Inbox(&world).drop("a.csv", [header.as_bytes(), first.as_ref()].concat());
    world
}

#[test]
fn law_8_who_is_to_begin_later_begins_though_no_other_row_waits_for_a_day_and_no_file_comes() {
    let clock = Clock::fixed("2027-03-03T10:00:00Z".parse().unwrap());
    let header = "Employee No,Name,Email,Title,Start\n";
    let dated = |number: usize, start: &str| format!("{},{start}\n", row(number, "Clerk").trim_end());
    let rows = (1..6).map(|number| dated(number, "")).collect::<String>() + &dated(6, "2027-03-05");
    let world = at(&clock, "active_from = \"{{ start }}\"\n", header, &rows);
    let run = |hours| {
        clock.advance(SignedDuration::from_hours(hours));
        world.sync_at(&clock).counts.created
    };
    assert_eq!([run(0), run(1), run(24)], [5, 0, 0]);
    let day = run(24);
    assert_eq!((day, run(1)), (1, 0));
    assert!(world.held_as(6).is_some());
    assert_eq!(Inbox(&world).kept(), [] as [String; 0], "nothing of it is open any more");

    // And the same file once more is read where a row of it waited.
    Inbox(&world).drop("b.csv", header.to_owned() + &rows + &dated(7, "2027-03-08"));
    assert_eq!(run(0), 0);
    clock.advance(SignedDuration::from_hours(72));
    Inbox(&world).drop("c.csv", header.to_owned() + &rows + &dated(7, "2027-03-08"));
    assert_eq!(run(0), 1);
}

#[test]
fn what_the_service_lacked_is_looked_for_again_though_no_file_comes() {
    for mode in ["full", "changes"] {
        let world = world(&format!("mode = \"{mode}\"\n"), LEAVE_AT_ONCE);
        let config = std::fs::read_to_string(world.config_path()).unwrap();
        world.put_config(&config.replace("[job.map]\n", "[job.map]\nlocation = \"{{ title }}\"\n"));
        Inbox(&world).drop("a.csv", people(1..4));
        assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
        for _ in 0..2 {
            let ran = world.sync().expect(0);
            assert_eq!(ran.writes(), (0, 0, 0));
            assert!(ran.reason().contains("3 values could not be used"), "it is said as long as it is so: {ran:?}");
        }
        world.service().put("location", json!({"name": "Clerk"}));
        assert_eq!(world.sync().expect(0).writes(), (0, 3, 0));
        assert!(world.staff().iter().all(|one| one["location"] == "Clerk"), "{mode}: {:?}", world.staff());
        assert_eq!(Inbox(&world).kept(), [] as [String; 0], "{mode}");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}

/// No later file says it a second time.
#[test]
fn law_8_files_of_changes_say_once_who_begins_and_who_leaves_on_a_day() {
    let clock = Clock::fixed("2027-03-03T10:00:00Z".parse().unwrap());
    let header = "Employee No,Name,Email,Title,Start,End\n";
    let dated = |number: usize, title: &str, days: &str| format!("{},{days}\n", row(number, title).trim_end());
    let days = "active_from = \"{{ start }}\"\nactive_until = \"{{ end }}\"\n";
    let first = (1..6).map(|number| dated(number, "Clerk", ",")).collect::<String>()
        + &dated(6, "Clerk", ",2027-03-04")
        + &dated(7, "Clerk", "2027-03-05,2027-03-06")
        + &dated(8, "Clerk", "2027-03-05,")
        + &dated(9, "Clerk", "2027-03-09,");
    let mut world = at(&clock, days, header, first);
    world.reconfigure(|config| Config {
        rest: config.rest + LEAVE_AT_ONCE,
        source: config.source + "mode = \"changes\"\n",
        ..config
    });
    let counts = |world: &World, hours: i64| {
        clock.advance(SignedDuration::from_hours(hours));
        let counts = world.sync_at(&clock).counts;
        (counts.created, counts.updated, counts.deleted)
    };
    assert_eq!(counts(&world, 0), (6, 0, 0));
    assert_eq!(counts(&world, 1), (0, 0, 0));
    // The last word on the 8th is that they begin earlier, and on the 9th that they don't.
    let second = dated(8, "Cook", "2027-03-04,") + &dated(1, "Cook", ",");
    Inbox(&world).drop("b.csv", header.to_owned() + &second);
    assert_eq!(counts(&world, 24), (1, 1, 0));
    assert_eq!(counts(&world, 24), (1, 0, 1), "the 5th: the 7th person begins, the last day of the 6th has passed");
    assert_eq!(counts(&world, 48), (0, 0, 1), "the 7th: the last day of the 7th person has passed");
    Inbox(&world).drop("c.csv", header.to_owned() + &dated(9, "Clerk", "2027-04-01,"));
    assert_eq!(counts(&world, 72), (0, 0, 0));
    assert_eq!(counts(&world, 24 * 30), (1, 0, 0));
    assert_eq!(counts(&world, 24), (0, 0, 0));
    assert_eq!(world.held_as(8).unwrap()["title"], "Cook");
    assert_eq!(world.keys(), ["P00001", "P00002", "P00003", "P00004", "P00005", "P00008", "P00009"]);
}

/// A whole listing shows who was removed at the service; that one job had it made is no reason for another not to look.
#[test]
fn each_of_several_inboxes_on_one_target_puts_right_who_was_removed_at_the_service() {
    let clock = Clock::fixed("2027-03-03T10:00:00Z".parse().unwrap());
    let one = |name: &str| Config {
        name: name.into(),
        path: name.into(),
        source: "settle = \"0s\"\n".into(),
        ..Config::default()
    };
    let mut config = one("north").and(&one("south"));
    config.state = "full_pull = \"24h\"\n".into();
    let world = World::at(&clock, config);
    for (job, numbers) in [("north", 1..6), ("south", 11..16)] {
        std::fs::create_dir(world.dir().join(job)).unwrap();
        world.put(&format!("{job}/a.csv"), people(numbers).as_bytes());
    }
    let made = || world.sync_all_at(&clock).iter().map(|report| report.counts.created).sum::<u64>();
    assert_eq!(made(), 10);
    for number in [3, 13] {
        let id = world.held_as(number).unwrap()["id"].as_i64().unwrap();
        assert!(world.service().remove("staff", id));
    }
    clock.advance(SignedDuration::from_hours(25));
    assert_eq!(made(), 2);
    assert_eq!((world.staff().len(), made()), (10, 0));
}

#[test]
fn law_1_no_one_leaves_by_an_older_file_while_a_newer_one_was_used_and_waits() {
    let rest = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";
    let world = inbox_of(World::of(Config::rest(rest)));
    let drop = |name: &str, text: String| Inbox(&world).drop(name, text);
    drop("1.csv", people(1..11));
    world.sync().expect(0);
    world.faults(&["staff.delete status=500"]);
    drop("2.csv", people(1..10));
    world.sync().expect(1);
    drop("3.csv", people(1..10).replace(&row(1, "Clerk"), &row(1, "Boss")) + &row(40, "New"));
    for _ in 0..3 {
        world.sync().expect(1);
        let titles: Vec<_> =
            [1, 40, 10].into_iter().map(|at| world.held_as(at).map(|one| one["title"].clone())).collect();
        assert_eq!(titles, [Some("Boss".into()), Some("New".into()), Some("Clerk".into())]);
    }
    world.faults(&[]);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
    assert_eq!(world.staff().len(), 10);
}
