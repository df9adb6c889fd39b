//! Made-up files, and what must hold of each.

use std::fs::File;
use std::io::{Cursor, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

use rustix::fs::MemfdFlags;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::limits::COLUMNS_MAX;
use super::{CsvErrorKind, DetectedFormat, Encoding, Error, Opened, Options, WorkbookFault, probe_opened, read_opened};
use crate::source::{ColumnRequirement, Name, Read, RequiredColumns, SourceState};

/// The parts of a workbook: the name of each, and what it is where the input has none.
const PARTS: [(&str, &str); 6] = [
    ("xl/worksheets/1.xml", "<worksheet><sheetData/></worksheet>"),
    ("xl/sharedStrings.xml", "<sst><si><t>Employee No</t></si><si><t>Name</t></si><si><t>Ana</t></si></sst>"),
    (
        "xl/styles.xml",
        "<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode=\"00000\"/></numFmts><cellXfs><xf numFmtId=\"0\"/>\
         <xf numFmtId=\"14\"/><xf numFmtId=\"164\"/></cellXfs></styleSheet>",
    ),
    ("xl/workbook.xml", "<workbook><sheets><sheet name=\"Staff\" sheetId=\"1\" r:id=\"a\"/></sheets></workbook>"),
    (
        "xl/_rels/workbook.xml.rels",
        "<Relationships><Relationship Id=\"a\" Type=\"x/worksheet\" Target=\"worksheets/1.xml\"/>\
         <Relationship Id=\"b\" Type=\"x/sharedStrings\" Target=\"sharedStrings.xml\"/>\
         <Relationship Id=\"c\" Type=\"x/styles\" Target=\"styles.xml\"/></Relationships>",
    ),
    (
        "_rels/.rels",
        "<Relationships><Relationship Id=\"a\" Type=\"x/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>",
    ),
];

/// Everything of a read.
struct Seen {
    rows: Vec<Vec<String>>,
    read: Read,
}

impl Seen {
    fn found(&self) -> &DetectedFormat {
        match &self.read.found {
            SourceState::Csv(found) => found,
            SourceState::Ldap(_) => panic!("a file was read"),
        }
    }

    fn is_complete(&self) -> bool {
        self.read.incomplete().is_empty()
    }
}

/// A file of text: a byte of settings, two that say where it is cut, the file.
pub(crate) fn csv(bytes: &[u8]) {
    let Some(([settings, cut @ ..], content)) = bytes.split_first_chunk::<3>() else { return };
    probed(content);
    let options = options(*settings);
    let Ok(whole) = look(content, &options) else { return };
    if whole.is_complete() {
        again(&whole, &options);
        let cut = usize::from(u16::from_le_bytes(*cut)) % content.len().max(1);
        is_noticed(&whole, &content[..cut], &options);
    }
}

/// A workbook: a whole file, or its parts one behind the other, each ended by a zero byte.
pub(crate) fn workbook(bytes: &[u8]) {
    if bytes.starts_with(b"PK") {
        probed(bytes);
        _ = look(bytes, &Options::at("fuzz"));
        return;
    }
    let texts: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let Ok(whole) = look(&packed(&texts), &Options::at("fuzz")) else { return };
    let sheet = texts[0];
    if whole.is_complete() && !sheet.is_empty() {
        let cut = usize::try_from(whole.read.content).unwrap_or(usize::MAX) % sheet.len();
        let mut texts = texts.clone();
        texts[0] = &sheet[..cut];
        if let Ok(part) = look(&packed(&texts), &Options::at("fuzz")) {
            assert!(cut == 0 || part.rows == whole.rows, "a sheet that was cut gave fewer rows");
        }
    }
}

fn options(settings: u8) -> Options {
    let encodings = [
        Encoding::Auto,
        Encoding::Named(encoding_rs::UTF_8),
        Encoding::Named(encoding_rs::WINDOWS_1252),
        Encoding::Named(encoding_rs::SHIFT_JIS),
    ];
    Options {
        final_newline: settings & 1 == 0,
        header: (settings & 2 != 0).then_some(1),
        delimiter: (settings & 4 != 0).then_some(b';'),
        encoding: encodings[usize::from(settings >> 4 & 3)],
        ..Options::at("fuzz")
    }
}

fn opened(content: &[u8]) -> Opened {
    let mut file = File::from(rustix::fs::memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("there is memory"));
    file.write_all(content).expect("there is memory");
    Opened { file, size: content.len() as u64 }
}

/// Looks at a file as if nothing was known of it.
fn probed(content: &[u8]) {
    if let Ok(probe) = probe_opened(opened(content), Path::new("fuzz"), None) {
        assert!((1..=COLUMNS_MAX).contains(&probe.found.columns.len()), "a file has columns");
    }
}

/// Reads a file, and checks what holds of every read.
fn look(content: &[u8], options: &Options) -> Result<Seen, Error> {
    let need = |name: &str| ColumnRequirement { name: Name::Plain(name.to_owned()), optional: false };
    let wanted = RequiredColumns {
        needs: vec![need("employee_no"), need("name")],
        keys: vec![Name::Plain("employee_no".to_owned())],
        ..RequiredColumns::default()
    };
    let (mut rows, mut line) = (Vec::new(), 0);
    let read = read_opened(opened(content), options, &wanted, None, &mut |row| {
        assert!(row.line > line, "rows come in order, each once");
        line = row.line;
        assert_eq!(row.len(), row.columns().len(), "a row is whole");
        rows.push(row.pairs().map(|(_, cell)| cell.to_owned()).collect::<Vec<_>>());
        assert!(rows.last().is_some_and(|row| row.iter().any(|cell| !cell.trim().is_empty())), "a row is not blank");
        ControlFlow::Continue(())
    });
    let is_panic = |error: &Error| matches!(error.kind, CsvErrorKind::Workbook(WorkbookFault::Panicked));
    assert!(!read.as_ref().is_err_and(is_panic), "a parser panicked");
    let read = read?;
    assert_eq!(read.rows, rows.len() as u64);
    assert!(read.rejected.is_empty() || !read.incomplete().is_empty(), "a rejected row may be anybody");
    Ok(Seen { rows, read })
}

/// What was read of a whole file is what is read of it when it is written again.
fn again(whole: &Seen, options: &Options) {
    let found = whole.found();
    let delimiter = found.text.clone().unwrap_or_default().delimiter;
    let mut writer =
        csv::WriterBuilder::new().delimiter(delimiter).quote_style(csv::QuoteStyle::Always).from_writer(vec![]);
    writer.write_record(&found.columns).expect("it goes to memory");
    whole.rows.iter().for_each(|row| writer.write_record(row).expect("it goes to memory"));
    let written = writer.into_inner().expect("it goes to memory");
    let options = Options {
        encoding: Encoding::Named(encoding_rs::UTF_8),
        delimiter: Some(delimiter),
        header: Some(1),
        ..options.clone()
    };
    let read = look(&written, &options).expect("what can be read can be read again");
    assert_eq!(read.rows, whole.rows);
}

/// A file that was cut is seen as whole only where the cut is behind a row, and gives those before it (law 1).
fn is_noticed(whole: &Seen, part: &[u8], options: &Options) {
    if !options.final_newline {
        return;
    }
    let Ok(read) = look(part, options) else { return };
    if !read.is_complete() || read.found() != whole.found() {
        return;
    }
    let end = part.iter().rfind(|byte| **byte != 0);
    assert!(matches!(end, Some(b'\n' | b'\r')), "a file that ends within a row is not whole");
    assert!(whole.rows.starts_with(&read.rows), "what is before a cut is read as it was");
}

/// Puts a workbook together; parts that are not given are the usual ones.
fn packed(texts: &[&[u8]]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (at, (name, usual)) in PARTS.iter().enumerate() {
        let text = texts.get(at).filter(|text| !text.is_empty()).copied().unwrap_or(usual.as_bytes());
        zip.start_file(*name, stored).expect("it goes to memory");
        zip.write_all(text).expect("it goes to memory");
    }
    zip.finish().expect("it goes to memory").into_inner()
}
