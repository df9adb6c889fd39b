//! Certifications and who holds them. Qualifications are another view of the same entities.

use super::super::resource::{Derived, Field, Kind, PLAIN, Resource, Rule, Shown};

/// Certifications (specification, Certification).
pub(in super::super) static CERTIFICATION: Resource = Resource {
    name: "certification",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        Field::own("created_by", Kind::Integer),
        sent!("name", Kind::Text),
        sent!("category", Kind::Text),
        sent!("certification_type_id", Kind::Integer),
        sent!("description", Kind::Text),
        Field::own("holders", Kind::Derived(Derived::Count("certification.holder", "certification_id"))),
        Field::own("status", Kind::Text),
        Field::own("staff_audience", Kind::Text),
        Field::own("contractor_audience", Kind::Text),
        Field::own("staff_departments", Kind::List(&[])),
        Field::own("staff_locations", Kind::List(&[])),
        Field::own("staff_roles", Kind::List(&[])),
        Field::own("sp_groups", Kind::List(&[])),
        Field::own("sp_locations", Kind::List(&[])),
        Field::own("sp_roles", Kind::List(&[])),
    ],
    unique: &[&["name"]],
    defaults: &[("status", "active"), ("staff_audience", "all"), ("contractor_audience", "all")],
    first_id: 801,
    ..PLAIN
};

/// What a qualification shows of its certification.
pub(in super::super) static QUALIFICATION: &[&str] =
    &["id", "created", "modified", "created_by", "name", "category", "description", "holders", "status"];

/// Holders of certifications (specification, Certification holder).
pub(in super::super) static HOLDER: Resource = Resource {
    name: "certification.holder",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("created", Kind::Created),
        Field::own("modified", Kind::Modified),
        Field::own("certification_id", Kind::IdOf("certification")),
        sent!("record_id", Kind::Integer),
        sent!("record_type", Kind::Choice(&["staff", "sp"])),
        sent!("validfrom", Kind::Date),
        sent!("validto", Kind::Date),
        sent!("certification_number", Kind::Text),
        Field::own("holder_name", Kind::Derived(Derived::OfRecord("name"))),
        Field::own("holder_email", Kind::Derived(Derived::OfRecord("email"))),
        of!("certification_name", "certification_id", "certification", "name"),
        of!("type", "certification_id", "certification", "category"),
        Field::own("documents", Kind::Derived(Derived::Count("certification.holder.document", "holder_id"))),
    ],
    parent: Some(("certification_id", "certification")),
    required: &["record_id", "record_type"],
    rules: &[Rule::Record],
    first_id: 8001,
    ..PLAIN
};

/// Documents of holders (specification, Holder document).
pub(in super::super) static DOCUMENT: Resource = Resource {
    name: "certification.holder.document",
    fields: &[
        Field::own("id", Kind::Id),
        Field::own("modified", Kind::Modified),
        Field::own("name", Kind::Text),
        Field::own("type", Kind::Text),
        Field::own("size", Kind::Integer),
        kept!("holder_id", Kind::IdOf("certification.holder")),
    ],
    parent: Some(("holder_id", "certification.holder")),
    first_id: 8501,
    ..PLAIN
};
