//! Assets, an add-on of the account.

use super::sent::plain;
use super::value::{Int, Text};

entity! {
    /// An asset as read (specification, Asset); `geo_lat` and `geo_lon` are text.
    Asset
    shown { status: Text }
    =>
    /// An asset as created or replaced.
    AssetInput
    both {
        type_id: Int, name: Text, tag: Text, reference: Text, department_id: Int, notes: Text, geo_lat: Text,
        geo_lon: Text, owner_type: Text, owner_staff_id: Int, owner_sp_id: Int, location_id: Int,
    }
}

wire! {
    /// The issue or the return of an asset (specification, Asset movement). Its times are `YYYY-MM-DD hh:mm:ss` without an
    /// offset.
    AssetMovement {}
    asset_id: Int, assigned_type: Text, assigned_staff_id: Int, assigned_spm_id: Int, assigned_visitor_id: Int,
    signed_out: Text, signed_in: Text, dueback: Text, notes: Text, issued_out: Text, issued_in: Text,
}

input! {
    /// Who receives an asset: `assigned_type` is `staff`, `spm` or `visitor`, with the id of that kind.
    Issue {
        assigned_type: Text as plain, assigned_staff_id: Int as plain, assigned_spm_id: Int as plain,
        assigned_visitor_id: Int as plain, dueback: Text as plain,
    }
}

entity! {
    /// A group of assets as read (specification, Asset group).
    AssetGroup
    shown {}
    =>
    /// A group of assets as created or replaced; `class` is `transfer` or `fixed`.
    AssetGroupInput
    both { name: Text, class: Text, description: Text }
}
