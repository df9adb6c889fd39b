//! A workbook that is read in place.

use super::{book, sheet, workbook};
use crate::support::{Config, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// A world that holds forty people of a workbook.
fn forty() -> World {
    let world = World::of(Config::rest(LEAVE_AT_ONCE));
    assert_eq!(world.sync_of(workbook(&people(1..41))).expect(0).writes(), (40, 0, 0));
    world
}

#[test]
fn law_4_who_is_in_a_workbook_comes_once_changes_and_leaves() {
    let world = forty();
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.ended()), ((0, 0, 0), ("done".into(), true, String::new())));
    let next = people(2..42).replace(&row(2, "Clerk"), &row(2, "Moved"));
    assert_eq!(world.sync_of(workbook(&next)).expect(0).writes(), (1, 1, 1));
    world.expect_people(2..42);
    let told = world.run(&["check"]).expect(0);
    assert!(told.out.contains("workbook, sheet \"Staff\", 4 columns, header on line 1"), "{told:?}");
    assert_eq!(world.run(&["preview", "staff", "--json"]).expect(0).json()["rows"][0]["line"], 2);
    let told = world.run(&["preview", "staff"]).expect(0);
    assert!(told.out.contains("staff.csv, sheet \"Staff\"\nline 2  key P00002"), "{told:?}");
    let told = world.run(&["explain", "staff", "P00003"]).expect(0);
    assert!(told.out.contains("staff.csv, sheet \"Staff\", line 3"), "{told:?}");
}

#[test]
fn a_list_may_change_between_csv_and_workbook() {
    let world = forty();
    for bytes in [people(1..41).replace(',', ";").into_bytes(), workbook(&people(1..41))] {
        assert_eq!(world.sync_of(bytes).expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn law_1_nobody_leaves_by_a_workbook_that_is_not_whole() {
    let whole = workbook(&people(1..40));
    let behind = "<mergeCells><mergeCell ref=\"A3:B3\"/></mergeCells>";
    let staff = sheet(&people(1..40), "");
    for (name, bytes, says) in [
        ("cut", whole[..whole.len() / 2].to_vec(), "cut or damaged"),
        ("without its end", book(&[("Staff", &staff.replace("</sheetData></worksheet>", ""))]), "cut or damaged"),
        ("merged", book(&[("Staff", &sheet(&people(1..40), behind))]), "A3:B3 are merged"),
        ("two sheets", book(&[("Staff", &staff), ("Old", &staff)]), "2 visible sheets"),
        ("old", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), "save it as .xlsx"),
        ("no workbook", b"PK\x03\x04\x14\0".to_vec(), "cut or damaged"),
    ] {
        let world = forty();
        let ran = world.sync_of(bytes).expect(1);
        assert!(ran.writes() == (0, 0, 0) && ran.reason().contains(says), "{name}: {ran:?}");
        world.expect_people(1..41);
    }
}

#[test]
fn the_guard_holds_a_workbook_of_a_tenth_of_the_people() {
    let world = forty();
    assert_eq!(world.sync_of(workbook(&people(1..5))).expect(4).writes(), (0, 0, 0));
    world.expect_people(1..41);
}

#[test]
fn an_error_in_a_cell_stops_no_one_else() {
    let world = forty();
    let table = people(1..40).replace(&row(3, "Clerk"), "P00003,#REF!,person3@example.com,Clerk\n");
    let ran = world.sync_of(workbook(&table)).expect(3);
    assert_eq!(ran.writes(), (0, 0, 1), "{ran:?}");
    world.expect_people(1..40);
    let rejected = world.plan().expect(0).job()["rejected"][0].clone();
    assert_eq!((rejected["line"].as_u64(), rejected["field"].as_str()), (Some(4), Some("name")), "{rejected}");
}

#[test]
fn a_sheet_is_chosen_by_its_name() {
    let config = Config { source: "settle = \"0s\"\nsheet = \"staff\"\n".into(), ..Config::default() };
    let world = World::of(config);
    let bytes = book(&[("Notes", &sheet("x,y", "")), ("Staff", &sheet(&people(1..4), ""))]);
    assert_eq!(world.sync_of(bytes).expect(0).writes(), (3, 0, 0));
}

#[test]
fn workbooks_of_real_programs_are_read() {
    for (name, bytes) in [
        ("openpyxl", include_bytes!("../../fixtures/workbooks/openpyxl.xlsx").as_slice()),
        ("LibreOffice", include_bytes!("../../fixtures/workbooks/libreoffice.xlsx").as_slice()),
        ("XlsxWriter", include_bytes!("../../fixtures/workbooks/xlsxwriter.xlsx").as_slice()),
    ] {
        let start = "title = \"{{ title }} since {{ start }}\"\n";
        let map = Config::default().map.replace("title = \"{{ title }}\"\n", start);
        let world = World::of(Config { map, ..Config::default() });
        assert_eq!(world.sync_of(bytes).expect(0).writes(), (5, 0, 0), "{name}");
        assert_eq!(world.keys(), ["00001", "00002", "00003", "00004", "00005"], "{name}");
        assert_eq!(world.texts("title")[2], "Clerk & Co since 2020-01-03", "{name}");
        assert_eq!(world.texts("name")[2], "Person 3", "{name}");
    }
}

#[test]
fn init_prints_a_configuration_for_a_workbook() {
    let world = World::default();
    world.put("staff.xlsx", &workbook(&format!("Staff of today\n\n{}", people(1..4))));
    let ran = world.run(&["init", "staff.xlsx"]).expect(0);
    assert!(ran.out.contains("# Found: a workbook, sheet Staff, header on line 3, 4 columns:"), "{ran:?}");
    assert!(ran.out.contains("employee_id = \"{{ employee_no }}\""), "{ran:?}");
}

#[test]
fn init_takes_the_sheet_that_is_named() {
    let world = World::default();
    let (old, staff) = (sheet("A,B\n1,2\n", ""), sheet(&people(1..4), ""));
    world.put("both.xlsx", &book(&[("Old", &old), ("Staff", &staff)]));
    let ran = world.run(&["init", "both.xlsx"]).expect(1);
    assert!(ran.err.contains("2 visible sheets") && ran.err.contains("--sheet NAME"), "{ran:?}");
    let ran = world.run(&["init", "both.xlsx", "--sheet", "staff"]).expect(0);
    assert!(ran.out.contains("sheet Staff, header on line 1") && ran.out.contains("sheet = \"staff\""), "{ran:?}");
    world.run(&["init", "entra", "--sheet", "Staff"]).expect(2);
}
