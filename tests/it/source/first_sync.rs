//! The main job on ordinary input.

use std::collections::BTreeMap;

use rosterd::sandbox::Options;
use serde_json::Value;

use crate::support::{HEADER, World, people, row};

/// Everything of a person but what a write moves by itself.
fn rest(person: &Value, moved: &[&str]) -> BTreeMap<String, Value> {
    let fields = person.as_object().unwrap().iter();
    fields
        .filter(|(name, _)| *name != "modified" && !moved.contains(&name.as_str()))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

#[test]
fn forty_people_and_a_file_of_sixty_make_twenty_seven_writes() {
    let world = World::new(Options { seed_staff: 40, ..Options::default() });
    let before: Vec<Value> = world.staff();
    let mut file = HEADER.to_owned();
    for (at, person) in before.iter().take(35).enumerate() {
        let text = |name: &str| person[name].as_str().unwrap_or_default().to_owned();
        let title = if at < 2 { "Moved".to_owned() } else { text("title") };
        file += &format!("{},\"{}\",{},\"{title}\"\n", text("employee_id"), text("name"), text("email"));
    }
    for number in 0..25 {
        file += &row(90_000 + number, "New");
    }
    world.csv(file);

    let plan = world.plan().expect(0).job();
    assert_eq!((&plan["matched"], &plan["new"], &plan["foreign"]), (&35.into(), &25.into(), &5.into()));
    assert_eq!(world.service().writes(), 0, "a plan writes nothing");

    assert_eq!(world.sync().expect(0).writes(), (25, 2, 0));
    assert_eq!(world.service().writes(), 27);
    assert_eq!(world.staff().len(), 65);
    for (at, old) in before.iter().enumerate() {
        let new = world.staff().into_iter().find(|new| new["id"] == old["id"]).unwrap();
        assert_eq!(rest(old, &["title"]), rest(&new, &["title"]), "law 2: a push wipes nothing");
        assert_eq!(new["title"] == "Moved", at < 2);
        assert_eq!(old["modified"] == new["modified"], at >= 2);
    }

    let requests = world.service().requests().len();
    let second = world.sync().expect(0);
    assert_eq!((second.writes(), second.job()["unchanged"].as_u64()), ((0, 0, 0), Some(60)));
    assert!(world.service().requests().len() - requests <= 3, "law 4: at most 3 requests a mirrored collection");
    assert_eq!(world.service().writes(), 27);
}

#[test]
fn law_9_an_empty_state_folder_after_a_sync_writes_nothing() {
    let world = World::default();
    world.csv(people(0..30));
    assert_eq!(world.sync().expect(0).writes(), (30, 0, 0));
    world.lose_state();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!((world.service().writes(), world.staff().len()), (30, 30));
}
