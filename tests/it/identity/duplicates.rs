//! Of several rows with one key the preferred one counts.

use crate::support::{Config, World, row};

const HEADER: &str = "Employee No,Name,Email,Title,FTE\n";

fn preferring() -> Config {
    Config::default().job("prefer = \"{{ fte }}\"\n")
}

fn contract(number: usize, title: &str, fte: &str) -> String {
    format!("{},{fte}\n", row(number, title).trim_end())
}

/// Five people with one contract, and then these rows.
fn file(rows: &[String]) -> String {
    (50..55).fold(HEADER.to_owned(), |text, number| text + &contract(number, "Clerk", "1")) + &rows.concat()
}

fn title(world: &World) -> Option<String> {
    world.held_as(1).map(|person| person["title"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn the_row_with_the_highest_number_counts_whatever_the_order() {
    let world = World::of(preferring());
    let (small, large) = (contract(1, "Guard", "0.2"), contract(1, "Cook", "0.8"));
    world.csv(file(&[small.clone(), large.clone()]));
    assert_eq!(world.sync().expect(0).writes(), (6, 0, 0));
    assert_eq!(title(&world).as_deref(), Some("Cook"));
    for rows in [[large.clone(), small.clone()], [small.clone(), large.clone()]] {
        let ran = world.sync_of(file(&rows)).expect(0);
        assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((0, 0, 0), Some(0)), "law 4: {ran:?}");
    }
    for rows in [[large.clone(), contract(1, "Head cook", "0.9")], [contract(1, "Driver", "10"), large.clone()]] {
        assert_eq!(world.sync_of(file(&rows)).expect(0).writes(), (0, 1, 0));
    }
    assert_eq!(title(&world).as_deref(), Some("Driver"), "10 is more than 9");
    assert_eq!(world.sync_of(file(&[small])).expect(0).writes(), (0, 1, 0));
    assert_eq!(title(&world).as_deref(), Some("Guard"), "what is left counts");
}

#[test]
fn law_8_of_unequal_rows_with_one_number_none_counts() {
    let world = World::of(preferring());
    for rows in [
        vec![contract(1, "Guard", "0.5"), contract(1, "Cook", "0.5")],
        vec![contract(1, "Guard", "0.5"), contract(1, "Cook", "0.50"), contract(1, "Lead", "0.1")],
    ] {
        let ran = world.sync_of(file(&rows)).expect(3);
        assert_eq!((ran.job()["rejected"].as_u64(), title(&world)), (Some(2), None), "{ran:?}");
    }
    let equal = [contract(1, "Guard", "0.5"), contract(1, "Guard", "0.50")];
    assert_eq!(world.sync_of(file(&equal)).expect(0).writes(), (1, 0, 0), "equal rows are one");
    let tied = [contract(1, "Guard", "0.5"), contract(1, "Cook", "0.5")];
    let ran = world.sync_of(file(&tied)).expect(3);
    assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((0, 0, 0), Some(2)), "with one that stood: {ran:?}");
    assert_eq!(title(&world).as_deref(), Some("Guard"));
}

#[test]
fn law_8_a_number_that_can_t_be_read_decides_nothing() {
    let world = World::of(preferring());
    for odd in ["full", "\"1,0\"", ""] {
        let rows = [contract(1, "Guard", odd), contract(1, "Cook", "0.5")];
        let ran = world.sync_of(file(&rows)).expect(3);
        assert_eq!((ran.job()["rejected"].as_u64(), title(&world)), (Some(2), None), "{odd:?}: {ran:?}");
    }
    world.sync_of(file(&[contract(1, "Cook", "0.5")])).expect(0);
    let ran = world.sync_of(file(&[contract(1, "Cook", "0.5"), contract(1, "Guard", "full")])).expect(3);
    assert_eq!((ran.writes(), title(&world).as_deref()), ((0, 0, 0), Some("Cook")), "with one that stands: {ran:?}");
}

#[test]
fn law_8_what_is_no_number_costs_no_one_their_row() {
    let world = World::of(preferring());
    world.csv(file(&[]));
    world.sync().expect(0);
    for (fte, created) in [("full", 1), ("", 0), ("NaN", 0), ("inf", 0)] {
        let ran = world.sync_of(file(&[contract(1, "Guard", fte)])).expect(0);
        let told = |name: &str| ran.job()[name].as_u64();
        assert_eq!((told("rejected"), told("rejected_values")), (Some(0), Some(1)), "{fte:?}: {ran:?}");
        assert_eq!(ran.writes(), (created, 0, 0), "{fte:?}: {ran:?}");
        assert_eq!(world.plan().job()["rejected_values"][0]["field"], "prefer", "{fte:?}");
    }
}
