//! Certifications and who holds them. Qualifications are another view of the same entities.

use super::super::resource::FieldKind::{
    Choice, Created, Date, Derived as Following, Id, IdOf, Integer, List, Modified, Text,
};
use super::super::resource::{Derived, PLAIN, Resource, Rule};

/// Certifications (specification, Certification).
pub(in super::super) static CERTIFICATION: Resource = Resource {
    name: "certification",
    fields: fields! {
        own { id: Id, created: Created, modified: Modified, created_by: Integer }
        sent { name: Text, category: Text, certification_type_id: Integer, description: Text }
        own {
            holders: Following(Derived::Count("certification.holder", "certification_id")), status: Text,
            staff_audience: Text, contractor_audience: Text, staff_departments: List(&[]), staff_locations: List(&[]),
            staff_roles: List(&[]), sp_groups: List(&[]), sp_locations: List(&[]), sp_roles: List(&[]),
        }
    },
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
    fields: fields! {
        own { id: Id, created: Created, modified: Modified, certification_id: IdOf("certification") }
        sent {
            record_id: Integer, record_type: Choice(&["staff", "sp"]), validfrom: Date, validto: Date,
            certification_number: Text,
        }
        own {
            holder_name: Following(Derived::OfRecord("name")), holder_email: Following(Derived::OfRecord("email")),
            certification_name: of!("certification_id", "certification", "name"),
            type: of!("certification_id", "certification", "category"),
            documents: Following(Derived::Count("certification.holder.document", "holder_id")),
        }
    },
    parent: Some(("certification_id", "certification")),
    required: &["record_id", "record_type"],
    rules: &[Rule::Record],
    first_id: 8001,
    ..PLAIN
};

/// Documents of holders (specification, Holder document).
pub(in super::super) static DOCUMENT: Resource = Resource {
    name: "certification.holder.document",
    fields: fields! {
        own { id: Id, modified: Modified, name: Text, type: Text, size: Integer }
        kept { holder_id: IdOf("certification.holder") }
    },
    parent: Some(("holder_id", "certification.holder")),
    first_id: 8501,
    ..PLAIN
};
