//! A workbook that is dropped into an inbox.

use super::{book, sheet, workbook};
use crate::inbox::{Inbox, world};
use crate::support::people;

#[test]
fn a_dropped_workbook_is_read_filed_and_reported() {
    let world = world("", "");
    let inbox = Inbox(&world);
    let filter = "<autoFilter ref=\"A1:D9\"><filterColumn colId=\"0\"/></autoFilter>";
    let table = people(1..9) + "P00009,,nobody@example.com,Clerk\n";
    inbox.drop("staff.xlsx", book(&[("Staff", &sheet(&table, filter))]));
    let ran = world.sync().expect(3);
    assert_eq!(ran.writes(), (8, 0, 0));
    assert_eq!(inbox.names("processed"), ["staff.xlsx", "staff.xlsx.report.csv", "staff.xlsx.report.html"]);
    let report = inbox.text("processed", ".report.csv");
    assert!(report.contains("\r\n10,P00009,not used,") && report.contains("\r\n2,P00001,added,"), "{report}");
    assert!(report.contains("a filter is left on"), "{report}");
    inbox.drop("again.csv", people(1..9));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.expect_people(1..9);
}

#[test]
fn a_key_of_numbers_is_named_to_hr() {
    let world = world("", "");
    let inbox = Inbox(&world);
    let table = sheet(&people(1..3), "");
    let number = "<c><v>7</v></c>";
    let table = table.replace("<c t=\"inlineStr\"><is><t>P00001</t></is></c>", number);
    inbox.drop("staff.xlsx", book(&[("Staff", &table)]));
    world.sync().expect(0);
    let report = inbox.text("processed", ".report.csv");
    assert!(report.contains("column `Employee No` identifies people and holds numbers"), "{report}");
}

#[test]
fn other_spreadsheets_are_refused_with_what_to_do() {
    for (name, bytes, says) in [
        ("staff.ods", b"PK".to_vec(), "Excel Workbook (.xlsx)"),
        ("staff.xls", b"\xd0\xcf\x11\xe0".to_vec(), "Excel Workbook (.xlsx)"),
        ("staff.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1".to_vec(), "without a password"),
    ] {
        let world = world("", "");
        let inbox = Inbox(&world);
        inbox.drop(name, bytes);
        world.sync().expect(1);
        let page = inbox.text("failed", ".report.html");
        assert!(page.contains(says), "{name}: {page}");
    }
}

#[test]
fn only_what_fits_a_pattern_is_read() {
    let world = world("pattern = [\"a-*.xlsx\", \"*.csv\"]\n", "");
    let inbox = Inbox(&world);
    inbox.drop("a-1.xlsx", workbook(&people(1..4)));
    inbox.drop("b-1.xlsx", workbook(&people(1..9)));
    world.sync();
    assert_eq!(inbox.names("failed")[0], "b-1.xlsx");
    world.expect_people(1..4);
}
