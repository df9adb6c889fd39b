//! What keeps the lines of a log.

use std::io;
use std::path::PathBuf;

use super::Batch;

/// What becomes of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineFate {
    /// It stays, byte for byte.
    Stays,
    /// It stays as this.
    Becomes(Vec<u8>),
    /// It goes.
    Goes,
}

/// Judges the lines of a segment, without their ends and in their order.
pub type LineJudge<'a> = dyn FnMut(&[u8]) -> LineFate + 'a;

/// Where the lines of a log are kept.
pub(super) trait LogEngine: Send + Sync {
    fn append(&self, segment: &str, line: &str) -> io::Result<()>;

    /// Appends a line that tells of what a batch is about to do: at once, so that it is there before that is done, or with the
    /// batch.
    fn append_with(&self, _batch: &mut Batch, segment: &str, line: &str) -> io::Result<()> {
        self.append(segment, line)
    }

    /// Appends lines in their order; all of them are durable when it returns.
    fn append_all(&self, segment: &str, lines: &[String]) -> io::Result<()>;
    fn segments(&self) -> io::Result<Vec<String>>;
    fn place(&self, segment: &str) -> PathBuf;
    fn lines(&self, segment: &str, visit: &mut dyn FnMut(&[u8])) -> io::Result<()>;
    fn tail(&self, segment: &str, bytes: u64) -> io::Result<Vec<u8>>;
    fn rewrite(&self, judge: &dyn Fn() -> Box<LineJudge<'static>>) -> io::Result<u64>;
}
