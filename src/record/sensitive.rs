//! Texts that name people, for readers who may see that and for readers who may not (law 11).
//!
//! A reason such as "this record and that of key P7 both fit" is made far away from where it is shown, and passes through
//! formats and chains of errors on its way. So what names a person stands between two marks from the beginning: a key puts
//! them around itself wherever it is written into a text, and any other value is wrapped in [`Sensitive`]. Where the text
//! leaves the program, one of two things happens to it: [`reveal`] takes away the marks, [`redact`] what stands between them.
//!
//! Invariants:
//! - Marked text contains no marks itself: a key can't end its own mark.
//! - A mark that was cut off hides the rest.
//!
//! The marks are noncharacters of Unicode, which are meant for use inside a program.
//!
//! Rejected: a type of its own for reasons. An error's chain is text, and would lose it. Rejected: to cut keys out by
//! the words around them. Each author of a new reason would have to remember that.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

const OPEN: char = '\u{fdd0}';
const CLOSE: char = '\u{fdd1}';
/// The first byte of both in UTF-8.
const MARK_BEGINS: u8 = 0xef;
/// What is put in place of what is left out.
const HIDDEN: &str = "…";

/// A text that names a person, as a part of another text.
#[derive(Clone, Copy)]
pub struct Sensitive<'a>(pub &'a str);

impl fmt::Display for Sensitive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char(OPEN)?;
        self.0.split(is_mark).try_for_each(|part| f.write_str(part))?;
        f.write_char(CLOSE)
    }
}

/// Shows nothing (law 11).
impl fmt::Debug for Sensitive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// A text for readers who may see people.
pub fn reveal(text: &str) -> Cow<'_, str> {
    // Nearly no text has even the byte that both marks begin with.
    let may_be_marked = text.as_bytes().contains(&MARK_BEGINS);
    if may_be_marked && text.contains(is_mark) {
        Cow::Owned(text.split(is_mark).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A text for readers who may not: without what names a person.
pub fn redact(text: &str) -> String {
    replaced(text, |_| HIDDEN.to_owned())
}

/// Whether a text holds what marks names.
pub fn is_marked(text: &str) -> bool {
    text.contains(is_mark)
}

/// The text with something else for each part that names a person, which is shown without any mark.
pub(super) fn replaced(text: &str, mut instead: impl FnMut(&str) -> String) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        told.push_str(before);
        let (own, after) = after.split_once(CLOSE).unwrap_or((after, ""));
        told.push_str(&instead(&reveal(own)));
        rest = after;
    }
    told.push_str(rest);
    told
}

fn is_mark(c: char) -> bool {
    matches!(c, OPEN | CLOSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Key;

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    #[test]
    fn law_11_a_key_is_left_out_wherever_it_was_written() {
        let inner = format!("fits that of key {}, who is in the source too", key("Ana"));
        let outer = format!("segment {}: {inner}; and {:?}", Sensitive("Sales"), Sensitive("Bo"));
        assert_eq!(reveal(&outer), "segment Sales: fits that of key Ana, who is in the source too; and …");
        assert_eq!(redact(&outer), "segment …: fits that of key …, who is in the source too; and …");
        assert_eq!(redact("max_leavers: 9 people would leave"), "max_leavers: 9 people would leave");
    }

    #[test]
    fn law_11_no_key_ends_its_own_marks_and_a_cut_off_mark_hides_the_rest() {
        let odd = key("A\u{fdd1}na\u{fdd0}").to_string();
        assert_eq!((redact(&odd), reveal(&odd)), ("…".to_owned(), Cow::Borrowed("Ana")));
        let whole = format!("of key {} of job x", key("Ana"));
        let cut: String = whole.chars().take(10).collect();
        assert_eq!(redact(&cut), "of key …");
    }
}
