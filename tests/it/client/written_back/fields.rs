//! What the answers of each resource hold (specification, Resources and their fields), without what follows from other
//! entities, such as the names that belong to ids.

use super::values::Fields;
use super::values::Holds::{
    Bit, Bool, Custom, Day, Email, Guests, IdOf, Ids, Items, Known, Names, Number, OneOf, Places, Required, Text, Time,
    Tokens,
};

const PRESENCE: &[&str] = &["onsite", "offsite"];
const LOCATIONS: &[i64] = &[11, 12, 13];
const PEOPLE: &[i64] = &[1001, 1002, 1003];
const MEMBERS: &[i64] = &[2001, 2002, 2003];
const DOORS: &[i64] = &[110, 120, 130];

pub(super) const STAFF: Fields = &[
    ("account_status", Text),
    ("last_login", Time),
    ("onsite_status", OneOf(PRESENCE)),
    ("name", Text),
    ("title", Text),
    ("altname", Text),
    ("email", Email),
    ("phone", Text),
    ("mobile", Text),
    ("ice", Text),
    ("setup_method", Text),
    ("employee_id", Text),
    ("location", OneOf(&["Pōneke Quay"])),
    ("cur_location", Text),
    ("department", Text),
    ("roles", Names),
    ("role_types", Names),
    ("tokens", Tokens),
    ("remote", Bit),
    ("customfields", Custom(["3", "4", "5"])),
    ("globalroaming", Bit),
    ("globalroaming_locations", Ids(LOCATIONS)),
];

pub(super) const MEMBER: Fields = &[
    ("name", Required),
    ("setup_by", Number),
    ("title", Text),
    ("service_provider_id", Text),
    ("email", Email),
    ("altemail", Email),
    ("phone", Text),
    ("mobile", Text),
    ("status", Text),
    ("valid_from", Day),
    ("valid_to", Day),
    ("extension", Text),
    ("ice", Text),
    ("onsite_status", OneOf(PRESENCE)),
    ("cur_location_id", IdOf(LOCATIONS)),
    ("cur_sp_org_id", IdOf(&[401])),
    ("logs", Items),
    ("tokens", Tokens),
    ("customfields", Custom(["31", "32", "33"])),
];

pub(super) const ORGANIZATION: Fields = &[
    ("name", Text),
    ("setup_by", Number),
    ("type", Text),
    ("tradingas", Text),
    ("legalid", Text),
    ("legalid_type", Text),
    ("address", Text),
    ("country", Text),
    ("status", Text),
    ("email", Email),
    ("phone", Text),
    ("locations", Places),
    ("organization_owner", IdOf(PEOPLE)),
    ("logs", Items),
    ("customfields", Custom(["1", "2", "7"])),
];

pub(super) const ORGANIZATION_GROUP: Fields = &[("name", Required), ("category_id", Number)];

pub(super) const MEMBERSHIP: Fields = &[("roles", Ids(&[61, 62, 63, 64])), ("locations", Places)];

pub(super) const INSURANCE: Fields = &[
    ("org_id", IdOf(&[401])),
    ("type", Text),
    ("name", Text),
    ("reference", Text),
    ("value", Text),
    ("start", Day),
    ("expires", Day),
    ("status", Text),
    ("tags", Items),
    ("documents", Items),
];

pub(super) const CERTIFICATION: Fields = &[
    ("created_by", Number),
    ("name", Required),
    ("category", Text),
    ("certification_type_id", Known),
    ("description", Text),
    ("status", Text),
    ("staff_audience", Text),
    ("contractor_audience", Text),
    ("staff_departments", Items),
    ("staff_locations", Items),
    ("staff_roles", Items),
    ("sp_groups", Items),
    ("sp_locations", Items),
    ("sp_roles", Items),
];

pub(super) const HOLDER: Fields =
    &[("record_type", OneOf(&["staff", "sp"])), ("validfrom", Day), ("validto", Day), ("certification_number", Text)];

pub(super) const INDUCTION_HOLDER: Fields =
    &[("completed", Time), ("staff_id", IdOf(PEOPLE)), ("status", Text), ("renew", Day)];

pub(super) const COMMUNITY_MEMBER: Fields = &[
    ("external_id", Text),
    ("location_id", IdOf(LOCATIONS)),
    ("name", Text),
    ("title", Text),
    ("email", Email),
    ("mobile", Text),
    ("year", Known),
    ("customfields", Items),
];

pub(super) const EVENT: Fields = &[
    ("location_id", IdOf(LOCATIONS)),
    ("created_staff_id", IdOf(PEOPLE)),
    ("visiting_staff_id", IdOf(PEOPLE)),
    ("signed_in", Time),
    ("signed_out", Time),
    ("mode_in", Text),
    ("mode_out", Text),
    ("signed_in_by", IdOf(PEOPLE)),
    ("signed_out_by", IdOf(PEOPLE)),
    ("name", Text),
    ("email", Email),
    ("from", Text),
    ("phone", Text),
    ("mobile", Text),
    ("title", Text),
    ("assistance", Bool),
    ("expected", Bool),
    ("printed", Bool),
    ("pass", Bool),
    ("purpose", Text),
    ("carpark_question", Bool),
    ("carpark_registration", Text),
    ("carpark_number", Text),
    ("cardnumber", Text),
    ("id_verification_checked", Bool),
    ("id_verification_type", Text),
    ("accessdenied", Bool),
    ("id_verification_reference", Text),
    ("type", Text),
    ("lacp_in_id", IdOf(DOORS)),
    ("lacp_out_id", IdOf(DOORS)),
];

pub(super) const VISIT: Fields = &[
    ("location_id", IdOf(LOCATIONS)),
    ("created_staff_id", IdOf(PEOPLE)),
    ("visiting_staff_id", IdOf(PEOPLE)),
    ("event_start", Time),
    ("event_end", Time),
    ("name", Text),
    ("visitors", Guests),
    ("type", OneOf(&["preregister", "group"])),
];

pub(super) const VISITOR_GROUP: Fields = &[
    ("location_id", IdOf(LOCATIONS)),
    ("created_staff_id", IdOf(PEOPLE)),
    ("staff_id", IdOf(PEOPLE)),
    ("name", Text),
    ("description", Text),
];

pub(super) const ZONE: Fields = &[
    ("location_id", IdOf(LOCATIONS)),
    ("zone_group_id", Number),
    ("name", Text),
    ("reference", Text),
    ("status", Text),
    ("maximum_occupancy", Number),
    ("spaces_enabled", Bool),
    ("spaces", Number),
    ("spaces_title", Text),
    ("zone_group_name", Text),
];

pub(super) const ASSET: Fields = &[
    ("type_id", Number),
    ("name", Text),
    ("tag", Text),
    ("reference", Text),
    ("department_id", Number),
    ("notes", Text),
    ("geo_lat", Text),
    ("geo_lon", Text),
    ("owner_type", Text),
    ("owner_staff_id", IdOf(PEOPLE)),
    ("owner_sp_id", IdOf(MEMBERS)),
    ("location_id", IdOf(LOCATIONS)),
    ("status", Text),
];

pub(super) const ASSET_GROUP: Fields = &[("name", Text), ("class", Text), ("description", Text)];
