//! What a job says about turning rows into records.

use std::collections::BTreeMap;

use crate::record::Target;

/// What a job says about turning rows into records. Every text is a template: literal unless it holds `{{ }}`.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the records are.
    pub target: Target,
    /// Gives the key of a row.
    pub key: String,
    /// Must give true or false; a row with false is dropped.
    pub include: Option<String>,
    /// Templates by field name; every name is one of the target's fields.
    pub fields: BTreeMap<String, String>,
    /// Look-up tables by name, for the filter `lookup`.
    pub tables: BTreeMap<String, BTreeMap<String, String>>,
    /// Columns or attributes that may be absent altogether and are empty then.
    pub optional: Vec<String>,
}
