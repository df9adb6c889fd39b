//! The size limits of workbooks.

/// The most that one part may unpack to, in bytes.
pub(super) const UNPACKED_BYTES_MAX: u64 = 2 << 30;
/// The longest directory of an archive, and what is read to find it: each part takes a few hundred bytes of memory.
pub(super) const DIRECTORY_BYTES_MAX: u64 = 2 << 20;
/// The most parts that an archive may state: as many as one without the record of large archives can.
pub(super) const PARTS_MAX: u64 = 65_535;
/// The longest piece of XML: a tag, or the text between two.
pub(super) const PIECE_BYTES_MAX: u64 = 512 << 10;
/// The most relationships of one part.
pub(super) const RELATIONSHIPS_MAX: usize = 10_000;
/// The most shared texts.
pub(super) const STRINGS_MAX: usize = 4_000_000;
/// From here on a text is too long for any cell; the row that has it is rejected, so the rest may be left out.
pub(super) const TEXT_BYTES_MAX: usize = 128 << 10;
/// The most groups of merged cells.
pub(super) const MERGES_MAX: usize = 100_000;
