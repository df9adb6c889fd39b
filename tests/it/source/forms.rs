//! The forms in which a good file may come, and what may change between two reads.

use std::fs::{File, FileTimes};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::daemon::eventually;
use crate::support::{Config, HEADER, World, people, row};
use crate::workbooks::workbook;

/// A file of three people, one with a letter that is no ASCII.
fn three() -> String {
    format!("{HEADER}{}P00002,Zo\u{eb} M\u{fc}ller,zoe@example.com,Clerk\n{}", row(1, "Clerk"), row(3, "Clerk"))
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
}

pub(crate) fn windows_1252(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

fn source(lines: &str) -> Config {
    Config { source: format!("settle = \"0s\"\n{lines}\n"), ..Config::default() }
}

#[test]
fn fault_84_fault_85_every_form_of_one_list_is_the_same_list() {
    let text = three();
    let quoted = text.replace(',', "\",\"").replace('\n', "\"\n").replace("\nP", "\n\"P");
    let forms: Vec<(&str, &str, Vec<u8>)> = vec![
        ("UTF-8", "", text.clone().into()),
        ("BOM", "", format!("\u{feff}{text}").into()),
        ("BOM and quotes", "", format!("\u{feff}\"{quoted}").into()),
        ("UTF-16, little end first", "", utf_16(&text, u16::to_le_bytes)),
        ("UTF-16, big end first", "", utf_16(&text, u16::to_be_bytes)),
        ("windows-1252", "", windows_1252(&text)),
        ("named label", "encoding = \"iso-8859-15\"", windows_1252(&text)),
        ("semicolons", "", text.replace(',', ";").into()),
        ("tabs", "", text.replace(',', "\t").into()),
        ("bars", "", text.replace(',', "|").into()),
        ("named delimiter", "delimiter = \"tab\"", text.replace(',', "\t").into()),
        ("Excel's CSV", "", windows_1252(&text.replace(',', ";").replace('\n', "\r\n"))),
        ("CRLF", "", text.replace('\n', "\r\n").into()),
        ("title rows", "", format!("Export of today\n\n{text}").into()),
        ("title rows with delimiters", "", format!("Staff, all sites,,\n,,,\n{text}").into()),
        ("header by line", "header = 3", format!("Staff\n,,,\n{text}").into()),
        ("empty rows", "", text.replace("\nP00003", "\n,,,\n\n , , ,\nP00003").into()),
        ("no last line end", "final_newline = false", text.trim_end().into()),
        ("one column more", "", text.replace('\n', ",x\n").into()),
    ];
    for (name, lines, bytes) in forms {
        let world = World::of(source(lines));
        let ran = world.sync_of(bytes);
        assert_eq!((ran.code, ran.writes()), (Some(0), (3, 0, 0)), "{name}: {ran:?}");
        assert!(ran.ended().1, "{name}: {ran:?}");
        assert_eq!(world.texts("name"), ["Person 1", "Person 3", "Zo\u{eb} M\u{fc}ller"], "{name}");
        assert_eq!(world.keys(), ["P00001", "P00002", "P00003"], "{name}");
    }
}

#[test]
fn law_4_another_dress_of_the_same_list_writes_nothing() {
    let world = World::default();
    let text = three();
    assert_eq!(world.sync_of(&text).expect(0).writes(), (3, 0, 0));
    let reordered: String =
        text.lines().map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n").collect();
    for (name, form) in [
        ("BOM", format!("\u{feff}{text}")),
        ("CRLF", text.replace('\n', "\r\n")),
        ("title rows", format!("Export\n\n{text}")),
        ("columns reordered", reordered),
        ("a column more", text.replace('\n', ",x\n")),
        ("rows reordered", format!("{HEADER}{}", text.lines().rev().take(3).collect::<Vec<_>>().join("\n") + "\n")),
    ] {
        let ran = world.sync_of(form);
        assert_eq!((ran.code, ran.writes()), (Some(0), (0, 0, 0)), "{name}: {ran:?}");
        assert_eq!(ran.job()["unchanged"], 3, "{name}: {ran:?}");
    }
}

#[test]
fn a_change_of_form_is_taken_once_the_configuration_says_so() {
    let world = World::synced(Config::default(), 3);
    let turned = windows_1252(&three().replace("zoe@", "person2@").replace(',', ";"));
    assert_eq!(world.sync_of(&turned).code, Some(1));
    world.configure(source("encoding = \"windows-1252\"\ndelimiter = \";\""));
    assert_eq!(world.sync_of(&turned).expect(0).writes(), (0, 1, 0));
    assert_eq!(world.held_as(2).unwrap()["name"], "Zo\u{eb} M\u{fc}ller");
}

#[test]
fn fault_84_a_workbook_between_two_files_of_text_does_not_let_their_form_change() {
    let text = three().replace("zoe@", "person2@");
    for (turned, said) in
        [(windows_1252(&text), "it was UTF-8 until now"), (text.replace(',', ";").into(), "delimiter")]
    {
        let world = World::default();
        assert_eq!(world.sync_of(&text).expect(0).writes(), (3, 0, 0));
        assert_eq!(world.sync_of(workbook(&text)).expect(0).writes(), (0, 0, 0));
        let ran = world.sync_of(turned).expect(1);
        assert!(ran.ended().2.contains(said), "{ran:?}");
        assert_eq!(world.sync_of(&text).expect(0).writes(), (0, 0, 0));
    }
}

#[test]
fn a_header_is_looked_for_in_twenty_lines() {
    for (above, code) in [(19, 0), (20, 1)] {
        let world = World::default();
        let ran = world.sync_of("Export\n".repeat(above) + &people(1..4));
        assert_eq!(ran.code, Some(code), "{above} lines above: {ran:?}");
    }
}

#[test]
fn optional_columns_may_be_absent_and_are_empty_then() {
    let with_phone = |optional: &str| source(optional).map("phone = \"{{ phone }}\"\n");
    let world = World::of(with_phone(""));
    let ran = world.sync_of(people(1..41)).expect(1);
    assert!(ran.ended().2.contains("`phone` is missing"), "{ran:?}");

    world.configure(with_phone("optional = [\"Phone\"]"));
    assert_eq!(world.sync_of(people(1..41)).expect(0).writes(), (40, 0, 0));

    let phones = |count: usize| {
        (1..41).fold("Employee No,Name,Email,Title,Phone\n".to_owned(), |text, number| {
            let phone = if number <= count { format!("09 555 {number:04}") } else { String::new() };
            text + row(number, "Clerk").trim_end() + "," + &phone + "\n"
        })
    };
    assert_eq!(world.sync_of(phones(10)).expect(0).writes(), (0, 10, 0));
    assert_eq!(world.held_as(7).unwrap()["phone"], "09 555 0007");

    let ran = world.sync_of(people(1..41)).expect(4);
    assert_eq!(ran.writes(), (0, 0, 0), "an optional column that vanishes empties no more than the guard allows");
    assert!(ran.ended().2.contains("max_blanked"), "{ran:?}");
}

#[test]
fn fault_90_odd_values_are_data() {
    let odd = [
        "=cmd|' /C calc'!A0",
        "@SUM(1)",
        "<b>Bold</b> & \"quoted\", with comma",
        "two\nlines",
        "\u{202e}right to left",
        "e\u{301} decomposed",
        "I\u{307}stanbul",
        "{{ not a template }}",
    ];
    let world = World::default();
    let text = odd.iter().enumerate().fold(HEADER.to_owned(), |text, (at, name)| {
        text + &format!("P{at},\"{}\",p{at}@example.com,Clerk\n", name.replace('"', "\"\""))
    });
    world.csv(text);
    assert_eq!(world.sync().expect(0).writes(), (odd.len() as u64, 0, 0));
    for (at, name) in odd.iter().enumerate() {
        let person = world.staff().into_iter().find(|person| person["employee_id"] == format!("P{at}").as_str());
        assert_eq!(person.unwrap()["name"], *name);
    }
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_91_what_is_too_large_is_refused_at_its_own_size() {
    let long = |count: usize| row(2, &"x".repeat(count));
    let columns = |count: usize| {
        let more = |cell: &str| format!(",{cell}").repeat(count - 4);
        people(1..4).lines().enumerate().fold(String::new(), |text, (at, line)| {
            let more = if at == 0 { (5..=count).map(|n| format!(",C{n}")).collect() } else { more("x") };
            text + line + &more + "\n"
        })
    };
    for (name, lines, text, code, created) in [
        ("a field of 4 KiB", "", people(1..2) + &long(4096) + &row(3, ""), 0, 3),
        ("a longer field", "", people(1..2) + &long(4097) + &row(3, ""), 3, 2),
        ("a row above 64 KiB", "", people(1..2) + &long(70_000) + &row(3, ""), 3, 2),
        ("200 columns", "", columns(200), 0, 3),
        ("201 columns", "", columns(201), 1, 0),
        ("a file above size_max", "size_max = \"1KB\"", people(1..100), 1, 0),
    ] {
        let world = World::of(source(lines));
        let ran = world.sync_of(text);
        assert_eq!((ran.code, ran.writes()), (Some(code), (created, 0, 0)), "{name}: {}", ran.ended().2);
    }
}

#[test]
fn fault_92_a_source_that_is_no_file_fails_at_once() {
    let world = World::synced(Config::default(), 3);
    let path = world.dir().join("staff.csv");
    std::fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // It is never written to.
    let mut child = world.start(&["sync"]);
    eventually("it does not wait for the pipe", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(world.staff().len(), 3);
}

#[test]
fn a_file_that_has_settled_long_ago_is_not_waited_for() {
    let world = World::of(Config { source: "settle = \"1h\"\n".into(), ..Config::default() });
    world.csv(people(1..4));
    let file = File::options().write(true).open(world.dir().join("staff.csv")).unwrap();
    let long_ago = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(7200);
    file.set_times(FileTimes::new().set_modified(long_ago)).unwrap();
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
}

#[test]
fn fault_82_a_file_that_has_just_been_written_is_waited_for() {
    let world = World::of(Config { source: "settle = \"1s\"\n".into(), ..Config::default() });
    let begun = Instant::now();
    world.csv(people(1..4));
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
}
