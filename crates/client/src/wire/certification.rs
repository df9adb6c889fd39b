//! Certifications, the deprecated qualifications that mirror them, and inductions.

use super::part::Named;
use super::sent::{id_text, plain};
use super::value::{Int, Text};

entity! {
    /// A certification as read (specification, Certification).
    Certification
    shown {
        created: Text, modified: Text, created_by: Int, holders: Int, status: Text, staff_audience: Text,
        contractor_audience: Text, staff_departments: Vec<Named>, staff_locations: Vec<Named>, staff_roles: Vec<Named>,
        sp_groups: Vec<Named>, sp_locations: Vec<Named>, sp_roles: Vec<Named>,
    }
    =>
    /// A certification as created or replaced; no two have the same name.
    CertificationInput
    both { name: Text, category: Text, certification_type_id: Int, description: Text }
}

entity! {
    /// A qualification as read; deprecated, use [`Certification`].
    Qualification
    shown { created: Text, modified: Text, created_by: Int, holders: Int, status: Text }
    =>
    /// A qualification as created or replaced; deprecated, use [`CertificationInput`].
    QualificationInput
    both { name: Text, category: Text, description: Text }
    hidden { certification_type_id: Int }
}

entity! {
    /// Who holds a certification (specification, Certification holder).
    CertificationHolder
    shown {
        created: Text, modified: Text, certification_id: Int, holder_name: Text, holder_email: Text,
        certification_name: Text, r#type: Text, documents: Int,
    }
    =>
    /// A holder as created or replaced: `record_id` is an employee's or a member's id, `record_type` is `staff` or `sp`;
    /// `validfrom` and `validto` are dates.
    HolderInput
    both { record_id: Int, record_type: Text, validfrom: Text, validto: Text, certification_number: Text }
}

entity! {
    /// Who holds a qualification; deprecated, use [`CertificationHolder`].
    QualificationHolder
    shown {
        created: Text, modified: Text, certification_id: Int, holder_name: Text, holder_email: Text,
        certification_name: Text, r#type: Text, documents: Int,
    }
    =>
    /// A holder as created or replaced; deprecated, use [`HolderInput`].
    QualificationHolderInput
    both { record_id: Int, record_type: Text, validfrom: Text, validto: Text, certification_number: Text }
}

entity! {
    /// A document of a holder (specification, Holder document); `size` in bytes.
    Document
    shown { modified: Text, name: Text, r#type: Text, size: Int }
}

entity! {
    /// Who has to complete or has completed an induction (specification, Induction holder). Ids are given at issue.
    InductionHolder
    shown {
        learner_name: Text, learner_email: Text, learner_title: Text, learner_from: Text, status: Text, attempts: Int,
        attempts_left: Int, renew: Text,
    }
    =>
    /// A holder as replaced: exactly one of `staff_id` and `sp_member_id`, sent as integers inside text.
    InductionHolderInput
    both { completed: Text }
    renamed { staff_id: Int => staff_id as id_text, sp_member_id: Int => sp_member_id as id_text }
}

input! {
    /// A holder as created, or updated where the induction has them already: one of `staff_id` and `sp_member_id`.
    InductionHolderCreate { staff_id: Int as plain, sp_member_id: Int as plain, completed: Text as plain }
}
