//! Checks `[job.source]`.

use config::ValueKind;
use jiff::SignedDuration;

use super::section::Section;
use super::{directory, entra, web};
use crate::config::keys::SourceKind;
use crate::config::options::Mode;
use crate::config::{nearest, units};
use crate::source::csv::{Encoding, Options};
use crate::source::inbox::{self, Order};
use crate::source::{Source, https};

/// The last line that may be the header.
const HEADER_MAX: i64 = 1_000_000;

/// Encodings that people mean; any other label of the WHATWG list is taken too.
const ENCODINGS: &[&str] = &["auto", "utf-8", "utf-16le", "utf-16be", "windows-1252", "iso-8859-1", "shift_jis"];

/// A source that was checked.
pub(super) struct Checked {
    pub(super) source: Source,
    pub(super) mode: Mode,
    pub(super) inbox: Option<inbox::Options>,
    pub(super) expect_every: Option<SignedDuration>,
}

/// Checks the source of the job of that name, which may be missing.
pub(super) fn check(source: &Section<'_>, job: Option<&str>) -> Option<Checked> {
    match source.present("type", "say type = \"csv\", \"ldap\" or \"entra\"")? {
        "csv" => {}
        "ldap" => {
            let source = Source::Ldap(directory::check(source, job)?);
            return Some(Checked { source, mode: Mode::Full, inbox: None, expect_every: None });
        }
        "entra" => {
            let source = Source::Entra(Box::new(entra::check(source, job)?));
            return Some(Checked { source, mode: Mode::Full, inbox: None, expect_every: None });
        }
        other => {
            let hint = match other.to_lowercase().as_str() {
                "xlsx" | "xls" | "excel" | "workbook" | "inbox" | "file" => {
                    "a workbook or an inbox is named by `path`, with type = \"csv\""
                }
                "http" | "https" | "url" | "web" => "a file of a web server is named by `url`, with type = \"csv\"",
                "ad" | "ldaps" | "active_directory" | "activedirectory" => "a directory has type = \"ldap\"",
                "azure" | "azuread" | "aad" | "graph" | "microsoft" => "a tenant has type = \"entra\"",
                _ => "use \"csv\", \"ldap\" or \"entra\"",
            };
            let hint = Some(hint);
            return source.wrong("type", format!("{other:?} is no kind of source"), hint);
        }
    }
    let is_web = source.in_file("url");
    source.refuse_foreign(if is_web { SourceKind::Web } else { SourceKind::File });
    let path = match is_web {
        true => None,
        false => path(source),
    };
    let mode = source.choice("mode", &[("full", Mode::Full), ("changes", Mode::Changes)]);
    let settle = source.duration("settle");
    let size_max = source.parsed("size_max", "write it like \"512MB\"", units::size);
    let encoding = encoding(source);
    let delimiters = [("auto", None), (",", Some(b',')), (";", Some(b';')), ("tab", Some(b'\t')), ("|", Some(b'|'))];
    let delimiter = match source.text("delimiter") {
        Some("\t") => Some(Some(b'\t')),
        _ => source.choice("delimiter", &delimiters),
    };
    let header = header(source);
    let download = if is_web { Some(web::check(source, job)) } else { None };
    let defaults = match (&download, path) {
        (Some(download), _) => download.as_ref()?.content.clone(),
        (None, path) => Options::at(source.ground.path(path?)),
    };
    let options = Options {
        settle: settle.map_or(defaults.settle, SignedDuration::unsigned_abs),
        final_newline: source.flag("final_newline").unwrap_or(defaults.final_newline),
        size_max: size_max.unwrap_or(defaults.size_max),
        encoding: encoding.unwrap_or(defaults.encoding),
        delimiter: delimiter.flatten(),
        header,
        sheet: source.unless_empty("sheet").map(str::to_owned),
        optional: source.list("optional"),
        ..defaults
    };
    let expect_every = source.unless_empty("expect_every").and_then(|_| source.positive_duration("expect_every"));
    let mode = mode.unwrap_or_default();
    if let Some(download) = download.flatten() {
        let source = Source::Web(Box::new(https::Options { content: options, ..download }));
        return Some(Checked { source, mode, inbox: None, expect_every });
    }
    let inbox = inbox(source, &options);
    Some(Checked { source: Source::Csv(options), mode, inbox, expect_every })
}

/// The file or folder as it is written. What can't be one is refused: without an end like `.csv` it would be taken for an inbox
/// on a share that is mounted later, and waited for.
fn path<'a>(source: &Section<'a>) -> Option<&'a str> {
    const MOUNT: &str = "mount it, and write the path where it is mounted";
    let written = source.required("path", "name the file that holds the people, or the folder it is dropped into")?;
    let is_windows = written.starts_with(r"\\") || matches!(written.as_bytes(), [_, b':', b'\\', ..]);
    // An address may hold a secret and is not quoted (law 11).
    let (message, hint) = match written.split_once("://").map(|(scheme, _)| scheme) {
        Some("http" | "https") => ("is an address", "name a file of a web server by `url`"),
        Some("file") => ("is an address", "write only the path, from its third / on"),
        Some(_) => ("is an address", MOUNT),
        None if is_windows => ("is a path of Windows", MOUNT),
        None if written == "~" || written.starts_with("~/") => {
            ("begins with ~, and the daemon has no home", "write the whole path, from / on")
        }
        None if written.contains(['*', '?']) && !source.ground.path(written).exists() => {
            ("is a pattern", "name the folder here, and the files in it by `pattern`")
        }
        None => return Some(written),
    };
    source.wrong("path", message, Some(hint))
}

/// A folder is an inbox. So is what has a setting that only an inbox has, and what can't be looked at and is not named like a
/// file: a share that is mounted later.
fn inbox(source: &Section<'_>, options: &Options) -> Option<inbox::Options> {
    let order = source.choice("order", &[("name", Order::Name), ("modified", Order::Modified)]);
    let patterns: Vec<String> =
        source.list::<String>("pattern").into_iter().filter(|pattern| !pattern.is_empty()).collect();
    let written = source.text("path").unwrap_or_default();
    let is_folder = options.path.metadata().map_or(options.path.extension().is_none(), |found| found.is_dir());
    if !written.ends_with('/') && !is_folder && patterns.is_empty() && !source.has("order") {
        return None;
    }
    if options.path.is_file() {
        let key = if patterns.is_empty() { "order" } else { "pattern" };
        source.warning(key, "is for an inbox, and `path` is a file: it does nothing", None);
        return None;
    }
    if patterns.iter().any(|pattern| pattern.contains(['/', '[', ']', '{', '}'])) {
        source.problem("pattern", "knows only `*` and `?`", Some("write it like \"staff-*.csv\""));
    }
    Some(inbox::Options {
        dir: options.path.clone(),
        patterns: match patterns.is_empty() {
            true => inbox::Options::PATTERNS.map(str::to_owned).to_vec(),
            false => patterns,
        },
        order: order.unwrap_or_default(),
        settle: options.settle,
        size_max: options.size_max,
        kept: inbox::Options::KEPT,
        doubt: None,
        reads: inbox::Reads::default(),
        others_wait: false,
        repeats: false,
    })
}

fn encoding(source: &Section<'_>) -> Option<Encoding> {
    let given = source.text("encoding")?;
    if given.eq_ignore_ascii_case("auto") {
        return Some(Encoding::Auto);
    }
    // Labels of the "replacement" encoding would turn a whole file into one character.
    let encoding = encoding_rs::Encoding::for_label_no_replacement(given.as_bytes());
    if encoding.is_none() {
        let hint = match nearest(given, ENCODINGS.iter().copied()) {
            Some(label) => format!("did you mean {label:?}?"),
            None => "use \"auto\", \"utf-8\" or \"windows-1252\"".to_owned(),
        };
        source.problem("encoding", format!("{given:?} is no encoding"), Some(&hint));
    }
    encoding.map(Encoding::Named)
}

fn header(source: &Section<'_>) -> Option<u32> {
    match source.value("header")? {
        ValueKind::String(text) if text == "auto" => None,
        ValueKind::String(text) => {
            let message = format!("{text:?} is neither \"auto\" nor a line number");
            source.wrong("header", message, Some("write a line number without quotes"))
        }
        _ => source.number("header", (1, HEADER_MAX)),
    }
}
