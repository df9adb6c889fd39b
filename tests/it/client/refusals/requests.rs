//! 400 and 405: what the service can't make sense of, and methods that a resource doesn't have.

use reqwest::header::{ALLOW, AUTHORIZATION};
use rosterd::api::{
    Api, Asset, AssetInput, Filter, GroupFunction, GroupRef, Issue, Member, MemberInput, MemberMovement,
    MemberMovementInput, Operator, Organization, OrganizationGroup, Query, Staff, StaffInput, StaffMovement,
    StaffMovementInput, Zone, ZoneInput,
};
use rosterd::sandbox::Options;

use super::{expect_status, sandbox};
use crate::support::caller::id;

#[tokio::test]
async fn what_is_malformed_or_missing_is_400() {
    let (sandbox, client) = &sandbox(Options::default()).await;
    let before = sandbox.writes();
    // A required field is missing.
    expect_status(client, Api::<Member>::root().create(&MemberInput::default()), 400).await;
    expect_status(client, Api::<Member>::root().replace(id(2001), &MemberInput::default()), 400).await;
    let movement =
        StaffMovementInput { onsite_status: Some("onsite".into()), location_id: Some(11), ..Default::default() };
    expect_status(client, Api::<StaffMovement>::root().put(&movement), 400).await;
    let movement =
        MemberMovementInput { onsite_status: Some("onsite".into()), location_id: Some(11), ..Default::default() };
    expect_status(client, Api::<MemberMovement>::root().put_for(id(2001), &movement), 400).await;
    // A value has not the form of its field, or refers to nothing.
    let person = StaffInput { name: Some("A".into()), onsite_status: Some("sideways".into()), ..StaffInput::default() };
    expect_status(client, Api::<Staff>::root().create(&person), 400).await;
    let member =
        MemberInput { name: Some("A".into()), valid_from: Some("31/12/2026".into()), ..MemberInput::default() };
    expect_status(client, Api::<Member>::root().create(&member), 400).await;
    let zone = ZoneInput { name: Some("A".into()), location_id: Some(99_999), ..ZoneInput::default() };
    expect_status(client, Api::<Zone>::root().create(&zone), 400).await;
    let asset = AssetInput { name: Some("A".into()), location_id: Some(99_999), ..AssetInput::default() };
    expect_status(client, Api::<Asset>::root().create(&asset), 400).await;
    expect_status(client, Api::<Asset>::root().issue(id(4002), &Issue::default()), 400).await;
    let group = [GroupRef { id: Some(99_999), ..GroupRef::default() }];
    expect_status(client, Api::<Organization>::root().change_groups(id(401), &group, GroupFunction::Add), 400).await;
    // An unknown field in filter or order.
    let filter = Filter::default().and("shoe_size", Operator::Equals, "44").unwrap();
    expect_status(client, Api::<Organization>::root().list(&Query::default().filter(filter.clone())), 400).await;
    expect_status(client, Api::<OrganizationGroup>::root().list(&Query::default().filter(filter)), 400).await;
    expect_status(client, Api::<Staff>::root().list(&Query::default().ascending("shoe_size")), 400).await;
    assert_eq!(sandbox.writes(), before, "nothing was carried out");
}

#[tokio::test]
async fn a_method_that_a_path_does_not_have_is_405() {
    let (sandbox, _) = sandbox(Options::default()).await;
    // A second installation is refused, and the first one does.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let plain = reqwest::Client::builder().no_proxy().build().unwrap();
    let before = sandbox.writes();
    for (method, path, allowed) in [
        ("DELETE", "/zone/301", "GET, PUT"),
        ("DELETE", "/asset/4001", "GET, PUT"),
        ("DELETE", "/sp/org/401", "GET, PUT"),
        ("PUT", "/notification/90001", "GET"),
        ("POST", "/custom-questionnaire/question", "GET"),
        ("POST", "/staff/1001", "GET, PUT, DELETE"),
        ("PATCH", "/staff/1001", "GET, PUT, DELETE"),
        ("DELETE", "/staff", "GET, POST, PUT"),
        ("PUT", "/location", "GET, POST"),
        ("GET", "/zone/301/link/110", "PUT"),
        ("DELETE", "/staff/1001/photo", "GET, PUT, HEAD"),
    ] {
        let request = plain.request(method.parse().unwrap(), format!("{}{path}", sandbox.url()));
        let answer = request.header(AUTHORIZATION, "APIKEY sandbox-key").send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 405, "{method} {path}");
        let mut said: Vec<&str> =
            answer.headers()[ALLOW].to_str().unwrap().split(", ").filter(|name| *name != "HEAD").collect();
        let mut expected: Vec<&str> = allowed.split(", ").filter(|name| *name != "HEAD").collect();
        said.sort_unstable();
        expected.sort_unstable();
        assert_eq!(said, expected, "{method} {path}");
    }
    assert_eq!(sandbox.writes(), before);
}
