//! Workbooks in place of CSV files.

mod inbox;
mod reads;

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A sheet with the rows of a CSV file without quotes, each cell a text, and what stands behind the rows.
fn sheet(table: &str, behind: &str) -> String {
    let cell = |text: &str| match text {
        error if error.starts_with('#') => format!("<c t=\"e\"><v>{error}</v></c>"),
        text => format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>"),
    };
    let row = |line: &str| format!("<row>{}</row>", line.split(',').map(cell).collect::<String>());
    let rows: String = table.lines().map(row).collect();
    format!("<worksheet><sheetData>{rows}</sheetData>{behind}</worksheet>")
}

/// A workbook of these sheets, by their names.
fn book(sheets: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut put = |name: &str, text: &str| {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    };
    put(
        "_rels/.rels",
        "<Relationships><Relationship Id=\"a\" Type=\"x/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>",
    );
    let (mut listed, mut parts) = (String::new(), String::new());
    for (at, (name, xml)) in sheets.iter().enumerate() {
        listed += &format!("<sheet name=\"{name}\" sheetId=\"{at}\" r:id=\"s{at}\"/>");
        parts += &format!("<Relationship Id=\"s{at}\" Type=\"x/worksheet\" Target=\"{at}.xml\"/>");
        put(&format!("xl/{at}.xml"), xml);
    }
    put("xl/workbook.xml", &format!("<workbook><sheets>{listed}</sheets></workbook>"));
    put("xl/_rels/workbook.xml.rels", &format!("<Relationships>{parts}</Relationships>"));
    zip.finish().unwrap().into_inner()
}

/// A workbook of one sheet with the rows of a CSV file.
pub(crate) fn workbook(table: &str) -> Vec<u8> {
    book(&[("Staff", &sheet(table, ""))])
}
