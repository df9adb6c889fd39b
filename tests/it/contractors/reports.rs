//! What the report on a dropped file says of memberships and organizations.

use rosterd::sandbox::Options;

use crate::contractors::jobs::{self, HEADER, REMOVING, file, row};
use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, World};

/// A world whose job of contractors reads an inbox, and the table of what it reads.
struct Dropped(World, usize);

impl Dropped {
    fn new(rest: &str) -> Self {
        let mut world = inbox_of(jobs::world(Options::default(), "", rest));
        world.reconfigure(|config| Config { source: "settle = \"0s\"\n".into(), ..config });
        Self(world, 0)
    }

    /// The lines of the table, and what the command said.
    fn reads(&mut self, rows: &str, exit: i32) -> (Vec<String>, String) {
        self.1 += 1;
        let name = format!("{}.csv", self.1);
        Inbox(&self.0).drop(&name, rows);
        let ran = self.0.run(&["sync"]).expect(exit);
        let table = Inbox(&self.0).text("processed", &format!("{name}.report.csv"));
        (table.lines().skip(1).map(str::to_owned).collect(), ran.out)
    }
}

#[test]
fn each_row_has_a_line_and_a_membership_one_of_its_own_where_it_alone_begins_or_ends() {
    let mut dropped = Dropped::new(REMOVING);
    let first = file([(1, 1), (1, 2), (2, 1)]);
    let (lines, _) = dropped.reads(&first, 0);
    assert_eq!(
        lines,
        [
            "2,C00001,added,,",
            "2,contractor-organization 94000001,added,,",
            "3,membership C00001 @ 94000002,added,,",
            "3,contractor-organization 94000002,added,,",
            "4,C00002,added,,",
        ],
        "of a person's first row, the membership goes without saying"
    );
    let (lines, _) = dropped.reads(&(first.clone() + "\n"), 0);
    assert_eq!(
        lines,
        ["2,C00001,already right,,", "3,membership C00001 @ 94000002,already right,,", "4,C00002,already right,,"]
    );
    // One begins at an organization that is known, and one ends.
    let (lines, _) = dropped.reads(&file([(1, 1), (2, 1), (2, 2)]), 0);
    assert_eq!(
        lines,
        [
            "2,C00001,already right,,",
            "3,C00002,already right,,",
            "4,membership C00002 @ 94000002,added,,",
            ",membership C00001 @ 94000002,removed,,",
        ]
    );
    // With their person, they are not named.
    let (lines, _) = dropped.reads(&file([(1, 1)]), 0);
    assert_eq!(lines, ["2,C00001,already right,,", ",C00002,removed,,"]);
}

#[test]
fn a_membership_that_is_missing_is_named_as_long_as_its_person_is_there() {
    let mut dropped = Dropped::new("[job.leavers]\naction = \"delete\"\ngrace = \"7d\"\n");
    dropped.reads(&file([(1, 1), (1, 2), (2, 1), (3, 1), (3, 2)]), 0);
    let (lines, out) = dropped.reads(&file([(1, 1), (3, 1), (3, 2)]), 0);
    let missing: Vec<&String> = lines.iter().filter(|line| line.contains(",missing from the file,")).collect();
    let [person, membership] = missing.as_slice() else { panic!("{lines:?}") };
    assert_eq!(*person, ",C00002,missing from the file,,");
    assert!(
        membership.starts_with(",membership C00001 @ 94000002,missing from the file,\"ends from ")
            && membership.ends_with(" on, unless a file has it again\","),
        "{membership}"
    );
    assert!(
        out.contains("missing   1 of 3 people since") && out.contains("missing   membership C00001 @ 94000002 since"),
        "{out}"
    );
    let page = Inbox(&dropped.0).text("processed", "2.csv.report.html");
    assert!(page.contains("membership C00001 @ 94000002"), "{page}");
    // In the next file it is not.
    let (lines, out) = dropped.reads(&file([(1, 1), (1, 2), (3, 1), (3, 2)]), 0);
    assert!(
        !lines.concat().contains("missing from the file,ends") && !out.contains("missing   membership"),
        "{lines:?} {out}"
    );
}

#[test]
fn a_row_that_is_not_used_is_listed_once() {
    let mut dropped = Dropped::new(REMOVING);
    let bad = row(3, 1, "Roofer").replace("Worker 3,", ",");
    let (lines, _) = dropped.reads(&(HEADER.to_owned() + &row(1, 1, "Roofer") + &bad), 3);
    assert_eq!(lines.iter().filter(|line| line.starts_with("3,")).count(), 1, "{lines:?}");
}

/// Of such a row the person is used: each line says whose row it is, and what of it is not used.
#[test]
fn a_row_whose_company_can_t_be_used_says_what_became_of_its_person() {
    let mut dropped = Dropped::new(REMOVING);
    dropped.reads(&file([(1, 1), (2, 2)]), 0);
    let other = row(3, 2, "Roofer").replace("Company 2 Ltd", "Company 2 Limited");
    let without = row(4, 3, "Roofer").replace("94000003,Company 3 Ltd", ",");
    let rows = row(1, 1, "Roofer") + &row(2, 2, "Boss") + &other + &without;
    let (lines, _) = dropped.reads(&(HEADER.to_owned() + &rows), 3);
    let differ = "\"the key stands on lines 3, 4 with different values; which of them is right?\"";
    for expected in [
        "2,C00001,already right,,".to_owned(),
        "3,C00002,changed,,".to_owned(),
        format!("3,C00002,value not used,{differ},94000002"),
        "4,C00003,added,,".to_owned(),
        format!("4,C00003,value not used,{differ},94000002"),
        "5,C00004,added,,".to_owned(),
        "5,C00004,value not used,Company No: the key is empty,".to_owned(),
    ] {
        assert!(lines.contains(&expected), "{expected}: {lines:#?}");
    }
    let page = Inbox(&dropped.0).text("processed", "2.csv.report.html");
    assert!(!page.contains("Nothing was done with these rows"), "{page}");
}

#[test]
fn an_organization_that_is_made_with_the_name_of_another_one_is_named() {
    let world = jobs::world(Options::default(), "", REMOVING);
    world.csv(file([(1, 1), (2, 1), (3, 2)]));
    assert!(!world.sync().expect(0).reason().contains("has the name"));
    // One digit less in one row, and a company that is new.
    let typed = file([(1, 1), (2, 1), (3, 2), (4, 3)]).replacen("94000001,Company 1", "9400001,Company 1", 1);
    world.csv(typed);
    let note = "1 organization is new and has the name of another one (9400001, as 94000001)";
    let plan = world.run(&["plan"]).expect(0).out;
    assert!(plan.contains(note), "{plan}");
    let ran = world.sync();
    assert!(ran.reason().contains(note), "{ran:?}");
    assert!(!world.sync().reason().contains("has the name"), "it is said where it is made");
}

#[test]
fn law_8_no_one_moves_by_a_row_whose_company_is_named_in_two_ways() {
    for mode in ["full", "changes"] {
        let mut world = inbox_of(jobs::world(Options::default(), "", REMOVING));
        world.reconfigure(|config| Config { source: format!("settle = \"0s\"\nmode = \"{mode}\"\n"), ..config });
        let first = file([(1, 1), (2, 2), (3, 3), (4, 3)]);
        Inbox(&world).drop("a.csv", &first);
        world.sync().expect(0);
        // The number of a company is mistyped as that of another one.
        Inbox(&world).drop("b.csv", first.replacen("94000001,Company 1", "94000003,Company 1", 1));
        let ran = world.sync();
        assert_eq!(
            jobs::pairs(&world),
            [(1, 1), (2, 2), (3, 3), (4, 3)].map(|(one, of)| jobs::pair(one, of)),
            "{mode}: {ran:?}"
        );
        Inbox(&world).drop("c.csv", &first);
        world.sync();
        assert_eq!(
            jobs::pairs(&world),
            [(1, 1), (2, 2), (3, 3), (4, 3)].map(|(one, of)| jobs::pair(one, of)),
            "{mode}"
        );
    }
}

/// The number is mistyped as that of another company that the person works for.
#[test]
fn law_8_no_membership_ends_by_a_row_whose_company_is_named_in_two_ways() {
    let world = inbox_of(jobs::world(Options::default(), "", REMOVING));
    let all = [(1, 1), (1, 3), (2, 2), (3, 3), (4, 3)];
    let first = file(all);
    Inbox(&world).drop("a.csv", &first);
    world.sync().expect(0);
    Inbox(&world).drop("b.csv", first.replacen("94000001,Company 1", "94000003,Company 1", 1));
    for _ in 0..2 {
        let ran = world.sync();
        assert_eq!(jobs::pairs(&world), all.map(|(one, of)| jobs::pair(one, of)), "{ran:?}");
    }
}
