//! A file of changes says once that someone leaves; it counts until that is done, whatever it waits for.

mod halves;

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, HEADER, World, row};

const GONE: &str = "include = \"{{ title != 'Gone' }}\"\n";
const LEAVE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn changes(name: &str) -> Config {
    Config {
        name: name.into(),
        path: name.into(),
        source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
        ..Config::rest(LEAVE)
    }
    .job(GONE)
}

fn drop(world: &World, name: &str, rows: &[String]) {
    world.put(name, (HEADER.to_owned() + &rows.concat()).as_bytes());
}

#[test]
fn law_6_who_goes_to_another_list_leaves_this_one_once_they_are_there() {
    let world = World::of(changes("east").and(&changes("west")));
    for job in ["east", "west"] {
        std::fs::create_dir(world.dir().join(job)).unwrap();
    }
    drop(&world, "east/a.csv", &(1..6).map(|number| row(number, "Clerk")).collect::<Vec<_>>());
    drop(&world, "west/a.csv", &(11..16).map(|number| row(number, "Clerk")).collect::<Vec<_>>());
    world.sync().expect(0);
    // East says that the third is gone before west has a row that can be used.
    drop(&world, "west/b.csv", &[row(3, "Clerk").replace("Person 3", "#REF!")]);
    drop(&world, "east/b.csv", &[row(3, "Gone")]);
    world.sync();
    world.sync();
    assert_eq!(world.staff().len(), 10, "they stay while west may have them");
    drop(&world, "west/c.csv", &[row(3, "Clerk")]);
    world.sync();
    world.sync();
    assert_eq!(world.staff().len(), 10);
    let explained = world.run(&["explain", "west", "P00003", "--json"]).expect(0).json();
    assert!(explained.to_string().contains("P00003"), "{explained}");
    drop(&world, "west/d.csv", &[row(3, "Gone")]);
    world.sync();
    assert_eq!(world.staff().len(), 9, "west has them");
}

#[test]
fn whose_removal_waits_for_something_else_leaves_once_that_is_over() {
    let source = "settle = \"0s\"\nmode = \"changes\"\n";
    let world = inbox_of(World::of(Config { source: source.into(), ..Config::rest(LEAVE) }.job(GONE)));
    Inbox(&world).drop("a.csv", HEADER.to_owned() + &(1..6).map(|number| row(number, "Clerk")).collect::<String>());
    world.sync().expect(0);
    let before = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(
        &before
            .replace("[job.map]", "protect = [\"P00002\"]\n[job.map]")
            .replace("[job.source]", "protect = [\"P00002\"]\n[job.source]")
            .replacen("protect = [\"P00002\"]\n[job.map]", "[job.map]", 1),
    );
    Inbox(&world).drop("b.csv", HEADER.to_owned() + &row(2, "Gone"));
    world.sync();
    world.sync();
    assert_eq!(world.staff().len(), 5);
    world.put_config(&before);
    world.sync();
    assert_eq!(world.staff().len(), 4, "no file says it again");
}

#[test]
fn law_6_no_one_leaves_while_it_is_asked_whether_a_new_record_is_them() {
    let world = inbox_of(World::of(changes("inbox")));
    let rows: String = (1..6).map(|number| row(number, "Clerk")).collect();
    Inbox(&world).drop("a.csv", HEADER.to_owned() + &rows);
    world.sync().expect(0);
    // The third has another number, and the same email.
    Inbox(&world).drop("b.csv", HEADER.to_owned() + &row(3, "Clerk").replace("P00003", "P00033"));
    assert_eq!(world.sync().expect(4).job()["held"], 1);
    Inbox(&world).drop("c.csv", HEADER.to_owned() + &row(3, "Gone"));
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), world.staff().len()), ((0, 0, 0), 5), "{ran:?}");
    }
    world.run(&["rebuild"]).expect(0);
    assert_eq!(world.sync().expect(4).writes(), (0, 0, 0));
    // They are one person, as a rejection says: who is in the list under the one number or the other is there.
    world.run(&["reject", "inbox", "P00033"]).expect(0);
    for _ in 0..2 {
        world.sync();
        assert_eq!(world.staff().len(), 5);
    }
}

#[test]
fn law_3_an_approved_create_of_someone_who_is_there_by_now_brings_their_values() {
    let job = changes("inbox").job("writes = \"approve\"\n");
    let options = rosterd::sandbox::Options { accept_duplicates: true, ..Default::default() };
    let world = inbox_of(World::with(options, job));
    Inbox(&world).drop("a.csv", HEADER.to_owned() + &row(1, "Nurse"));
    world.sync().expect(4);
    world.person(1, "Clerk");
    world.run(&["approve", "inbox"]).expect(0);
    world.sync();
    world.run(&["approve", "inbox"]);
    world.sync();
    assert_eq!((world.staff().len(), &world.held_as(1).unwrap()["title"]), (1, &"Nurse".into()));
}

#[test]
fn a_row_that_begins_later_takes_back_that_someone_is_gone() {
    let job = changes("inbox").job("active_from = \"{{ start }}\"\nwrites = \"approve\"\n");
    let world = inbox_of(World::of(job));
    let header = HEADER.trim_end().to_owned() + ",Start\n";
    let dated = |title: &str, start: &str| format!("{},{start}\n", row(1, title).trim_end());
    world.person(1, "Clerk");
    Inbox(&world).drop("a.csv", header.clone() + &dated("Clerk", ""));
    world.sync();
    Inbox(&world).drop("b.csv", header.clone() + &dated("Gone", ""));
    assert_eq!(world.sync().expect(4).job()["held"], 1);
    Inbox(&world).drop("c.csv", header + &dated("Clerk", "2099-01-01"));
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!(ran.job()["held"], 0, "{ran:?}");
    }
    assert_eq!(world.staff().len(), 1);
}
