//! The table of resources: one row each. All code that needs a resource's name is generated from its row.

use crate::operation::{Operation, Verb};
use crate::resource::{
    Creatable, Deletable, Filterable, Gettable, Limited, Listable, ListableFor, Movable, Ordered, Paged, Placed,
    Replaceable, Resource, Root, Tracked, Within,
};
use crate::wire::*;

/// Makes the [`Operation`] of one capability of one row.
macro_rules! operation {
    (@make $name:expr, $verb:ident, $path:expr, $about:expr, [$($parameter:expr),*]) => {
        Operation {
            name: $name,
            method: Verb::$verb.method(),
            path: $path,
            about: $about,
            parameters: &[$($parameter),*],
            verb: Verb::$verb,
        }
    };
    (grant) => {
        operation!(@make "oauth2.token-client-credentials", Token, "{auth_url}/oauth2/token",
            "Asks for an access token with the client's id and secret", ["scope"])
    };
    (refresh) => {
        operation!(@make "oauth2.token-refresh", Token, "{auth_url}/oauth2/token",
            "Asks for an access token with a refresh token", ["refresh_token", "scope"])
    };
    (@parameter q) => { "q" };
    (@parameter order) => { "order" };
    (@parameter limit) => { "limit" };
    (@parameter page) => { "page" };
    (@parameter since) => { "If-Modified-Since" };
    (@parameter id) => { "id" };
    ($name:literal $path:literal $own:literal $one:literal $many:literal get) => {
        operation!(@make concat!($name, ".get"), Get, concat!($path, $own), concat!("Reads one ", $one), ["time_zone"])
    };
    ($name:literal $path:literal $own:literal $one:literal $many:literal list $($parameter:ident)*) => {
        operation!(@make concat!($name, ".list"), List, $path, concat!("Lists ", $many),
            [$(operation!(@parameter $parameter),)* "time_zone"])
    };
    ($name:literal $path:literal $own:literal $one:literal $many:literal list_for $kind:literal) => {
        operation!(@make concat!($name, ".list-", $kind), List, concat!($path, "/", $kind),
            concat!("Lists ", $many, " of kind ", $kind), ["time_zone"])
    };
    ($name:literal $path:literal $own:literal $one:literal $many:literal create) => {
        operation!(@make concat!($name, ".create"), Create, $path, concat!("Creates one ", $one), ["time_zone"])
    };
    ($name:literal $path:literal $own:literal $one:literal $many:literal replace) => {
        operation!(@make concat!($name, ".update"), Replace, concat!($path, $own),
            concat!("Replaces one ", $one, "; what is not sent becomes empty"), ["time_zone"])
    };
    ($name:literal $path:literal $own:literal $one:literal $many:literal delete) => {
        operation!(@make concat!($name, ".delete"), Delete, concat!($path, $own), concat!("Removes one ", $one),
            ["time_zone"])
    };
    ($name:literal $path:literal $own:literal $one:literal $many:literal put $($parameter:literal)?) => {
        operation!(@make concat!($name, ".put"), Replace, $path, concat!("Signs in or out: one ", $one),
            [$($parameter,)? "time_zone"])
    };
    ($row_name:literal $row_path:literal $own:literal $one:literal $many:literal
        extra $constant:ident $verb:ident $name:literal $path:literal $about:literal $($parameter:literal)*
    ) => {
        operation!(@make $name, $verb, $path, $about, [$($parameter,)* "time_zone"])
    };
}

/// Implements one capability of one row.
macro_rules! capability {
    ($resource:ident $row:tt get) => {
        impl Gettable for $resource {
            const GET: &'static Operation = &capability!(@row $row get);
        }
    };
    ($resource:ident $row:tt list $($parameter:ident)*) => {
        impl Listable for $resource {
            const LIST: &'static Operation = &capability!(@row $row list $($parameter)*);
        }
        $(capability!(@takes $resource $parameter);)*
    };
    ($resource:ident $row:tt list_for<$kind:ty> $parameter:literal) => {
        impl ListableFor<$kind> for $resource {
            const LIST: &'static Operation = &capability!(@row $row list_for $parameter);
        }
    };
    ($resource:ident $row:tt create<$input:ty>) => {
        impl Creatable for $resource {
            type Input = $input;
            const CREATE: &'static Operation = &capability!(@row $row create);
        }
    };
    ($resource:ident $row:tt replace<$input:ty>) => {
        impl Replaceable for $resource {
            type Input = $input;
            const REPLACE: &'static Operation = &capability!(@row $row replace);
        }
    };
    ($resource:ident $row:tt delete) => {
        impl Deletable for $resource {
            const DELETE: &'static Operation = &capability!(@row $row delete);
        }
    };
    ($resource:ident $row:tt put<$input:ty> $($parameter:literal)?) => {
        impl Movable for $resource {
            type Input = $input;
            const PUT: &'static Operation = &capability!(@row $row put $($parameter)?);
        }
    };
    ($resource:ident $row:tt extra $constant:ident $($extra:tt)*) => {
        impl $resource {
            pub(crate) const $constant: &'static Operation = &capability!(@row $row extra $constant $($extra)*);
        }
    };
    (@takes $resource:ident q) => { impl Filterable for $resource {} };
    (@takes $resource:ident order) => { impl Ordered for $resource {} };
    (@takes $resource:ident limit) => { impl Limited for $resource {} };
    (@takes $resource:ident page) => { impl Paged for $resource {} };
    (@takes $resource:ident since) => { impl Tracked for $resource {} };
    (@takes $resource:ident id) => {};
    (@row [$name:literal $path:literal $own:literal $one:literal $many:literal] $($capability:tt)*) => {
        operation!($name $path $own $one $many $($capability)*)
    };
}

/// One row per resource: its type and its parent's, the stem of its operation names, its path and what its own id adds
/// to it, what a person calls one and many of it, and what can be done with it. A list names what it takes in brackets;
/// `extra` is an operation of no common kind.
macro_rules! resources {
    ($($resource:ident $row:tt $(in $parent:ident)? :
        $($capability:ident $(<$type:ty>)? $([$($parameter:tt)*])?),+ ;)+
    ) => {
        /// Every operation of the table, in its order.
        static OPERATIONS: &[Operation] = &[$($(
            capability!(@row $row $capability $($($parameter)*)?)
        ),+),+, operation!(grant), operation!(refresh)];

        $(
            impl Placed for $resource {
                type Scope = resources!(@scope $($parent)?);
            }
            impl Resource for $resource {
                const NAME: &'static str = resources!(@name $row);
            }
            $(capability!($resource $row $capability $(<$type>)? $($($parameter)*)?);)+
        )+
    };
    (@scope) => { Root };
    (@scope $parent:ident) => { Within<$parent> };
    (@name [$name:literal $($rest:literal)*]) => { $name };
}

resources! {
    Staff ["staff" "/staff" "/{id}" "employee" "employees"]:
        list[q order limit since], create<StaffInput>, get, replace<StaffInput>, delete,
        extra[BULK Replace "staff.bulk" "/staff" "Uploads employees as a whole; may remove people who are missing from the upload"
            "group" "location"],
        extra[PHOTO_GET Photo "staff.photo.get" "/staff/{id}/photo" "Reads the photo of one employee"],
        extra[PHOTO_PUT Replace "staff.photo.put" "/staff/{id}/photo" "Replaces the photo of one employee"],
        extra[PHOTO_HEAD PhotoHead "staff.photo.head" "/staff/{id}/photo" "Reads format and size of the photo of one employee"];
    StaffMovement ["staff.movement" "/staff/movement" "/{id}" "employee's movement" "movements of employees"]:
        list[q order limit since], put<StaffMovementInput>, get;
    Element ["customfield.element" "/customfield/element" "/{id}" "custom field" "custom fields"]:
        list_for<ForStaff>["staff"], list_for<ForMembers>["sp-member"];
    Location ["location" "/location" "/{id}" "location" "locations"]:
        list[q limit], create<LocationInput>;
    Member ["sp.member" "/sp/member" "/{id}" "contractor member" "contractor members"]:
        list[q order limit since id], create<MemberInput>, get, replace<MemberInput>, delete;
    MemberMovement ["sp.member.movement" "/sp/member/movement" "/{id}" "contractor member's movement"
        "movements of contractor members"]:
        list[q order limit since], put<MemberMovementInput>["sp_member_id"];
    Organization ["sp.org" "/sp/org" "/{id}" "contractor organization" "contractor organizations"]:
        list[q order limit since], create<OrganizationInput>, get, replace<OrganizationInput>,
        extra[GROUPS_GET List "sp.org.groups.get" "/sp/org/{id}/groups" "Lists the groups of one contractor organization" "q"],
        extra[GROUPS_UPDATE Replace "sp.org.groups.update" "/sp/org/{id}/groups" "Changes the groups of one contractor organization"];
    OrganizationGroup ["sp.org.group" "/sp/org/group" "/{id}" "organization group" "organization groups"]:
        list[q], create<OrganizationGroupCreate>, get, replace<OrganizationGroupInput>, delete;
    Membership ["sp.membership" "/sp/membership" "/{id}" "membership" "memberships of members in organizations"]:
        list[q order limit since], create<MembershipInput>, get, replace<MembershipInput>, delete;
    Insurance ["sp.insurance" "/sp/insurance" "/{id}" "insurance policy" "insurance policies"]:
        list[q order limit since], create<InsuranceInput>, get, replace<InsuranceInput>, delete;
    InsuranceType ["sp.insurance.type" "/sp/insurance/type" "/{id}" "insurance type" "insurance types"]:
        list[q order limit since];
    Certification ["certification" "/certification" "/{id}" "certification" "certifications"]:
        list[q], create<CertificationInput>, get, replace<CertificationInput>, delete;
    CertificationHolder ["certification.holder" "/certification/{id}/holder" "/{hid}"
        "holder of a certification" "holders of a certification"] in Certification:
        list[], create<HolderInput>, get, replace<HolderInput>, delete;
    Qualification ["qualification" "/qualification" "/{id}" "qualification (deprecated)" "qualifications (deprecated)"]:
        list[q], create<QualificationInput>, get, replace<QualificationInput>, delete;
    QualificationHolder ["qualification.holder" "/qualification/{id}/holder" "/{hid}"
        "holder of a qualification (deprecated)" "holders of a qualification (deprecated)"] in Qualification:
        list[], create<QualificationHolderInput>, get, replace<QualificationHolderInput>, delete;
    Document ["qualification.holder.document" "/qualification/{id}/holder/{hid}/document" "/{did}"
        "document of a holder (deprecated)" "documents of a holder (deprecated)"] in QualificationHolder:
        list[];
    InductionHolder ["induction.holder" "/induction/{id}/holder" "/{hid}" "holder of an induction"
        "holders of an induction"] in Induction:
        list[q], create<InductionHolderCreate>, get, replace<InductionHolderInput>, delete;
    CommunityMember ["community.member" "/community/{community_id}/member" "/{id}" "member of a community"
        "members of a community"] in Community:
        list[q], create<CommunityMemberCreate>, get, replace<CommunityMemberInput>, delete;
    VisitorEvent ["visitor.event" "/visitor/event" "/{id}" "sign-in of a visitor" "sign-ins of visitors"]:
        list[q order limit since], create<VisitorEventCreate>, get, replace<VisitorEventInput>, delete;
    Visit ["visitor.register" "/visitor/register" "/{id}" "pre-registered visit" "pre-registered visits and groups"]:
        list[q], create<VisitInput>, get, replace<VisitInput>, delete;
    VisitorGroup ["visitor.group" "/visitor/group" "/{id}" "visitor group" "visitor groups"]:
        list[q], create<VisitorGroupInput>, get, replace<VisitorGroupInput>, delete;
    Zone ["zone" "/zone" "/{id}" "zone" "zones"]:
        list[q], create<ZoneInput>, get, replace<ZoneInput>,
        extra[LINK Replace "zone.link" "/zone/{zoneId}/link/{accessPointId}" "Links one zone to an access point"],
        extra[UNLINK Replace "zone.unlink" "/zone/{zoneId}/unlink/{accessPointId}" "Ends the link of one zone to an access point"];
    Asset ["asset" "/asset" "/{id}" "asset (an add-on)" "assets (an add-on)"]:
        list[q limit], create<AssetInput>, get, replace<AssetInput>,
        extra[ISSUE Replace "asset.issue" "/asset/{id}/issue" "Issues one asset to a person"],
        extra[RETURN Replace "asset.return" "/asset/{id}/return" "Takes one asset back"];
    AssetGroup ["assetgroup" "/assetgroup" "/{id}" "asset group (an add-on)" "asset groups (an add-on)"]:
        list[q limit], create<AssetGroupInput>, get, replace<AssetGroupInput>, delete;
    Question ["custom-questionnaire.question" "/custom-questionnaire/question" "/{id}" "custom question"
        "custom questions"]:
        list[q order limit page since], get;
    Notification ["notification" "/notification" "/{id}" "message that the service sent" "messages that the service sent"]:
        list[q], get;
}

/// An induction; the API shows its holders only.
#[derive(Clone, Copy, Debug)]
pub enum Induction {}

/// A community; the API shows its members only.
#[derive(Clone, Copy, Debug)]
pub enum Community {}

impl Placed for Induction {
    type Scope = Root;
}

impl Placed for Community {
    type Scope = Root;
}

/// The two grants (specification, OAuth 2.0 client credentials).
pub(crate) const GRANT: &Operation = &operation!(grant);
pub(crate) const REFRESH: &Operation = &operation!(refresh);

/// Every operation that the client knows, in the order of the table.
pub fn operations() -> &'static [Operation] {
    OPERATIONS
}

/// Finds an operation by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// The operation whose name is nearest to one that does not exist.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    OPERATIONS
        .iter()
        .map(|operation| (strsim::jaro_winkler(name, operation.name), operation.name))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the list of operations; where its path or method is not shown, the ones that are assumed.
    fn rows() -> Vec<Vec<&'static str>> {
        let assumed = [
            ("staff.bulk", "/staff"),
            ("sp.org.groups.update", "/sp/org/{id}/groups"),
            ("asset.issue", "/asset/{id}/issue"),
        ];
        let row = |line: &'static str| {
            let mut row: Vec<&str> = line.split('\t').collect();
            if let Some((_, path)) = assumed.iter().find(|(name, _)| *name == row[0]) {
                assert_eq!((row[1], row[2]), ("PUT", "not shown"));
                row[2] = path;
            }
            row
        };
        include_str!("operations.tsv").lines().skip(1).map(row).collect()
    }

    #[test]
    fn the_table_is_the_list_of_operations_both_ways() {
        let rows = rows();
        assert_eq!((operations().len(), rows.len()), (114, 114));
        for row in &rows {
            assert!(by_name(row[0]).is_some(), "{} is not in the table", row[0]);
        }
        for operation in operations() {
            let row = rows.iter().find(|row| row[0] == operation.name);
            let row = row.unwrap_or_else(|| panic!("{} is not in the list of operations", operation.name));
            assert_eq!((operation.method.as_str(), operation.path), (row[1], row[2]), "{}", operation.name);
            // The list names what a body holds before the query; so the queries of writes stand here.
            let mut expected: Vec<&str> = match operation.name {
                _ if operation.verb.is_read() => row[6].split(' ').collect(),
                "staff.bulk" => vec!["group", "location", "time_zone"],
                "sp.member.movement.put" => vec!["sp_member_id", "time_zone"],
                "oauth2.token-client-credentials" => vec!["scope"],
                "oauth2.token-refresh" => vec!["refresh_token", "scope"],
                _ => vec!["time_zone"],
            };
            let mut parameters = operation.parameters.to_vec();
            parameters.sort_unstable();
            expected.sort_unstable();
            assert_eq!(parameters, expected, "{}", operation.name);
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<&str> = operations().iter().map(|operation| operation.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(nearest("staff.lst"), Some("staff.list"));
        assert_eq!(nearest("location.creat"), Some("location.create"));
        assert_eq!(nearest("sp.members.list"), Some("sp.member.list"));
    }
}
