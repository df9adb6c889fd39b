//! Locations and zones.

use rosterd::api::{Api, Done, Filter, Location, LocationInput, Operator, Query, Zone, ZoneInput};
use serde_json::json;

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    locations(bench).await;
    zones(bench).await;
    links(bench).await;
}

async fn locations(bench: &mut Bench) {
    let locations = Api::<Location>::root();
    let filter = Filter::default().and("staff_count", Operator::Above, "0").unwrap();
    let row = "location.list GET /location?q=staff_count%3E0&limit=1&time_zone=UTC 200";
    let list = bench.row(row, locations.list(&Query::default().filter(filter).limit(1))).await;
    let [first] = list.as_slice() else { panic!("the limit is one") };
    assert!(first.staff_count.unwrap() > 0);
    bench.shows(first, "location", first.id.get().into(), &["name", "address", "postcode", "timezone", "lacps"]);

    let input = LocationInput {
        name: Some("Pōneke".into()),
        address: Some("1 Quay".into()),
        phone: Some("64 4555".into()),
        postcode: Some("6011".into()),
        country: Some("NZ".into()),
        timezone: Some("Pacific/Auckland".into()),
        date_format: Some("d/m/Y".into()),
        ..LocationInput::default()
    };
    let made = bench.row("location.create POST /location 200", locations.create(&input)).await.unwrap();
    assert_eq!((made.name.as_deref(), made.date_format.as_deref()), (Some("Pōneke"), Some("d/m/Y")));
    let expected = json!({
        "name": "Pōneke", "address": "1 Quay", "phone": "64 4555", "postcode": "6011", "country": "NZ",
        "timezone": "Pacific/Auckland", "date_format": "d/m/Y",
    });
    bench.holds("location", made.id.get().into(), &expected);
}

async fn zones(bench: &mut Bench) {
    let zones = Api::<Zone>::root();
    let filter = Filter::default().and("location_id", Operator::Equals, "11").unwrap();
    let row = "zone.list GET /zone?q=location_id%3A11&time_zone=UTC 200";
    let list = bench.row(row, zones.list(&Query::default().filter(filter))).await;
    assert!(!list.is_empty() && list.iter().all(|zone| zone.location_id == Some(11)));
    let fields = ["name", "reference", "status", "maximum_occupancy", "spaces_enabled", "spaces", "zone_group_id"];
    bench.shows(&list[0], "zone", list[0].id.get().into(), &fields);
    let one = bench.row("zone.get GET /zone/302?time_zone=UTC 200", zones.get(id(302))).await.unwrap();
    bench.shows(&one, "zone", 302, &fields);

    let mut input = ZoneInput {
        name: Some("Roof".into()),
        location_id: Some(13),
        reference: Some("R1".into()),
        maximum_occupancy: Some(7),
        spaces_enabled: Some(true),
        spaces: Some(3),
        spaces_title: Some("Chairs".into()),
        ..ZoneInput::default()
    };
    let made = bench.row("zone.create POST /zone 200", zones.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({
        "name": "Roof", "location_id": 13, "reference": "R1", "maximum_occupancy": 7, "spaces_enabled": true,
        "spaces": 3, "spaces_title": "Chairs",
    });
    bench.holds("zone", number, &expected);
    input.spaces_title = None;
    input.maximum_occupancy = Some(8);
    let call = zones.replace(made.id, &input);
    let changed = bench.row(&format!("zone.update PUT /zone/{number} 200"), call).await.unwrap();
    assert_eq!((changed.maximum_occupancy, changed.spaces_title), (Some(8), None));
    bench.holds("zone", number, &json!({"maximum_occupancy": 8, "spaces_title": null, "spaces": 3}));
}

async fn links(bench: &mut Bench) {
    let zones = Api::<Zone>::root();
    let before = bench.stored("zone", 303)["lacps"].clone();
    assert_eq!(bench.row("zone.link PUT /zone/303/link/110 200", zones.link(id(303), id(110))).await, Done);
    let linked = bench.stored("zone", 303)["lacps"].clone();
    assert!(linked != before && linked.as_array().unwrap().contains(&json!(110)), "{linked}");
    assert_eq!(bench.row("zone.unlink PUT /zone/303/unlink/110 200", zones.unlink(id(303), id(110))).await, Done);
    assert_eq!(bench.stored("zone", 303)["lacps"], before);
}
