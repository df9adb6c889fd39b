//! Whole reads of whole files.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use encoding_rs::{UTF_8, WINDOWS_1252};
use proptest::prelude::*;

use super::*;
use crate::clock::Clock;
use crate::source::{self, Read};

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join("staff.csv");
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn wanted() -> RequiredColumns {
    let need = |name: &str| ColumnRequirement { name: Name::Plain(name.to_owned()), optional: false };
    RequiredColumns { needs: vec![need("no"), need("name")], ..RequiredColumns::default() }
}

fn options(path: &Path) -> Options {
    Options { settle: Duration::ZERO, ..Options::at(path) }
}

/// The visited rows as `line:cell|cell`, and the read.
fn found(read: &Read) -> &DetectedFormat {
    match &read.found {
        source::SourceState::Csv(found) => found,
        source::SourceState::Ldap(_) => panic!("a file was read"),
    }
}

fn read_with(options: &Options, known: Option<&DetectedFormat>) -> Result<(Vec<String>, Read), Error> {
    let mut rows = Vec::new();
    let read = read(options, &wanted(), known, &Clock::system(), &mut |row| {
        rows.push(format!("{}:{}", row.line, row.pairs().map(|(_, cell)| cell).collect::<Vec<_>>().join("|")));
        ControlFlow::Continue(())
    })?;
    Ok((rows, read))
}

fn read_bytes(bytes: impl AsRef<[u8]>) -> Result<(Vec<String>, Read), Error> {
    read_with(&options(&Dir::new().write(bytes)), None)
}

#[test]
fn a_header_that_stands_again_is_no_person() {
    let (rows, read) = read_bytes("No,Name\n1,Ana\n No ,Name\n2,Bo\nNo,Name\nNo,Nameless\n").unwrap();
    assert_eq!(rows, ["2:1|Ana", "4:2|Bo", "6:No|Nameless"]);
    let note = |line: u64| format!("the header stands again on line {line}; no person is made of it");
    assert_eq!((read.rows, read.notes), (3, vec![note(3), note(5)]));
    assert!(read.incomplete.is_empty(), "{:?}", read.incomplete);
    // Where exports end each line with a delimiter, and where cells refer to empty ones.
    let (rows, read) = read_bytes("No,Name,\n1,Ana,\nNo,Name,\n0,0,\n0,,\n2,0,\n").unwrap();
    assert_eq!(rows, ["2:1|Ana|", "5:0||", "6:2|0|"]);
    assert_eq!(read.notes.len(), 2, "{:?}", read.notes);
}

/// What lies below it would be read under the names of other columns.
#[test]
fn law_1_nothing_is_used_of_a_file_with_a_second_header_that_is_another() {
    let file = |header: &str| format!("No,Name,Mobile,ICE\n1,Ana,021,027\n{header}\n2,Bo,027,021\n");
    for (header, ok) in [
        ("No,Name,Mobile,ICE", true),
        ("NO, name ,mobile,ice", true),
        ("No,Name,ICE,Mobile", false),
        ("ICE,Mobile,No,Name", false),
        ("No,Name,Phone,ICE", false),
        ("No,Nora,Mobile,0", true),
    ] {
        let read = read_bytes(file(header));
        match &read {
            Ok((rows, _)) => assert!(ok && rows.len() >= 2, "{header}: {rows:?}"),
            Err(error) => assert!(!ok && error.to_string().contains("line 3 is another header"), "{header}: {error}"),
        }
    }
}

#[test]
fn blank_rows_do_not_count_among_those_where_the_header_is_looked_for() {
    for (above, fits) in [
        ("\n".repeat(60), true),
        (" , \n".repeat(60), true),
        ("Title,\n".repeat(19), true),
        ("Title,\n".repeat(20), false),
    ] {
        let read = read_bytes(format!("{above}No,Name\n1,Ana\n"));
        assert_eq!(read.is_ok(), fits, "{above:?}");
    }
}

#[test]
fn a_whole_file_gives_every_row_and_proves_completeness() {
    let wide =
        |text: &str, mark: &[u8]| [mark, &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat();
    for (bytes, encoding) in [
        ("No,Name\n1,Zoë\n2,Ana\n".as_bytes().to_vec(), "UTF-8"),
        ("\u{feff}No,Name\r\n1,Zoë\r\n2,Ana\r\n".as_bytes().to_vec(), "UTF-8"),
        (b"No,Name\r1,Zo\xeb\r2,Ana\r".to_vec(), "windows-1252"),
        (wide("No\tName\n1\tZoë\n2\tAna\n", &[0xff, 0xfe]), "UTF-16LE"),
        (wide("No;Name\n1;Zoë\n2;Ana\n", &[]), "UTF-16LE"),
        ("\"No\";\"Name\"\n1;\"Zoë\"\n\"2\";Ana\n".as_bytes().to_vec(), "UTF-8"),
    ] {
        let (rows, read) = read_bytes(&bytes).unwrap();
        assert_eq!(rows, ["2:1|Zoë", "3:2|Ana"], "{bytes:?}");
        assert_eq!((read.rows, found(&read).text.as_ref().unwrap().encoding.as_str()), (2, encoding));
        assert_eq!(read.content, xxhash_rust::xxh3::xxh3_128(&bytes));
        assert!(read.finish((), Vec::new()).is_ok());
    }
}

#[test]
fn fault_85_blank_rows_and_titles_are_no_rows() {
    let (rows, read) = read_bytes("Staff;as of today\n\nNo;Name\n;\n\n 1;Ana \n  ; \n\"\";\"\"\n2;Bo\n").unwrap();
    assert_eq!(rows, ["6: 1|Ana ", "9:2|Bo"]);
    assert_eq!(found(&read).header_line, 3);
    assert_eq!(read.incomplete(), &[] as &[String]);
}

#[test]
fn law_1_fault_83_a_damaged_file_proves_nothing_and_whole_rows_flow() {
    for (bytes, rows, reason) in [
        (&b"No,Name\n1,Ana\n2,B"[..], &["2:1|Ana"][..], "the file does not end in a line end: its last row (line 3)"),
        (
            b"No,Name\n1,Ana\n,",
            &["2:1|Ana"],
            "the file does not end in a line end: its last row (line 3) may be cut; set",
        ),
        (
            b"No,Name\n1,Ana\n ",
            &["2:1|Ana"],
            "the file does not end in a line end: its last row (line 3) may be cut; set",
        ),
        (b"No,Name\n1,Ana\n2,Zo\xc3", &["2:1|Ana"], "the file ends inside a character"),
        (b"No,Name\n1,Ana\n2,\"Bo\n3,Cy\n", &["2:1|Ana"], "a quote in the row at line 3 is never closed"),
        (b"No,Name\n1,\"Jo\n2,\"Mary\"\n3,Cy\n", &["4:3|Cy"], "1 row could not be read"),
        (b"No,Name\n1,Ana,x\n2,Bo\n", &["3:2|Bo"], "1 row could not be read, so whose it is is unknown (line 2)"),
        (b"No,Name\n1\n2,Bo\n", &["3:2|Bo"], "1 row could not be read"),
        (b"No,Name\n1,A\0a\n2,Bo\n", &["3:2|Bo"], "1 row could not be read"),
        (b"No,Name", &[], "the file ends in its header"),
    ] {
        let (visited, read) = read_bytes(bytes).unwrap();
        assert_eq!(visited, rows, "{bytes:?}");
        assert!(read.incomplete().iter().any(|said| said.starts_with(reason)), "{:?}", read.incomplete());
        assert!(read.finish((), Vec::new()).is_err());
    }
}

#[test]
fn a_last_row_without_a_line_end_counts_where_that_is_agreed() {
    let dir = Dir::new();
    let lax = |bytes: &[u8]| {
        let path = dir.write(bytes);
        let (rows, read) = read_with(&Options { final_newline: false, ..options(&path) }, None).unwrap();
        (rows, read.incomplete().len())
    };
    assert_eq!(lax(b"No,Name\n1,Ana"), (vec!["2:1|Ana".to_owned()], 0));
    assert_eq!(lax(b"No,Name\n1,Zo\xc3").0, [] as [&str; 0], "a character that is cut shows that the row is");
    assert_eq!(lax(b"No,Name\n1,\"Ana").0, [] as [&str; 0]);
}

#[test]
fn law_11_a_rejected_row_names_line_and_column_but_no_value() {
    let long = "secret".repeat(800);
    for (row, field, reason) in [
        (
            "1,secret,x".to_owned(),
            None,
            "the row has 3 cells, the header has 2; a cell that holds a comma must be in quotes",
        ),
        (
            "1,\"sec\"ret".to_owned(),
            None,
            "something follows a closing quote, so rows may have run together; a quote inside a cell is written twice",
        ),
        ("1,secret\0".to_owned(), Some("Name"), "the value holds a NUL character, which is no text"),
        (format!("1,{long}"), Some("Name"), "the cell has more than 4 KiB"),
        (format!("{}1,x", "secret".repeat(12_000)), None, "the row has more than 64 KiB"),
        (format!("1,\"{}\"", "x\n".repeat(101)), None, "the row goes on for 102 lines; is a quote missing?"),
    ] {
        let (rows, read) = read_bytes(format!("No,Name\n0,Ana\n{row}\n2,Bo\n")).unwrap();
        assert_eq!(rows.len(), 2);
        let rejected = &read.rejected[0];
        assert_eq!(
            (rejected.line, rejected.field.as_deref(), rejected.reason.to_string()),
            (Some(3), field, reason.to_owned())
        );
        assert!(!format!("{:?}{:?}", read.rejected, read.incomplete()).contains("secret"));
    }
}

#[test]
fn fault_91_a_row_without_end_stops_the_read_in_constant_memory() {
    let text = format!("No,Name\n1,Ana\n2,\"{}", "x,y\n".repeat(1_000_000));
    let (rows, read) = read_bytes(text).unwrap();
    assert_eq!(rows, ["2:1|Ana"]);
    assert_eq!(read.rejected[0].line, Some(3));
    assert!(read.incomplete()[0].starts_with("the row at line 3 does not end"), "{:?}", read.incomplete());
}

#[test]
fn law_1_rows_between_two_stray_quotes_are_missed() {
    let (wide, narrow) = ("No;Name;a;b;c\n", "No;Name;Mail\n");
    for (header, rows, visited, rejected) in [
        (wide, "1;\"Jo;x;y;z\n2;\";x;y;z\n3;Cy;x;y;z\n", 1, Some(2)),
        (wide, "1;\"Jo;x;y;z\n2;Al;x;y;z\n3;\";x;y;z\n", 0, Some(2)),
        (wide, "1;\"Jo;x;y;z\n\n2;\";x;y;z\n3;Cy;x;y;z\n", 1, Some(2)),
        (wide, "1;\"Jo;x;y;z\n2;Al;x\n3;\";x;y;z\n", 0, Some(2)),
        (wide, "1;\"Jo; Ann\nLee\";x;y;z\n3;Cy;x;y;z\n", 2, None),
        (narrow, "1;\"Jo;x\n2;Al;x\n3;Bo\";x\n", 0, Some(2)),
        (narrow, "1;\"Jo;x\n2;Bo\";x\n3;Cy;x\n", 1, Some(2)),
        (narrow, "\"1;Jo;x\n2\";Bo;x\n3;Cy;x\n", 1, Some(2)),
        (narrow, "1;Jo;\"x\n2;Bo;x\"\n3;Cy;x\n", 1, Some(2)),
        (narrow, "1;\"Jo;j@x\nT-2;Al;a@x\n4711;Bo\";b@x\n", 0, Some(2)),
        ("Name;No;Mail\n", "O'Neil;\"1;j@x\nAl van Lee;2;a@x\nBo-Cy;3\";b@x\n", 0, Some(2)),
        ("No;Name;Room;Mail\n", "1;\"Jo;Room 5;j@x\n2;Al;Lobby;a@x\n3;Bo\";Lobby;b@x\n", 0, Some(2)),
        ("No;Name;Room\n", "1;\"Jo;Room 5\n2;Al;Room 6\n3;Bo\";Lobby\n", 0, Some(2)),
        ("No;Name;Home\n", "1;Jo;\"Appt 3\n12; rue de la Paix; Paris\nFrance\"\n2;Bo;x\n", 2, None),
        (narrow, "1;\"Main St; left\nBern; CH\";x\n3;Cy;x\n", 2, None),
    ] {
        let (seen, read) = read_bytes(format!("{header}{rows}")).unwrap();
        assert_eq!((seen.len(), read.rejected.first().and_then(|it| it.line)), (visited, rejected), "{rows}");
        assert_eq!(read.finish((), Vec::new()).is_err(), rejected.is_some());
    }
}

#[test]
fn fault_91_a_file_has_so_many_rows_and_no_more() {
    let rows = usize::try_from(limits::ROWS_MAX).unwrap();
    let path = Dir::new();
    let path = path.write(format!("No,Name\n{}", "1,a\n".repeat(rows)));
    let count = |path: &Path| {
        read(&options(path), &wanted(), None, &Clock::system(), &mut |_| ControlFlow::Continue(()))
            .map(|read| read.rows)
    };
    assert_eq!(count(&path).unwrap(), limits::ROWS_MAX);
    fs::write(&path, format!("No,Name\n{}", "1,a\n".repeat(rows + 1))).unwrap();
    assert!(count(&path).unwrap_err().to_string().ends_with("it has more than 1000000 rows"));
}

#[test]
fn fault_87_many_bad_rows_fail_the_file() {
    let file = |good: usize, bad: usize| format!("No,Name\n{}{}", "1,a,b\n".repeat(bad), "1,a\n".repeat(good));
    for (good, bad, fails) in [(0, 10, false), (0, 11, true), (1088, 11, true), (1089, 11, false), (90_000, 300, false)]
    {
        let read = read_bytes(file(good, bad));
        assert_eq!(read.is_err(), fails, "{good} good, {bad} bad");
    }
    let error = read_bytes(file(0, 21)).unwrap_err();
    assert!(
        error.to_string().contains("21 of 21 rows cannot be used, the first at line 2: the row has 3 cells"),
        "{error}"
    );
}

#[test]
fn fault_81_84_and_91_what_cannot_be_taken_says_why() {
    for (bytes, said) in [
        (&b""[..], "it is empty"),
        (b"\xef\xbb\xbf", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"PK\x03\x04...", "the workbook is cut or damaged"),
        (b"\xd0\xcf\x11\xe0...", "save it as .xlsx without a password"),
        (b"No,Name\n1,\xff\0\x81\n", "this is not text"),
        (b"No,Email\n1,a\n", "line 1: column `name` is missing"),
    ] {
        let error = read_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let path = Dir::new().write("No,Name\n1,Ana\n");
    assert!(read_with(&options(&path), None).unwrap_err().to_string().contains("does not exist"));
    let dir = Dir::new();
    let small = Options { size_max: 5, ..options(&dir.write("No,Name\n1,Ana\n")) };
    let error = read_with(&small, None).unwrap_err().to_string();
    assert!(error.contains("it has 14 bytes, more than the 5 that `size_max` allows"), "{error}");
}

#[test]
fn fault_84_and_86_what_was_found_stays_or_the_read_fails() {
    let dir = Dir::new();
    let known = |bytes: &[u8]| found(&read_with(&options(&dir.write(bytes)), None).unwrap().1).clone();
    for (before, now, said) in [
        (&b"No,Name\n1,Zo\xc3\xab\n"[..], &b"No,Name\n1,Zo\xeb\n"[..], Some("line 2 holds bytes that are not UTF-8")),
        (b"No,Name\n1,Zo\xeb\n", b"No,Name\n1,Zo\xc3\xab\n", Some("it was windows-1252 until now and is UTF-8")),
        (b"No,Name\n1,Zo\xeb\n", b"No,Name\n1,Zoe\n", None),
        (b"No,Name\n1,a\n", b"No;Name\n1;a\n", Some("its delimiter was comma until now and is semicolon")),
        (b"No,Name\n1,a\n", b"Title\nName,Site,No\na,b,1\n", None),
    ] {
        let known = known(before);
        let read = read_with(&options(&dir.write(now)), Some(&known));
        match said {
            None => assert!(read.is_ok(), "{:?}", read.err()),
            Some(said) => assert!(read.as_ref().unwrap_err().to_string().contains(said), "{:?}", read.err()),
        }
    }
    let meant = Options {
        encoding: Encoding::Named(WINDOWS_1252),
        delimiter: Some(b';'),
        ..options(&dir.write(b"No;Name\n1;Zo\xeb\n"))
    };
    let before = DetectedFormat {
        text: Some(TextFormat::default()),
        header_line: 1,
        columns: vec!["No".into(), "x".into()],
        sheet: None,
    };
    assert!(read_with(&meant, Some(&before)).is_ok());
}

#[test]
fn a_configured_encoding_rejects_the_rows_that_do_not_decode() {
    let dir = Dir::new();
    let path = dir.write(b"No,Name\n1,Zo\xeb\n2,Zo\xc3\xab\n");
    let (rows, read) = read_with(&Options { encoding: Encoding::Named(UTF_8), ..options(&path) }, None).unwrap();
    assert_eq!(rows, ["3:2|Zoë"]);
    assert_eq!(read.rejected[0].line, Some(2));
}

#[test]
fn law_1_fault_93_a_file_that_changes_while_it_is_read_proves_nothing() {
    let dir = Dir::new();
    let path = dir.write("No,Name\n1,Ana\n2,Bo\n");
    for change in ["in place", "replaced"] {
        let read = read(&options(&path), &wanted(), None, &Clock::system(), &mut |_| {
            match change {
                "in place" => fs::write(&path, "No,Name\n1,Ana\n").unwrap(),
                _ => {
                    fs::write(path.with_extension("new"), "No,Name\n1,Ana\n2,Bo\n").unwrap();
                    fs::rename(path.with_extension("new"), &path).unwrap();
                }
            }
            ControlFlow::Continue(())
        });
        assert_eq!(read.unwrap().incomplete(), ["the file changed while it was read"], "{change}");
    }
}

#[test]
fn law_1_a_visit_that_breaks_proves_nothing() {
    let path = Dir::new();
    let path = path.write("No,Name\n1,Ana\n2,Bo\n");
    let read = read(&options(&path), &wanted(), None, &Clock::system(), &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!((read.rows, read.incomplete().len()), (1, 1));
}

#[test]
fn a_probe_finds_the_shape_and_names_its_doubts() {
    for (bytes, delimiter, line, columns, doubt) in [
        (&b"Staff list\nNo;Name;E-Mail\n1;Zo\xeb;a@x\n2;Ana;b@x\n"[..], b';', 2, 3, "Windows-1252"),
        (b"No,Name\n1,Ana\n", b',', 1, 2, "plain ASCII"),
        (b"1,Ana\n2,Bo\n", b',', 1, 2, "no line looks like a header"),
        (b"No\tName\tName\n1\ta\tb\n2\ta\tb", b'\t', 1, 3, "does not end in a line end"),
    ] {
        let dir = Dir::new();
        let probe = probe(&dir.write(bytes), None).unwrap();
        let found = probe.found.text.as_ref().map(|text| text.delimiter);
        assert_eq!((found, probe.found.header_line), (Some(delimiter), line), "{probe:?}");
        assert_eq!(probe.found.columns.len(), columns);
        assert!(!probe.samples.is_empty());
        assert!(probe.doubts.iter().any(|said| said.contains(doubt)), "{:?}", probe.doubts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_a_writer_wrote_comes_back(cells in prop::collection::vec(("[a-z0-9 ,;\"\n]{1,6}x", "\\PC{0,9}"), 0..9)) {
        // A cell that may be rows in quotes is not believed.
        prop_assume!(!cells.iter().any(|(no, _)| no.contains(',') && no.contains('\n')));
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        writer.write_record(["No", "Name"]).unwrap();
        cells.iter().for_each(|(no, name)| writer.write_record([no, name]).unwrap());
        let dir = Dir::new();
        let path = dir.write(writer.into_inner().unwrap());
        let mut rows = Vec::new();
        let read = read(&options(&path), &wanted(), None, &Clock::system(), &mut |row| {
            rows.push((row.cell(0).to_owned(), row.cell(1).to_owned()));
            ControlFlow::Continue(())
        }).unwrap();
        prop_assert_eq!(rows, cells);
        prop_assert!(read.finish((), Vec::new()).is_ok());
    }

    #[test]
    fn law_1_no_cut_goes_unnoticed(cut in 1usize..70) {
        let whole = "No,Name\n1,\"Ana\nof \"\"X\"\"\"\n2,Zoë\n3,Bo\n4,\"Cy, D\"\n5,Eve\n6,Flo\n";
        let bytes = &whole.as_bytes()[..whole.len() - cut.min(whole.len() - 1)];
        if let Ok((rows, read)) = read_bytes(bytes) {
            let lines = bytes.ends_with(b"\n");
            prop_assert!(lines || !read.incomplete().is_empty());
            prop_assert!(rows.iter().all(|row| whole.contains(row.split_once(':').unwrap().1.split('|').next().unwrap())));
        }
    }
}
