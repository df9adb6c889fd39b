//! People who are, or seem to be, gone from the service.

use rosterd::sandbox::Options;
use serde_json::json;

use crate::support::{HEADER, World};

/// Seeded people, long unchanged; the third of them has `title` in the file.
fn file(world: &World, title: &str) -> String {
    world.staff().iter().enumerate().fold(HEADER.to_owned(), |file, (at, person)| {
        let text = |name: &str| person[name].as_str().unwrap_or_default().to_owned();
        let title = if at == 2 { title.to_owned() } else { text("title") };
        file + &format!("{},\"{}\",{},\"{title}\"\n", text("employee_id"), text("name"), text("email"))
    })
}

/// A service that takes duplicates, five people in step, and a file that changes the third of them.
fn world() -> (World, i64) {
    let world = World::new(Options { accept_duplicates: true, seed_staff: 5, ..Options::default() });
    let id = world.staff()[2]["id"].as_i64().unwrap();
    world.service().edit("staff", id, json!({"title": "Old", "modified": "2026-01-01T00:00:00+00:00"}));
    world.csv(file(&world, "Old"));
    world.sync().expect(0);
    world.csv(file(&world, "New"));
    (world, id)
}

#[test]
fn law_3_one_false_404_doubles_no_one() {
    let (world, id) = world();
    world.service().set_faults(vec!["staff.get not-found times=1".parse().unwrap()]);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert!(world.staff().len() == 5 && world.staff().iter().any(|person| person["id"] == id));
}

#[test]
fn law_3_a_404_that_is_believed_and_false_doubles_no_one() {
    let (world, id) = world();
    world.service().set_faults(vec!["staff.get not-found times=2".parse().unwrap()]);
    world.sync().expect(1);
    assert_eq!(world.sync().expect(0).writes(), (0, 1, 0));
    assert!(world.staff().len() == 5 && world.staff().iter().any(|person| person["id"] == id));
}

#[test]
fn law_3_who_was_created_again_at_the_service_is_not_created_once_more() {
    let (world, id) = world();
    let mut person = world.staff()[2].clone();
    world.service().remove("staff", id);
    person.as_object_mut().unwrap().retain(|name, _| ["name", "email", "employee_id"].contains(&name.as_str()));
    world.service().put("staff", person);
    world.sync();
    world.sync().expect(0);
    assert_eq!((world.staff().len(), world.texts("title").contains(&"New".to_owned())), (5, true));
}

#[test]
fn who_is_gone_for_sure_is_created_again() {
    let (world, id) = world();
    world.service().remove("staff", id);
    world.sync().expect(1);
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    assert_eq!(world.staff().len(), 5);
}
