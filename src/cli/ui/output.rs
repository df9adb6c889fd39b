//! The only writer of stdout and stderr. Its readers may see people: what marks them in a text is taken away here, and
//! so is what a terminal would obey.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Value, json};

use super::failure::Failure;
pub(crate) use super::screen::{Paint, sanitize};
use super::screen::{Pieces, coloured, escaped, plain};
use crate::cli::args::{Arguments, Color};
use crate::daemon::ReplyStream;

/// Writes to stdout and stderr: this process's, or those of a caller of the daemon.
#[derive(Clone)]
pub(crate) struct Ui {
    pub(crate) json: bool,
    /// Whether notes, warnings and progress are left out.
    quiet: bool,
    /// Whether stdout and stderr show colours.
    paints: (bool, bool),
    /// Whether someone watches stdout and stderr.
    watched: (bool, bool),
    /// The way to a caller of the daemon; none where the streams are this process's.
    back: Option<ReplyStream>,
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

fn shown(text: &str, paints: bool) -> String {
    if paints { coloured(text) } else { plain(text) }
}

impl Ui {
    /// What writes lines to the streams of this process.
    pub(crate) fn new(color: Color) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let paints = |is_terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !plain,
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self { json: false, quiet: false, paints: (paints(out), paints(err)), watched: (out, err), back: None }
    }

    /// The same, with JSON for results and without notes where the arguments ask for that.
    pub(crate) fn asked_by(self, arguments: &Arguments) -> Self {
        Self { json: arguments.json, quiet: arguments.quiet, ..self }
    }

    /// What writes to a caller of the daemon, in colours where the caller's streams show them.
    pub(crate) fn over(back: ReplyStream, paints: (bool, bool)) -> Self {
        Self { json: false, quiet: false, paints, watched: (false, false), back: Some(back) }
    }

    /// Whether stdout and stderr show colours.
    pub(crate) fn paints(&self) -> (bool, bool) {
        self.paints
    }

    /// Writes lines to stdout; a caller of the daemon renders them itself.
    fn out_text(&self, text: &str) {
        match &self.back {
            Some(back) => back.out(text.as_bytes()),
            None => self.out(shown(text, self.paints.0).as_bytes()),
        }
    }

    /// The same to stderr.
    fn err_text(&self, text: &str) {
        match &self.back {
            Some(back) => back.err(text.as_bytes()),
            None => {
                let _ = io::stderr().lock().write_all(shown(text, self.paints.1).as_bytes());
            }
        }
    }

    /// Writes what the daemon sends for stdout.
    pub(crate) fn relay_out(&self, pieces: &mut Pieces, bytes: &[u8]) {
        self.out_text(&pieces.push(bytes));
    }

    /// The same for stderr.
    pub(crate) fn relay_err(&self, pieces: &mut Pieces, bytes: &[u8]) {
        self.err_text(&pieces.push(bytes));
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

    /// Writes a line of data. A reader that went away is no failure.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        self.out_text(&format!("{}\n", text.as_ref()));
    }

    /// Writes a document of data on one line.
    pub(crate) fn document(&self, document: &impl Serialize) {
        // It is there as a whole, so there is nothing that could not be written.
        let _ = self.stream(document);
    }

    /// Writes a document of data on one line, as it is made; fails where it can't be made to its end. A reader that went
    /// away is no failure.
    pub(crate) fn stream(&self, document: &impl Serialize) -> Result<(), serde_json::Error> {
        let mut out = io::BufWriter::with_capacity(DOCUMENT_BYTES, Out(self));
        let mut json = serde_json::Serializer::with_formatter(&mut out, Unmarked);
        let made = document.serialize(&mut json);
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
        made.or_else(|error| if error.is_io() { Ok(()) } else { Err(error) })
    }

    /// Writes a document that is itself the data: on one line with `--json`, else set out for reading.
    pub(crate) fn shown(&self, value: &Value) {
        if self.json { self.document(value) } else { self.line(escaped(&format!("{value:#}"))) }
    }

    /// Writes data as it is, save where someone looks at it.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        if self.watched.0 {
            return self.line(String::from_utf8_lossy(bytes).trim_end_matches('\n'));
        }
        self.out(bytes);
        if !bytes.ends_with(b"\n") {
            self.out(b"\n");
        }
    }

    /// Writes a line that is no data.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.err_line(text);
        }
    }

    /// Writes a line to stderr, however little is asked for.
    fn err_line(&self, text: impl AsRef<str>) {
        self.err_text(&format!("{}\n", text.as_ref()));
    }

    /// Writes a warning.
    pub(crate) fn warn(&self, text: impl AsRef<str>) {
        self.note(format!("{} {}", Paint::Yellow.on("warning:"), text.as_ref()));
    }

    /// Writes a failure with its causes and hints.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            let message = crate::fault::chain(failure.error());
            let code = failure.exit().code();
            let document = json!({"version": 1, "error": {"code": code, "message": message, "hints": failure.hints()}});
            self.err_line(escaped(&document.to_string()));
            return;
        }
        let label = Paint::Red.on("error:");
        let mut text = failure.error().to_string();
        self.err_line(format!("{label} {text}"));
        let mut cause = failure.error().source();
        while let Some(error) = cause {
            let next = error.to_string();
            if !text.ends_with(&next) {
                self.err_line(format!("caused by: {next}"));
            }
            text = next;
            cause = error.source();
        }
        if !failure.hints().is_empty() {
            self.err_line("");
        }
        for hint in failure.hints() {
            self.err_line(format!("hint: {hint}"));
        }
    }

    /// Writes the result of arguments that are no command: a mistake, or information about the program.
    pub(crate) fn unparsed(&self, error: &clap::Error) {
        let text = error.render();
        if error.use_stderr() {
            self.err_line(text.to_string().trim_end());
        } else if self.paints.0 {
            self.out(text.ansi().to_string().as_bytes());
        } else {
            self.out(text.to_string().as_bytes());
        }
    }

    /// Text in a colour, where stdout shows colours.
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        if self.paints.0 { paint.on(text) } else { text.to_owned() }
    }

    /// Whether someone watches.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && !self.quiet && self.watched.1
    }
}

/// Writes texts without what marks names in them, and with escapes for what a terminal would obey.
struct Unmarked;

impl Formatter for Unmarked {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(escaped(fragment).as_bytes())
    }
}
