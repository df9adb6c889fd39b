//! Organizations of contractors by themselves.

use serde_json::{Value, json};

use crate::support::{Config, Ran, World};

const HEADER: &str = "Company No,Company,Country,Status\n";

fn config(map: &str, rest: &str) -> Config {
    Config {
        name: "companies".into(),
        target: "contractor-organization".into(),
        job: "key = \"{{ company_no }}\"\n".into(),
        map: format!(
            "name = \"{{{{ company }}}}\"\nlegalid = \"{{{{ company_no }}}}\"\ncountry = \"{{{{ country }}}}\"\n\
             status = \"{{{{ status }}}}\"\n{map}\n"
        ),
        ..Config::rest(rest)
    }
}

fn world(rest: &str) -> World {
    World::of(config("", rest))
}

fn file(rows: &[(usize, &str)]) -> String {
    rows.iter().fold(HEADER.to_owned(), |text, (number, status)| {
        text + &format!("94{number:06},Company {number} Ltd,NZ,{status}\n")
    })
}

fn orgs(world: &World) -> Vec<Value> {
    world.service().all("sp.org")
}

fn rests(world: &World) -> Ran {
    let (requests, writes) = (world.service().requests().len(), world.service().writes());
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), world.service().writes()), ((0, 0, 0), writes));
    assert!(world.service().requests().len() - requests <= 3, "law 4: at most 3 requests a mirrored collection");
    ran
}

#[test]
fn organizations_are_made_changed_and_left_as_they_are() {
    let world = world("");
    assert_eq!(world.sync_of(file(&[(1, "active"), (2, "active")])).expect(0).writes(), (2, 0, 0));
    let id = orgs(&world)[0]["id"].as_i64().unwrap();
    world.service().edit("sp.org", id, json!({"address": "1 Quay", "tradingas": "One"}));
    assert_eq!(world.sync_of(file(&[(1, "on-hold"), (2, "active")])).expect(0).writes(), (0, 1, 0));
    let one = orgs(&world).into_iter().find(|org| org["id"] == id).unwrap();
    let shown = ["status", "address", "tradingas", "country"].map(|field| one[field].clone());
    assert_eq!(shown, [json!("on-hold"), json!("1 Quay"), json!("One"), json!("NZ")], "law 2");
    rests(&world);
}

#[test]
fn an_organization_that_is_gone_can_be_set_inactive_and_never_removed() {
    let world = world("[job.leavers]\naction = \"update\"\ngrace = \"0s\"\n[job.leavers.set]\nstatus = \"inactive\"\n");
    world.sync_of(file(&[(1, "active"), (2, "active")])).expect(0);
    assert_eq!(world.sync_of(file(&[(1, "active")])).expect(0).writes(), (0, 1, 0));
    let status = |number: usize| {
        let wanted = format!("94{number:06}");
        orgs(&world).into_iter().find(|org| org["legalid"] == wanted.as_str()).unwrap()["status"].clone()
    };
    assert_eq!((status(1), status(2)), (json!("active"), json!("inactive")));
    rests(&world);
    world.configure(config("", "[job.leavers]\naction = \"delete\"\n"));
    let ran = world.sync().expect(2);
    assert!(ran.err.contains("no operation that removes an organization"), "{ran:?}");
}

#[test]
fn a_custom_field_is_set_by_its_title_and_a_title_that_is_not_there_is_named() {
    let world = world("");
    world.configure(config("\"cf.Trade\" = \"Roofing\"", ""));
    world.sync_of(file(&[(1, "active")])).expect(0);
    assert_eq!(orgs(&world)[0]["customfields"]["32"], "Roofing");
    world.configure(config("\"cf.Trad\" = \"Roofing\"", ""));
    let ran = world.run(&["check"]).expect(1);
    assert!(format!("{}{}", ran.out, ran.err).contains("did you mean \"Trade\""), "{ran:?}");
}
