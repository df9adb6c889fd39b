//! The first pass over a file: inspects its bytes to find their encoding.

use std::fs::File;
use std::io::{Read, Seek};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::memchr_iter;
use xxhash_rust::xxh3::Xxh3Default;

use super::limits::BUFFER_BYTES;

/// How much of the beginning tells UTF-16 and other formats.
const LOOK_BYTES: usize = 4096;

/// What the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// How many bytes there are.
    pub(super) size: u64,
    /// The digest of all of them.
    pub(super) content: u128,
    /// The encoding whose mark they begin with, and the mark's length.
    pub(super) mark: Option<(&'static Encoding, usize)>,
    /// The UTF-16 that the pattern of NUL bytes shows.
    pub(super) pattern: Option<&'static Encoding>,
    /// The name of a format that is no CSV, by its first bytes.
    pub(super) format: Option<&'static str>,
    /// Whether all bytes are ASCII.
    pub(super) ascii: bool,
    /// Whether they are UTF-8.
    pub(super) utf8: Utf8,
    /// Whether there is a byte that no text in Windows-1252 has: a NUL, or one that the code page leaves out.
    pub(super) binary: bool,
    /// The last two bytes.
    pub(super) tail: [u8; 2],
}

impl Survey {
    /// Whether the last row ends in a line end.
    pub(super) fn ends_in_line_end(&self, encoding: &'static Encoding) -> bool {
        let end = |byte: u8| matches!(byte, b'\n' | b'\r');
        match () {
            () if encoding == UTF_16LE => end(self.tail[0]) && self.tail[1] == 0,
            () if encoding == UTF_16BE => end(self.tail[1]) && self.tail[0] == 0,
            () => end(self.tail[1]),
        }
    }
}

/// Whether bytes are UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Utf8 {
    /// They are.
    Whole,
    /// They are, but the last bytes (this many) are the beginning of a character.
    Cut(usize),
    /// They are not, first on this line.
    Broken(u64),
}

/// Reads all of a file from its beginning, at most `size` bytes.
pub(super) fn survey(file: &mut File, size: u64) -> std::io::Result<Survey> {
    file.rewind()?;
    let mut input = file.take(size);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut pass = Pass::default();
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match input.read(&mut buffer[filled..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) => break,
                read => filled += read?,
            }
        }
        pass.take(&buffer[..filled]);
        if filled < buffer.len() {
            return Ok(pass.end());
        }
    }
}

#[derive(Default)]
struct Pass {
    size: u64,
    hasher: Xxh3Default,
    head: Vec<u8>,
    not_ascii: bool,
    binary: bool,
    /// The bytes of a character that the last chunk ended in.
    carry: Vec<u8>,
    lines: u64,
    broken: Option<u64>,
    tail: [u8; 2],
}

impl Pass {
    fn take(&mut self, chunk: &[u8]) {
        if self.size == 0 {
            self.head.extend_from_slice(&chunk[..chunk.len().min(LOOK_BYTES)]);
        }
        self.size += chunk.len() as u64;
        for byte in &chunk[chunk.len().saturating_sub(2)..] {
            self.tail = [self.tail[1], *byte];
        }
        self.hasher.update(chunk);
        if !chunk.is_ascii() {
            self.not_ascii = true;
            self.binary = self.binary
                || memchr::memchr3(0x81, 0x8d, 0x8f, chunk).is_some()
                || memchr::memchr2(0x90, 0x9d, chunk).is_some();
        }
        self.binary = self.binary || memchr::memchr(0, chunk).is_some();
        if self.broken.is_none() {
            self.check(chunk);
        }
    }

    fn check(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !self.carry.is_empty() && !rest.is_empty() {
            self.carry.push(rest[0]);
            rest = &rest[1..];
            match std::str::from_utf8(&self.carry) {
                Ok(_) => self.carry.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.broken = Some(self.lines + 1);
                    return;
                }
            }
        }
        let valid = match std::str::from_utf8(rest) {
            Ok(_) => rest.len(),
            Err(error) => error.valid_up_to(),
        };
        self.lines += memchr_iter(b'\n', &rest[..valid]).count() as u64;
        if let Err(error) = std::str::from_utf8(&rest[valid..]) {
            match error.error_len() {
                None => self.carry.extend_from_slice(&rest[valid..]),
                Some(_) => self.broken = Some(self.lines + 1),
            }
        }
    }

    fn end(self) -> Survey {
        let utf8 = match (self.broken, self.carry.len()) {
            (Some(line), _) => Utf8::Broken(line),
            (None, 0) => Utf8::Whole,
            (None, cut) => Utf8::Cut(cut),
        };
        Survey {
            size: self.size,
            content: self.hasher.digest128(),
            mark: Encoding::for_bom(&self.head),
            pattern: pattern(&self.head),
            format: format(&self.head),
            ascii: !self.not_ascii,
            utf8,
            binary: self.binary,
            tail: self.tail,
        }
    }
}

/// Western text in UTF-16 has a NUL in nearly every second place and hardly one in the others.
fn pattern(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let nul = |at: usize| head.chunks_exact(2).filter(|pair| pair[at] == 0).count();
    let (first, second) = (nul(0), nul(1));
    let (many, few) = (pairs * 2 / 5, pairs / 20);
    match () {
        () if pairs < 2 => None,
        () if second > many && first <= few => Some(UTF_16LE),
        () if first > many && second <= few => Some(UTF_16BE),
        () => None,
    }
}

fn format(head: &[u8]) -> Option<&'static str> {
    const FORMATS: &[(&[u8], &str)] =
        &[(b"%PDF-", "a PDF"), (b"\x1f\x8b", "a gzip archive"), (b"SQLite format 3\0", "a database")];
    FORMATS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name)
}

/// The encoding's own name as a value of the setting `encoding`.
pub(super) fn setting(encoding: &'static Encoding) -> String {
    encoding.name().to_lowercase()
}

/// The encodings that are found automatically.
pub(super) const FOUND: [&Encoding; 4] = [UTF_8, UTF_16LE, UTF_16BE, WINDOWS_1252];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(chunks: &[&[u8]]) -> Survey {
        let mut pass = Pass::default();
        chunks.iter().for_each(|chunk| pass.take(chunk));
        pass.end()
    }

    #[test]
    fn fault_84_the_bytes_tell_what_they_are() {
        for (bytes, utf8) in [
            (&b"Name\nAna\n"[..], Utf8::Whole),
            ("Name\nZo\u{eb}\n".as_bytes(), Utf8::Whole),
            (b"Name\nZo\xeb;x\n", Utf8::Broken(2)),
            (b"Name\nZo\xc3", Utf8::Cut(1)),
            (b"Name\n\xf0\x9f\x98", Utf8::Cut(3)),
            (b"Zo\xc3\nAna\n", Utf8::Broken(1)),
        ] {
            assert_eq!(of(&[bytes]).utf8, utf8, "{bytes:?}");
        }
        let wide: Vec<u8> = "Name;Mail\nAna;a\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(of(&[&wide]).pattern, Some(UTF_16LE));
        let wide: Vec<u8> = "Name;Mail\nAna;a\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(of(&[&wide]).pattern, Some(UTF_16BE));
        assert_eq!(of(&[b"Name;Mail\nA\0a;a\n"]).pattern, None);
        assert_eq!(of(&[b"\xef\xbb\xbfName"]).mark, Some((UTF_8, 3)));
        assert!(of(&[b"%PDF-1.7"]).format.is_some());
        assert!(of(&[b"a\x81"]).binary && of(&[b"a\0"]).binary && !of(&[b"a\xe9"]).binary);
    }

    proptest! {
        #[test]
        fn where_chunks_end_does_not_matter(text in "[aé€😀\n]{0,12}", at in 0usize..40, cut in 0usize..4) {
            let bytes = text.as_bytes();
            let bytes = &bytes[..bytes.len().saturating_sub(cut)];
            let at = at.min(bytes.len());
            prop_assert_eq!(of(&[&bytes[..at], &bytes[at..]]).utf8, of(&[bytes]).utf8);
        }
    }
}
