//! The mapping options of a job.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use smol_str::SmolStr;

use crate::record::Target;

/// Look-up tables by name.
pub(super) type Tables = BTreeMap<String, BTreeMap<String, String>>;

/// What becomes of a row with a value that an optional field can't take (law 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnBadValue {
    /// The field stays as it is, or empty in a create; the rest of the row counts.
    #[default]
    Field,
    /// The whole row is rejected.
    Row,
}

/// What the cells of a photo's column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PhotoCells {
    /// The photo itself, as base64.
    #[default]
    Base64,
    /// Which version of the photo there is: its bytes are fetched when they are sent.
    References,
}

/// How the rows of a lookup find those of the job's own source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupOptions {
    /// Its name in templates.
    pub name: String,
    /// Gives what is sought, of a row of the job's own source.
    pub on: String,
    /// Gives what is found, of a row of the lookup.
    pub key: String,
    /// Columns or attributes of the lookup that may be absent altogether.
    pub optional: Vec<String>,
    /// What its source has where a photo is.
    pub photos: PhotoCells,
}

/// The words that templates may use besides those of the language and of the row.
#[derive(Clone, Copy)]
pub(super) struct Vocabulary<'a> {
    /// Look-up tables.
    pub(super) tables: &'a Tables,
    /// The names of second sources.
    pub(super) lookups: &'a [LookupOptions],
}

impl<'a> Vocabulary<'a> {
    /// Tables, without second sources.
    pub(super) fn of_tables(tables: &'a Tables) -> Self {
        Self { tables, lookups: &[] }
    }

    /// Whether this is the name of a second source.
    pub(super) fn is_lookup(self, word: &str) -> bool {
        self.lookups.iter().any(|lookup| lookup.name == word)
    }
}

/// What a job says about turning rows into records. Every text is a template: literal unless it holds `{{ }}`.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the records are.
    pub target: Target,
    /// What its fields' names begin with in the configuration, such as `org.`; empty for a job's own target.
    pub prefix: &'static str,
    /// Gives the key of a row.
    pub key: String,
    /// Gives the key of what that of the row is joined to; a membership's.
    pub joined: Option<String>,
    /// Must give true or false; a row with false is dropped.
    pub include: Option<String>,
    /// Whether a row with false says that someone has left, as in files of changes: without a readable key it is rejected.
    pub names_leavers: bool,
    /// Gives the first day on which a row counts, or nothing.
    pub active_from: Option<String>,
    /// Gives the last day on which a row counts, or nothing.
    pub active_until: Option<String>,
    /// Gives the number by which a row is preferred to others of its key.
    pub prefer: Option<String>,
    /// Gives the part of the people that a row belongs to, for the guard.
    pub segment: Option<String>,
    /// Templates by field name; every name is one of the target's fields.
    pub fields: BTreeMap<String, String>,
    /// Look-up tables by name, for the filter `lookup`.
    pub tables: BTreeMap<String, BTreeMap<String, String>>,
    /// The fields that records are matched by: a bad value there concerns the whole row.
    pub match_on: Vec<SmolStr>,
    /// What a bad value of another optional field concerns.
    pub on_bad_value: OnBadValue,
    /// Columns or attributes that may be absent altogether and are empty then.
    pub optional: Vec<String>,
    /// What the job's own source has where a photo is.
    pub photos: PhotoCells,
    /// Second sources that add values.
    pub lookups: Vec<LookupOptions>,
    /// Where days begin and end.
    pub time_zone: TimeZone,
}

impl Options {
    /// Whether the key is made as a field is: it is that field.
    pub(crate) fn is_key(&self, field: &str) -> bool {
        let key = self.key.trim();
        !key.is_empty() && self.fields.get(field).is_some_and(|template| template.trim() == key)
    }

    /// Whether last days are read with years of two digits.
    pub(crate) fn has_short_years(&self) -> bool {
        self.active_until.as_ref().is_some_and(|template| template.contains("%y"))
    }
}

#[cfg(any(test, fuzzing))]
impl Options {
    /// Those of a test: employees of that key with these fields, and a look-up table of sites.
    pub(super) fn of_test(key: &str, fields: &[(&str, &str)]) -> Self {
        let site = BTreeMap::from([("AKL".to_owned(), "Auckland Office".to_owned())]);
        Self {
            target: Target::Staff,
            prefix: "",
            key: key.to_owned(),
            joined: None,
            include: None,
            names_leavers: false,
            active_from: None,
            active_until: None,
            prefer: None,
            segment: None,
            fields: fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            tables: BTreeMap::from([("site".to_owned(), site)]),
            match_on: Vec::new(),
            on_bad_value: OnBadValue::Field,
            optional: Vec::new(),
            photos: PhotoCells::Base64,
            lookups: Vec::new(),
            time_zone: TimeZone::UTC,
        }
    }
}
