//! The second pass over a file: transcodes it to UTF-8.

use std::fs::File;
use std::io::{self, Read, Seek};

use encoding_rs::{Decoder, DecoderResult};
use xxhash_rust::xxh3::Xxh3Default;

use super::encoding::DetectedEncoding;
use super::limits::BUFFER_BYTES;

/// The replacement for bytes that do not decode.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// A file's text as UTF-8 in pieces, and the digest of the bytes it came from.
pub(super) struct Text<'f> {
    file: &'f mut File,
    /// How many bytes up to the end of the text are not read yet.
    left: u64,
    /// How many bytes lie behind the text.
    behind: u64,
    hasher: Xxh3Default,
    decoding: Option<Decoding>,
}

struct Decoding {
    decoder: Decoder,
    raw: Vec<u8>,
    at: usize,
    filled: usize,
    last: bool,
    done: bool,
}

impl<'f> Text<'f> {
    /// Starts behind the mark.
    pub(super) fn new(file: &'f mut File, decision: &DetectedEncoding, size: u64) -> io::Result<Self> {
        file.rewind()?;
        let mut hasher = Xxh3Default::new();
        let mut mark = Vec::new();
        file.by_ref().take(decision.skip).read_to_end(&mut mark)?;
        hasher.update(&mark);
        let decoding = (!decision.plain).then(|| Decoding {
            decoder: decision.encoding.new_decoder_without_bom_handling(),
            raw: vec![0; BUFFER_BYTES],
            at: 0,
            filled: 0,
            last: false,
            done: false,
        });
        Ok(Self {
            file,
            left: decision.end.saturating_sub(decision.skip),
            behind: size.saturating_sub(decision.end),
            hasher,
            decoding,
        })
    }

    /// The next piece of text in `out`: how many bytes of it, 0 at the end. Where bytes did not decode, U+FFFD stands and
    /// its position is added to `malformed`.
    pub(super) fn read(&mut self, out: &mut [u8], malformed: &mut Vec<usize>) -> io::Result<usize> {
        let Some(mut decoding) = self.decoding.take() else {
            return self.read_raw(out);
        };
        let read = self.decode(&mut decoding, out, malformed);
        self.decoding = Some(decoding);
        read
    }

    /// The digest of every byte of the file, as they were in this pass.
    pub(super) fn content(mut self) -> io::Result<u128> {
        let mut rest = Vec::new();
        self.file.by_ref().take(self.behind).read_to_end(&mut rest)?;
        self.hasher.update(&rest);
        Ok(self.hasher.digest128())
    }

    fn read_raw(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let read = loop {
            match self.file.read(&mut out[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.left -= read as u64;
        self.hasher.update(&out[..read]);
        Ok(read)
    }

    fn decode(&mut self, state: &mut Decoding, out: &mut [u8], malformed: &mut Vec<usize>) -> io::Result<usize> {
        let mut written = 0;
        // Room for one replacement is always kept, so a turn never ends between bytes and their replacement.
        while written == 0 && !state.done && out.len() > 2 * REPLACEMENT.len() {
            if state.at == state.filled && !state.last {
                state.filled = self.read_raw(&mut state.raw)?;
                state.at = 0;
                state.last = state.filled == 0;
            }
            let room = out.len() - REPLACEMENT.len();
            let input = &state.raw[state.at..state.filled];
            let (result, taken, put) =
                state.decoder.decode_to_utf8_without_replacement(input, &mut out[written..room], state.last);
            state.at += taken;
            written += put;
            match result {
                DecoderResult::InputEmpty => state.done = state.last,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    malformed.push(written);
                    out[written..written + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
                    written += REPLACEMENT.len();
                }
            }
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use encoding_rs::{Encoding, SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1252};
    use xxhash_rust::xxh3::xxh3_128;

    use super::*;

    fn all(bytes: &[u8], encoding: &'static Encoding, skip: u64, plain: bool, piece: usize) -> (String, usize) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let size = bytes.len() as u64;
        let decision = DetectedEncoding { encoding, skip, end: size, plain };
        let mut text = Text::new(&mut file, &decision, size).unwrap();
        let (mut out, mut malformed, mut buffer) = (Vec::new(), Vec::new(), vec![0; piece]);
        loop {
            match text.read(&mut buffer, &mut malformed).unwrap() {
                0 => break,
                n => out.extend_from_slice(&buffer[..n]),
            }
        }
        assert_eq!(text.content().unwrap(), xxh3_128(bytes));
        (String::from_utf8(out).unwrap(), malformed.len())
    }

    #[test]
    fn bytes_become_text() {
        let wide: Vec<u8> = "Zoë €\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, encoding, skip, plain, text, malformed) in [
            (&b"Ana\n"[..], UTF_8, 0, true, "Ana\n", 0),
            (b"\xef\xbb\xbfAna", UTF_8, 3, true, "Ana", 0),
            (b"Zo\xeb\x80\n", WINDOWS_1252, 0, false, "Zoë€\n", 0),
            (&wide, UTF_16LE, 0, false, "Zoë €\n", 0),
            (&wide[..3], UTF_16LE, 0, false, "Z\u{fffd}", 1),
            (b"a\xffb\xff", UTF_8, 0, false, "a\u{fffd}b\u{fffd}", 2),
            (b"\x93\xfa\x96\x7b", SHIFT_JIS, 0, false, "日本", 0),
            (b"", WINDOWS_1252, 0, false, "", 0),
        ] {
            for piece in [8, 64] {
                assert_eq!(all(bytes, encoding, skip, plain, piece), (text.to_owned(), malformed), "{bytes:?}");
            }
        }
    }
}
