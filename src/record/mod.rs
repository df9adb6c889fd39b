//! The vocabulary of the program: targets and their field tables, records, keys, ids.
//!
//! Everything here is a pure value. Nothing reads a file, a clock or a socket, and nothing knows a wire format: how an
//! answer of the service becomes an [`Entity`] is `mirror`'s knowledge, how a row becomes a [`Record`] is `mapping`'s.
//!
//! Invariants:
//! - `Debug` of a record, an entity or a value never shows a person's data, only keys, ids and field names (law 11).
//! - Equality of what was mapped and what the service holds is decided in one place, [`FieldKind::same`].
//!
//! Rejected: one struct per target with typed fields. The engine compares, limits and reports fields by name; a struct
//! would need the same table again to be walked, and a further target would touch every module.

mod day;
mod desired_state;
mod entity;
mod field;
mod field_map;
mod forgotten;
mod key;
mod normal;
mod photo;
mod reject;
mod row_defect;
mod row_metadata;
mod sensitive;
mod target;
mod value;

pub use day::Day;
pub use desired_state::{Action, DesiredState};
pub use entity::{Entity, Record};
pub use field::{Field, FieldKind};
pub use field_map::FieldMap;
pub use forgotten::erase_key;
pub use key::{JobName, Key};
pub use normal::{digits, normalize};
pub use photo::photo_mark;
pub use reject::{CellValue, Rejected};
pub use rosterd_client::RemoteId;
pub use row_defect::RowDefect;
pub(crate) use row_metadata::is_default;
pub use row_metadata::{Number, RowMetadata};
pub use sensitive::{Sensitive, is_marked, redact, reveal};
pub use target::Target;
pub use value::{Value, Values};
