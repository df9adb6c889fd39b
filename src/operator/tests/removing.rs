//! Who is removed, what is reported of it, and what is believed afterwards.

use super::*;

#[tokio::test]
async fn law_2_another_person_under_a_known_id_is_not_removed() {
    let rig = Rig::new(&staff("", REMOVING)).await;
    assert_eq!(rig.sync_of(&people(0..5)).await, (5, 0, 0));
    let id = rig.id(4);
    let other = json!({
        "created": "2020-01-01T00:00:00+00:00", "name": "Another Human", "email": "else@example.com", "employee_id": "Z1",
    });
    rig.csv(&people(0..4));
    let report = rig.sync_while(&When::sending(|| rig.service.edit("staff", id, other.clone()))).await;
    assert_eq!((report.counts.deleted, report.counts.parked, rig.count("staff.delete")), (0, 1, 0), "{report:?}");
    assert!(rig.staff().iter().any(|person| person["name"] == "Another Human"));
}

#[tokio::test]
async fn law_6_who_gets_a_protected_email_before_they_are_removed_stays() {
    let rig = Rig::new(&staff("protect = [\"boss@example.com\"]\n", REMOVING)).await;
    rig.sync_of(&people(0..5)).await;
    let id = rig.id(4);
    rig.csv(&people(0..4));
    let edit = || rig.service.edit("staff", id, json!({"email": "boss@example.com"}));
    let report = rig.sync_while(&When::sending(edit)).await;
    assert_eq!((report.counts.deleted, report.counts.held, rig.count("staff.delete")), (0, 1, 0), "{report:?}");
}

#[tokio::test]
async fn law_9_a_removal_whose_answer_was_lost_is_recorded_with_what_was_removed() {
    let rig = Rig::new(&staff("", REMOVING)).await;
    rig.sync_of(&people(0..5)).await;
    rig.faults(&["staff.delete cut-after times=1"]);
    assert_eq!(rig.sync_of(&people(0..4)).await, (0, 0, 1));
    let told = rig.changes().pop().unwrap();
    assert_eq!((told.action, told.key, told.fields.contains_key("email")), (Action::Delete, key(4), true));
}

/// The first attempt does nothing, then the person is edited at the service, the second attempt is carried out and its
/// answer lost.
#[tokio::test]
async fn a_removal_is_recorded_with_what_was_there_before_it_was_tried_first() {
    let rig = Rig::new(&staff("", REMOVING)).await;
    rig.sync_of(&people(0..5)).await;
    let id = rig.id(4);
    rig.faults(&["staff.delete cut-before nth=1", "staff.delete cut-after nth=2"]);
    rig.csv(&people(0..4));
    let watch = When::attempt(|| {
        if rig.count("staff.delete") == 1 {
            rig.service.edit("staff", id, json!({"title": "Chief"}));
        }
    });
    let report = rig.sync_while(&watch).await;
    assert_eq!((writes(&report), rig.count("staff.delete")), ((0, 0, 1), 2), "{report:?}");
    let told = rig.changes().pop().unwrap();
    assert_eq!(
        (told.action, told.fields["title"].as_ref().map(|[before, _]| before)),
        (Action::Delete, Some(&Value::text("Clerk")))
    );
}

#[tokio::test]
async fn law_3_a_list_that_still_shows_who_was_removed_is_not_believed_for_an_hour() {
    for (minutes, is_believed) in [(0, false), (59, false), (61, true)] {
        let rig = Rig::with(Options { accept_duplicates: true, ..Options::default() }, &staff("", REMOVING)).await;
        rig.sync_of(&people(0..5)).await;
        let removed = rig.held_as(4).unwrap();
        assert_eq!(rig.sync_of(&people(0..4)).await, (0, 0, 1));
        rig.clock.advance(jiff::SignedDuration::from_mins(minutes));
        rig.service.put("staff", removed.clone());
        rig.service.edit("staff", removed["id"].as_i64().unwrap(), json!({}));
        let made = u64::from(!is_believed);
        assert_eq!(rig.sync_of(&people(0..5)).await, (made, 0, 0), "who is back after {minutes} minutes");
    }
}

#[tokio::test]
async fn the_limit_on_leavers_counts_those_of_24_hours() {
    for (hours, goes) in [(1, false), (23, false), (25, true)] {
        let rig = Rig::new(&staff("", &format!("{REMOVING}[job.guard]\nmax_leavers = 5\n"))).await;
        rig.sync_of(&people(0..40)).await;
        assert_eq!(rig.sync_of(&people(3..40)).await, (0, 0, 3));
        rig.hours(hours);
        assert_eq!(rig.sync_of(&people(6..40)).await, (0, 0, if goes { 3 } else { 0 }), "{hours} hours later");
    }
}

#[tokio::test]
async fn those_who_left_and_stay_do_not_raise_the_limit() {
    let tables = |limit: &str| {
        format!(
            "[job.leavers]\naction = \"update\"\ngrace = \"0s\"\nset.title = \"Left\"\n[job.guard]\nmax_leavers = {limit}\n"
        )
    };
    let rig = Rig::new(&staff("", &tables("\"off\""))).await;
    rig.sync_of(&people(0..100)).await;
    assert_eq!(rig.sync_of(&people(50..100)).await, (0, 50, 0));
    rig.hours(25);
    rig.configure(&staff("", &tables("\"10%\"")));
    assert_eq!(rig.sync_of(&people(56..100)).await, (0, 0, 0), "6 of 50, and not of 100");
    assert_eq!(rig.sync_of(&people(55..100)).await, (0, 5, 0));
}

#[tokio::test]
async fn the_day_of_leaving_is_the_first_on_which_a_row_said_so() {
    let lines = "include = \"{{ title != 'Gone' }}\"\n";
    let tables = |limit: u32| {
        format!(
            "[job.leavers]\naction = \"update\"\ngrace = \"0s\"\nset.title = \"Left {{{{ left }}}}\"\n\
             [job.guard]\nmax_leavers = {limit}\n"
        )
    };
    let rig = Rig::new(&staff(lines, &tables(3))).await;
    rig.sync_of(&people(0..10)).await;
    let gone: String = (0..4).map(|number| row(number, "Gone")).collect::<String>() + &people(4..10);
    for _ in 0..2 {
        assert_eq!(rig.sync_of(&gone).await, (0, 0, 0), "they are held");
        rig.hours(24);
    }
    rig.configure(&staff(lines, &tables(4)));
    assert_eq!(rig.sync_of(&gone).await, (0, 4, 0));
    assert_eq!(rig.title(0), "Left 2040-03-05");
}
