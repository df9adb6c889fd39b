//! (in the making)

pub mod csv;

/// What only a finished read can make.
pub struct Complete<T>(T);

impl<T> Complete<T> {
    /// The value.
    pub fn get(&self) -> &T {
        &self.0
    }
}
