//! Turns an entity that was read into the input of a PUT, so that replacing it clears nothing (law 2).

use serde::Serialize;
use thiserror::Error;

use super::Wire;

/// What is sent to the service.
pub trait RequestInput: Serialize + Default {
    /// The names of its fields; all of them are sent.
    const FIELDS: &'static [&'static str];
    /// Those that no answer shows: what they hold is known to the caller alone.
    const HIDDEN: &'static [&'static str];

    /// The first field that a PUT would clear because its value was not given.
    fn undecided(&self) -> Option<&'static str>;
}

/// An entity from which the input of a replacing PUT can be rebuilt.
pub trait Carry: Wire {
    /// What is sent.
    type Sent: RequestInput;
    /// Each field of an answer with the input that it becomes.
    const REBUILT: &'static [(&'static str, &'static str)];

    /// The input as far as the answer shows it.
    fn rebuilt(&self) -> Self::Sent;

    /// The whole input, where every field that the caller does not own could be read. What no answer shows is still to be
    /// decided: see [`RequestInput::undecided`].
    fn carried(&self, owned: impl Fn(&str) -> bool) -> Result<Self::Sent, CarryError> {
        let lost = |field: &&&str| Self::REBUILT.iter().any(|(shown, input)| shown == *field && !owned(input));
        match self.unreadable().iter().find(lost) {
            Some(field) => Err(CarryError::Unreadable { field }),
            None => Ok(self.rebuilt()),
        }
    }
}

/// Why a whole input can't be rebuilt from an answer; such an entity is not sent, or the PUT would wipe the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CarryError {
    /// The service does not show what a field holds.
    #[error(
        "the service does not show {field}; a PUT would clear it: say what it holds, or make the change at the service"
    )]
    Unshown {
        /// The input's field.
        field: &'static str,
    },
    /// A field holds something other than the specification says.
    #[error("the service shows {field} in a form that can't be sent back; a PUT would clear it")]
    Unreadable {
        /// The answer's field.
        field: &'static str,
    },
}
