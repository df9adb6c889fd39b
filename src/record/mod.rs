//! The vocabulary of the program: targets and their field tables, records, keys, ids.
//!
//! Everything here is a pure value. Nothing reads a file, a clock or a socket, and nothing knows a wire format: how an
//! answer of the service becomes an [`Entity`] is `api`'s knowledge, how a row becomes a [`Record`] is `mapping`'s.
//!
//! Invariants:
//! - `Debug` of a record, an entity or a value never shows a person's data, only keys, ids and field names (law 11).
//! - Equality of what was mapped and what the service holds is decided in one place, [`Kind::same`].
//!
//! Rejected: one struct per target with typed fields. The engine compares, limits and reports fields by name; a struct
//! would need the same table again to be walked, and a further target would touch every module.

mod by_field;
mod entity;
mod field;
mod forgotten;
mod key;
mod marks;
mod normal;
mod photo;
mod private;
mod reject;
mod target;
mod value;
mod wish;

pub use by_field::ByField;
pub use entity::{Entity, Record};
pub use field::{Field, Kind};
pub use forgotten::without;
pub use key::{JobName, Key};
pub use marks::{Marks, Number};
pub use normal::{digits, fold};
pub use photo::photo_mark;
pub use private::{Private, is_marked, keyless, shown};
pub use reject::Rejected;
pub use rosterd_client::RemoteId;
pub use target::Target;
pub use value::{Value, Values};
pub use wish::{Action, Wish};
