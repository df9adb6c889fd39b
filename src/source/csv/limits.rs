//! The size limits of files.

/// The most rows of one file.
pub const ROWS_MAX: u64 = 1_000_000;
/// The longest row, in bytes of UTF-8.
pub const ROW_BYTES_MAX: usize = 64 * 1024;
/// The longest cell, in bytes of UTF-8.
pub const CELL_BYTES_MAX: usize = 4 * 1024;
/// The longest row that holds photos, and the longest cell with one, in bytes of UTF-8.
pub const PHOTO_ROW_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most columns.
pub const COLUMNS_MAX: usize = 200;
/// The rows, blank ones left out, among which the header is looked for.
pub const HEADER_ROWS_MAX: usize = 20;
/// Up to this number, bad rows alone never fail a file.
pub const BAD_ROWS_FLOOR: u64 = 10;
/// Above the floor, one bad row among this many fails the file.
pub const BAD_ROWS_SHARE: u64 = 100;
/// The most line ends inside the cells of one row; more is a quote that was never closed.
pub const ROW_BREAKS_MAX: u64 = 100;

/// A row that has not ended after this many bytes is given up, and the read with it: a quote was never closed.
pub(super) const ENDLESS_ROW_BYTES: u64 = 1024 * 1024;
/// The same in a file that holds photos.
pub(super) const ENDLESS_PHOTO_ROW_BYTES: u64 = 8 * 1024 * 1024;
/// How much is read at once.
pub(super) const BUFFER_BYTES: usize = 256 * 1024;
/// How much of the beginning is looked at for delimiter and header.
pub(super) const HEAD_BYTES: usize = 256 * 1024;
