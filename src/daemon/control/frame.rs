//! Messages on the socket: a kind, a length, and that number of bytes.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// A call, as JSON. The caller sends one, with [`FrameKind::Brought`] after it where it says so, and then nothing else but
    /// [`FrameKind::Stop`].
    Call = b'c' as isize,
    /// What the caller read for the command, as JSON.
    Brought = b'b' as isize,
    /// The caller was asked to end.
    Stop = b's' as isize,
    /// Bytes for stdout.
    Out = b'o' as isize,
    /// Bytes for stderr.
    Err = b'e' as isize,
    /// The file that the command writes.
    File = b'f' as isize,
    /// A piece of that file, where it goes by the database; more comes.
    Piece = b'p' as isize,
    /// The daemon lives. The first frame of a connection, and one every few seconds while a command runs.
    Alive = b'a' as isize,
    /// The exit code, as one byte; the last frame.
    Exit = b'x' as isize,
    /// The daemon is that of another state, or of another version; with words. The last frame.
    Elsewhere = b'n' as isize,
    /// The daemon does not run the account: whether no one may run it, in one byte, and why. The last frame.
    Stopped = b'd' as isize,
}

impl FrameKind {
    const ALL: [Self; 11] = [
        Self::Call,
        Self::Brought,
        Self::Stop,
        Self::Out,
        Self::Err,
        Self::File,
        Self::Piece,
        Self::Alive,
        Self::Exit,
        Self::Elsewhere,
        Self::Stopped,
    ];

    pub(super) fn byte(self) -> u8 {
        self as u8
    }

    /// The one of that byte.
    pub(super) fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte)
    }
}

/// The largest frame: a plan of a large organization with its values.
pub(super) const SIZE_MAX: u32 = 520 * 1024 * 1024;
/// The largest call: a command line, as long as Linux allows one.
pub(super) const CALL_SIZE_MAX: u32 = 3 * 1024 * 1024;

/// Reads a frame of at most `size_max` bytes; `None` if the other side has closed the connection between two.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    size_max: u32,
) -> io::Result<Option<(FrameKind, Vec<u8>)>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head[..1]).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    from.read_exact(&mut head[1..]).await?;
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let kind = FrameKind::of(head[0]).ok_or_else(|| wrong("no kind of frame"))?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    if length > size_max {
        return Err(wrong("a frame that is too large"));
    }
    // Grows as the bytes arrive: a length alone takes no memory.
    let mut payload = Vec::new();
    let got = from.take(u64::from(length)).read_to_end(&mut payload).await?;
    if got != length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, payload)))
}

/// Writes a frame.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).ok().filter(|length| *length <= SIZE_MAX);
    let Some(length) = length else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than a frame may hold"));
    };
    let mut head = [0; 5];
    head[0] = kind.byte();
    head[1..].copy_from_slice(&length.to_be_bytes());
    to.write_all(&head).await?;
    to.write_all(payload).await?;
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn frames_come_as_they_went_and_what_is_none_is_refused() {
        let mut bytes = Vec::new();
        for kind in FrameKind::ALL {
            write(&mut bytes, kind, &[kind.byte(); 3]).await.unwrap();
        }
        let mut from = bytes.as_slice();
        for kind in FrameKind::ALL {
            assert_eq!(read(&mut from, SIZE_MAX).await.unwrap(), Some((kind, vec![kind.byte(); 3])));
        }
        assert_eq!(read(&mut from, SIZE_MAX).await.unwrap(), None);
        for broken in [&b"q\0\0\0\0"[..], b"o\0\0", b"o\0\0\0\x05abc", b"o\xff\xff\xff\xff"] {
            assert!(read(&mut &*broken, SIZE_MAX).await.is_err(), "{broken:?}");
        }
        for (size_max, fits) in [(3, true), (2, false)] {
            assert_eq!(read(&mut &b"o\0\0\0\x03abc"[..], size_max).await.is_ok(), fits);
        }
    }
}
