//! The only writer of stdout and stderr. Who reads there may see people: what marks them in a text is taken away here.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Value, json};

use super::args::Color;
use super::failure::Failure;
use crate::daemon::Back;
use crate::record::shown;

/// Writes to stdout and stderr: this process's, or those of a caller of the daemon.
#[derive(Clone)]
pub(super) struct Ui {
    pub(super) json: bool,
    /// Whether stdout and stderr show colours.
    paints: (bool, bool),
    /// Whether someone watches stderr.
    watched: bool,
    /// The way to a caller of the daemon; none where the streams are this process's.
    back: Option<Back>,
}

/// How much of a document is written at once.
const DOCUMENT_BYTES: usize = 64 * 1024;

/// stdout as something that is written to.
struct Out<'a>(&'a Ui);

impl io::Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.out(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A colour, never the only sign of anything.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    Green,
    Yellow,
    Red,
    Bold,
}

impl Ui {
    pub(super) fn new(color: Color, json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let paints = |is_terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !plain,
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self { json, paints: (paints(out), paints(err)), watched: err, back: None }
    }

    /// What writes to a caller of the daemon, in colours where the caller's streams show them.
    pub(super) fn over(back: Back, paints: (bool, bool), json: bool) -> Self {
        Self { json, paints, watched: false, back: Some(back) }
    }

    /// Whether stdout and stderr show colours.
    pub(super) fn paints(&self) -> (bool, bool) {
        self.paints
    }

    fn out(&self, bytes: &[u8]) {
        match &self.back {
            Some(back) => back.out(bytes),
            None => {
                let mut out = io::stdout().lock();
                let _ = out.write_all(bytes).and_then(|()| out.flush());
            }
        }
    }

    fn err(&self, bytes: &[u8]) {
        match &self.back {
            Some(back) => back.err(bytes),
            None => {
                let _ = io::stderr().lock().write_all(bytes);
            }
        }
    }

    /// Writes a line of data. A reader that went away is no failure.
    pub(super) fn line(&self, text: impl AsRef<str>) {
        self.out(format!("{}\n", shown(text.as_ref())).as_bytes());
    }

    /// Writes a document of data on one line.
    pub(super) fn document(&self, document: &impl Serialize) {
        // It is there as a whole, so there is nothing that could not be written.
        let _ = self.stream(document);
    }

    /// Writes a document of data on one line, as it is made; fails where it can't be made to its end. A reader that went
    /// away is no failure.
    pub(super) fn stream(&self, document: &impl Serialize) -> Result<(), serde_json::Error> {
        let mut out = io::BufWriter::with_capacity(DOCUMENT_BYTES, Out(self));
        let mut json = serde_json::Serializer::with_formatter(&mut out, Unmarked);
        let made = document.serialize(&mut json);
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
        made.or_else(|error| if error.is_io() { Ok(()) } else { Err(error) })
    }

    /// Writes a document that is itself the data: on one line with `--json`, else set out for reading.
    pub(super) fn shown(&self, value: &Value) {
        if self.json { self.document(value) } else { self.line(format!("{value:#}")) }
    }

    /// Writes data as it is.
    pub(super) fn bytes(&self, bytes: &[u8]) {
        self.out(bytes);
        if !bytes.ends_with(b"\n") {
            self.out(b"\n");
        }
    }

    /// Writes a line that is no data.
    pub(super) fn note(&self, text: impl AsRef<str>) {
        self.err(format!("{}\n", shown(text.as_ref())).as_bytes());
    }

    /// Writes a warning.
    pub(super) fn warn(&self, text: impl AsRef<str>) {
        let label = if self.paints.1 { "\u{1b}[33mwarning:\u{1b}[0m" } else { "warning:" };
        self.note(format!("{label} {}", text.as_ref()));
    }

    /// Writes a failure with its causes and hints.
    pub(super) fn failure(&self, failure: &Failure) {
        if self.json {
            let message = crate::fault::chain(failure.error());
            let code = failure.exit().code();
            let document = json!({"version": 1, "error": {"code": code, "message": message, "hints": failure.hints()}});
            self.note(document.to_string());
            return;
        }
        let label = if self.paints.1 { "\u{1b}[31merror:\u{1b}[0m" } else { "error:" };
        let mut text = failure.error().to_string();
        self.note(format!("{label} {text}"));
        let mut cause = failure.error().source();
        while let Some(error) = cause {
            let next = error.to_string();
            if !text.ends_with(&next) {
                self.note(format!("caused by: {next}"));
            }
            text = next;
            cause = error.source();
        }
        if !failure.hints().is_empty() {
            self.note("");
        }
        for hint in failure.hints() {
            self.note(format!("hint: {hint}"));
        }
    }

    /// Text in a colour, where stdout shows colours.
    pub(super) fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.paints.0 {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Green => 32,
            Paint::Yellow => 33,
            Paint::Red => 31,
            Paint::Bold => 1,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Whether someone watches.
    pub(super) fn is_watched(&self) -> bool {
        !self.json && self.watched
    }
}

/// Writes texts without what marks names in them.
struct Unmarked;

impl Formatter for Unmarked {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(shown(fragment).as_bytes())
    }
}

/// Text of a directory, as it may be shown on a terminal: control characters and those that turn the direction of
/// writing are replaced.
pub(super) fn tame(text: &str) -> String {
    let wild = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if wild(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_directory_can_t_steer_the_terminal() {
        assert_eq!(tame("a\u{1b}[2Jb\nc\u{202e}d é"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d é");
    }
}
