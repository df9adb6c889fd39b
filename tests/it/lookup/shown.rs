//! What commands show of a lookup.

use super::{config, directory, line, phone, synced};
use crate::inbox::{Inbox, inbox_of};
use crate::support::{Config, World, people};

#[test]
fn commands_show_which_row_was_joined() {
    let world = synced(config(""));
    world.put("directory.csv", directory(1..41).replace(&line(8), "").as_bytes());
    let preview = world.run(&["preview", "staff", "--key", "P00007"]).expect(0).out;
    assert!(preview.contains("lookup directory: line 8") && preview.contains("directory.phone"), "{preview}");
    let preview = world.run(&["preview", "staff", "--key", "P00008", "--json"]).expect(0).json();
    assert_eq!(preview["rows"][0]["lookups"], serde_json::json!([{"name": "directory", "row": null}]));
    let explained = world.run(&["explain", "staff", "P00007"]).expect(0).out;
    assert!(explained.contains("lookup directory: line 8"), "{explained}");
    let explained = world.run(&["explain", "staff", "P00008"]).expect(0).out;
    assert!(explained.contains("lookup directory: no row fits"), "{explained}");
    let checked = world.run(&["check"]).out;
    assert!(checked.contains("lookup directory of staff") && checked.contains("39 rows"), "{checked}");
    assert!(checked.contains("39 of 40 found in lookups"), "{checked}");
    world.put("directory.csv", b"Mail,Phone\n");
    let checked = world.run(&["check"]).expect(1).out;
    assert!(checked.contains("it has no row that can be used"), "{checked}");
    let explained = world.run(&["explain", "staff", "P00007"]).expect(0).out;
    assert!(explained.contains("nothing is taken from the lookup directory"), "{explained}");
}

#[test]
fn law_11_a_report_on_a_file_shows_no_value_of_a_lookup() {
    let world = inbox_of(World::of(Config { source: "settle = \"0s\"\n".into(), ..config("") }));
    world.put("directory.csv", directory(1..9).replace(&phone(3), "ask reception").as_bytes());
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..9));
    world.sync();
    let table = inbox.text("processed", "a.csv.report.csv");
    let of_three = table.lines().find(|line| line.starts_with("4,P00003,value not used,"));
    assert!(of_three.is_some_and(|line| line.contains("no phone number") && line.ends_with(',')), "{table}");
    for report in [table.as_str(), &inbox.text("processed", "a.csv.report.html")] {
        assert!(!report.contains("ask reception"), "{report}");
    }
}
