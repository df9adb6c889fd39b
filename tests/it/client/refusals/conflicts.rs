//! 404 by what is not there, and every 409 of the tables.

use rosterd::api::{
    Api, Asset, AssetGroup, AssetGroupInput, AssetInput, Certification, CertificationHolder, CertificationInput,
    Client, Community, CommunityMember, CommunityMemberInput, Deletable, Deleted, ErrorKind, Gettable, HolderInput,
    Induction, InductionHolder, InductionHolderCreate, InductionHolderInput, Insurance, InsuranceInput, Issue, Member,
    MemberInput, Membership, MembershipInput, Notification, Organization, OrganizationGroup, OrganizationGroupInput,
    OrganizationInput, Photo, Qualification, QualificationInput, Query, Question, Staff, StaffInput, StaffMovement,
    Visit, VisitInput, VisitorEvent, VisitorEventInput, VisitorGroup, VisitorGroupInput, Zone, ZoneInput,
};
use rosterd::sandbox::Options;
use serde_json::json;

use super::{expect_status, refused, sandbox};
use crate::support::caller::id;

/// An id that nothing has.
const NOBODY: i64 = 1_999_999_999;

async fn expect_none<R: Gettable>(client: &Client, api: &Api<R>) {
    let answered = client.send(api.get(id(NOBODY))).await.unwrap_or_else(|error| panic!("{}: {error:?}", R::NAME));
    assert_eq!((answered.value.is_none(), answered.status), (true, 404), "{}", R::NAME);
}

async fn expect_gone<R: Deletable>(client: &Client, api: &Api<R>) {
    let answered = client.send(api.delete(id(NOBODY))).await.unwrap_or_else(|error| panic!("{}: {error:?}", R::NAME));
    assert_eq!((answered.value, answered.status), (Deleted::Already, 404), "{}", R::NAME);
}

#[tokio::test]
async fn to_read_what_is_not_there_is_no_error() {
    let (_sandbox, client) = &sandbox(Options::default()).await;
    let certifications = Api::<Certification>::root();
    expect_none(client, &Api::<Staff>::root()).await;
    expect_none(client, &Api::<StaffMovement>::root()).await;
    expect_none(client, &Api::<Member>::root()).await;
    expect_none(client, &Api::<Organization>::root()).await;
    expect_none(client, &Api::<OrganizationGroup>::root()).await;
    expect_none(client, &Api::<Membership>::root()).await;
    expect_none(client, &Api::<Insurance>::root()).await;
    expect_none(client, &certifications).await;
    expect_none(client, &certifications.below::<CertificationHolder>(id(801))).await;
    expect_none(client, &certifications.below::<CertificationHolder>(id(NOBODY))).await;
    expect_none(client, &Api::<Qualification>::root()).await;
    expect_none(client, &Api::<Induction>::root().below::<InductionHolder>(id(901))).await;
    expect_none(client, &Api::<Community>::root().below::<CommunityMember>(id(951))).await;
    expect_none(client, &Api::<VisitorEvent>::root()).await;
    expect_none(client, &Api::<Visit>::root()).await;
    expect_none(client, &Api::<VisitorGroup>::root()).await;
    expect_none(client, &Api::<Zone>::root()).await;
    expect_none(client, &Api::<Asset>::root()).await;
    expect_none(client, &Api::<AssetGroup>::root()).await;
    expect_none(client, &Api::<Question>::root()).await;
    expect_none(client, &Api::<Notification>::root()).await;
    for nobody in [NOBODY, 1001] {
        assert!(client.send(Api::<Staff>::root().photo(id(nobody))).await.unwrap().value.is_none());
        assert!(client.send(Api::<Staff>::root().photo_head(id(nobody))).await.unwrap().value.is_none());
    }
}

#[tokio::test]
async fn to_remove_what_is_not_there_is_no_error() {
    let (sandbox, client) = &sandbox(Options::default()).await;
    expect_gone(client, &Api::<Staff>::root()).await;
    expect_gone(client, &Api::<Member>::root()).await;
    expect_gone(client, &Api::<OrganizationGroup>::root()).await;
    expect_gone(client, &Api::<Membership>::root()).await;
    expect_gone(client, &Api::<Insurance>::root()).await;
    expect_gone(client, &Api::<Certification>::root()).await;
    expect_gone(client, &Api::<Certification>::root().below::<CertificationHolder>(id(801))).await;
    // A holder of another certification is none of this one.
    let other = Api::<Certification>::root().below::<CertificationHolder>(id(802));
    assert_eq!(client.send(other.delete(id(8001))).await.unwrap().value, Deleted::Already);
    assert!(sandbox.all("certification.holder").iter().any(|holder| holder["id"] == 8001));
    expect_gone(client, &Api::<Qualification>::root()).await;
    expect_gone(client, &Api::<Induction>::root().below::<InductionHolder>(id(901))).await;
    expect_gone(client, &Api::<Community>::root().below::<CommunityMember>(id(951))).await;
    expect_gone(client, &Api::<VisitorEvent>::root()).await;
    expect_gone(client, &Api::<Visit>::root()).await;
    expect_gone(client, &Api::<VisitorGroup>::root()).await;
    expect_gone(client, &Api::<AssetGroup>::root()).await;
}

#[tokio::test]
async fn to_change_what_is_not_there_is_an_error() {
    let (sandbox, client) = &sandbox(Options::default()).await;
    let name = || Some("Somebody".to_owned());
    let nobody = id(NOBODY);
    /// A PUT of one field to an entity that isn't there.
    macro_rules! put {
        ($api:expr, $input:ident { $($field:ident: $value:expr),* }) => {
            expect_status(client, $api.replace(nobody, &$input { $($field: $value,)* ..$input::default() }), 404).await
        };
    }
    put!(Api::<Staff>::root(), StaffInput { name: name() });
    put!(Api::<Member>::root(), MemberInput { name: name() });
    put!(Api::<Organization>::root(), OrganizationInput { name: name() });
    put!(Api::<OrganizationGroup>::root(), OrganizationGroupInput { name: name() });
    put!(Api::<Membership>::root(), MembershipInput { org_id: Some(401), member_id: Some(2001) });
    put!(Api::<Insurance>::root(), InsuranceInput { name: name() });
    put!(Api::<Certification>::root(), CertificationInput { name: name() });
    let holders = Api::<Certification>::root().below::<CertificationHolder>(id(801));
    put!(holders, HolderInput { record_id: Some(1001), record_type: Some("staff".into()) });
    put!(Api::<Qualification>::root(), QualificationInput { name: name() });
    let holders = Api::<Induction>::root().below::<InductionHolder>(id(901));
    put!(holders, InductionHolderInput { staff_id: Some(1001) });
    let members = Api::<Community>::root().below::<CommunityMember>(id(951));
    put!(members, CommunityMemberInput { name: name(), year: Some(2026) });
    put!(Api::<VisitorEvent>::root(), VisitorEventInput { name: name() });
    put!(Api::<Visit>::root(), VisitInput { name: name() });
    put!(Api::<VisitorGroup>::root(), VisitorGroupInput { name: name() });
    put!(Api::<Zone>::root(), ZoneInput { name: name() });
    put!(Api::<Asset>::root(), AssetInput { name: name() });
    put!(Api::<AssetGroup>::root(), AssetGroupInput { name: name() });
    let issue = Issue { assigned_type: Some("staff".into()), assigned_staff_id: Some(1001), ..Issue::default() };
    expect_status(client, Api::<Asset>::root().issue(nobody, &issue), 404).await;
    expect_status(client, Api::<Asset>::root().take_back(nobody), 404).await;
    expect_status(client, Api::<Zone>::root().link(nobody, id(110)), 404).await;
    expect_status(client, Api::<Zone>::root().unlink(nobody, id(110)), 404).await;
    let photo = Photo::new(b"\xff\xd8\xff".to_vec()).unwrap();
    expect_status(client, Api::<Staff>::root().replace_photo(nobody, &photo), 404).await;
    // A change of part of it stops after the GET.
    let missing = client.modify::<Staff>(nobody, |_| ()).await.unwrap_err();
    assert!(matches!(missing.kind, ErrorKind::Missing), "{missing:?}");
    assert_eq!(sandbox.requests().last().map(|request| request.method.clone()).as_deref(), Some("GET"));
    // A list below what is not there is an error too, never an empty list.
    let holders = Api::<Certification>::root().below::<CertificationHolder>(nobody);
    let error = refused(client, holders.list(&Query::default())).await;
    assert!(matches!(error.kind, ErrorKind::Status { code: 404, .. }), "{error:?}");
}

#[tokio::test]
async fn every_conflict_of_the_tables_is_one() {
    let (sandbox, client) = &sandbox(Options::default()).await;
    let text = |resource: &str, field: &str| sandbox.all(resource)[0][field].as_str().map(str::to_owned);
    let staff = Api::<Staff>::root();
    let person = |email: Option<String>, employee_id: Option<String>| StaffInput {
        name: Some("Second".into()),
        email,
        employee_id,
        ..StaffInput::default()
    };
    expect_status(client, staff.create(&person(text("staff", "email"), None)), 409).await;
    expect_status(client, staff.create(&person(None, text("staff", "employee_id"))), 409).await;

    let taken = text("certification", "name");
    let certification = CertificationInput { name: taken.clone(), ..CertificationInput::default() };
    expect_status(client, Api::<Certification>::root().create(&certification), 409).await;
    expect_status(client, Api::<Certification>::root().replace(id(802), &certification), 409).await;
    let qualification = QualificationInput { name: taken, ..QualificationInput::default() };
    expect_status(client, Api::<Qualification>::root().create(&qualification), 409).await;
    expect_status(client, Api::<Qualification>::root().replace(id(802), &qualification), 409).await;

    let mapping = sandbox.all("sp.membership")[0].clone();
    let membership = MembershipInput {
        org_id: mapping["org_id"].as_i64(),
        member_id: mapping["member_id"].as_i64(),
        ..MembershipInput::default()
    };
    expect_status(client, Api::<Membership>::root().create(&membership), 409).await;

    let attached = sandbox.all("sp.org")[0]["groups"][0].as_i64().unwrap();
    expect_status(client, Api::<OrganizationGroup>::root().delete(id(attached)), 409).await;

    sandbox.edit("induction", 901, json!({"staff_audience": [1001], "contractor_audience": []}));
    let holders = Api::<Induction>::root().below::<InductionHolder>(id(901));
    let holder = |staff_id: i64| InductionHolderCreate { staff_id: Some(staff_id), ..InductionHolderCreate::default() };
    expect_status(client, holders.create(&holder(1002)), 409).await;
    assert!(client.send(holders.create(&holder(1001))).await.unwrap().value.is_some(), "1001 is of the audience");

    let counts = ["staff", "certification", "sp.membership"].map(|resource| sandbox.all(resource).len());
    assert_eq!(counts, [9, 3, 13], "nothing was made");
    assert!(sandbox.all("sp.org.group").iter().any(|group| group["id"] == attached));
}
