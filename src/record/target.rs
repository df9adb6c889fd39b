//! The kinds of entity that a job can manage, each a table of fields.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::field::{Field, Kind};

/// What a job manages at the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Employees (specification, Employee).
    Staff,
}

/// (name, name in answers, kind, required, sensitive)
type Row = (&'static str, &'static str, Kind, bool, bool);

/// Employee input fields (specification, Employee) but for presence, which no job may map.
const STAFF: &[Row] = &[
    ("name", "name", Kind::Text, true, false),
    ("title", "title", Kind::Text, false, false),
    ("altname", "altname", Kind::Text, false, false),
    ("email", "email", Kind::Email, false, false),
    ("phone", "phone", Kind::Phone, false, true),
    ("mobile", "mobile", Kind::Phone, false, true),
    ("ice", "ice", Kind::Phone, false, true),
    ("employee_id", "employee_id", Kind::Text, false, false),
    ("location", "location", Kind::Location, false, false),
    ("roletype", "role_types", Kind::Names, false, false),
    ("globalroaming", "globalroaming", Kind::Flag, false, false),
    ("globalroaming_locations", "globalroaming_locations", Kind::Ids, false, false),
];

impl Target {
    /// What a custom field's name begins with in a job's map: `cf.TITLE`.
    pub const CUSTOM: &'static str = "cf.";

    /// All targets.
    pub const ALL: &'static [Self] = &[Self::Staff];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Staff => "staff",
        }
    }

    /// Finds a target by its name in the configuration.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.name() == name)
    }

    fn rows(self) -> &'static [Row] {
        match self {
            Self::Staff => STAFF,
        }
    }

    /// The fields that a job may map, custom fields apart.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        self.rows().iter().map(|&(name, response, kind, required, sensitive)| Field {
            name: name.to_owned(),
            response,
            kind,
            required,
            sensitive,
        })
    }

    /// The field of that name: one of the table, or `cf.TITLE` with a title.
    pub fn field(self, name: &str) -> Option<Field> {
        if let Some(title) = name.strip_prefix(Self::CUSTOM) {
            return (!title.trim().is_empty()).then(|| Field {
                name: name.to_owned(),
                response: "customfields",
                kind: Kind::Custom,
                required: false,
                sensitive: true,
            });
        }
        self.fields().find(|field| field.name == name)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_10_no_target_maps_presence() {
        for target in Target::ALL {
            assert!(target.fields().all(|field| !field.name.contains("onsite") && !field.name.contains("cur_")));
        }
    }

    #[test]
    fn a_custom_field_is_named_by_its_title() {
        assert_eq!(Target::Staff.field("cf.Locker").unwrap().kind, Kind::Custom);
        assert_eq!(Target::Staff.field("cf. "), None);
        assert_eq!(Target::Staff.field("locker"), None);
    }
}
