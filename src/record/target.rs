//! The kinds of entity that a job can manage, each a table of fields.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::field::{Field, FieldKind};

/// What a job manages at the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Employees (specification, Employee).
    Staff,
    /// Contractor members (specification, Contractor member); with them, where mapped, their organizations and memberships.
    Contractor,
    /// Contractor organizations (specification, Contractor organization).
    #[serde(rename = "contractor-organization")]
    Organization,
    /// What joins a member and an organization (specification, Contractor membership). It is a part of a contractor and no
    /// job's own target.
    Membership,
    /// Holders of certifications (specification, Certification holder).
    #[serde(rename = "certification-holder")]
    Holder,
}

/// (name, name in answers, kind, required, sensitive)
type FieldRow = (&'static str, &'static str, FieldKind, bool, bool);

/// Employee input fields (specification, Employee) without presence, which no job may map.
const STAFF: &[FieldRow] = &[
    ("name", "name", FieldKind::PersonName, true, false),
    ("title", "title", FieldKind::Text, false, false),
    ("altname", "altname", FieldKind::Text, false, false),
    ("email", "email", FieldKind::Email, false, false),
    ("phone", "phone", FieldKind::Phone, false, true),
    ("mobile", "mobile", FieldKind::Phone, false, true),
    ("ice", "ice", FieldKind::Phone, false, true),
    ("employee_id", "employee_id", FieldKind::Text, false, false),
    ("location", "location", FieldKind::Location, false, false),
    ("roletype", "role_types", FieldKind::Names, false, false),
    ("globalroaming", "globalroaming", FieldKind::Flag, false, false),
    (Target::ROAMING, Target::ROAMING, FieldKind::Ids, false, false),
    (Target::PHOTO, "photo", FieldKind::Photo, false, false),
];

/// Member input fields (specification, Contractor member) without presence.
const CONTRACTOR: &[FieldRow] = &[
    ("name", "name", FieldKind::PersonName, true, false),
    ("title", "title", FieldKind::Text, false, false),
    ("email", "email", FieldKind::Email, false, false),
    ("altemail", "altemail", FieldKind::Email, false, false),
    ("phone", "phone", FieldKind::Phone, false, true),
    ("mobile", "mobile", FieldKind::Phone, false, true),
    ("ice", "ice", FieldKind::Phone, false, true),
    ("extension", "extension", FieldKind::Text, false, true),
    ("valid_from", "valid_from", FieldKind::Date, false, false),
    ("valid_to", "valid_to", FieldKind::Date, false, false),
    ("service_provider_id", "service_provider_id", FieldKind::Text, false, false),
];

/// Organization input fields (specification, Contractor organization) without places and owner, which stay the
/// service's.
const ORGANIZATION: &[FieldRow] = &[
    ("name", "name", FieldKind::Text, true, false),
    ("legalid", "legalid", FieldKind::Text, false, false),
    ("legalid_type", "legalid_type", FieldKind::Text, false, false),
    ("type", "type", FieldKind::Text, false, false),
    ("tradingas", "tradingas", FieldKind::Text, false, false),
    ("address", "address", FieldKind::Text, false, false),
    ("country", "country", FieldKind::Text, false, false),
    ("email", "email", FieldKind::Email, false, false),
    ("phone", "phone", FieldKind::Phone, false, false),
    ("status", "status", FieldKind::Text, false, false),
];

/// Membership input fields (specification, Contractor membership). The first two hold the keys of what it joins.
const MEMBERSHIP: &[FieldRow] = &[
    (Target::MEMBER, "member_id", FieldKind::Link, true, false),
    (Target::ORGANIZATION, "org_id", FieldKind::Link, true, false),
    ("roles", "roles", FieldKind::Ids, false, false),
    ("locations", "locations", FieldKind::Places, false, false),
];

/// Holder input fields (specification, Certification holder); `holder` is an employee id or an email.
const HOLDER: &[FieldRow] = &[
    ("certification", "certification_id", FieldKind::Text, true, false),
    ("record_type", "record_type", FieldKind::Text, true, false),
    ("holder", "record_id", FieldKind::Text, true, false),
    ("validfrom", "validfrom", FieldKind::Date, false, false),
    ("validto", "validto", FieldKind::Date, false, false),
    ("certification_number", "certification_number", FieldKind::Text, false, true),
];

impl Target {
    /// What the fields of a contractor's organization begin with in a mapping.
    pub const ORGANIZATION_PREFIX: &'static str = "org.";
    /// The field of a membership that holds its member's key.
    pub const MEMBER: &'static str = "member";
    /// The field of a membership that holds its organization's key.
    pub const ORGANIZATION: &'static str = "organization";
    /// The fields that say which certification a holder has, and who that is; the service knows each by its id.
    pub const HOLDER_LINKS: [&'static str; 3] = ["certification", "record_type", "holder"];
    /// The field by which what joins two entities is found: both ids. It is worked out and never sent.
    pub const COMPOSITE: &'static str = "pair";

    /// The field of an employee that holds the mark of their photo.
    pub const PHOTO: &'static str = "photo";

    /// The field of an employee that holds the ids of the locations where they roam.
    pub const ROAMING: &'static str = "globalroaming_locations";
    /// The field of a person that holds their email address.
    pub const EMAIL: &'static str = "email";
    /// The field that holds a name.
    pub const NAME: &'static str = "name";
    /// The fields that tell one person from another.
    pub const IDENTITY: [&'static str; 2] = [Self::NAME, Self::EMAIL];
    /// What no two people have (specification, staff: 409).
    pub const UNIQUE: [&'static str; 2] = [Self::EMAIL, "employee_id"];

    /// What a custom field's name begins with in a job's map: `cf.TITLE`.
    pub const CUSTOM: &'static str = "cf.";

    /// All targets.
    pub const ALL: &'static [Self] =
        &[Self::Staff, Self::Contractor, Self::Organization, Self::Membership, Self::Holder];

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Staff => "staff",
            Self::Contractor => "contractor",
            Self::Organization => "contractor-organization",
            Self::Membership => "membership",
            Self::Holder => "certification-holder",
        }
    }

    /// Finds a target by its name in the configuration.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|target| target.is_own() && target.name() == name)
    }

    /// Whether a job can have it as its own target.
    pub fn is_own(self) -> bool {
        self != Self::Membership
    }

    /// Whether its entities are people with a presence (law 10).
    pub fn has_presence(self) -> bool {
        matches!(self, Self::Staff | Self::Contractor)
    }

    /// Whether the service shows custom fields of it by title.
    pub fn has_custom(self) -> bool {
        matches!(self, Self::Staff | Self::Contractor | Self::Organization)
    }

    /// What a person calls one of its entities.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Staff | Self::Contractor => "person",
            Self::Organization => "organization",
            Self::Membership => "membership",
            Self::Holder => "holder",
        }
    }

    /// What a person calls several of its entities.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Staff | Self::Contractor => "people",
            Self::Organization => "organizations",
            Self::Membership => "memberships",
            Self::Holder => "holders",
        }
    }

    /// What a person calls all that the service has of it.
    pub fn collection(self) -> &'static str {
        match self {
            Self::Staff => "staff",
            Self::Contractor => "contractors",
            Self::Organization => "contractor organizations",
            Self::Membership => "memberships of contractors",
            Self::Holder => "certifications",
        }
    }

    fn rows(self) -> &'static [FieldRow] {
        match self {
            Self::Staff => STAFF,
            Self::Contractor => CONTRACTOR,
            Self::Organization => ORGANIZATION,
            Self::Membership => MEMBERSHIP,
            Self::Holder => HOLDER,
        }
    }

    /// The fields that a job may map, custom fields apart.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        self.rows().iter().map(|&(name, response, kind, required, sensitive)| Field {
            name: SmolStr::new_static(name),
            response,
            kind,
            required,
            sensitive,
        })
    }

    /// Whether values of that field are shown only where they are asked for; those of an unknown one are.
    pub fn is_sensitive(self, name: &str) -> bool {
        self.field(name).is_none_or(|field| field.sensitive)
    }

    /// The field of that name: one of the table, or `cf.TITLE` with a title.
    pub fn field(self, name: &str) -> Option<Field> {
        if let Some(title) = name.strip_prefix(Self::CUSTOM) {
            return (self.has_custom() && !title.trim().is_empty()).then(|| Field {
                name: name.into(),
                response: "customfields",
                kind: FieldKind::Custom,
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
    fn a_target_is_stored_by_its_name() {
        for target in Target::ALL {
            assert_eq!(serde_json::to_value(target).unwrap(), target.name());
        }
        assert_eq!(Target::by_name("membership"), None, "it is a part of a contractor");
    }

    #[test]
    fn a_custom_field_is_named_by_its_title() {
        assert_eq!(Target::Staff.field("cf.Locker").unwrap().kind, FieldKind::Custom);
        assert_eq!(Target::Staff.field("cf. "), None);
        assert_eq!(Target::Holder.field("cf.Locker"), None);
        assert_eq!(Target::Staff.field("locker"), None);
    }
}
