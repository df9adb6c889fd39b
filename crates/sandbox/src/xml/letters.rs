//! Characters and names of documents: what must be written otherwise, and how it is read back.

/// The underscore's code, which makes it one that begins no other code.
const UNDERSCORE: &str = "_x005F_";

/// How long a code is: an underscore, an x, four digits, an underscore.
const CODE_LENGTH: usize = 7;

/// Whether XML 1.0 has the character.
pub(super) fn is_allowed(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..)
}

/// Whether a key can be an element's name as it is. Names are ASCII here; all others become `field`, and names that
/// begin with `xml` are reserved by XML.
pub(super) fn is_name(key: &str) -> bool {
    let mut letters = key.chars();
    let begins = letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_');
    begins
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
        && key != "field"
        && !key.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("xml"))
}

/// Appends text so that it is the same text in an element or in an attribute within double quotes.
pub(super) fn push(text: &str, out: &mut String) {
    for (start, letter) in text.char_indices() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Readers turn these into a space or a line feed unless they are written as references.
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '_' if begins_code(&text[start..]) => out.push_str(UNDERSCORE),
            _ if is_allowed(letter) => out.push(letter),
            _ => out.push_str(&format!("_x{:04X}_", u32::from(letter))),
        }
    }
}

/// Text without its codes.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('_') {
        let (before, code) = rest.split_at(start);
        out.push_str(before);
        let ends = code.get(..CODE_LENGTH).is_some_and(|code| code.ends_with('_'));
        match coded(code).filter(|_| ends) {
            Some(letter) => {
                out.push(letter);
                rest = &code[CODE_LENGTH..];
            }
            None => {
                out.push('_');
                rest = &code[1..];
            }
        }
    }
    out + rest
}

/// Whether text that begins with an underscore would be read as a code, after what follows it has been written.
fn begins_code(text: &str) -> bool {
    let next = || text[CODE_LENGTH - 1..].chars().next();
    coded(text).is_some() && next().is_some_and(|next| next == '_' || !is_allowed(next))
}

/// The character that the first six letters of a code mean, if it is one that is written as a code.
fn coded(text: &str) -> Option<char> {
    let digits = text.strip_prefix("_x")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let letter = char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?)?;
    (letter == '_' || !is_allowed(letter)).then_some(letter)
}
