//! Contractor members, their organizations with groups, memberships and insurance.

use rosterd::api::{
    Api, Deleted, Filter, GroupFunction, GroupRef, Insurance, InsuranceInput, InsuranceType, Member, MemberInput,
    MemberMovement, MemberMovementInput, Membership, MembershipInput, Named, Operator, Organization, OrganizationGroup,
    OrganizationGroupCreate, OrganizationGroupInput, OrganizationInput, Place, Query,
};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    members(bench).await;
    movements(bench).await;
    organizations(bench).await;
    groups(bench).await;
    groups_of_an_organization(bench).await;
    memberships(bench).await;
    insurance(bench).await;
}

async fn members(bench: &mut Bench) {
    let members = Api::<Member>::root();
    let fields = ["name", "email", "mobile", "service_provider_id", "valid_from", "valid_to", "status"];
    let query = Query::default().ascending("id").limit(2);
    let row = "sp.member.list GET /sp/member?order=id&limit=2&time_zone=UTC 200";
    let list = bench.row(row, members.list(&query)).await;
    assert_eq!(list.len(), 2);
    bench.shows(&list[1], "sp.member", 2002, &fields);
    let row = "sp.member.list GET /sp/member?id=2003&time_zone=UTC 200";
    let only = bench.row(row, members.list(&Query::default().only(id(2003)))).await;
    assert_eq!(only.iter().map(|one| one.id).collect::<Vec<_>>(), [id(2003)]);
    let row = "sp.member.get GET /sp/member/2003?time_zone=UTC 200";
    let one = bench.row(row, members.get(id(2003))).await.unwrap();
    bench.shows(&one, "sp.member", 2003, &fields);
    assert!(!one.sp_orgs.is_empty());

    let mut input = MemberInput {
        name: Some("Zoë Łukasz".into()),
        email: Some("zoe@example.com".into()),
        service_provider_id: Some("SP-Ω".into()),
        valid_from: Some("2026-02-28".into()),
        cur_location: Some(13),
        cf: [("31".to_owned(), json!("LN1")), ("33".to_owned(), json!("0"))].into(),
        ..MemberInput::default()
    };
    let made = bench.row("sp.member.create POST /sp/member 201", members.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({
        "name": "Zoë Łukasz", "email": "zoe@example.com", "service_provider_id": "SP-Ω", "valid_from": "2026-02-28",
        "cur_location_id": 13, "customfields": {"31": "LN1", "33": "0"}, "extension": null,
    });
    bench.holds("sp.member", number, &expected);
    assert_eq!((made.name.as_deref(), made.cur_location_id), (Some("Zoë Łukasz"), Some(13)));
    input.extension = Some("77".into());
    input.email = None;
    let row = format!("sp.member.update PUT /sp/member/{number} 204");
    assert!(bench.row(&row, members.replace(made.id, &input)).await.is_none(), "it has no body");
    bench.holds("sp.member", number, &json!({"extension": "77", "email": null, "service_provider_id": "SP-Ω"}));
    let row = format!("sp.member.delete DELETE /sp/member/{number} 204");
    assert_eq!(bench.row(&row, members.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("sp.member", number), Value::Null);
}

async fn movements(bench: &mut Bench) {
    let movements = Api::<MemberMovement>::root();
    let input = MemberMovementInput {
        onsite_status: Some("onsite".into()),
        location_id: Some(11),
        sp_org_id: Some(401),
        scanned_in: Some("badge".into()),
        carpark_question: Some(true),
        expected: Some(90),
        sp_purpose: Some("Wartung".into()),
        visiting_staff_id: Some(1003),
        ..MemberMovementInput::default()
    };
    let row = "sp.member.movement.put PUT /sp/member/movement?sp_member_id=2001 200";
    let made = bench.row(row, movements.put_for(id(2001), &input)).await.unwrap();
    assert_eq!((made.sp_member_id, made.sp_org_id, made.carpark_question), (Some(2001), Some(401), Some(true)));
    assert_eq!((made.expected, made.scanned_in.as_deref()), (Some(true), Some("badge")));
    let expected = json!({
        "sp_member_id": 2001, "sp_org_id": 401, "location_id": 11, "scanned_in": "badge", "carpark_question": true,
        "sp_purpose": "Wartung", "visiting_staff_id": 1003, "signed_out": null,
    });
    bench.holds("sp.member.movement", made.id.get().into(), &expected);
    bench.holds("sp.member", 2001, &json!({"onsite_status": "onsite"}));
    let row = "sp.member.movement.list GET /sp/member/movement?time_zone=UTC 200";
    let list = bench.row(row, movements.list(&Query::default())).await;
    assert_eq!(list.len(), bench.count("sp.member.movement"));
    bench.shows(&list[0], "sp.member.movement", list[0].id.get().into(), &["signed_in", "sp_purpose", "sp_org_id"]);
}

async fn organizations(bench: &mut Bench) {
    let organizations = Api::<Organization>::root();
    let fields =
        ["name", "type", "tradingas", "legalid", "address", "country", "status", "email", "organization_owner"];
    let row = "sp.org.list GET /sp/org?time_zone=UTC 200";
    let list = bench.row(row, organizations.list(&Query::default())).await;
    assert_eq!(list.len(), bench.count("sp.org"));
    bench.shows(&list[1], "sp.org", 402, &fields);
    let one = bench.row("sp.org.get GET /sp/org/401?time_zone=UTC 200", organizations.get(id(401))).await.unwrap();
    bench.shows(&one, "sp.org", 401, &fields);
    assert!(one.policies.unwrap() > 0 && !one.members.is_empty());

    let place = Place { id: Some(12), start: Some("2026-01-01".into()), ..Place::default() };
    let mut input = OrganizationInput {
        name: Some("Šiaurė & Söhne".into()),
        r#type: Some("Company".into()),
        legalid: Some("0042".into()),
        locations: vec![place],
        organization_owner: Some(1002),
        cf: [("1".to_owned(), json!("x"))].into(),
        ..OrganizationInput::default()
    };
    let made = bench.row("sp.org.create POST /sp/org 200", organizations.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    assert_eq!((made.name.as_deref(), made.locations.len()), (Some("Šiaurė & Söhne"), 1));
    let expected = json!({
        "name": "Šiaurė & Söhne", "type": "Company", "legalid": "0042", "organization_owner": 1002,
        "locations": [{"id": 12, "start": "2026-01-01", "expires": null}], "customfields": {"1": "x"},
    });
    bench.holds("sp.org", number, &expected);
    input.locations.clear();
    input.phone = Some("64 9".into());
    let row = format!("sp.org.update PUT /sp/org/{number} 200");
    let changed = bench.row(&row, organizations.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.locations.len(), changed.phone.as_deref()), (0, Some("64 9")));
    bench.holds("sp.org", number, &json!({"locations": [], "phone": "64 9", "legalid": "0042"}));
}

async fn groups(bench: &mut Bench) {
    let groups = Api::<OrganizationGroup>::root();
    let filter = Filter::default().and("category_id", Operator::Equals, "2").unwrap();
    let row = "sp.org.group.list GET /sp/org/group?q=category_id%3A2&time_zone=UTC 200";
    let list = bench.row(row, groups.list(&Query::default().filter(filter))).await;
    assert_eq!(list.iter().map(|group| group.id).collect::<Vec<_>>(), [id(502), id(503)]);
    let row = "sp.org.group.get GET /sp/org/group/502?time_zone=UTC 200";
    let one = bench.row(row, groups.get(id(502))).await.unwrap();
    bench.shows(&one, "sp.org.group", 502, &["name", "category_id"]);
    let created = one.created.unwrap();
    assert!(jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", &created).is_ok(), "{created}");

    let input = OrganizationGroupCreate {
        name: Some("Night".into()),
        category_id: Some(3),
        ..OrganizationGroupCreate::default()
    };
    let made = bench.row("sp.org.group.create POST /sp/org/group 201", groups.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    bench.holds("sp.org.group", number, &json!({"name": "Night", "category_id": 3}));
    let input = OrganizationGroupInput { name: Some("Day".into()), ..OrganizationGroupInput::default() };
    let row = format!("sp.org.group.update PUT /sp/org/group/{number} 200");
    let changed = bench.row(&row, groups.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.name.as_deref(), changed.category_id), (Some("Day"), Some(3)));
    bench.holds("sp.org.group", number, &json!({"name": "Day", "category_id": 3}));
    let row = format!("sp.org.group.delete DELETE /sp/org/group/{number} 204");
    assert_eq!(bench.row(&row, groups.delete(made.id)).await, Deleted::Now);
}

async fn groups_of_an_organization(bench: &mut Bench) {
    let organizations = Api::<Organization>::root();
    let ids = |groups: &[GroupRef]| groups.iter().filter_map(|group| group.id).collect::<Vec<_>>();
    let row = "sp.org.groups.get GET /sp/org/401/groups?time_zone=UTC 200";
    let before = bench.row(row, organizations.groups(id(401), &Filter::default())).await;
    assert_eq!(json!(ids(&before)), bench.stored("sp.org", 401)["groups"]);
    let filter = Filter::default().and("category_id", Operator::Equals, "9").unwrap();
    let row = "sp.org.groups.get GET /sp/org/401/groups?q=category_id%3A9&time_zone=UTC 200";
    assert!(bench.row(row, organizations.groups(id(401), &filter)).await.is_empty());

    let added = GroupRef { id: Some(503), name: Some("Maintenance".into()), ..GroupRef::default() };
    let call = organizations.change_groups(id(401), &[added], GroupFunction::Add);
    let after = bench.row("sp.org.groups.update PUT /sp/org/401/groups 200", call).await.unwrap();
    assert_eq!(ids(&after), [ids(&before).as_slice(), &[503]].concat());
    assert_eq!(json!(ids(&after)), bench.stored("sp.org", 401)["groups"]);
    assert_eq!(after.last().unwrap().category_id, Some(2));
}

async fn memberships(bench: &mut Bench) {
    let memberships = Api::<Membership>::root();
    let row = "sp.membership.list GET /sp/membership?time_zone=UTC 200";
    let list = bench.row(row, memberships.list(&Query::default())).await;
    assert_eq!(list.len(), bench.count("sp.membership"));
    let row = "sp.membership.get GET /sp/membership/3001?time_zone=UTC 200";
    let one = bench.row(row, memberships.get(id(3001))).await.unwrap();
    bench.shows(&one, "sp.membership", 3001, &["created", "org_id", "member_id"]);
    assert_eq!(json!(one.member_name), bench.stored("sp.member", one.member_id.unwrap())["name"]);
    assert!(!one.roles.is_empty() && one.roles[0].name.is_some());

    let place = Place { id: Some(12), expires: Some("2027-12-31".into()), ..Place::default() };
    let mut input = MembershipInput {
        org_id: Some(402),
        member_id: Some(2001),
        roles: vec![Named { id: Some(62), ..Named::default() }],
        locations: vec![place],
        ..MembershipInput::default()
    };
    let made = bench.row("sp.membership.create POST /sp/membership 200", memberships.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({
        "org_id": 402, "member_id": 2001, "roles": [62], "locations": [{"id": 12, "start": null, "expires": "2027-12-31"}],
    });
    bench.holds("sp.membership", number, &expected);
    assert_eq!((made.org_id, made.roles[0].name.as_deref()), (Some(402), Some("Supervisor")));
    input.roles.push(Named { id: Some(64), ..Named::default() });
    let row = format!("sp.membership.update PUT /sp/membership/{number} 200");
    let changed = bench.row(&row, memberships.replace(made.id, &input)).await.unwrap();
    assert_eq!(changed.roles.len(), 2);
    bench.holds("sp.membership", number, &json!({"roles": [62, 64], "org_id": 402}));
    let row = format!("sp.membership.delete DELETE /sp/membership/{number} 204");
    assert_eq!(bench.row(&row, memberships.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("sp.membership", number), Value::Null);
}

async fn insurance(bench: &mut Bench) {
    let policies = Api::<Insurance>::root();
    let fields = ["org_id", "type", "name", "reference", "value", "start", "expires", "status", "tags"];
    let row = "sp.insurance.list GET /sp/insurance?time_zone=UTC 200";
    let list = bench.row(row, policies.list(&Query::default())).await;
    assert_eq!(list.len(), bench.count("sp.insurance"));
    let row = "sp.insurance.get GET /sp/insurance/702?time_zone=UTC 200";
    let one = bench.row(row, policies.get(id(702))).await.unwrap();
    bench.shows(&one, "sp.insurance", 702, &fields);
    assert_eq!(json!(one.org_name), bench.stored("sp.org", one.org_id.unwrap())["name"]);
    assert_eq!(one.documents[0]["name"], "Certificate of currency");

    let mut input = InsuranceInput {
        org_id: Some(402),
        r#type: Some("Public liability".into()),
        name: Some("Policy".into()),
        value: Some("5000000".into()),
        start: Some("2026-01-01".into()),
        ..InsuranceInput::default()
    };
    let made = bench.row("sp.insurance.create POST /sp/insurance 200", policies.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({
        "org_id": 402, "type": "Public liability", "name": "Policy", "value": "5000000", "start": "2026-01-01",
        "expires": null,
    });
    bench.holds("sp.insurance", number, &expected);
    input.expires = Some("2027-01-01".into());
    let row = format!("sp.insurance.update PUT /sp/insurance/{number} 200");
    let changed = bench.row(&row, policies.replace(made.id, &input)).await.unwrap();
    assert_eq!(changed.expires.as_deref(), Some("2027-01-01"));
    bench.holds("sp.insurance", number, &json!({"expires": "2027-01-01", "name": "Policy"}));
    let row = format!("sp.insurance.delete DELETE /sp/insurance/{number} 204");
    assert_eq!(bench.row(&row, policies.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("sp.insurance", number), Value::Null);

    let row = "sp.insurance.type.list GET /sp/insurance/type?order=-id&limit=1&time_zone=UTC 200";
    let types = bench.row(row, Api::<InsuranceType>::root().list(&Query::default().descending("id").limit(1))).await;
    let [last] = types.as_slice() else { panic!("the limit is one") };
    bench.shows(last, "sp.insurance.type", last.id.get().into(), &["name", "created", "modified"]);
}
