//! States and transitions (specification, the part of that name), through the client.

use rosterd::api::{
    Api, Asset, Client, Grant, Induction, InductionHolder, InductionHolderCreate, Issue, MemberMovement,
    MemberMovementInput, Organization, Query, Staff, StaffMovement, StaffMovementInput,
};
use rosterd::sandbox::{Options, Sandbox};
use serde_json::{Value, json};

use crate::support::caller::{client, id, key_options, oauth_options};

async fn rig() -> (Sandbox, Client) {
    let options = Options { seed_staff: 3, seed_contractors: 3, rate: 0, ..Options::default() };
    let sandbox = Sandbox::start(options).await.unwrap();
    let client = client(&key_options(&sandbox));
    (sandbox, client)
}

fn stored(sandbox: &Sandbox, resource: &str, number: i64) -> Value {
    sandbox.all(resource).into_iter().find(|entity| entity["id"] == number).unwrap()
}

fn employee(status: &str) -> StaffMovementInput {
    StaffMovementInput {
        onsite_status: Some(status.into()),
        location_id: Some(11),
        staff_id: Some(1001),
        ..StaffMovementInput::default()
    }
}

#[tokio::test]
async fn an_employee_signs_in_and_out_by_one_movement() {
    let (sandbox, client) = rig().await;
    let movements = Api::<StaffMovement>::root();
    let count = sandbox.all("staff.movement").len();
    let came = client.send(movements.put(&employee("onsite"))).await.unwrap().value.unwrap();
    assert_eq!(stored(&sandbox, "staff", 1001)["onsite_status"], "onsite");
    assert!(came.signed_in.is_some() && came.signed_out.is_none());

    let left = StaffMovementInput { changed_at: Some("2031-02-03T17:00:00+13:00".into()), ..employee("offsite") };
    let left = client.send(movements.put(&left)).await.unwrap().value.unwrap();
    assert_eq!((left.id, left.signed_in), (came.id, came.signed_in), "an open movement is completed");
    assert_eq!(left.signed_out.as_deref(), Some("2031-02-03T04:00:00+00:00"), "changed_at is when");
    assert_eq!(sandbox.all("staff.movement").len(), count + 1);
    assert_eq!(stored(&sandbox, "staff", 1001)["onsite_status"], "offsite");
    let person = client.send(Api::<Staff>::root().get(id(1001))).await.unwrap().value.unwrap();
    assert_eq!(person.onsite_status.as_deref(), Some("offsite"));
}

#[tokio::test]
async fn a_contractor_is_scanned_in_on_site_and_out_off_site() {
    let (sandbox, client) = rig().await;
    let movements = Api::<MemberMovement>::root();
    let input = |status: &str| MemberMovementInput {
        onsite_status: Some(status.into()),
        location_id: Some(11),
        sp_org_id: Some(401),
        scanned_in: Some("in".into()),
        scanned_out: Some("out".into()),
        ..MemberMovementInput::default()
    };
    let came = client.send(movements.put_for(id(2001), &input("onsite"))).await.unwrap().value.unwrap();
    assert_eq!((came.scanned_in.as_deref(), came.scanned_out.as_deref()), (Some("in"), None));
    assert_eq!(stored(&sandbox, "sp.member", 2001)["onsite_status"], "onsite");
    let out = MemberMovementInput { scanned_in: Some("again".into()), ..input("offsite") };
    let left = client.send(movements.put_for(id(2001), &out)).await.unwrap().value.unwrap();
    assert_eq!((left.id, left.scanned_in.as_deref(), left.scanned_out.as_deref()), (came.id, Some("in"), Some("out")));
    assert!(left.signed_out.is_some());
    assert_eq!(stored(&sandbox, "sp.member", 2001)["onsite_status"], "offsite");

    // Who it is may stand in the query or in the body; not in neither.
    let named = MemberMovementInput { sp_member_id: Some(2002), ..input("onsite") };
    assert!(client.send(movements.put(&named)).await.unwrap().value.is_some());
    assert_eq!(stored(&sandbox, "sp.member", 2002)["onsite_status"], "onsite");
    let nobody = client.send(movements.put(&input("onsite"))).await.unwrap_err();
    assert_eq!(nobody.code(), Some(400), "{nobody:?}");
}

#[tokio::test]
async fn who_is_held_by_an_induction_already_is_updated() {
    let (sandbox, client) = rig().await;
    let holders = Api::<Induction>::root().below::<InductionHolder>(id(901));
    let input = |completed: Option<&str>| InductionHolderCreate {
        sp_member_id: Some(2002),
        completed: completed.map(str::to_owned),
        ..InductionHolderCreate::default()
    };
    let count = sandbox.all("induction.holder").len();
    let first = client.send(holders.create(&input(None))).await.unwrap().value.unwrap();
    let again = client.send(holders.create(&input(Some("2026-01-02T03:04:05+00:00")))).await.unwrap();
    assert_eq!((again.status, again.value.as_ref().map(|holder| holder.id)), (201, Some(first.id)));
    assert_eq!(again.value.unwrap().completed.as_deref(), Some("2026-01-02T03:04:05+00:00"));
    assert_eq!(sandbox.all("induction.holder").len(), count + 1);
}

#[tokio::test]
async fn an_issue_makes_a_movement_and_a_return_ends_it() {
    let (sandbox, client) = rig().await;
    let assets = Api::<Asset>::root();
    let count = sandbox.all("asset.movement").len();
    for (kind, issue) in [
        ("staff", Issue { assigned_staff_id: Some(1002), ..Issue::default() }),
        ("spm", Issue { assigned_spm_id: Some(2003), ..Issue::default() }),
        ("visitor", Issue { assigned_visitor_id: Some(70_001), ..Issue::default() }),
    ] {
        let issue = Issue { assigned_type: Some(kind.into()), ..issue };
        let out = client.send(assets.issue(id(4002), &issue)).await.unwrap().value.unwrap();
        assert_eq!((out.assigned_type.as_deref(), out.signed_in), (Some(kind), None));
        let ids = (out.assigned_staff_id, out.assigned_spm_id, out.assigned_visitor_id);
        assert_eq!(ids, (issue.assigned_staff_id, issue.assigned_spm_id, issue.assigned_visitor_id));
        let back = client.send(assets.take_back(id(4002))).await.unwrap().value.unwrap();
        assert_eq!((back.assigned_type.as_deref(), back.signed_out), (Some(kind), out.signed_out));
        assert!(back.signed_in.is_some());
    }
    assert_eq!(sandbox.all("asset.movement").len(), count + 3);
}

#[tokio::test]
async fn a_rotated_secret_ends_the_tokens_before_it() {
    let (sandbox, _) = rig().await;
    let caller = client(&oauth_options(&sandbox, "sandbox-secret", &[]));
    let list = || Api::<Staff>::root().list(&Query::default());
    assert_eq!(caller.send(list()).await.unwrap().value.len(), 3);
    sandbox.rotate_secret("another");
    let refused = caller.send(list()).await.unwrap_err();
    assert!(refused.permission(), "{refused:?}");
    assert!(caller.token(&Grant::ClientCredentials { scopes: Vec::new() }).await.is_err());
    let caller = client(&oauth_options(&sandbox, "another", &[]));
    assert_eq!(caller.send(list()).await.unwrap().value.len(), 3);
}

#[tokio::test]
async fn an_organization_counts_its_policies_and_names_its_members() {
    let (sandbox, client) = rig().await;
    let of_it =
        |resource: &str| sandbox.all(resource).into_iter().filter(|one| one["org_id"] == 401).collect::<Vec<_>>();
    let one = client.send(Api::<Organization>::root().get(id(401))).await.unwrap().value.unwrap();
    assert_eq!(one.policies, i64::try_from(of_it("sp.insurance").len()).ok());
    let mut shown: Vec<Value> = one.members.iter().map(|member| json!(member.id)).collect();
    let mut expected: Vec<Value> = of_it("sp.membership").into_iter().map(|one| one["member_id"].clone()).collect();
    shown.sort_by_key(Value::as_i64);
    expected.sort_by_key(Value::as_i64);
    assert!(!shown.is_empty());
    assert_eq!(shown, expected);
}
