//! The integration tests: one binary, one file a behaviour.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod decisions;
mod first_sync;
mod imports;
mod support;
