//! The configuration that `init` prints: it loads once `[api]` is filled in, and plans.

use std::fs::{self, File, FileTimes};
use std::time::Duration;

use crate::support::World;

const PLAIN: &str = "Employee No,First Name,Last Name,Email,Job Title,Mobile\n\
                     00123,Ann,Lee,ann@example.com,Clerk,021 123 456\n\
                     00124,Bob,Ray,bob@example.com,Boss,021 123 457\n\
                     00125,Zo\u{eb},M\u{fc}ller,zoe@example.com,Boss,021 123 458\n";

/// Makes the file an old one, so that no run waits for it to settle.
fn settle(world: &World) {
    let file = File::options().write(true).open(world.dir().join("staff.csv")).unwrap();
    let long_ago = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(60);
    file.set_times(FileTimes::new().set_modified(long_ago)).unwrap();
}

#[test]
fn what_init_prints_loads_and_plans_everyone() {
    let latin: Vec<u8> = PLAIN.replace(',', ";").replace('\n', "\r\n").chars().map(|letter| letter as u8).collect();
    let utf_16: Vec<u8> = "\u{feff}".encode_utf16().chain(PLAIN.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let one_name = PLAIN.replace("First Name,Last Name", "Full Name,Department");
    // name, file, the delimiter and header line it must find
    let files: Vec<(&str, Vec<u8>, &str, u64)> = vec![
        ("plain", PLAIN.into(), ",", 1),
        ("BOM", format!("\u{feff}{PLAIN}").into(), ",", 1),
        ("Excel's CSV", latin, ";", 1),
        ("UTF-16 with tabs", utf_16, ",", 1),
        ("tabs", PLAIN.replace(',', "\t").into(), "\t", 1),
        ("bars", PLAIN.replace(',', "|").into(), "|", 1),
        ("title rows", format!("Staff list\n\n{PLAIN}").into(), ",", 3),
        (
            "camel case",
            PLAIN.replace("Employee No", "EmployeeNumber").replace("First Name", "GivenName").into(),
            ",",
            1,
        ),
        ("one name", one_name.into(), ",", 1),
        (
            "quotes",
            PLAIN.replace(',', "\",\"").replace('\n', "\"\n").replace("\n0", "\n\"0").replacen('E', "\"E", 1).into(),
            ",",
            1,
        ),
        ("a column like a keyword", PLAIN.replace("Job Title", "if").into(), ",", 1),
        ("odd column names", PLAIN.replace("Job Title", "Job \"\"{{Title}}\"\" \\ #1").into(), ",", 1),
    ];
    for (name, bytes, delimiter, header) in files {
        let world = World::default();
        fs::remove_file(world.config_path()).unwrap();
        world.csv(&bytes);
        settle(&world);
        let document = world.run(&["init", "staff.csv", "--json"]).expect(0).json();
        assert_eq!(
            (&document["delimiter"], &document["header"]),
            (&delimiter.into(), &header.into()),
            "{name}: {document}"
        );

        let printed = world.run(&["init", "staff.csv"]).expect(0).out;
        assert!(printed.contains("writes = \"approve\""), "{name}: {printed}");
        assert!(printed.lines().any(|line| line.starts_with('#')), "{name}: it is commented");
        for value in ["Ann", "ann@example.com", "00123"] {
            assert!(!printed.contains(value), "{name}: {value} of a person is in it");
        }
        world.put_config(&world.filled_in(&printed));
        world.run(&["check"]).expect(0);
        let plan = world.plan().expect(0).job();
        assert_eq!(plan["new"], 3, "{name}: {plan}\n{printed}");
        assert_eq!(plan["rejected"], serde_json::json!([]), "{name}: {plan}");
        assert_eq!(plan["changes"][0]["key"], "00123", "{name}: {plan}");

        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), world.service().writes()), ((0, 0, 0), 0), "{name}: every change waits");
        world.run(&["approve", "staff"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (3, 0, 0), "{name}");
        assert_eq!(world.texts("email"), ["ann@example.com", "bob@example.com", "zoe@example.com"], "{name}");
        assert_eq!(world.keys(), ["00123", "00124", "00125"], "{name}");
    }
}

#[test]
fn init_without_a_usable_file_says_so() {
    let world = World::default();
    world.put("empty.csv", b"");
    world.put("book.xlsx", b"PK\x03\x04\x14\x00\x06\x00\x08\x00\x00\x00!\x00");
    for (file, word) in [("empty.csv", "empty"), ("none.csv", "not exist"), ("book.xlsx", "damaged")] {
        let ran = world.run(&["init", file]);
        assert!(matches!(ran.code, Some(1 | 2)), "{file}: {ran:?}");
        assert!(ran.out.is_empty() && ran.err.contains(file) && ran.err.contains(word), "{file}: {ran:?}");
    }
}
