//! (in the making)

mod options;

pub use options::{Credential, Options, SecretSource};
