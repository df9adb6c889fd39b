//! Certifications and who holds them. Qualifications are another view of the same entities.

use super::super::resource::{Derived, Field, FieldKind, PLAIN, Resource, Rule, Visibility};

/// Certifications (specification, Certification).
pub(in super::super) static CERTIFICATION: Resource = Resource {
    name: "certification",
    fields: &[
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        Field::own("created_by", FieldKind::Integer),
        sent!("name", FieldKind::Text),
        sent!("category", FieldKind::Text),
        sent!("certification_type_id", FieldKind::Integer),
        sent!("description", FieldKind::Text),
        Field::own("holders", FieldKind::Derived(Derived::Count("certification.holder", "certification_id"))),
        Field::own("status", FieldKind::Text),
        Field::own("staff_audience", FieldKind::Text),
        Field::own("contractor_audience", FieldKind::Text),
        Field::own("staff_departments", FieldKind::List(&[])),
        Field::own("staff_locations", FieldKind::List(&[])),
        Field::own("staff_roles", FieldKind::List(&[])),
        Field::own("sp_groups", FieldKind::List(&[])),
        Field::own("sp_locations", FieldKind::List(&[])),
        Field::own("sp_roles", FieldKind::List(&[])),
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
        Field::own("id", FieldKind::Id),
        Field::own("created", FieldKind::Created),
        Field::own("modified", FieldKind::Modified),
        Field::own("certification_id", FieldKind::IdOf("certification")),
        sent!("record_id", FieldKind::Integer),
        sent!("record_type", FieldKind::Choice(&["staff", "sp"])),
        sent!("validfrom", FieldKind::Date),
        sent!("validto", FieldKind::Date),
        sent!("certification_number", FieldKind::Text),
        Field::own("holder_name", FieldKind::Derived(Derived::OfRecord("name"))),
        Field::own("holder_email", FieldKind::Derived(Derived::OfRecord("email"))),
        of!("certification_name", "certification_id", "certification", "name"),
        of!("type", "certification_id", "certification", "category"),
        Field::own("documents", FieldKind::Derived(Derived::Count("certification.holder.document", "holder_id"))),
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
        Field::own("id", FieldKind::Id),
        Field::own("modified", FieldKind::Modified),
        Field::own("name", FieldKind::Text),
        Field::own("type", FieldKind::Text),
        Field::own("size", FieldKind::Integer),
        kept!("holder_id", FieldKind::IdOf("certification.holder")),
    ],
    parent: Some(("holder_id", "certification.holder")),
    first_id: 8501,
    ..PLAIN
};
