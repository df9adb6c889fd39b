//! Whose an entity is, and which rows count.

use super::*;
use crate::mirror::Mirror;
use crate::record::Target;

#[tokio::test]
async fn law_6_two_new_records_that_fit_one_entity_are_held() {
    let rig = Rig::new(&staff("", "")).await;
    let id = rig.service.put("staff", json!({"name": "Ana", "email": "person1@example.com", "title": "Clerk"}));
    let report = {
        rig.csv(&(row(1, "Baker") + &row(2, "Cook").replace("person2@", "person1@")));
        rig.sync().await
    };
    assert_eq!((writes(&report), report.counts.held), ((0, 0, 0), 2), "{report:?}");
    assert_eq!(
        rig.staff().iter().map(|person| (&person["id"], &person["title"])).collect::<Vec<_>>(),
        [(&json!(id), &json!("Clerk"))]
    );
}

#[tokio::test]
async fn law_8_of_a_good_and_a_bad_row_of_one_key_neither_is_used() {
    let rig = Rig::new(&staff("", REMOVING)).await;
    rig.sync_of(&people(0..5)).await;
    // A name is required.
    let bad = row(1, "Cook").replace("Person 1", "");
    for rows in [row(1, "Baker") + &bad, bad + &row(1, "Baker")] {
        assert_eq!(rig.sync_of(&(people(2..5) + &row(0, "Clerk") + &rows)).await, (0, 0, 0));
        assert_eq!(rig.title(1), "Clerk");
    }
}

#[tokio::test]
async fn law_2_nothing_is_stored_of_an_account_that_is_not_recognized() {
    let rig = Rig::new(&staff("", "")).await;
    rig.sync_of(&people(0..5)).await;
    let stored = || {
        let mut stored = Vec::new();
        let mirror = Mirror::stored(&rig.bench().store, Target::Staff).unwrap().unwrap();
        mirror.each(&rig.bench().store, |entity| stored.push(entity.clone())).unwrap();
        stored
    };
    let before = stored();
    // The same ids are other people's by now.
    for number in 0..5 {
        let other = json!({"created": "2020-01-01T00:00:00+00:00", "name": format!("Other {number}")});
        rig.service.edit("staff", rig.id(number), other);
    }
    let credential = format!(
        "auth_url = \"{}\"\nclient_id = \"{}\"\nclient_secret_file = \"secret\"\n",
        rig.service.auth_url(),
        rig.service.options().client_id
    );
    rig.configure_as(&credential, &staff("", ""));
    let report = rig.sync().await;
    assert_eq!((report.status, rig.count("staff.update")), (Status::Failed, 0), "{report:?}");
    assert_eq!(stored(), before);
}
