//! The body of a request that a user names: read by the process of the user, whichever process sends it.

use std::io::{self, Read as _};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cli::ui::{Failure, Message};

/// What came by standard input: a command that no other machine carries out is run here, and asks for it again.
static STANDARD_INPUT: OnceLock<Vec<u8>> = OnceLock::new();

/// The body that is meant by `text`: JSON itself, `@FILE`, or `-` for standard input.
pub(crate) fn read(text: &str) -> Result<Vec<u8>, Failure> {
    let failed = |what: &str, error: io::Error| Failure::usage(Message(format!("{what} could not be read: {error}")));
    if text == "-" {
        if let Some(bytes) = STANDARD_INPUT.get() {
            return Ok(bytes.clone());
        }
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| failed("standard input", error))?;
        return Ok(STANDARD_INPUT.get_or_init(|| bytes).clone());
    }
    match text.strip_prefix('@') {
        Some(path) => std::fs::read(path).map_err(|error| failed(path, error)),
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// The same as it goes to a daemon.
pub(super) fn brought(text: &str) -> Result<String, String> {
    read(text).map(|bytes| STANDARD.encode(bytes)).map_err(|failure| failure.error().to_string())
}

/// The body that came to a daemon.
pub(crate) fn received(text: &[u8]) -> Result<Vec<u8>, Failure> {
    STANDARD.decode(text).map_err(|_| Failure::usage("the body did not come whole"))
}
