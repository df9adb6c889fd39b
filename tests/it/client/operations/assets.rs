//! Assets, who has them, and their groups.

use rosterd::api::{Api, Asset, AssetGroup, AssetGroupInput, AssetInput, Deleted, Issue, Query};
use serde_json::{Value, json};

use super::bench::Bench;
use crate::support::caller::id;

pub(super) async fn calls(bench: &mut Bench) {
    assets(bench).await;
    loans(bench).await;
    groups(bench).await;
}

async fn assets(bench: &mut Bench) {
    let assets = Api::<Asset>::root();
    let row = "asset.list GET /asset?limit=2&time_zone=UTC 200";
    assert_eq!(bench.row(row, assets.list(&Query::default().limit(2))).await.len(), 2);
    let one = bench.row("asset.get GET /asset/4002?time_zone=UTC 200", assets.get(id(4002))).await.unwrap();
    bench.shows(
        &one,
        "asset",
        4002,
        &["type_id", "name", "tag", "owner_type", "owner_staff_id", "location_id", "status"],
    );

    let mut input = AssetInput {
        type_id: Some(4901),
        name: Some("Žebřík".into()),
        tag: Some("A-9".into()),
        geo_lat: Some("-36.8485".into()),
        geo_lon: Some("174.7633".into()),
        owner_type: Some("staff".into()),
        owner_staff_id: Some(1003),
        ..AssetInput::default()
    };
    let made = bench.row("asset.create POST /asset 200", assets.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    let expected = json!({
        "type_id": 4901, "name": "Žebřík", "tag": "A-9", "geo_lat": "-36.8485", "geo_lon": "174.7633",
        "owner_type": "staff", "owner_staff_id": 1003, "location_id": null, "notes": null,
    });
    bench.holds("asset", number, &expected);
    input.notes = Some("bent".into());
    let changed = bench.row(&format!("asset.update PUT /asset/{number} 200"), assets.replace(made.id, &input)).await;
    assert_eq!(changed.unwrap().notes.as_deref(), Some("bent"));
    bench.holds("asset", number, &json!({"notes": "bent", "geo_lat": "-36.8485", "owner_staff_id": 1003}));
}

async fn loans(bench: &mut Bench) {
    let assets = Api::<Asset>::root();
    let issue = Issue {
        assigned_type: Some("staff".into()),
        assigned_staff_id: Some(1002),
        dueback: Some("2026-08-01 17:00:00".into()),
        ..Issue::default()
    };
    let count = bench.count("asset.movement");
    let out = bench.row("asset.issue PUT /asset/4002/issue 200", assets.issue(id(4002), &issue)).await.unwrap();
    assert_eq!((out.asset_id, out.assigned_staff_id, out.signed_in), (Some(4002), Some(1002), None));
    assert_eq!(out.dueback.as_deref(), Some("2026-08-01 17:00:00"));
    assert!(jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", out.signed_out.unwrap()).is_ok());
    assert_eq!(bench.count("asset.movement"), count + 1, "an issue makes a new asset movement");
    let back = bench.row("asset.return PUT /asset/4002/return 200", assets.take_back(id(4002))).await.unwrap();
    assert_eq!((back.asset_id, back.assigned_staff_id, back.signed_in.is_some()), (Some(4002), Some(1002), true));
    assert_eq!(bench.count("asset.movement"), count + 1);
}

async fn groups(bench: &mut Bench) {
    let groups = Api::<AssetGroup>::root();
    let row = "assetgroup.list GET /assetgroup?time_zone=UTC 200";
    assert_eq!(bench.row(row, groups.list(&Query::default())).await.len(), bench.count("assetgroup"));
    let row = "assetgroup.get GET /assetgroup/4902?time_zone=UTC 200";
    let one = bench.row(row, groups.get(id(4902))).await.unwrap();
    bench.shows(&one, "assetgroup", 4902, &["name", "class", "description"]);
    let mut input =
        AssetGroupInput { name: Some("Funk".into()), class: Some("fixed".into()), ..AssetGroupInput::default() };
    let made = bench.row("assetgroup.create POST /assetgroup 200", groups.create(&input)).await.unwrap();
    let number = i64::from(made.id.get());
    bench.holds("assetgroup", number, &json!({"name": "Funk", "class": "fixed", "description": null}));
    input.description = Some("Radios".into());
    let row = format!("assetgroup.update PUT /assetgroup/{number} 200");
    let changed = bench.row(&row, groups.replace(made.id, &input)).await.unwrap();
    assert_eq!(changed.description.as_deref(), Some("Radios"));
    bench.holds("assetgroup", number, &json!({"description": "Radios", "class": "fixed"}));
    let row = format!("assetgroup.delete DELETE /assetgroup/{number} 204");
    assert_eq!(bench.row(&row, groups.delete(made.id)).await, Deleted::Now);
    assert_eq!(bench.stored("assetgroup", number), Value::Null);
}
