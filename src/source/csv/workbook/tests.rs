//! Whole reads of workbooks that are made here.

use std::io::{Cursor, Write};
use std::ops::ControlFlow;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::source::csv::error::CsvErrorKind;
use crate::source::csv::options::Options;
use crate::source::{ColumnRequirement, Name, Read, RequiredColumns};

const HEADER: &str =
    "<row r=\"1\"><c t=\"inlineStr\"><is><t>No</t></is></c><c t=\"inlineStr\"><is><t>Name</t></is></c></row>";

/// The parts of a workbook, to be changed one at a time.
struct Parts {
    sheets: Vec<(&'static str, &'static str, String)>,
    strings: String,
    properties: &'static str,
}

impl Parts {
    /// One sheet with these rows, and what stands behind them.
    fn of(rows: &str, behind: &str) -> Self {
        let sheet = format!("<worksheet><sheetData>{rows}</sheetData>{behind}</worksheet>");
        Self { sheets: vec![("Staff", "", sheet)], strings: "<sst><si><t>Ana</t></si></sst>".into(), properties: "" }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let mut put = |name: &str, text: &str| {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        };
        put(
            "_rels/.rels",
            "<Relationships><Relationship Id=\"a\" Type=\"x/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>",
        );
        let (mut sheets, mut relationships) = (String::new(), String::new());
        for (at, (name, state, xml)) in self.sheets.iter().enumerate() {
            sheets += &format!("<sheet name=\"{name}\" sheetId=\"{at}\" {state} r:id=\"s{at}\"/>");
            relationships +=
                &format!("<Relationship Id=\"s{at}\" Type=\"x/worksheet\" Target=\"worksheets/{at}.xml\"/>");
            put(&format!("xl/worksheets/{at}.xml"), xml);
        }
        put("xl/workbook.xml", &format!("<workbook>{}<sheets>{sheets}</sheets></workbook>", self.properties));
        put("xl/sharedStrings.xml", &self.strings);
        put(
            "xl/styles.xml",
            "<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode=\"00000\"/></numFmts><cellStyleXfs><xf numFmtId=\"14\"/>\
             </cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"164\"/><xf numFmtId=\"22\"/></cellXfs></styleSheet>",
        );
        put(
            "xl/_rels/workbook.xml.rels",
            &format!(
                "<Relationships>{relationships}<Relationship Id=\"t\" Type=\"x/sharedStrings\" Target=\"/xl/sharedStrings.xml\"/>\
                 <Relationship Id=\"u\" Type=\"x/styles\" Target=\"styles.xml\"/></Relationships>"
            ),
        );
        zip.finish().unwrap().into_inner()
    }
}

fn read_with(bytes: &[u8], adjust: impl FnOnce(&mut Options)) -> Result<(Vec<String>, Read), CsvErrorKind> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let need = |name: &str| ColumnRequirement { name: Name::Plain(name.to_owned()), optional: false };
    let keys = vec![Name::Plain("no".into())];
    let wanted = RequiredColumns { needs: vec![need("no"), need("name")], keys, ..RequiredColumns::default() };
    let mut options = Options::at("x");
    adjust(&mut options);
    let mut rows = Vec::new();
    let read = read(&file, &options, &wanted, None, &mut |row| {
        rows.push(format!("{}:{}", row.line, row.pairs().map(|(_, cell)| cell).collect::<Vec<_>>().join("|")));
        ControlFlow::Continue(())
    })?;
    Ok((rows, read))
}

/// What a workbook with these rows below the header gives: its rows, or why not.
fn rows(rows: &str, behind: &str) -> Result<Vec<String>, String> {
    let parts = Parts::of(&format!("{HEADER}{rows}"), behind);
    read_with(&parts.bytes(), |_| {}).map(|found| found.0).map_err(|kind| kind.to_string())
}

#[test]
fn a_cell_is_the_text_that_the_sheet_shows() {
    for (cell, text) in [
        ("<c t=\"s\"><v>0</v></c>", "Ana"),
        ("<c><v>4001</v></c>", "4001"),
        ("<c t=\"n\"><v>4001.0</v></c>", "4001"),
        ("<c><v>1.2E+05</v></c>", "120000"),
        ("<c s=\"2\"><v>7</v></c>", "00007"),
        ("<c s=\"1\"><v>45000</v></c>", "2023-03-15"),
        ("<c s=\"3\"><v>45000.25</v></c>", "2023-03-15T06:00:00"),
        ("<c t=\"b\"><v>1</v></c>", "TRUE"),
        ("<c t=\"b\"><v>0</v></c>", "FALSE"),
        ("<c t=\"str\"><f>A1&amp;B1</f><v>x &lt; y &#233;</v></c>", "x < y é"),
        ("<c><f>1+1</f><v>2</v></c>", "2"),
        ("<c t=\"str\"><f>A1</f><v></v></c>", ""),
        ("<c t=\"str\"><f>A1</f><v/></c>", ""),
        ("<c t=\"e\"><v>#REF!</v></c>", "#REF!"),
        ("<c t=\"e\"><v>odd</v></c>", "#ERROR!"),
        ("<c t=\"d\"><v>2026-11-23</v></c>", "2026-11-23"),
        (
            "<c t=\"inlineStr\"><is><r><t>A</t></r><r><t xml:space=\"preserve\"> B</t></r><rPh><t>x</t></rPh></is></c>",
            "A B",
        ),
        ("<c t=\"inlineStr\"><is><t>a_x0041_b_x</t></is></c>", "aAb_x"),
        ("<c t=\"inlineStr\"><is><t><![CDATA[<a>]]></t></is></c>", "<a>"),
        ("<c/>", ""),
    ] {
        let found = rows(&format!("<row r=\"2\"><c t=\"inlineStr\"><is><t>1</t></is></c>{cell}</row>"), "");
        assert_eq!(found, Ok(vec![format!("2:1|{text}")]), "{cell}");
    }
}

#[test]
fn rows_have_the_numbers_that_the_sheet_shows() {
    let found = rows(
        "<row r=\"2\"/><row r=\"5\" hidden=\"1\"><c r=\"B5\" t=\"s\"><v>0</v></c></row><row><c><v>3</v></c></row><row r=\"9\"><c/></row>",
        "",
    );
    assert_eq!(found, Ok(vec!["5:|Ana".to_owned(), "6:3|".to_owned()]));
}

#[test]
fn law_1_what_is_not_in_order_is_an_error() {
    for (below, behind, says) in [
        ("<row r=\"1\"/>", "", "the row behind row 1 is out of order"),
        ("<row r=\"3\"><c r=\"B3\"/><c r=\"A3\"/></row>", "", "a cell of row 3 is out of order"),
        ("<row r=\"3\"><c r=\"A4\"/></row>", "", "a cell of row 3 is out of order"),
        ("<row r=\"2\"><c t=\"s\"><v>1</v></c></row>", "", "a text that is not there"),
        ("<row r=\"2\"><c><v>x</v></c></row>", "", "a number is none"),
        ("<row r=\"2\"><c t=\"z\"><v>x</v></c></row>", "", "of an unknown kind"),
        ("", "<sheetData/>", "its rows twice"),
        ("", "<mergeCells><mergeCell ref=\"A1:B1\"/></mergeCells>", "line 1: the cells A1:B1 are merged"),
        ("", "<mergeCells><mergeCell ref=\"B7:B9\"/></mergeCells>", "line 7: the cells B7:B9 are merged"),
        ("<row r=\"2\">", "", "cut or damaged"),
    ] {
        let error = rows(below, behind).unwrap_err();
        assert!(error.contains(says), "{below}{behind}: {error}");
    }
}

#[test]
fn merged_cells_above_and_beside_the_table_are_fine() {
    let title = HEADER.replace("r=\"1\"", "r=\"3\"");
    let behind = "<mergeCells><mergeCell ref=\"A1:D2\"/><mergeCell ref=\"D3:E4\"/></mergeCells>";
    let parts =
        Parts::of(&format!("<row r=\"1\"><c><v>1</v></c></row>{title}<row r=\"4\"><c><v>1</v></c></row>"), behind);
    assert_eq!(read_with(&parts.bytes(), |_| {}).unwrap().0, ["4:1|"]);
}

#[test]
fn a_filter_hidden_rows_and_a_key_of_numbers_are_named() {
    let below = "<row r=\"2\" hidden=\"1\"><c><v>1</v></c></row><row r=\"3\"><c s=\"2\"><v>2</v></c></row>";
    let filter = "<autoFilter ref=\"A1:B3\"><filterColumn colId=\"0\"/></autoFilter>";
    let (_, read) = read_with(&Parts::of(&format!("{HEADER}{below}"), filter).bytes(), |_| {}).unwrap();
    assert_eq!(read.notes.len(), 3, "{:?}", read.notes);
    assert!(read.notes[0].contains("filter is left on"));
    assert!(read.notes[2].contains("`No`"));
    assert!(read.incomplete().is_empty() && read.rows == 2);
    let quiet = "<row r=\"2\"><c s=\"2\"><v>2</v></c></row>";
    let (_, read) =
        read_with(&Parts::of(&format!("{HEADER}{quiet}"), "<autoFilter ref=\"A1:B3\"/>").bytes(), |_| {}).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

#[test]
fn what_is_right_of_the_table_and_what_was_never_calculated_is_named() {
    let below = "<row r=\"2\"><c><v>1</v></c><c/><c r=\"C2\"><v>9</v></c></row><row r=\"3\"><c><v>1</v></c><c><f>1</f></c></row><row r=\"4\"><c><v>1</v></c><c t=\"str\"><f>A1</f></c></row>";
    let (rows, read) = read_with(&Parts::of(&format!("{HEADER}{below}"), "").bytes(), |_| {}).unwrap();
    assert_eq!(rows, ["3:1|", "4:1|"]);
    assert!(read.rejected[0].reason.to_string().contains("column C") && read.rejected[0].line == Some(2));
    assert_eq!(read.incomplete().len(), 1);
}

#[test]
fn the_sheet_is_the_one_that_is_meant() {
    let sheet = |state| ("Staff", state, Parts::of(HEADER, "").sheets.remove(0).2);
    let other = |name, state| (name, state, "<worksheet><sheetData/></worksheet>".to_owned());
    let says = |sheets, wanted: Option<&str>| {
        let parts = Parts { sheets, ..Parts::of("", "") };
        let read = read_with(&parts.bytes(), |options| options.sheet = wanted.map(str::to_owned));
        read.map(|_| ()).map_err(|kind| kind.to_string())
    };
    assert_eq!(says(vec![other("Old", "state=\"hidden\""), sheet("")], None), Ok(()));
    assert_eq!(says(vec![other("Old", ""), sheet("")], Some("staff")), Ok(()));
    assert_eq!(says(vec![sheet("state=\"veryHidden\"")], Some("Staff")), Ok(()));
    for (sheets, wanted, word) in [
        (vec![other("Old", ""), sheet("")], None, "2 visible sheets (\"Old\", \"Staff\")"),
        (vec![sheet("state=\"hidden\"")], None, "no visible sheet (\"Staff\" (hidden)); say which one"),
        (vec![sheet("")], Some("People"), "no sheet \"People\"; there is \"Staff\""),
        (
            vec![
                ("Form", "", Parts::of(&HEADER.replace("No", "Nr"), "").sheets.remove(0).2),
                sheet("state=\"hidden\""),
            ],
            None,
            "column `no` is missing; this is the sheet \"Form\", and there is \"Staff\" (hidden) too",
        ),
        (
            vec![(
                "Staff",
                "",
                Parts::of(&HEADER.replace("No", ""), "<mergeCells><mergeCell ref=\"A1:B1\"/></mergeCells>")
                    .sheets
                    .remove(0)
                    .2,
            )],
            None,
            "the cells A1:B1 are merged; unmerge them",
        ),
    ] {
        let error = says(sheets, wanted).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_hidden_sheet_and_other_sheets_with_a_list_are_named() {
    let list = |name, state| {
        let below = "<row r=\"2\"><c t=\"inlineStr\"><is><t>1</t></is></c></row>";
        (name, state, Parts::of(&format!("{HEADER}{below}"), "").sheets.remove(0).2)
    };
    let other = |name, text: &str| (name, "", text.to_owned());
    let empty = Parts::of(HEADER, "").sheets.remove(0).2;
    let hidden = "state=\"hidden\"";
    let not_read = |names: &str| format!("not read, though the columns are there too: {names}");
    for (sheets, notes) in [
        (vec![list("Staff", "")], vec![]),
        (vec![list("Staff", hidden)], vec!["the sheet \"Staff\" is hidden; its rows count all the same".to_owned()]),
        (vec![list("Staff", ""), list("Old", hidden)], vec![not_read("\"Old\" (hidden)")]),
        (vec![list("Old", ""), list("Staff", ""), list("New", "")], vec![not_read("\"Old\", \"New\"")]),
        // Without people, with other columns, and damaged.
        (vec![list("Staff", ""), other("Form", &empty), other("Sites", "<worksheet/>"), other("Bad", "<work")], vec![]),
    ] {
        let parts = Parts { sheets, ..Parts::of("", "") };
        let (rows, read) = read_with(&parts.bytes(), |options| options.sheet = Some("Staff".into())).unwrap();
        assert_eq!((rows, read.notes), (vec!["2:1|".to_owned()], notes));
        assert!(read.incomplete.is_empty());
    }
}

#[test]
fn a_workbook_may_count_from_1904() {
    let below = "<row r=\"2\"><c s=\"1\"><v>0</v></c></row>";
    let parts = Parts { properties: "<workbookPr date1904=\"1\"/>", ..Parts::of(&format!("{HEADER}{below}"), "") };
    assert_eq!(read_with(&parts.bytes(), |_| {}).unwrap().0, ["2:1904-01-01|"]);
}

#[test]
fn law_1_a_workbook_that_is_cut_or_altered_anywhere_loses_no_row_in_silence() {
    let below: String = (2..40).map(|row| format!("<row r=\"{row}\"><c><v>{row}</v></c></row>")).collect();
    let whole = Parts::of(&format!("{HEADER}{below}"), "").bytes();
    let expected = read_with(&whole, |_| {}).unwrap().0;
    for length in 0..whole.len() {
        assert!(read_with(&whole[..length], |_| {}).is_err(), "cut after {length} bytes");
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        if let Ok((rows, read)) = read_with(&bytes, |_| {}) {
            assert!(rows == expected || !read.incomplete().is_empty(), "altered at {at}");
        }
    }
}

#[test]
fn a_bomb_is_refused_before_it_fills_memory() {
    let long = "x".repeat(600 << 10);
    for (parts, says) in [
        (Parts::of(&format!("{HEADER}<row r=\"2\"><c t=\"str\"><v>{long}</v></c></row>"), ""), "too large"),
        (Parts { strings: format!("<sst><si><t>{long}</t></si></sst>"), ..Parts::of(HEADER, "") }, "too large"),
        (Parts { strings: "<a>".repeat(100), ..Parts::of(HEADER, "") }, "nested"),
        (Parts { strings: "<!DOCTYPE a [<!ENTITY b \"c\">]><sst/>".into(), ..Parts::of(HEADER, "") }, "document type"),
    ] {
        let error = read_with(&parts.bytes(), |_| {}).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn an_end_that_states_many_parts_takes_no_room_for_them() {
    let whole = Parts::of(HEADER, "").bytes();
    let (body, end) = whole.split_at(whole.len() - 22);
    let place = |at: usize| u64::from(u32::from_le_bytes(end[at..at + 4].try_into().unwrap())).to_le_bytes();
    let own = u64::from(u16::from_le_bytes(end[10..12].try_into().unwrap()));
    // (parts that are stated, length of the directory, where the locator points beside the record, what is said)
    for (parts, length, beside, says) in [
        (own, place(12), 0, None),
        (1 << 36, (1_u64 << 50).to_le_bytes(), 0, Some("too many")),
        (1 << 40, u64::MAX.to_le_bytes(), 0, Some("too many")),
        (own, place(12), 1, Some("its end")),
    ] {
        let record = body.len() as u64;
        let number = |parts: u64| parts.to_le_bytes();
        let bytes = [
            body,
            b"PK\x06\x06",
            &44_u64.to_le_bytes(),
            &[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &number(parts),
            &number(parts),
            &length,
            &place(16),
            b"PK\x06\x07\0\0\0\0",
            &(record - beside).to_le_bytes(),
            &1_u32.to_le_bytes(),
            b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0",
        ]
        .concat();
        let read = read_with(&bytes, |_| {});
        match says {
            None => assert!(read.is_ok(), "{:?}", read.err()),
            Some(says) => assert!(read.unwrap_err().to_string().contains(says), "{parts}"),
        }
    }
}

#[test]
fn a_package_that_is_no_workbook_says_what_to_do() {
    let zip = |name: &str, text: &str| {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
        zip.finish().unwrap().into_inner()
    };
    for (bytes, says) in [
        (zip("staff.csv", "a"), "no workbook"),
        (zip("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), "OpenDocument"),
        (
            zip(
                "_rels/.rels",
                "<Relationships><Relationship Type=\"x/officeDocument\" Target=\"xl/workbook.bin\"/></Relationships>",
            ),
            "binary",
        ),
    ] {
        let error = read_with(&bytes, |_| {}).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
