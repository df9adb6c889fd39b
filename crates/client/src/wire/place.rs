//! Locations, zones, and the members of communities.

use super::sent::plain;
use super::value::{Flag, Int, Items, Text};

entity! {
    /// A location as read. Its fields are not in the specification; these are the likely ones.
    Location
    shown {
        created: Text, modified: Text, name: Text, address: Text, phone: Text, external_id: Text, postcode: Text,
        country: Text, timezone: Text, date_format: Text, staff_count: Int, lacps: Vec<super::Named>,
    }
}

input! {
    /// A location as created (specification, Custom fields and locations): `country` has two letters, `timezone` is a
    /// zone's name, `date_format` a pattern such as `d/m/Y`.
    LocationInput {
        name: Text as plain, address: Text as plain, phone: Text as plain, postcode: Text as plain,
        country: Text as plain, timezone: Text as plain, date_format: Text as plain,
    }
}

entity! {
    /// A zone as read (specification, Zone).
    Zone
    shown { created: Text, modified: Text, zone_group_id: Int, status: Text, zone_group_name: Text, zone_fullname: Text }
    =>
    /// A zone as created or replaced.
    ZoneInput
    both {
        name: Text, location_id: Int, reference: Text, maximum_occupancy: Int, spaces_enabled: Flag, spaces: Int,
        spaces_title: Text,
    }
}

entity! {
    /// A member of a community as read (specification, Community member).
    CommunityMember
    shown { created: Text, modified: Text, location_id: Int, community_id: Int, customfields: Items }
    =>
    /// A member of a community as replaced. No answer shows `year`.
    CommunityMemberInput
    both { external_id: Text, name: Text, title: Text, email: Text, mobile: Text }
    hidden { year: Int }
}

input! {
    /// A member of a community as created.
    CommunityMemberCreate {
        location_id: Int as plain, community_id: Int as plain, external_id: Text as plain, name: Text as plain,
        title: Text as plain, email: Text as plain, mobile: Text as plain,
    }
}
