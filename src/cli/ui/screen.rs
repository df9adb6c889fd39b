//! Neutralizes control characters in output, so that foreign texts can't control the terminal.
//!
//! All output passes here last, whether it comes from a directory, the service, the daemon, or the arguments that were
//! typed.
//!
//! Invariants:
//! - No control character but the end of a line and the tab, and none that turns the direction of writing or can't be seen,
//!   is shown as it is. In lines it is replaced; in documents it is escaped, which leaves the document equal.
//! - Colours are marks until the last moment, so that no text brings its own.
//!
//! The marks are noncharacters of Unicode, as those of [`Sensitive`](crate::record::Sensitive).

use std::borrow::Cow;
use std::io;

use crate::record::reveal;
use crate::text;

/// A colour, never the only sign of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Green,
    Yellow,
    Red,
    Bold,
}

/// The mark that ends a colour.
const PLAIN: char = '\u{fdd2}';
/// What ends one on a terminal.
const PLAIN_CODE: &str = "\u{1b}[0m";

impl Paint {
    const ALL: [Self; 4] = [Self::Green, Self::Yellow, Self::Red, Self::Bold];

    /// A text in this colour, marked.
    pub(crate) fn on(self, text: &str) -> String {
        format!("{}{text}{PLAIN}", self.mark())
    }

    fn mark(self) -> char {
        match self {
            Self::Green => '\u{fdd3}',
            Self::Yellow => '\u{fdd4}',
            Self::Red => '\u{fdd5}',
            Self::Bold => '\u{fdd6}',
        }
    }

    /// What begins it on a terminal.
    fn code(self) -> &'static str {
        match self {
            Self::Green => "\u{1b}[32m",
            Self::Yellow => "\u{1b}[33m",
            Self::Red => "\u{1b}[31m",
            Self::Bold => "\u{1b}[1m",
        }
    }
}

/// What a terminal would obey, or what can't be seen in a line.
fn is_wild(c: char) -> bool {
    text::is_wild(c) || is_colour(c)
}

fn is_colour(c: char) -> bool {
    matches!(c, PLAIN..='\u{fdd6}')
}

/// Text of others as a part of a line.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars().map(|c| if is_wild(c) { '\u{fffd}' } else { c }).collect()
}

/// Text of others as it is typed into a shell: where something in it can't be seen, in the shell's own notation.
pub(crate) fn typed(text: &str) -> String {
    if !text.chars().any(is_wild) {
        return text.to_owned();
    }
    let sign = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_wild(c) => format!("\\U{:08x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("$'{}'", text.chars().map(sign).collect::<String>())
}

/// Lines as they are shown in colours.
pub(crate) fn coloured(text: &str) -> String {
    rendered(text, |c| Paint::ALL.into_iter().find(|paint| paint.mark() == c).map_or(PLAIN_CODE, Paint::code))
}

/// Lines as they are shown without colours.
pub(crate) fn plain(text: &str) -> String {
    rendered(text, |_| "")
}

fn rendered(text: &str, code: fn(char) -> &'static str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in reveal(text).chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if is_colour(c) => out.push_str(code(c)),
            c if is_wild(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Lines that this program rendered in colours, marked again.
pub(crate) fn marked(text: &str) -> String {
    let begun =
        Paint::ALL.iter().fold(text.to_owned(), |text, paint| text.replace(paint.code(), &paint.mark().to_string()));
    begun.replace(PLAIN_CODE, &PLAIN.to_string())
}

/// A part of a JSON document: what would be obeyed can only stand in its texts, where it is escaped.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    // A first run's document has a line for everybody, and nearly all of its texts are plain.
    let bits = json.bytes().fold(0, |bits, byte| bits | byte.wrapping_add(1) | (u8::from(byte < b' ') << 7));
    if bits < 0x80 {
        return Cow::Borrowed(json);
    }
    let text = reveal(json);
    let is_wild = |c: char| c != '\n' && is_wild(c);
    if !text.contains(is_wild) {
        return text;
    }
    let escape = |c: char| if is_wild(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Text that comes in pieces, which may end inside a character.
#[derive(Default)]
pub(crate) struct Pieces {
    rest: Vec<u8>,
}

impl Pieces {
    /// What is whole by now.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let cut = match std::str::from_utf8(&self.rest) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.rest.len(),
        };
        let left = self.rest.split_off(cut);
        let whole = std::mem::replace(&mut self.rest, left);
        String::from_utf8_lossy(&whole).into_owned()
    }
}

/// stderr for what is logged. The lines bring colours of their own; the fields in them have lost theirs before.
pub(crate) struct Logged {
    pub(crate) json: bool,
}

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = if self.json { escaped(&text).into_owned() } else { logged(&text) };
        io::Write::write_all(&mut io::stderr().lock(), text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lines of a log: what sets a colour and nothing else of what a terminal obeys.
fn logged(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        let end = after.find(|c: char| !c.is_ascii_digit() && c != ';').filter(|at| after[*at..].starts_with('m'));
        out.push_str(&plain(before));
        rest = match end {
            Some(at) => {
                out.push_str(&format!("\u{1b}[{}", &after[..=at]));
                &after[at + 1..]
            }
            None => {
                out.push('\u{fffd}');
                after
            }
        };
    }
    out.push_str(&plain(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of the characters that nothing may show.
    fn wild() -> impl Iterator<Item = char> {
        let ranges =
            [0..=0x1f, 0x7f..=0x9f, 0x61c..=0x61c, 0x200b..=0x200f, 0x2028..=0x202e, 0x2060..=0x206f, 0xfeff..=0xfeff];
        ranges.into_iter().flatten().filter_map(char::from_u32)
    }

    #[test]
    fn no_text_of_others_steers_a_terminal() {
        for c in wild() {
            let text = format!("a{c}b");
            assert_eq!(sanitize(&text), "a\u{fffd}b", "{c:?}");
            let meant = matches!(c, '\n' | '\t');
            for shown in [plain(&text), coloured(&text)] {
                assert_eq!(shown.contains(c), meant, "{c:?}");
            }
            assert_eq!(logged(&text).contains(c), meant, "{c:?}");
            let json = serde_json::to_string(&text).unwrap();
            assert!(!escaped(&json).contains(c), "{c:?}");
            assert_eq!(serde_json::from_str::<String>(&escaped(&json)).unwrap(), text, "{c:?}");
        }
        assert_eq!(sanitize("a\u{1b}[2Jb\nc\u{202e}d é"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d é");
        assert_eq!(sanitize(&Paint::Red.on("x")), "\u{fffd}x\u{fffd}", "no text brings its own colour");
    }

    #[test]
    fn what_can_not_be_seen_can_be_typed() {
        assert_eq!(typed("Ana's K4"), "Ana's K4");
        assert_eq!(typed("\u{200b}K'4\\"), "$'\\U0000200bK\\'4\\\\'");
    }

    /// Every file of the program's text.
    fn sources(dir: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn nothing_else_writes_to_stdout_or_stderr() {
        let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        sources(&src, &mut files);
        let ways = ["io::stdout", "io::stderr", "/dev/std", "/dev/tty", ".print()"];
        let prints = ["print!(", "println!(", "dbg!("];
        // The tests of the model say how much they explored.
        let own = ["ui/output.rs", "ui/screen.rs", "model/tests.rs"];
        for file in files.iter().filter(|file| !own.iter().any(|own| file.ends_with(own))) {
            let text = std::fs::read_to_string(file).unwrap();
            let found = ways.iter().chain(&prints).find(|way| text.contains(**way));
            assert_eq!(found, None, "{}: what is shown goes through `Ui`", file.display());
        }
    }

    #[test]
    fn colours_are_those_of_this_program_and_only_where_they_are_shown() {
        let text = format!("{} b\u{1b}[31mc", Paint::Green.on("a"));
        assert_eq!(coloured(&text), "\u{1b}[32ma\u{1b}[0m b\u{fffd}[31mc");
        assert_eq!(plain(&text), "a b\u{fffd}[31mc");
        assert_eq!(marked(&coloured(&Paint::Bold.on("a"))), Paint::Bold.on("a"));
        assert_eq!(
            logged("\u{1b}[33m WARN\u{1b}[0m a\u{1b}[2Jb\u{1b}"),
            "\u{1b}[33m WARN\u{1b}[0m a\u{fffd}2Jb\u{fffd}"
        );
    }

    #[test]
    fn a_character_may_come_in_two_pieces() {
        let mut pieces = Pieces::default();
        let text = "aé\u{9b}z".as_bytes();
        let whole: String = text.iter().map(|byte| pieces.push(&[*byte])).collect();
        assert_eq!(whole.as_bytes(), text);
        assert_eq!(pieces.push(b"\xff\x80x"), "\u{fffd}\u{fffd}x");
    }
}
