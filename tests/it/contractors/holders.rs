//! Holders of certifications.

use serde_json::{Value, json};

use crate::support::{Config, World};

const HEADER: &str = "No,Course,Kind,From,To,Number\n";

const MAP: &str = r#"
certification = "{{ course }}"
record_type = "{{ kind }}"
holder = "{{ no }}"
validfrom = "{{ from }}"
validto = "{{ to }}"
certification_number = "{{ number }}"
"#;

/// A service with two certifications, two employees and a contractor, and a job.
fn world(rest: &str) -> World {
    let world = World::of(Config {
        name: "courses".into(),
        target: "certification-holder".into(),
        job: "key = \"{{ no }}-{{ course }}\"\n".into(),
        map: MAP.into(),
        ..Config::rest(rest)
    });
    for name in ["First Aid", "Heights"] {
        world.service().put("certification", json!({"name": name}));
    }
    world.person(1, "Clerk");
    world.person(2, "Clerk");
    let member = json!({"name": "Worker", "email": "worker@example.com", "service_provider_id": "C7"});
    world.service().put("sp.member", member);
    world
}

fn holders(world: &World) -> Vec<Value> {
    world.service().all("certification.holder")
}

const THREE: &str = "P00001,First Aid,staff,2026-01-01,2028-01-01,N1\n\
                     person2@example.com,heights,staff,2026-02-01,,\n\
                     C7,First Aid,sp,2026-03-01,2027-03-01,N3\n";

#[test]
fn staff_and_contractors_are_found_by_id_or_email() {
    let world = world("");
    let file = HEADER.to_owned() + THREE;
    let ran = world.sync_of(&file).expect(0);
    assert_eq!(ran.writes(), (3, 0, 0), "{ran:?}");
    let mut shown: Vec<String> = holders(&world)
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or("-").to_owned();
            let certification = one["certification_id"].as_i64().unwrap();
            format!("{certification} {}", ["record_type", "validfrom", "validto"].map(text).join(" "))
        })
        .collect();
    shown.sort();
    assert_eq!(shown, ["801 sp 2026-03-01 2027-03-01", "801 staff 2026-01-01 2028-01-01", "802 staff 2026-02-01 -",]);
    let held: Vec<i64> = holders(&world).iter().map(|one| one["record_id"].as_i64().unwrap()).collect();
    let people = [world.held_as(1).unwrap(), world.held_as(2).unwrap()].map(|one| one["id"].as_i64().unwrap());
    assert!(people.iter().all(|id| held.contains(id)), "{held:?}");
    // Two certifications, staff and contractors, and the list of certifications.
    for _ in 0..2 {
        let (requests, writes) = (world.service().requests().len(), world.service().writes());
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
        assert_eq!(world.service().writes(), writes);
        assert!(world.service().requests().len() - requests <= 12, "law 4");
    }
}

#[test]
fn a_longer_validity_is_an_update_and_the_rest_stays() {
    let world = world("");
    world.sync_of(HEADER.to_owned() + THREE).expect(0);
    let longer = THREE.replace("2028-01-01", "2030-01-01");
    assert_eq!(world.sync_of(HEADER.to_owned() + &longer).expect(0).writes(), (0, 1, 0));
    let one = holders(&world).into_iter().find(|one| one["certification_number"] == "N1").unwrap();
    assert_eq!((&one["validfrom"], &one["validto"]), (&json!("2026-01-01"), &json!("2030-01-01")));
}

#[test]
fn who_is_gone_from_the_source_holds_it_no_more() {
    let world = world("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    world.sync_of(HEADER.to_owned() + THREE).expect(0);
    let rest: String = THREE.lines().skip(1).map(|line| format!("{line}\n")).collect();
    assert_eq!(world.sync_of(HEADER.to_owned() + &rest).expect(0).writes(), (0, 0, 1));
    assert!(holders(&world).iter().all(|one| one["certification_number"] != "N1"));
    assert_eq!(holders(&world).len(), 2);
}

#[test]
fn law_8_what_names_nothing_is_rejected_by_itself() {
    let world = world("");
    let file = HEADER.to_owned()
        + THREE
        + "P00001,Diving,staff,,,\nP00099,First Aid,staff,,,\nP00002,First Aid,pilot,,,\nP00002,First Aid 2,staff,1/2/2026,,\n";
    let ran = world.sync_of(&file).expect(3);
    assert_eq!((ran.writes(), ran.job()["rejected"].as_u64()), ((3, 0, 0), Some(4)), "{ran:?}");
    let job = world.plan().job();
    let fields = |list: &str| {
        let list = job[list].as_array().unwrap();
        let mut fields: Vec<String> = list.iter().map(|row| row["field"].as_str().unwrap().to_owned()).collect();
        fields.sort();
        fields
    };
    assert_eq!(fields("rejected"), ["certification", "certification", "holder", "record_type"]);
    assert_eq!(fields("rejected_values"), ["validfrom"]);
}

#[test]
fn law_9_an_empty_state_folder_gives_no_one_a_second_one() {
    let world = world("");
    world.sync_of(HEADER.to_owned() + THREE).expect(0);
    world.lose_state();
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(holders(&world).len(), 3);
}

#[test]
fn law_3_a_holder_whose_answer_was_lost_is_made_once() {
    let world = world("");
    world.faults(&["certification.holder.create cut-after every=2"]);
    world.sync_of(HEADER.to_owned() + THREE).expect(0);
    assert_eq!(holders(&world).len(), 3);
}

#[test]
fn law_1_a_certification_that_shows_no_one_all_at_once_is_a_fault() {
    let world = world("[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    world.sync_of(HEADER.to_owned() + THREE).expect(0);
    let writes = world.service().writes();
    world.faults(&["certification.holder.list empty-list"]);
    let ran = world.sync().expect(1);
    assert_eq!(world.service().writes(), writes, "{ran:?}");
    world.faults(&[]);
    world.sync().expect(0);
    assert_eq!(world.service().writes(), writes);
}

#[test]
fn files_in_an_inbox_may_each_name_other_certifications_and_no_one_holds_one_twice() {
    let world = world("");
    world.edit_config("path = \"staff.csv\"", "path = \"inbox\"\nmode = \"changes\"");
    let inbox = world.dir().join("inbox");
    std::fs::create_dir(&inbox).unwrap();
    let person = world.held_as(1).unwrap()["id"].clone();
    let heights = world.service().all("certification")[1]["id"].clone();
    let there =
        json!({"record_type": "staff", "record_id": person, "certification_id": heights, "validfrom": "2026-01-01"});
    world.service().put("certification.holder", there);
    let drop = |name: &str, rows: &str| world.put(&format!("inbox/{name}"), format!("{HEADER}{rows}").as_bytes());
    drop("1.csv", "P00001,First Aid,staff,2026-01-01,,\n");
    drop("2.csv", "P00001,Heights,staff,2026-01-01,,N9\nP00002,Heights,staff,2026-01-01,,\n");
    let plan = world.plan().expect(0);
    assert_eq!(plan.job()["changes"].as_array().unwrap().len(), 1, "{plan:?}");
    assert_eq!(world.sync().expect(0).writes(), (2, 1, 0), "who holds it already is found");
    assert_eq!(holders(&world).len(), 3);
    // Files that name what is known, and what only a later one names.
    let third = world.service().put("certification", json!({"name": "Diving"}));
    world.service().put(
        "certification.holder",
        json!({"record_type": "staff", "record_id": person, "certification_id": third, "validfrom": "2026-05-01"}),
    );
    drop("3.csv", "P00001,Heights,staff,2026-01-01,,N9\n");
    drop("4.csv", "P00001,Diving,staff,2026-05-01,,\n");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(holders(&world).len(), 4);
    let requests = world.service().requests().len();
    world.sync().expect(0);
    assert!(world.service().requests().len() - requests <= 3, "law 4: nothing is asked while no file waits");
}

#[test]
fn a_certificate_of_someone_who_was_made_again_is_that_of_their_new_id() {
    let world = world("");
    world.csv(HEADER.to_owned() + THREE);
    world.sync().expect(0);
    let held_by = |id: i64| holders(&world).iter().filter(|one| one["record_id"] == id).count();
    let before = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    assert_eq!(held_by(before), 1);
    assert!(world.service().remove("staff", before));
    let config = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(&config.replace("[state]\n", "[state]\nfull_pull = \"1s\"\n"));
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let ran = world.sync().expect(3);
    assert!(
        ran.out.contains("no employee at the service has this id"),
        "while they are away, the run says so: {ran:?}"
    );
    world.person(1, "Clerk");
    let after = world.held_as(1).unwrap()["id"].as_i64().unwrap();
    world.sync().expect(0);
    assert_eq!((held_by(after), after == before), (1, false));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0), "law 4");
    let explained = world.run(&["explain", "courses", "P00001-First Aid"]).expect(0);
    assert!(!explained.out.contains("gone from there") && !explained.out.contains("never read"), "{explained:?}");
}

#[test]
fn law_8_a_certification_whose_last_holder_is_gone_stops_no_other_one() {
    let world = world("");
    world.csv(HEADER.to_owned() + THREE);
    world.sync().expect(0);
    let last = holders(&world).into_iter().find(|one| one["certification_id"] == 802).unwrap();
    assert!(world.service().remove("certification.holder", last["id"].as_i64().unwrap()));
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), holders(&world).len()), ((1, 0, 0), 3), "who is in the source holds it again: {ran:?}");
}

#[test]
fn who_is_forgotten_has_certificates_that_are_named_to_be_forgotten_too() {
    let world = world("");
    world.csv(HEADER.to_owned() + THREE);
    world.sync().expect(0);
    let staff = "[[job]]\nname = \"staff\"\ntarget = \"staff\"\nkey = \"{{ no }}\"\nmatch_on = [\"employee_id\"]\n[job.source]\n\
                 type = \"csv\"\npath = \"people.csv\"\nsettle = \"0s\"\n[job.map]\nname = \"{{ name }}\"\nemployee_id = \"{{ no }}\"\n";
    let config = std::fs::read_to_string(world.config_path()).unwrap();
    world.put_config(&(config + staff));
    world.put("people.csv", b"No,Name\nP00001,Person 1\nP00002,Person 2\n");
    world.sync().expect(0);
    let told = world.run(&["forget", "P00001"]).expect(0);
    assert!(told.out.contains("rosterd forget \"P00001-First Aid\""), "{told:?}");
    world.run(&["forget", "P00001-First Aid"]).expect(0);
}

#[test]
fn law_8_a_row_whose_email_is_another_person_s_by_now_is_named_though_it_stays_the_same() {
    let world = world("");
    world.csv(HEADER.to_owned() + THREE);
    world.sync().expect(0);
    for (number, email) in [(2, "second@example.com"), (1, "person2@example.com")] {
        let id = world.held_as(number).unwrap()["id"].as_i64().unwrap();
        world.service().edit("staff", id, json!({"email": email}));
    }
    for _ in 0..2 {
        let ran = world.sync().expect(3);
        assert!(ran.out.contains("means another holder"), "{ran:?}");
    }
}
