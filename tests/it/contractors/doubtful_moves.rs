//! People who go from one job's list to another's, where their row there can't be used, or is not believed.

use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, World};

const REMOVING: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_missing = \"off\"\n";

/// A line of a job that finds people by their numbers first.
const BY_NUMBER: &str = "match_on = [\"employee_id\", \"email\"]\n";

/// Staff, and another job of `target`; both find people by their emails.
fn world(target: &str, job: &str) -> World {
    let of = |name: &str, target: &str, job: &str| {
        let own = match target {
            "staff" => "employee_id = \"{{ no }}\"\n",
            _ => "\"org.name\" = \"{{ company }}\"\n",
        };
        Config {
            name: name.into(),
            target: target.into(),
            job: format!("key = \"{{{{ no }}}}\"\n{job}"),
            path: format!("{name}.csv"),
            map: format!("name = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\n{own}"),
            ..Config::rest(REMOVING)
        }
    };
    World::of(of("here", "staff", "").and(&of("there", target, job)))
}

fn here(world: &World, people: &[u32]) {
    let row = |one: &u32| format!("{one},Person {one},p{one}@example.com\n");
    let rows: String = people.iter().map(row).collect();
    world.put("here.csv", format!("No,Name,Email\n{rows}").as_bytes());
}

/// The other list: two people who are there from the beginning, and what else it holds.
fn there(world: &World, more: &str) {
    let rows = "81,Cy Fox,cy@example.com,Acme,\n82,Di Gray,di@example.com,Acme,\n";
    world.put("there.csv", format!("No,Name,Email,Company,From\n{rows}{more}").as_bytes());
}

/// The same after a run, with one of them about to go.
fn begun(target: &str, job: &str) -> World {
    let world = world(target, job);
    here(&world, &[1, 2, 5]);
    there(&world, "");
    world.sync().expect(0);
    world
}

/// How many people of that email there are at the service.
fn count(world: &World, email: &str) -> usize {
    let all = ["staff", "sp.member"].map(|what| world.service().all(what));
    all.iter().flatten().filter(|one| one["email"] == email).count()
}

#[test]
fn law_1_fault_100_who_leaves_stays_while_their_row_in_another_list_is_not_used() {
    for target in ["staff", "contractor"] {
        for (what, job, row) in [
            ("the key of someone else", "", "82,Person 5,p5@example.com,Acme,\n"),
            ("a key that is an error", "", "#N/A,Person 5,p5@example.com,Acme,\n"),
            ("a cell too many", "", "85,Person 5,p5@example.com,\"Acme\", Ltd,\n"),
            ("a row that is cut off", "", "85,Person 5,p5@exam"),
            ("a quote that stays open", "", "85,Person 5,\"p5@example.com,Acme,\n"),
            ("no name", "", "85,,p5@example.com,Acme,\n"),
            ("a later day", "active_from = \"{{ from }}\"\n", "85,Person 5,p5@example.com,Acme,2099-01-01\n"),
            ("a job that does not write", "writes = \"off\"\n", "85,Person 5,p5@example.com,Acme,\n"),
        ] {
            let world = begun(target, if job.starts_with("writes") { "" } else { job });
            if job.starts_with("writes") {
                world.edit_config("name = \"there\"\n", "name = \"there\"\nwrites = \"off\"\n");
            }
            here(&world, &[1, 2]);
            there(&world, row);
            for _ in 0..2 {
                let ran = world.sync();
                assert_eq!(count(&world, "p5@example.com"), 1, "{target}, {what}: {ran:?}");
                let said = ran.json()["jobs"][0].to_string();
                assert!(said.contains("job there"), "{target}, {what}: it is said why: {said}");
            }
            // They are in neither list: an ordinary leaver.
            there(&world, "");
            world.sync();
            assert_eq!(count(&world, "p5@example.com"), 0, "{target}, {what}");
            assert_eq!((count(&world, "p1@example.com"), count(&world, "di@example.com")), (1, 1), "{target}, {what}");
        }
    }
}

/// Of the other side, a list that can't be read keeps those alone who waited for it.
#[test]
fn law_1_fault_98_who_waits_for_the_other_side_stays_while_its_list_can_not_be_read() {
    let world = begun("contractor", "active_from = \"{{ from }}\"\n");
    here(&world, &[1, 2]);
    there(&world, "85,Person 5,p5@example.com,Acme,2099-01-01\n");
    world.sync().expect(0);
    std::fs::remove_file(world.dir().join("there.csv")).unwrap();
    here(&world, &[1]);
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!((count(&world, "p5@example.com"), count(&world, "p2@example.com")), (1, 0), "{ran:?}");
    }
    there(&world, "");
    world.sync().expect(0);
    assert_eq!(count(&world, "p5@example.com"), 0, "they are in neither list");
}

#[test]
fn law_6_who_is_offered_to_another_list_stays_the_first_one_s_until_it_takes_them() {
    let world = begun("staff", BY_NUMBER);
    here(&world, &[1, 2]);
    // The number is another one, so a person decides.
    there(&world, "85,Person 5,p5@example.com,Acme,\n");
    let ran = world.run(&["sync", "--json", "here"]).expect(0);
    assert!(ran.reason().contains("takes them over with its next run"), "{ran:?}");
    world.run(&["sync", "--json", "there"]).expect(4);
    let ran = world.run(&["sync", "--json", "here"]).expect(0);
    assert!(ran.reason().contains("has not taken them over so far"), "{ran:?}");
    assert_eq!(ran.job()["missing"], 1, "they count as missing: {ran:?}");
    // The other list loses them again.
    there(&world, "");
    world.sync().expect(0);
    assert_eq!(count(&world, "p5@example.com"), 0, "an ordinary leaver of the first list");
}

#[test]
fn law_6_who_is_back_in_the_first_list_is_not_taken_over() {
    let world = begun("staff", BY_NUMBER);
    here(&world, &[1, 2]);
    there(&world, "5,Person 5,p5@example.com,Acme,\n");
    world.run(&["sync", "--json", "here"]).expect(0);
    here(&world, &[1, 2, 5]);
    world.run(&["sync", "--json", "here"]).expect(0);
    let ran = world.run(&["sync", "--json", "there"]).expect(4);
    assert!(format!("{ran:?}").contains("key 5 of job here"), "{ran:?}");
    here(&world, &[1, 2]);
    world.run(&["sync", "--json", "here"]).expect(0);
    world.run(&["sync", "--json", "there"]).expect(0);
    assert_eq!(count(&world, "p5@example.com"), 1);
    // It is the other list's by now.
    let ran = world.sync().expect(0);
    assert_eq!((count(&world, "p5@example.com"), &ran.json()["jobs"][0]["missing"]), (1, &0.into()), "{ran:?}");
}

/// The row has the number of one person, and is about another one.
#[test]
fn law_6_a_contractor_stays_who_is_gone_by_the_row_of_another_one_until_that_is_decided() {
    for decided in ["", "approve", "reject"] {
        let world = inbox_of(World::of(Config {
            target: "contractor".into(),
            job: "key = \"{{ no }}\"\ninclude = \"{{ state != 'gone' }}\"\n".into(),
            map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n\"org.name\" = \"{{ company }}\"\n".into(),
            source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
            ..Config::rest(REMOVING)
        }));
        let header = "No,Name,Email,Company,State\n";
        let row = |number: u32, of: u32, state: &str| format!("{number},Person {of},p{of}@example.com,Acme,{state}\n");
        let all: String = (1..9).map(|one| row(one, one, "")).collect();
        Inbox(&world).drop("a.csv", header.to_owned() + &all);
        world.sync().expect(0);
        Inbox(&world).drop("b.csv", header.to_owned() + &row(1, 2, "gone"));
        let there = || ["sp.member", "sp.membership"].map(|what| world.service().all(what).len());
        for _ in 0..3 {
            let ran = world.sync().expect(4);
            assert_eq!(there(), [8, 8], "{ran:?}");
        }
        if decided.is_empty() {
            continue;
        }
        world.run(&[decided, "staff"]).expect(0);
        for _ in 0..3 {
            world.sync();
        }
        let left = if decided == "approve" { 7 } else { 8 };
        assert_eq!(there(), [left, left], "{decided}");
        let ran = world.sync().expect(0);
        assert_eq!(ran.writes(), (0, 0, 0), "{decided}: {ran:?}");
    }
}

/// A job of contractors in files of `mode`, of people who work for several companies. Rows that say "over" end memberships.
fn of_several(mode: &str, rest: &str) -> World {
    inbox_of(World::of(Config {
        target: "contractor".into(),
        job: "key = \"{{ no }}\"\ninclude = \"{{ state != 'over' }}\"\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n\"org.name\" = \"{{ company }}\"\n".into(),
        source: format!("settle = \"0s\"\nmode = \"{mode}\"\n"),
        ..Config::rest(rest)
    }))
}

/// A row with the number of one person, and name and email of another one.
fn of_company(number: u32, of: u32, company: &str, state: &str) -> String {
    format!("{number},Person {of},p{of}@example.com,{company},{state}\n")
}

fn list(rows: &[String]) -> String {
    format!("No,Name,Email,Company,State\n{}", rows.concat())
}

/// Who is at the service, and how many memberships there are.
fn people_and_memberships(world: &World) -> [usize; 2] {
    ["sp.member", "sp.membership"].map(|what| world.service().all(what).len())
}

/// Person 5 works for two companies, and the row of person 4 that is over has their number.
#[test]
fn law_6_a_membership_of_several_stays_that_is_over_by_the_row_of_another_person() {
    for mode in ["full", "changes"] {
        for decided in ["approve", "reject"] {
            let world = of_several(mode, REMOVING);
            let mut rows: Vec<String> = (1..9).map(|one| of_company(one, one, "Acme", "")).collect();
            rows.push(of_company(5, 5, "Fox", ""));
            Inbox(&world).drop("a.csv", list(&rows));
            world.sync().expect(0);
            assert_eq!(people_and_memberships(&world), [8, 9]);
            let over = of_company(5, 4, "Fox", "over");
            let next = if mode == "full" { [&rows[..8], &[over]].concat() } else { vec![over] };
            Inbox(&world).drop("b.csv", list(&next));
            for _ in 0..3 {
                let ran = world.sync();
                assert_eq!(people_and_memberships(&world), [8, 9], "{mode}: {ran:?}");
                assert_eq!(ran.job()["held"], 1, "{mode}: {ran:?}");
            }
            world.run(&[decided, "staff"]).expect(0);
            world.sync();
            let left = if decided == "approve" { 8 } else { 9 };
            assert_eq!(people_and_memberships(&world), [8, left], "{mode}, {decided}");
            let ran = world.sync();
            assert_eq!(ran.writes(), (0, 0, 0), "{mode}, {decided}: {ran:?}");
        }
    }
}

/// Their own name in the last of the rows says nothing of the other one.
#[test]
fn law_6_a_person_of_several_companies_stays_where_one_of_the_rows_that_are_over_names_another() {
    for (first, then) in [(4, 5), (5, 4)] {
        let world = of_several("changes", REMOVING);
        let mut rows: Vec<String> = (1..9).map(|one| of_company(one, one, "Acme", "")).collect();
        rows.push(of_company(5, 5, "Fox", ""));
        Inbox(&world).drop("a.csv", list(&rows));
        world.sync().expect(0);
        Inbox(&world).drop("b.csv", list(&[of_company(5, first, "Acme", "over"), of_company(5, then, "Fox", "over")]));
        for _ in 0..3 {
            let ran = world.sync().expect(4);
            assert_eq!(people_and_memberships(&world)[0], 8, "{ran:?}");
        }
    }
}

/// The numbers of two people are exchanged in a file of changes, and right in the next one, alone or before another file.
#[test]
fn law_6_what_exchanged_numbers_asked_for_goes_with_the_right_rows_of_a_file_of_changes() {
    for (decided, is_followed) in [("", false), ("reject", false), ("", true)] {
        let world = of_several("changes", REMOVING);
        let rows: Vec<String> =
            (1..9).map(|one| of_company(one, one, if one == 1 { "Fox" } else { "Acme" }, "")).collect();
        Inbox(&world).drop("a.csv", list(&rows));
        world.sync().expect(0);
        Inbox(&world).drop("b.csv", list(&[of_company(2, 1, "Fox", ""), of_company(1, 2, "Acme", "")]));
        let ran = world.sync().expect(4);
        assert_eq!(ran.job()["held"], 4, "{ran:?}");
        if !decided.is_empty() {
            world.run(&[decided, "staff", "1", "2"]).expect(0);
        }
        Inbox(&world).drop("c.csv", list(&rows[..2]));
        if is_followed {
            Inbox(&world).drop("d.csv", list(&rows[4..6]));
        } else {
            let said = world.plan();
            assert!(said.out.contains("2 memberships of a doubtful row"), "{said:?}");
        }
        for _ in 0..2 {
            let ran = world.sync().expect(0);
            let what = format!("{decided} {is_followed}: {ran:?}");
            assert_eq!((people_and_memberships(&world), ran.writes()), ([8, 8], (0, 0, 0)), "{what}");
        }
    }
}

#[test]
fn a_membership_that_is_over_and_that_the_job_does_not_know_is_named() {
    let world = of_several("changes", REMOVING);
    let rows: Vec<String> = (1..9).map(|one| of_company(one, one, "Acme", "")).collect();
    Inbox(&world).drop("a.csv", list(&rows));
    assert!(!world.sync().expect(0).reason().contains("does not know"));
    // One is of a company that another person works for, one of a person that no one knows.
    let over = [of_company(5, 5, "Fox", "over"), of_company(99, 99, "Acme", "over"), of_company(7, 7, "Fox", "")];
    Inbox(&world).drop("b.csv", list(&over));
    let ran = world.sync().expect(0);
    for note in [
        "1 row says of a membership that the job does not know that it is over (5 @ Fox)",
        "1 row says of a key that the job does not know that it is gone (99)",
    ] {
        assert!(ran.reason().contains(note), "{note}: {ran:?}");
    }
    assert_eq!(people_and_memberships(&world), [8, 9], "{ran:?}");
}

/// In a file of changes, the row of a person of one company has the number of another one.
#[test]
fn a_membership_that_waited_for_its_company_is_made_once_that_is_approved_or_goes_with_the_right_row() {
    let row = |person: u32, number: u32, company: &str| {
        format!("{person},Person {person},p{person}@example.com,{number},{company}\n")
    };
    let file = |rows: &[String]| format!("No,Name,Email,Company No,Company\n{}", rows.concat());
    for case in ["approved", "right rows at once", "right rows one after the other"] {
        let world = inbox_of(World::of(Config {
            target: "contractor".into(),
            job: "key = \"{{ no }}\"\n".into(),
            map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\n\"org.name\" = \"{{ company }}\"\n\
                  \"org.legalid\" = \"{{ company_no }}\"\n"
                .into(),
            source: "settle = \"0s\"\nmode = \"changes\"\n".into(),
            ..Config::rest(REMOVING)
        }));
        let rows: Vec<String> =
            (1..5).map(|one| row(one, 101, "Fox")).chain((5..9).map(|one| row(one, 102, "Acme"))).collect();
        Inbox(&world).drop("a.csv", file(&rows));
        world.sync().expect(0);
        assert_eq!(people_and_memberships(&world), [8, 8]);
        Inbox(&world).drop("b.csv", file(&[row(1, 102, "Fox")]));
        for _ in 0..2 {
            let ran = world.sync().expect(4);
            assert_eq!((people_and_memberships(&world), &ran.job()["held"]), ([8, 8], &2.into()), "{case}: {ran:?}");
        }
        let memberships = match case {
            "approved" => {
                world.run(&["approve", "staff"]).expect(0);
                9
            }
            "right rows at once" => {
                Inbox(&world).drop("c.csv", file(&[rows[0].clone(), rows[6].clone()]));
                8
            }
            _ => {
                Inbox(&world).drop("c.csv", file(&rows[..1]));
                let ran = world.sync().expect(4);
                assert!(ran.reason().contains("1 membership of a doubtful row"), "{case}: {ran:?}");
                assert_eq!(ran.job()["held"], 1, "the company's name: {ran:?}");
                Inbox(&world).drop("d.csv", file(&rows[6..7]));
                8
            }
        };
        let ran = world.sync().expect(0);
        assert_eq!(people_and_memberships(&world), [8, memberships], "{case}: {ran:?}");
        let ran = world.sync().expect(0);
        assert_eq!((people_and_memberships(&world), ran.writes()), ([8, memberships], (0, 0, 0)), "{case}: {ran:?}");
        let names: Vec<_> = world.service().all("sp.org").iter().map(|one| one["name"].to_string()).collect();
        assert_eq!(names.contains(&"\"Acme\"".to_owned()), case != "approved", "{case}: {names:?}");
    }
}

/// Both halves of a move are one decision, though only one of them was there to be decided on.
#[test]
fn law_7_a_move_that_is_rejected_while_the_list_is_incomplete_rests_once_it_is_complete() {
    let world = of_several("full", "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    let mut rows: Vec<String> = (1..9).map(|one| of_company(one, one, "Acme", "")).collect();
    rows.push(of_company(8, 8, "Fox", ""));
    Inbox(&world).drop("a.csv", list(&rows));
    world.sync().expect(0);
    rows[3] = of_company(4, 4, "Fox", "");
    let doubtful = [rows.clone(), vec!["1,Another One,another@example.com,Acme,\n".to_owned()]].concat();
    Inbox(&world).drop("b.csv", list(&doubtful));
    world.sync();
    world.run(&["reject", "staff", "4 @ Fox"]).expect(0);
    Inbox(&world).drop("c.csv", list(&rows));
    let companies = || {
        let at = |one: &serde_json::Value| (one["member_id"].clone(), one["org_id"].clone());
        world.service().all("sp.membership").iter().map(at).collect::<Vec<_>>()
    };
    let before = companies();
    for _ in 0..3 {
        let ran = world.sync().expect(0);
        assert_eq!((ran.writes(), &ran.job()["held"]), ((0, 0, 0), &0.into()), "{ran:?}");
    }
    assert_eq!(companies(), before);
    world.run(&["approve", "staff", "4 @ Fox"]).expect(0);
    world.sync().expect(0);
    assert_eq!((companies().len(), companies() == before), (9, false), "both halves went");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}
