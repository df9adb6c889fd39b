//! Photos of a tenant: a read asks for their versions, and those that are sent are fetched.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{BY_SECRET, HIDDEN, LEAVE_AT_ONCE, config};
use crate::support::graph::{Graph, SECRET, id, json_answer, refusal};
use crate::support::{Config, World, people};

const MAP: &str = "name = \"{{ display_name }}\"\nemail = \"{{ mail }}\"\nemployee_id = \"{{ employee_id }}\"\n";

/// A photo of that look.
fn photo(look: u8) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n".as_slice(), &[look; 40]].concat()
}

/// Gives users photos of that version and look.
fn give(graph: &Graph, numbers: impl IntoIterator<Item = usize>, version: &str, look: u8) {
    let photos = numbers.into_iter().map(|number| (id(number), (format!("\"{version}\""), photo(look))));
    graph.change(|tenant| tenant.photos.extend(photos));
}

/// Forty users before the first run; 1 to 30 have a photo.
fn tenant() -> (Graph, World) {
    let graph = Graph::start(1..41);
    give(&graph, 1..31, "v1", 1);
    let map = format!("{MAP}photo = \"{{{{ photo }}}}\"\n");
    let world = super::world(Config { map, ..config(&graph, BY_SECRET) });
    (graph, world)
}

fn synced() -> (Graph, World) {
    let (graph, world) = tenant();
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (40, 0, 0));
    (graph, world)
}

/// The photo that the service has of a person.
fn held(world: &World, number: usize) -> Option<Vec<u8>> {
    let own = world.held_as(number).unwrap()["id"].clone();
    let photos = world.service().all("staff.photo");
    let photo = photos.iter().find(|photo| photo["id"] == own)?;
    Some(STANDARD.decode(photo["base64"].as_str().unwrap()).unwrap())
}

fn fetched(graph: &Graph) -> usize {
    graph.arrived().iter().filter(|arrived| arrived.line.ends_with("/photo/$value")).count()
}

#[test]
fn law_4_a_photo_is_fetched_once_for_each_version() {
    let (graph, world) = synced();
    for (number, expected) in [(1, Some(photo(1))), (30, Some(photo(1))), (31, None)] {
        assert_eq!(held(&world, number), expected, "{number}");
    }
    assert_eq!(fetched(&graph), 30);
    let writes = world.service().writes();
    world.sync().hides(&HIDDEN).expect(0);
    assert_eq!((fetched(&graph), world.service().writes()), (30, writes), "nothing is new");
    give(&graph, [2, 35], "v2", 2);
    graph.change(|tenant| drop(tenant.photos.remove(&id(3))));
    world.sync().hides(&HIDDEN).expect(0);
    let all = [1, 2, 3, 35].map(|number| held(&world, number));
    assert_eq!(all, [Some(photo(1)), Some(photo(2)), Some(photo(1)), Some(photo(2))], "one that is gone stays");
    assert_eq!(fetched(&graph), 32);
    let shown = world.run(&["explain", "staff", &id(2)]).expect(0);
    assert!(shown.out.contains("\"v2\""), "{shown:?}");
}

#[test]
fn more_photos_than_are_fetched_at_a_time_are_all_sent() {
    let graph = Graph::start(1..241);
    graph.change(|tenant| tenant.page = 100);
    give(&graph, 1..241, "v1", 1);
    let map = format!("{MAP}photo = \"{{{{ photo }}}}\"\n");
    let world = super::world(Config { map, ..config(&graph, BY_SECRET) });
    assert_eq!(world.sync().expect(0).writes(), (240, 0, 0));
    assert_eq!((world.service().all("staff.photo").len(), fetched(&graph)), (240, 240));
}

#[test]
fn law_2_a_photo_that_is_not_known_this_time_stays() {
    let (graph, world) = synced();
    let calm = fetched(&graph);
    give(&graph, 1..5, "v2", 2);
    graph.change(|tenant| {
        // One that answers at the second time, one that never does, and one of a version that means nothing.
        tenant.no_photo_now = [(id(1), (503, 1)), (id(2), (503, usize::MAX))].into();
        tenant.photos.get_mut(&id(3)).unwrap().0 = " ".into();
    });
    let ran = world.sync().hides(&HIDDEN).expect(0);
    assert_eq!(ran.job()["rejected_values"], 2, "{ran:?}");
    assert_eq!(fetched(&graph) - calm, 2);
    assert_eq!([1, 2, 3, 4].map(|number| held(&world, number)), [2, 1, 1, 2].map(|look| Some(photo(look))));
    world.expect_people(1..41);
    graph.change(|tenant| tenant.no_photo_now.clear());
    give(&graph, [3], "v2", 2);
    assert_eq!(world.sync().expect(0).job()["rejected_values"], 0);
    assert_eq!([2, 3].map(|number| held(&world, number)), [Some(photo(2)), Some(photo(2))]);
}

#[test]
fn law_2_where_the_service_wants_to_be_left_alone_the_other_photos_stay() {
    let (graph, world) = synced();
    let calm = fetched(&graph);
    give(&graph, [1, 15], "v2", 2);
    graph.change(|tenant| {
        tenant.no_photo_now = [(id(2), (429, usize::MAX))].into();
        tenant.users.remove(39);
    });
    let ran = world.sync().hides(&HIDDEN).expect(0);
    // One of the first batch, and all users of the pages after it.
    assert_eq!((ran.job()["rejected_values"].as_u64(), ran.writes().2), (Some(30), 1), "{ran:?}");
    assert_eq!((fetched(&graph) - calm, held(&world, 1), held(&world, 15)), (1, Some(photo(2)), Some(photo(1))));
    world.expect_people(1..40);
}

#[test]
fn a_question_for_photos_that_fails_concerns_photos_alone() {
    for (fault, said) in [
        ("cut", "the service did not answer whether this user has a photo"),
        ("refused", "the service answered 403 to a request for the photo; give the app the application permission"),
        ("busy", "the service answered 503 to a request for the photo; it is busy"),
        ("odd", "the service answered 400 to a request for the photo"),
    ] {
        let (graph, world) = synced();
        let calm = fetched(&graph);
        graph.change(|tenant| drop(tenant.users.remove(39)));
        give(&graph, [1, 15], "v2", 2);
        let all = |status: u16| (1..41).map(move |number| (id(number), (status, usize::MAX))).collect();
        graph.say(move |_, arrived, answer| match (arrived.line.contains("$batch"), fault) {
            (true, "cut") => json_answer(200, "", &json!({})),
            (true, "refused") => refusal(403, "Authorization_RequestDenied"),
            _ => json_answer(200, "", &answer),
        });
        graph.change(|tenant| match fault {
            "busy" => tenant.no_photo_now = all(503),
            "odd" => tenant.no_photo_now = all(400),
            _ => {}
        });
        let ran = world.sync().hides(&HIDDEN).expect(0);
        assert_eq!((ran.writes(), ran.job()["rejected_values"].as_u64()), ((0, 0, 1), Some(39)), "{fault}: {ran:?}");
        let plan = world.plan();
        assert!(plan.out.contains(said), "{fault}: {plan:?}");
        assert_eq!((fetched(&graph), held(&world, 1)), (calm, Some(photo(1))), "{fault}");
        world.expect_people(1..40);
    }
}

#[test]
fn a_photo_that_is_refused_stops_no_other_and_many_stop_the_rest() {
    for (refused, sent) in [(4, 26), (5, 0)] {
        let (graph, world) = tenant();
        graph.change(|tenant| tenant.no_bytes = (1..=refused).map(id).collect());
        let ran = world.sync().hides(&HIDDEN);
        assert_eq!((world.service().all("staff.photo").len(), ran.writes()), (sent, (40, 0, 0)), "{refused}: {ran:?}");
        assert!(ran.out.contains("it answered 500 (InternalServerError) to a request for photos"), "{ran:?}");
        graph.change(|tenant| tenant.no_bytes.clear());
        world.sync().expect(0);
        assert_eq!(world.service().all("staff.photo").len(), 30, "{refused}");
    }
}

#[test]
fn a_photo_that_can_t_be_sent_stops_only_itself() {
    let (graph, world) = tenant();
    let large = [photo(1), vec![0; 1024 * 1024]].concat();
    graph.change(|tenant| {
        tenant.photos.get_mut(&id(1)).unwrap().1 = large;
        tenant.photos.get_mut(&id(2)).unwrap().1 = b"GIF89a".to_vec();
        // It is gone before it is fetched.
        tenant.photos.insert(id(31), ("\"v1\"".into(), Vec::new()));
    });
    let ran = world.sync().hides(&HIDDEN);
    let shown = ran.out.clone();
    assert!(shown.contains("larger than 1 MiB") && shown.contains("neither PNG nor JPEG"), "{ran:?}");
    assert_eq!((held(&world, 1), held(&world, 2), held(&world, 3)), (None, None, Some(photo(1))));
    world.expect_people(1..41);
}

#[test]
fn a_lookup_in_a_tenant_gives_photos_to_the_people_of_a_file() {
    let graph = Graph::start(1..41);
    give(&graph, [1, 2], "v1", 1);
    let lookup = format!(
        "[job.lookup.directory]\non = \"{{{{ email }}}}\"\nkey = \"{{{{ mail }}}}\"\n[job.lookup.directory.source]\n{}{BY_SECRET}",
        graph.source()
    );
    let rest = format!("{lookup}{LEAVE_AT_ONCE}");
    let world = World::of(Config::rest(&rest).map("photo = \"{{ directory.photo }}\"\n"));
    world.put("word", format!("{SECRET}\n").as_bytes());
    assert_eq!(world.sync_of(people(1..4)).hides(&HIDDEN[..3]).expect(0).writes(), (3, 0, 0));
    let photos = [1, 2, 3].map(|number| held(&world, number));
    assert_eq!(photos, [Some(photo(1)), Some(photo(1)), None]);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(fetched(&graph), 2);
}
