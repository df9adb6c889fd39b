//! The fields of every resource against the specification's own lists: what comes back, in its order, and what is sent.

use std::collections::BTreeSet;

use crate::binding::{Action, binding};
use crate::operation::operations;
use crate::resource::{Field, Resource, Sent, Visibility};
use crate::tables::{RESOURCES, resource};

/// A resource, its response fields, and its input fields; `+` marks one of updates only, `-` one of creates only.
const SHAPES: &[(&str, &str, &str)] = &[
    (
        "staff",
        "id created modified account_status last_login onsite_status name title altname email phone mobile ice setup_method \
         employee_id location cur_location department roles role_types tokens remote customfields globalroaming",
        "name title altname email phone mobile ice employee_id onsite_status location roletype customfields cf \
         globalroaming globalroaming_locations",
    ),
    (
        "staff.movement",
        "id created modified location_id staff_id signed_in signed_out mode_in mode_out signed_in_by signed_out_by \
         scanned_in scanned_out expected assistance accessdenied loneworker so_staff_id zone_id interzone remote name title \
         email mobile phone lacp_in_name lacp_out_name signed_in_lat signed_in_lon signed_in_accuracy signed_out_lat \
         signed_out_lon signed_out_accuracy",
        "onsite_status location_id location staff_id lacp_id zone_id remote changed_at print_kiosk_id",
    ),
    (
        "customfield.element.staff",
        "id created modified cf_tab_id is_visible is_mandatory is_unique title created_by modified_by element_type",
        "",
    ),
    (
        "customfield.element.sp-member",
        "id created modified cf_tab_id is_visible is_mandatory is_unique title created_by modified_by element_type",
        "",
    ),
    (
        "location",
        "id created modified name address phone external_id postcode country timezone date_format staff_count lacps",
        "name address phone postcode country timezone date_format",
    ),
    (
        "sp.member",
        "id created modified name setup_by title service_provider_id email altemail phone mobile status valid_from valid_to \
         extension ice onsite_status cur_location_id cur_sp_org_id cur_location sp_orgs logs tokens customfields",
        "name title email altemail phone ice cur_location extension mobile valid_from valid_to onsite_status \
         service_provider_id customfields cf",
    ),
    (
        "sp.member.movement",
        "id created modified location_id sp_member_id sp_org_id signed_in signed_out mode_in mode_out zone_id zone_other \
         signed_in_by signed_out_by scanned_in scanned_out visiting_staff_id cardnumber carpark_question \
         carpark_registration carpark_number pass other_pass sp_purpose assistance expected accessdenied \
         accessdenied_reason loneworker so_staff_id so_spm_id interzone breathtest from_zone selected_language lacp_in_name \
         lacp_out_name zone_group_name signed_in_by_kiosk signed_out_by_kiosk photo_url signout_photo_url signed_in_lat \
         signed_in_lon signed_in_accuracy signed_out_lat signed_out_lon signed_out_accuracy",
        "onsite_status location_id sp_member_id sp_org_id print_kiosk_id lacp_id zone_id zone_other scanned_in scanned_out \
         visiting_staff_id cardnumber carpark_question carpark_registration carpark_number pass other_pass sp_purpose \
         assistance expected loneworker so_staff_id so_spm_id",
    ),
    (
        "sp.org",
        "id created modified name setup_by type tradingas legalid legalid_type address country status email phone locations \
         policies members organization_owner logs customfields",
        "name type tradingas legalid legalid_type address country email phone organization_owner status locations cf",
    ),
    ("sp.org.group", "id name category_id created", "-category_id name"),
    (
        "sp.membership",
        "id created org_id org_name member_id member_name roles locations locations_same_as_org",
        "org_id member_id roles locations",
    ),
    (
        "sp.insurance",
        "id created modified org_id org_name type name reference value start expires status tags documents",
        "org_id type name reference value start expires",
    ),
    ("sp.insurance.type", "id name created modified", ""),
    (
        "certification",
        "id created modified created_by name category certification_type_id description holders status staff_audience \
         contractor_audience staff_departments staff_locations staff_roles sp_groups sp_locations sp_roles",
        "name category certification_type_id description",
    ),
    (
        "certification.holder",
        "id created modified certification_id record_id record_type validfrom validto certification_number holder_name \
         holder_email certification_name type documents",
        "record_id record_type validfrom validto certification_number",
    ),
    ("certification.holder.document", "id modified name type size", ""),
    (
        "induction.holder",
        "id completed staff_id sp_member_id learner_name learner_email learner_title learner_from status attempts \
         attempts_left renew",
        "staff_id sp_member_id completed",
    ),
    (
        "community.member",
        "id created modified external_id location_id community_id name title email mobile customfields",
        "-location_id -community_id external_id name title email mobile +year",
    ),
    (
        "visitor.event",
        "id created modified location_id created_staff_id visiting_staff_id signed_in signed_out mode_in mode_out \
         signed_in_by signed_out_by name email from phone mobile title assistance expected printed pass purpose \
         carpark_question carpark_registration carpark_number cardnumber id_verification_checked id_verification_type \
         accessdenied id_verification_reference visiting_staff_name location_name lacp_in_name lacp_out_name \
         signed_in_by_name signed_out_by_name onsite type lacp_in_id lacp_out_id",
        "name type location_id visiting_staff_id signed_in signed_out email from phone mobile title assistance purpose \
         carpark_registration carpark_number cardnumber id_verification_reference id_verification_type lacp_in_id \
         lacp_out_id +mode_id +mode_out +signed_in_by +signed_out_by +expected +pass +carpark_question +accessdenied \
         +visiting_staff_name +signed_in_by_name +signed_out_by_name +onsite",
    ),
    (
        "visitor.register",
        "id created modified location_id created_staff_id visiting_staff_id event_start event_end name \
         visiting_staff_name location_name visitors type",
        "name type location_id staff_id visiting_staff_id event_start event_end visitors",
    ),
    (
        "visitor.group",
        "id created modified location_id created_staff_id staff_id name description members",
        "name description location_id staff_id",
    ),
    (
        "zone",
        "id created modified location_id zone_group_id name reference status maximum_occupancy spaces_enabled spaces \
         spaces_title zone_group_name zone_fullname",
        "name location_id reference maximum_occupancy spaces_enabled spaces spaces_title",
    ),
    (
        "asset",
        "id type_id name tag reference department_id notes geo_lat geo_lon owner_type owner_staff_id owner_sp_id \
         location_id status",
        "type_id name tag reference department_id notes geo_lat geo_lon owner_type owner_staff_id owner_sp_id location_id",
    ),
    (
        "asset.movement",
        "asset_id assigned_type assigned_staff_id assigned_spm_id assigned_visitor_id signed_out signed_in dueback notes \
         issued_out issued_in",
        "assigned_type assigned_staff_id assigned_spm_id assigned_visitor_id dueback",
    ),
    ("assetgroup", "id name class description", "name class description"),
    (
        "custom-questionnaire.question",
        "id created modified questionnaire_id question type compulsory answershare order parent_id parent_key version \
         setup_by settings_options settings_options_unique settings_waiver settings_image settings_signature settings_copy \
         settings_copy_host settings_send_recipients settings_email_non_staff",
        "",
    ),
    (
        "notification",
        "id created modified location_id visitor_id for_staff_id to_staff_id method type recipient messageid to_staff_name \
         for_staff_name status",
        "",
    ),
];

/// The inputs of a resource as the table above writes them.
fn inputs(resource: &'static Resource) -> BTreeSet<String> {
    let written = |field: &'static Field| {
        let mark = match field.sent {
            Sent::Always => "",
            Sent::OnCreate => "-",
            Sent::OnUpdate => "+",
        };
        field.inputs.iter().map(move |name| format!("{mark}{name}"))
    };
    resource.fields.iter().flat_map(written).collect()
}

#[test]
fn every_field_of_the_specification_is_there_and_no_other() {
    for (name, answered, sent) in SHAPES {
        let resource = resource(name).unwrap();
        let shown =
            resource.fields.iter().filter(|field| matches!(field.shown, Visibility::Always | Visibility::Whole));
        let shown: Vec<_> = shown.map(|field| field.name).collect();
        assert_eq!(shown, answered.split(' ').collect::<Vec<_>>(), "{name}");
        let expected: BTreeSet<_> = sent.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        assert_eq!(inputs(resource), expected, "{name}");
    }
}

#[test]
fn every_resource_that_answers_is_among_them() {
    let bound = operations().iter().filter(|operation| !operation.is_token_request());
    let bytes = [Action::ShowPhoto, Action::PutPhoto];
    let answering = bound.map(|operation| binding(operation.name)).filter(|binding| !bytes.contains(&binding.action));
    let answering: BTreeSet<_> = answering.map(|binding| binding.resource.name).collect();
    assert_eq!(SHAPES.iter().map(|(name, ..)| *name).collect::<BTreeSet<_>>(), answering);
    let silent = RESOURCES.iter().map(|resource| resource.name).filter(|name| !answering.contains(name));
    assert_eq!(silent.collect::<Vec<_>>(), ["staff.photo", "sp.role", "induction", "community"]);
}
