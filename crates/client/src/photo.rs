//! Photos of employees: bytes with their format.

use std::fmt;

use crate::error::ErrorKind;

/// The largest photo, in bytes. The service's own limit is not known (specification, limits).
pub const PHOTO_BYTES_MAX: usize = 1024 * 1024;

/// The formats that the service is known to take, with the bytes that such a file begins with.
const FORMATS: [(&str, &[u8]); 2] = [("image/png", b"\x89PNG\r\n\x1a\n"), ("image/jpeg", b"\xff\xd8\xff")];

/// The format of an image, by its first bytes.
pub fn photo_format(bytes: &[u8]) -> Option<&'static str> {
    FORMATS.iter().find(|(_, begin)| bytes.starts_with(begin)).map(|(name, _)| *name)
}

/// A photo.
#[derive(Clone, PartialEq, Eq)]
pub struct Photo {
    media_type: String,
    bytes: Vec<u8>,
}

/// What the service says of a photo without showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhotoHead {
    /// Its format, such as `image/png`.
    pub media_type: String,
    /// Its size in bytes.
    pub length: Option<u64>,
}

impl Photo {
    /// A PNG or JPEG of at most 1 MiB; the format is that of the bytes, whatever the file was called.
    pub fn new(bytes: Vec<u8>) -> Result<Self, ErrorKind> {
        let wrong = |problem| ErrorKind::Photo { problem };
        let media_type = photo_format(&bytes).ok_or_else(|| wrong("is neither PNG nor JPEG"))?.to_owned();
        if bytes.len() > PHOTO_BYTES_MAX {
            return Err(wrong("is larger than 1 MiB"));
        }
        Ok(Self { media_type, bytes })
    }

    /// What the service sent: its word on the format, and any size.
    pub(crate) fn received(media_type: String, bytes: Vec<u8>) -> Self {
        Self { media_type, bytes }
    }

    /// Its format, such as `image/png`.
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Shows format and size; a photo is a person (law 11).
impl fmt::Debug for Photo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Photo").field("media_type", &self.media_type).field("bytes", &self.bytes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_photo_is_what_its_bytes_say() {
        let format = |bytes: &[u8]| Photo::new(bytes.to_vec()).ok().map(|photo| photo.media_type);
        assert_eq!(format(b"\x89PNG\r\n\x1a\nrest").as_deref(), Some("image/png"));
        assert_eq!(format(b"\xff\xd8\xff\xe0rest").as_deref(), Some("image/jpeg"));
        for bytes in [&b""[..], b"GIF89a", b"<svg/>", b"\x89PNG"] {
            assert_eq!(format(bytes), None);
        }
        let mut large = b"\xff\xd8\xff".to_vec();
        large.resize(PHOTO_BYTES_MAX, 0);
        assert!(Photo::new(large.clone()).is_ok());
        large.push(0);
        assert!(Photo::new(large).is_err());
    }
}
