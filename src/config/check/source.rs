//! Checks `[job.source]`.

use std::time::Duration;

use jiff::SignedDuration;

use super::{Environment, directory, text};
use crate::config::options::Mode;
use crate::config::raw::{RawSource, Scalar};
use crate::config::report::Report;
use crate::config::{nearest, units};
use crate::source::Source;
use crate::source::csv::{Encoding, Options};
use crate::source::inbox::{self, Order};

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

/// Checks the source at `place` of the job of that name, which may be missing.
pub(super) fn check(
    place: &str,
    job: Option<&str>,
    raw: &RawSource,
    ground: &Environment,
    report: &mut Report,
) -> Option<Checked> {
    let at = |key: &str| format!("{place}.{key}");
    match kind(&at("type"), raw.kind.as_deref(), report)? {
        SourceKind::Csv => {}
        SourceKind::Ldap => {
            let source = Source::Ldap(directory::check(place, job, raw, ground, report)?);
            return Some(Checked { source, mode: Mode::Full, inbox: None, expect_every: None });
        }
    }
    for key in directory::KEYS.iter().filter(|key| report.in_file(&at(key))).collect::<Vec<_>>() {
        report.problem(&at(key), "goes with type = \"ldap\"", Some("leave it out"));
    }
    let path = path(&at("path"), raw.path.as_deref(), ground, report);
    let modes = [("full", Mode::Full), ("changes", Mode::Changes)];
    let mode = text::choice(&at("mode"), raw.mode.as_deref(), &modes, report);
    let settle: Option<Duration> =
        text::parsed(&at("settle"), raw.settle.as_deref(), text::DURATION_HINT, report, |text| {
            units::duration(text).map(|settle| settle.unsigned_abs())
        });
    let size_hint = "write it like \"512MB\"";
    let size_max = text::parsed(&at("size_max"), raw.size_max.as_deref(), size_hint, report, units::size);
    let encoding = encoding(&at("encoding"), raw.encoding.as_deref(), report);
    let delimiters = [("auto", None), (",", Some(b',')), (";", Some(b';')), ("tab", Some(b'\t')), ("|", Some(b'|'))];
    let delimiter = raw.delimiter.as_deref().map(|written| if written == "\t" { "tab" } else { written });
    let delimiter = text::choice(&at("delimiter"), delimiter, &delimiters, report);
    let header = header(&at("header"), raw.header.as_ref(), report);
    let defaults = Options::at(path?);
    let options = Options {
        settle: settle.unwrap_or(defaults.settle),
        final_newline: raw.final_newline.unwrap_or(defaults.final_newline),
        size_max: size_max.unwrap_or(defaults.size_max),
        encoding: encoding.unwrap_or(defaults.encoding),
        delimiter: delimiter.flatten(),
        header,
        optional: raw.optional.clone(),
        ..defaults
    };
    let every = text::unless_empty(raw.expect_every.as_deref());
    let expect_every = text::parsed(&at("expect_every"), every, text::DURATION_HINT, report, |text| {
        units::duration(text).and_then(text::more_than_nothing)
    });
    let inbox = inbox(place, raw, &options, report);
    Some(Checked { source: Source::Csv(options), mode: mode.unwrap_or_default(), inbox, expect_every })
}

/// A folder is an inbox; so is what has a setting that only an inbox has.
fn inbox(place: &str, raw: &RawSource, options: &Options, report: &mut Report) -> Option<inbox::Options> {
    let at = |key: &str| format!("{place}.{key}");
    let orders = [("name", Order::Name), ("modified", Order::Modified)];
    let order = text::choice(&at("order"), raw.order.as_deref(), &orders, report);
    let pattern = text::unless_empty(raw.pattern.as_deref());
    let written = raw.path.as_deref().unwrap_or_default();
    if !written.ends_with('/') && !options.path.is_dir() && pattern.is_none() && raw.order.is_none() {
        return None;
    }
    if options.path.is_file() {
        let key = if pattern.is_some() { "pattern" } else { "order" };
        report.warning(&at(key), "is for an inbox, and `path` is a file: it does nothing", None);
        return None;
    }
    if pattern.is_some_and(|pattern| pattern.contains(['/', '[', ']', '{', '}'])) {
        report.problem(&at("pattern"), "knows only `*` and `?`", Some("write it like \"staff-*.csv\""));
    }
    Some(inbox::Options {
        dir: options.path.clone(),
        pattern: pattern.unwrap_or(inbox::Options::PATTERN).to_owned(),
        order: order.unwrap_or_default(),
        settle: options.settle,
        size_max: options.size_max,
        kept: inbox::Options::KEPT,
        doubt: None,
    })
}

#[derive(Clone, Copy)]
enum SourceKind {
    Csv,
    Ldap,
}

fn kind(place: &str, given: Option<&str>, report: &mut Report) -> Option<SourceKind> {
    if given.is_none() {
        report.problem(place, "is missing", Some("say type = \"csv\" or \"ldap\""));
    }
    let kind = match given? {
        "csv" => Some(SourceKind::Csv),
        "ldap" => Some(SourceKind::Ldap),
        _ => None,
    };
    if kind.is_none() {
        let message = format!("{:?} is no kind of source", given.unwrap_or_default());
        report.problem(place, message, Some("use \"csv\" or \"ldap\""));
    }
    kind
}

fn path(place: &str, given: Option<&str>, ground: &Environment, report: &mut Report) -> Option<std::path::PathBuf> {
    if given.is_none() {
        report.problem(
            place,
            "is missing",
            Some("name the file that holds the people, or the folder it is dropped into"),
        );
    }
    let written = text::filled(place, given, report)?;
    Some(ground.path(written))
}

fn encoding(place: &str, given: Option<&str>, report: &mut Report) -> Option<Encoding> {
    let given = given?;
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
        report.problem(place, format!("{given:?} is no encoding"), Some(&hint));
    }
    encoding.map(Encoding::Named)
}

fn header(place: &str, given: Option<&Scalar>, report: &mut Report) -> Option<u32> {
    match given? {
        Scalar::Text(text) if text == "auto" => None,
        Scalar::Text(text) => {
            let message = format!("{text:?} is neither \"auto\" nor a line number");
            report.problem(place, message, Some("write a line number without quotes"));
            None
        }
        Scalar::Number(line) => text::number(place, Some(*line), (1, HEADER_MAX), report),
    }
}
