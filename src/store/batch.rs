//! A batch of rows that is committed as a whole.

use serde::Serialize;

use super::Keyspace;

/// A key with what it is to hold; `None` removes.
pub(super) type RowChange = (Vec<u8>, Option<Vec<u8>>);

/// Changes that are applied together.
#[derive(Default)]
pub struct Batch {
    pub(super) rows: Vec<RowChange>,
    /// Lines of the log, with their segments, that become part of it with the rows.
    pub(super) lines: Vec<(String, String)>,
}

impl Batch {
    /// Puts a row, written as JSON.
    pub(super) fn put<T: Serialize>(&mut self, space: Keyspace, name: &str, value: &T) {
        let payload = serde_json::to_vec(value).expect("rows are made of types that JSON holds");
        self.rows.push((space.key(name), Some(payload)));
    }

    /// Puts a row of bytes.
    pub(super) fn put_bytes(&mut self, space: Keyspace, name: &str, payload: &[u8]) {
        self.rows.push((space.key(name), Some(payload.to_vec())));
    }

    /// Removes a row, where it is.
    pub(super) fn remove(&mut self, space: Keyspace, name: &str) {
        self.rows.push((space.key(name), None));
    }

    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.lines.is_empty()
    }
}
