//! The limits of photos, and the digest by which one is remembered: its bytes are only at its source.

use rosterd_client::{PHOTO_BYTES_MAX, photo_format};
use xxhash_rust::xxh3::xxh3_128;

/// The mark of a photo: format, size in bytes and digest, such as `image/png, 5120 bytes, 0f…`. Equal marks mean equal
/// photos. What can't be a photo is said in words that follow "the photo".
pub fn photo_mark(bytes: &[u8]) -> Result<String, &'static str> {
    let format = photo_format(bytes).ok_or("is neither PNG nor JPEG")?;
    if bytes.len() > PHOTO_BYTES_MAX {
        return Err("is larger than 1 MiB");
    }
    Ok(format!("{format}, {} bytes, {:032x}", bytes.len(), xxh3_128(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_photos_apart_and_shows_none() {
        let mark = |bytes: &[u8]| photo_mark(bytes);
        let one = mark(b"\x89PNG\r\n\x1a\nAna").unwrap();
        assert!(one.starts_with("image/png, 11 bytes, ") && !one.contains("Ana"), "{one}");
        assert_eq!(mark(b"\x89PNG\r\n\x1a\nAna").unwrap(), one);
        assert_ne!(mark(b"\x89PNG\r\n\x1a\nAnb").unwrap(), one);
        for bytes in [&b""[..], b"GIF89a", b"<svg/>", b"\x89PNG"] {
            assert_eq!(mark(bytes), Err("is neither PNG nor JPEG"));
        }
        let mut large = b"\xff\xd8\xff".to_vec();
        large.resize(PHOTO_BYTES_MAX, 0);
        assert!(mark(&large).is_ok());
        large.push(0);
        assert_eq!(mark(&large), Err("is larger than 1 MiB"));
    }
}
