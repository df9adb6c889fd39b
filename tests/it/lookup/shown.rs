//! What commands show of a lookup.

use super::{config, directory, line, synced};

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
