//! Inspects an answer before it is parsed: its length, its depth of nesting, its kind.
//!
//! Invariant: nothing reaches the parser of `ldap3` that is longer, deeper or of more parts than the limits say, or whose
//! parts do not fill each other. The parser itself recurses for each level and believes every length.

use super::limits::{MESSAGE_BYTES_MAX, MESSAGE_DEPTH_MAX, MESSAGE_PARTS_MAX};

/// What an answer may be, by its tag; [MS-ADTS] and RFC 4511 know no others that a client gets.
pub(super) const BIND: u8 = 0x61;
pub(super) const ENTRY: u8 = 0x64;
pub(super) const DONE: u8 = 0x65;
pub(super) const REFERENCE: u8 = 0x73;
pub(super) const EXTENDED: u8 = 0x78;
pub(super) const INTERMEDIATE: u8 = 0x79;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const ENUMERATED: u8 = 0x0a;
/// What marks a tag as one that holds others.
const CONSTRUCTED: u8 = 0x20;
/// The number of a tag that goes on in further bytes, which LDAP has none of.
const LONG_TAG: u8 = 0x1f;
/// A length in a form of several bytes begins with their number.
const LONG_LENGTH: u8 = 0x80;

/// A part: its tag and what it holds.
type Tlv<'a> = (u8, &'a [u8]);

/// Why an answer is not taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    #[error("the server's answer can't be understood; is this an LDAP server?")]
    Garbled,
    #[error("the server sends a message of more than {} MiB, which is not read", MESSAGE_BYTES_MAX / 1024 / 1024)]
    Long,
    #[error("the server sends a message nested more than {MESSAGE_DEPTH_MAX} deep, which is not read")]
    Deep,
    #[error("the server sends a message of more than {MESSAGE_PARTS_MAX} values, which is not read")]
    ManyParts,
}

/// An answer that may be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Its bytes, head included.
    pub(super) length: usize,
    /// How many parts it has, at every level.
    pub(super) parts: usize,
    /// What it is.
    pub(super) operation: u8,
    /// Of a result: its code.
    pub(super) code: Option<u8>,
}

/// Looks at the message that `bytes` begin with; `None` where more of it is to come.
pub(super) fn message(bytes: &[u8]) -> Result<Option<Message>, Flaw> {
    let Some((tag, head, length)) = head(bytes)? else { return Ok(None) };
    if tag != SEQUENCE {
        return Err(Flaw::Garbled);
    }
    let Some(content) = bytes.get(head..head + length) else { return Ok(None) };
    let mut parts = 0;
    fill(content, 1, &mut parts)?;
    let (id, rest) = part(content)?;
    let (operation, _) = part(rest)?;
    let is_id = id.0 == INTEGER && (1..=4).contains(&id.1.len());
    let is_known = matches!(operation.0, BIND | ENTRY | DONE | REFERENCE | EXTENDED | INTERMEDIATE);
    if !is_id || !is_known {
        return Err(Flaw::Garbled);
    }
    let is_result = matches!(operation.0, BIND | DONE | EXTENDED);
    let code = match is_result.then(|| part(operation.1)).transpose()? {
        Some(((ENUMERATED, code), _)) if code.len() == 1 => Some(code[0]),
        Some(_) => return Err(Flaw::Garbled),
        None => None,
    };
    Ok(Some(Message { length: head + length, parts, operation: operation.0, code }))
}

/// The tag, the length of the head, and the length of what it heads; `None` where more of it is to come.
fn head(bytes: &[u8]) -> Result<Option<(u8, usize, usize)>, Flaw> {
    let [tag, length, rest @ ..] = bytes else { return Ok(None) };
    if tag & LONG_TAG == LONG_TAG {
        return Err(Flaw::Garbled);
    }
    if *length < LONG_LENGTH {
        return Ok(Some((*tag, 2, usize::from(*length))));
    }
    let count = usize::from(length - LONG_LENGTH);
    if count == 0 || count > size_of::<u64>() {
        return Err(Flaw::Garbled);
    }
    let Some(digits) = rest.get(..count) else { return Ok(None) };
    let length = digits.iter().fold(0u64, |length, digit| length << 8 | u64::from(*digit));
    match usize::try_from(length) {
        Ok(length) if length <= MESSAGE_BYTES_MAX => Ok(Some((*tag, 2 + count, length))),
        _ => Err(Flaw::Long),
    }
}

/// The first part, and the rest.
pub(super) fn part(bytes: &[u8]) -> Result<(Tlv<'_>, &[u8]), Flaw> {
    let (tag, head, length) = head(bytes)?.ok_or(Flaw::Garbled)?;
    let content = bytes.get(head..head + length).ok_or(Flaw::Garbled)?;
    Ok(((tag, content), &bytes[head + length..]))
}

/// Counts the parts, which must fill what holds them, and goes no deeper than the limit.
fn fill(mut bytes: &[u8], depth: usize, parts: &mut usize) -> Result<(), Flaw> {
    if depth > MESSAGE_DEPTH_MAX {
        return Err(Flaw::Deep);
    }
    while !bytes.is_empty() {
        let ((tag, content), rest) = part(bytes)?;
        *parts += 1;
        if *parts > MESSAGE_PARTS_MAX {
            return Err(Flaw::ManyParts);
        }
        if tag & CONSTRUCTED != 0 {
            fill(content, depth + 1, parts)?;
        }
        bytes = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x84][..], &length, content].concat()
    }

    fn answer(operation: u8, content: &[u8]) -> Vec<u8> {
        tagged(SEQUENCE, &[tagged(INTEGER, &[7]), tagged(operation, content)].concat())
    }

    /// So many values, each in the next.
    fn nested(depth: usize) -> Vec<u8> {
        (0..depth).fold(Vec::new(), |inner, _| tagged(SEQUENCE, &inner))
    }

    #[test]
    fn an_answer_is_known_by_what_it_is() {
        let entry = answer(ENTRY, &[tagged(0x04, b"cn=a"), tagged(SEQUENCE, b"")].concat());
        let seen = message(&entry).unwrap().unwrap();
        assert_eq!((seen.length, seen.parts, seen.operation, seen.code), (entry.len(), 4, ENTRY, None));
        let two = [entry.clone(), entry.clone()].concat();
        assert_eq!(message(&two).unwrap().unwrap().length, entry.len(), "the next one is left alone");
        let refused = answer(BIND, &[tagged(ENUMERATED, &[49]), tagged(0x04, b""), tagged(0x04, b"")].concat());
        assert_eq!(message(&refused).unwrap().unwrap().code, Some(49));
        for cut in 0..entry.len() {
            assert_eq!(message(&entry[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn what_goes_beyond_a_limit_is_known_before_it_is_taken_apart() {
        let many = tagged(0x04, b"").repeat(MESSAGE_PARTS_MAX);
        for (name, bytes, flaw) in [
            ("nested deep", answer(ENTRY, &nested(10_000)), Flaw::Deep),
            ("just too deep", answer(ENTRY, &nested(MESSAGE_DEPTH_MAX)), Flaw::Deep),
            ("many parts", answer(ENTRY, &many), Flaw::ManyParts),
            ("a length of 600 MiB", vec![SEQUENCE, 0x84, 0x25, 0x80, 0, 0, 0x02], Flaw::Long),
            ("a length of all bits", [&[SEQUENCE, 0x88][..], &[0xff; 8]].concat(), Flaw::Long),
            ("a length without end", vec![SEQUENCE, 0x80, 0, 0], Flaw::Garbled),
            ("a length of 100 digits", vec![SEQUENCE, 0x80 + 100, 1, 1], Flaw::Garbled),
            ("no sequence", b"HTTP/1.1 400".to_vec(), Flaw::Garbled),
            ("nothing in it", vec![SEQUENCE, 0], Flaw::Garbled),
            ("no operation", tagged(SEQUENCE, &tagged(INTEGER, &[1])), Flaw::Garbled),
            ("no number", tagged(SEQUENCE, &[tagged(INTEGER, b""), tagged(ENTRY, b"")].concat()), Flaw::Garbled),
            ("an operation that is none", answer(0x7e, b""), Flaw::Garbled),
            ("a result without a code", answer(DONE, b""), Flaw::Garbled),
            ("a part longer than what holds it", answer(ENTRY, &[0x04, 5, 0]), Flaw::Garbled),
            ("a tag in several bytes", answer(ENTRY, &[0x1f, 0x81, 0]), Flaw::Garbled),
        ] {
            assert_eq!(message(&bytes), Err(flaw), "{name}");
        }
        assert!(message(&answer(ENTRY, &nested(MESSAGE_DEPTH_MAX - 3))).is_ok());
    }
}
