//! Visitors: events, pre-registered visits, groups; and the members of communities.

use rosterd::api::{
    Api, Community, CommunityMember, CommunityMemberCreate, CommunityMemberInput, Deleted, Guest, Query, Visit,
    VisitInput, VisitorEvent, VisitorEventCreate, VisitorEventInput, VisitorGroup, VisitorGroupInput,
};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    events(bench).await;
    visits(bench).await;
    groups(bench).await;
    communities(bench).await;
}

async fn events(bench: &mut Bench) {
    let events = Api::<VisitorEvent>::root();
    let row = "visitor.event.list GET /visitor/event?order=id&limit=3&time_zone=UTC 200";
    let list = bench.row(row, events.list(&Query::default().ascending("id").limit(3))).await;
    assert_eq!(list.iter().map(|event| event.id).collect::<Vec<_>>(), [id(70_001), id(70_002), id(70_003)]);
    let row = "visitor.event.get GET /visitor/event/70002?time_zone=UTC 200";
    let one = bench.row(row, events.get(id(70_002))).await.unwrap();
    let fields = ["location_id", "signed_in", "signed_out", "mode_in", "name", "email", "from", "purpose", "type"];
    bench.shows(&one, "visitor.event", 70_002, &fields);
    assert_eq!(one.lacp_in_name.as_deref(), Some("Front door"));
    assert_eq!(json!(one.location_name), bench.stored("location", one.location_id.unwrap())["name"]);

    let input = VisitorEventCreate {
        name: Some("Ḥasan Ṣ".into()),
        location_id: Some(11),
        visiting_staff_id: Some(1002),
        signed_in: Some("2026-06-01T08:00:00+00:00".into()),
        assistance: Some(true),
        id_verification_reference: Some("P-1".into()),
        lacp_in_id: Some(110),
        ..VisitorEventCreate::default()
    };
    let made = bench.row("visitor.event.create POST /visitor/event 200", events.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({
        "name": "Ḥasan Ṣ", "location_id": 11, "visiting_staff_id": 1002, "signed_in": "2026-06-01T08:00:00+00:00",
        "signed_out": null, "assistance": true, "id_verification_reference": "P-1", "lacp_in_id": 110, "email": null,
    });
    bench.holds("visitor.event", number, &expected);
    assert_eq!(json!(made.visiting_staff_name), bench.stored("staff", 1002)["name"]);

    let input = VisitorEventInput {
        name: Some("Ḥasan Ṣ".into()),
        location_id: Some(11),
        signed_in: Some("2026-06-01T08:00:00+00:00".into()),
        signed_out: Some("2026-06-01T09:30:00+00:00".into()),
        mode_id: Some("Manual".into()),
        mode_out: Some("Auto".into()),
        signed_out_by: Some(1003),
        pass: Some(true),
        carpark_question: Some(false),
        ..VisitorEventInput::default()
    };
    let row = format!("visitor.event.update PUT /visitor/event/{number} 200");
    let changed = bench.row(&row, events.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.mode_in.as_deref(), changed.mode_out.as_deref()), (Some("Manual"), Some("Auto")));
    assert_eq!((changed.pass, changed.assistance.unwrap_or(false)), (Some(true), false));
    let expected = json!({
        "mode_in": "Manual", "mode_out": "Auto", "signed_out": "2026-06-01T09:30:00+00:00", "signed_out_by": 1003,
        "pass": true, "carpark_question": false, "visiting_staff_id": null, "lacp_in_id": null,
    });
    bench.holds("visitor.event", number, &expected);
    let row = format!("visitor.event.delete DELETE /visitor/event/{number} 204");
    assert_eq!(bench.row(&row, events.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("visitor.event", number), Value::Null);
}

async fn visits(bench: &mut Bench) {
    let visits = Api::<Visit>::root();
    let row = "visitor.register.list GET /visitor/register?time_zone=UTC 200";
    let list = bench.row(row, visits.list(&Query::default())).await;
    let types: Vec<Option<&str>> = list.iter().map(|visit| visit.r#type.as_deref()).collect();
    assert!(types.contains(&Some("preregister")) && types.contains(&Some("group")), "{types:?}");
    let row = "visitor.register.get GET /visitor/register/75002?time_zone=UTC 200";
    let one = bench.row(row, visits.get(id(75_002))).await.unwrap();
    let fields = ["location_id", "created_staff_id", "visiting_staff_id", "event_start", "event_end", "name", "type"];
    bench.shows(&one, "visitor.register", 75_002, &fields);
    bench.shows(&one, "visitor.register", 75_002, &["visitors"]);

    let guest = |name: &str| Guest { name: Some(name.into()), assistance: Some(true), ..Guest::default() };
    let mut input = VisitInput {
        name: Some("Tour".into()),
        r#type: Some("preregister".into()),
        location_id: Some(12),
        staff_id: Some(1001),
        event_start: Some("2026-07-01T08:00:00+00:00".into()),
        visitors: vec![guest("Ål"), guest("Bé")],
        ..VisitInput::default()
    };
    let made = bench.row("visitor.register.create POST /visitor/register 200", visits.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    assert_eq!((made.visitors.len(), made.visitors[1].name.as_deref()), (2, Some("Bé")));
    assert!(made.visitors.iter().all(|visitor| visitor.id.is_some() && visitor.assistance == Some(true)));
    let expected = json!({"name": "Tour", "type": "preregister", "location_id": 12, "event_end": null});
    bench.holds("visitor.register", number, &expected);
    input.visitors.truncate(1);
    input.event_end = Some("2026-07-01T10:00:00+00:00".into());
    let row = format!("visitor.register.update PUT /visitor/register/{number} 200");
    let changed = bench.row(&row, visits.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.visitors.len(), changed.event_end.as_deref()), (1, Some("2026-07-01T10:00:00+00:00")));
    bench.holds("visitor.register", number, &json!({"event_end": "2026-07-01T10:00:00+00:00", "name": "Tour"}));
    let row = format!("visitor.register.delete DELETE /visitor/register/{number} 204");
    assert_eq!(bench.row(&row, visits.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("visitor.register", number), Value::Null);
}

async fn groups(bench: &mut Bench) {
    let groups = Api::<VisitorGroup>::root();
    let row = "visitor.group.list GET /visitor/group?time_zone=UTC 200";
    assert_eq!(bench.row(row, groups.list(&Query::default())).await.len(), bench.count("visitor.group"));
    let row = "visitor.group.get GET /visitor/group/78001?time_zone=UTC 200";
    let one = bench.row(row, groups.get(id(78_001))).await.unwrap();
    bench.shows(&one, "visitor.group", 78_001, &["location_id", "staff_id", "name", "description"]);
    assert!(one.members.unwrap() > 0);

    let mut input =
        VisitorGroupInput { name: Some("Chœur".into()), location_id: Some(13), ..VisitorGroupInput::default() };
    let made = bench.row("visitor.group.create POST /visitor/group 200", groups.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    bench.holds("visitor.group", number, &json!({"name": "Chœur", "location_id": 13, "staff_id": null}));
    input.staff_id = Some(1004);
    let row = format!("visitor.group.update PUT /visitor/group/{number} 200");
    let changed = bench.row(&row, groups.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.staff_id, changed.name.as_deref()), (Some(1004), Some("Chœur")));
    bench.holds("visitor.group", number, &json!({"staff_id": 1004, "name": "Chœur"}));
    let row = format!("visitor.group.delete DELETE /visitor/group/{number} 204");
    assert_eq!(bench.row(&row, groups.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("visitor.group", number), Value::Null);
}

async fn communities(bench: &mut Bench) {
    let members = Api::<Community>::root().below::<CommunityMember>(id(951));
    let row = "community.member.list GET /community/951/member?time_zone=UTC 200";
    assert_eq!(bench.row(row, members.list(&Query::default())).await.len(), bench.count("community.member"));
    let row = "community.member.get GET /community/951/member/9502?time_zone=UTC 200";
    let one = bench.row(row, members.get(id(9502))).await.unwrap();
    bench.shows(
        &one,
        "community.member",
        9502,
        &["external_id", "location_id", "community_id", "name", "email", "mobile"],
    );

    let input = CommunityMemberCreate {
        location_id: Some(11),
        community_id: Some(951),
        external_id: Some("N-9".into()),
        name: Some("Zsófia".into()),
        ..CommunityMemberCreate::default()
    };
    let made =
        bench.row("community.member.create POST /community/951/member 201", members.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected =
        json!({"location_id": 11, "community_id": 951, "external_id": "N-9", "name": "Zsófia", "email": null});
    bench.holds("community.member", number, &expected);
    let input = CommunityMemberInput {
        name: Some("Zsófia K".into()),
        external_id: Some("N-9".into()),
        year: Some(2027),
        ..CommunityMemberInput::default()
    };
    let row = format!("community.member.update PUT /community/951/member/{number} 200");
    let changed = bench.row(&row, members.replace(made.id, &input)).await.unwrap();
    assert_eq!((changed.name.as_deref(), changed.location_id), (Some("Zsófia K"), Some(11)));
    bench.holds("community.member", number, &json!({"name": "Zsófia K", "location_id": 11, "community_id": 951}));
    let row = format!("community.member.delete DELETE /community/951/member/{number} 204");
    assert_eq!(bench.row(&row, members.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("community.member", number), Value::Null);
}
