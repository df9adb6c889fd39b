//! Contractors with their memberships, people who change sides, and holders of certifications.

use super::*;

const SITES: &str = "No,Name,Email,Company,Role\n";

/// A job of contractors with these lines, and these tables after it.
fn sites(lines: &str, tables: &str) -> String {
    format!(
        "[[job]]\nname = \"sites\"\ntarget = \"contractor\"\nkey = \"{{{{ no }}}}\"\n{lines}[job.source]\ntype = \"csv\"\n\
         path = \"sites.csv\"\nsettle = \"0s\"\n[job.map]\nname = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\ntitle = \"Roofer\"\n\
         \"org.name\" = \"{{{{ company }}}}\"\n\"membership.roles\" = \"{{{{ role }}}}\"\n{tables}"
    )
}

/// Writes the file of contractors, each with a role.
fn put_sites(rig: &Rig, people: &[(usize, u32)]) {
    let row = |(number, role): &(usize, u32)| {
        format!("{},Person {number},person{number}@example.com,Acme,{role}\n", number_of(*number))
    };
    rig.put("sites.csv", &(SITES.to_owned() + &people.iter().map(row).collect::<String>()));
}

/// One of two contractors is in the file of staff now, and one run saw it.
async fn move_to_staff(rig: &Rig) {
    put_sites(rig, &[(1, 61), (2, 61)]);
    rig.csv(&row(9, "Clerk"));
    rig.sync().await;
    put_sites(rig, &[(2, 61)]);
    rig.csv(&(row(9, "Clerk") + &row(1, "Clerk")));
    rig.sync().await;
}

/// How many members and memberships the service has.
fn joined(rig: &Rig) -> (usize, usize) {
    (rig.service.all("sp.member").len(), rig.service.all("sp.membership").len())
}

#[tokio::test]
async fn law_6_who_is_protected_keeps_their_memberships() {
    let rig = Rig::new(&sites(&format!("protect = [\"{}\"]\n", number_of(1)), &format!("{REMOVING}{FREE}"))).await;
    put_sites(&rig, &[(1, 61), (2, 61), (3, 61)]);
    rig.sync().await;
    put_sites(&rig, &[(3, 61)]);
    let report = rig.sync().await;
    assert_eq!((writes(&report), report.counts.parked), ((0, 0, 2), 0), "{report:?}");
    assert_eq!(joined(&rig), (2, 2), "one is protected, one is still there");
}

#[tokio::test]
async fn who_is_about_to_appear_in_another_job_keeps_their_memberships() {
    let tables = format!("{REMOVING}{FREE}");
    let rig = Rig::new(&(sites("", &tables) + &staff("", &tables))).await;
    move_to_staff(&rig).await;
    assert_eq!((joined(&rig), rig.staff().len()), ((2, 2), 2), "they are made there first");
    rig.sync().await;
    assert_eq!((joined(&rig), rig.staff().len()), ((1, 1), 2));
}

#[tokio::test]
async fn law_12_contractors_who_leave_go_before_those_who_join() {
    let rig = Rig::new(&sites("", &format!("{REMOVING}{FREE}"))).await;
    put_sites(&rig, &[(1, 61), (2, 61)]);
    rig.sync().await;
    put_sites(&rig, &[(2, 62), (3, 61)]);
    let before = rig.service.requests().len();
    assert_eq!(writes(&rig.sync().await), (2, 1, 2));
    let sent: Vec<&str> = rig.service.requests()[before..]
        .iter()
        .filter(|request| request.method != "GET")
        .map(|request| request.operation)
        .collect();
    let wanted = [
        "sp.membership.delete",
        "sp.member.delete",
        "sp.member.create",
        "sp.membership.create",
        "sp.membership.update",
    ];
    assert_eq!(sent, wanted);
}

#[tokio::test]
async fn the_limit_that_all_parts_share_counts_those_of_24_hours() {
    for (hours, removed) in [(23, 0), (25, 8)] {
        let limits = "[job.guard]\nmax_leavers = 5\nmax_updates = \"off\"\n";
        let rig = Rig::new(&sites("", &format!("{REMOVING}{limits}"))).await;
        // Everybody works for two companies, those of `one` for one of them only.
        let put = |here: Range<usize>, one: Range<usize>| {
            let row = |number, company| {
                format!("{},Person {number},person{number}@example.com,{company},61\n", number_of(number))
            };
            let rows = here.flat_map(|number| {
                let second = (!one.contains(&number)).then(|| row(number, "Bolt"));
                [Some(row(number, "Acme")), second]
            });
            rig.put("sites.csv", &(SITES.to_owned() + &rows.flatten().collect::<String>()));
        };
        put(0..40, 0..0);
        rig.sync().await;
        put(3..40, 0..0);
        assert_eq!(writes(&rig.sync().await), (0, 0, 9), "three people with two memberships each");
        rig.hours(hours);
        put(5..40, 5..7);
        assert_eq!(
            writes(&rig.sync().await),
            (0, 0, removed),
            "two leave and two lose a membership {hours} hours later"
        );
    }
}

/// A person who comes back to one job and leaves the other has not arrived while the first shows them as one who left.
#[tokio::test]
async fn who_moves_back_leaves_only_once_the_other_side_has_them_again() {
    let removing = format!("{REMOVING}{FREE}");
    let marking = "[job.leavers]\naction = \"update\"\ngrace = \"0s\"\nset.title = \"Left\"\n";
    // (how contractors leave, whether the service refuses to take them back at first)
    for (leavers, refuses) in
        [(REMOVING.replace("0s", "99h"), false), (marking.to_owned(), false), (marking.to_owned(), true)]
    {
        let rig = Rig::new(&(staff("", &removing) + &sites("", &(leavers.clone() + FREE)))).await;
        move_to_staff(&rig).await;
        assert!(rig.held_as(1).is_some());

        put_sites(&rig, &[(1, 61), (2, 61)]);
        rig.csv(&row(9, "Clerk"));
        if refuses {
            rig.faults(&["sp.member.update status=503"]);
            rig.sync().await;
        }
        rig.sync().await;
        assert!(rig.held_as(1).is_some(), "{leavers}: they are not there again: refuses = {refuses}");
        rig.faults(&[]);
        rig.sync().await;
        rig.sync().await;
        assert!(rig.held_as(1).is_none(), "{leavers}: they are: refuses = {refuses}");
    }
}

#[tokio::test]
async fn law_2_a_put_of_a_membership_does_not_end_what_it_inherits() {
    let rig = Rig::new(&sites("", "")).await;
    put_sites(&rig, &[(1, 61)]);
    rig.sync().await;
    let organization = rig.service.all("sp.org")[0]["id"].as_i64().unwrap();
    let place = rig.service.put("location", json!({"name": "Quay"}));
    rig.service.edit("sp.org", organization, json!({"locations": [{"id": place, "start": null, "expires": null}]}));
    put_sites(&rig, &[(1, 62)]);
    let report = rig.sync().await;
    assert_eq!((report.counts.updated, report.counts.parked), (0, 1), "{report:?}");
    let membership = &rig.service.all("sp.membership")[0];
    assert!(membership["locations"].as_array().is_none_or(Vec::is_empty), "{membership}");
}

#[tokio::test]
async fn law_6_a_key_that_means_another_holder_gives_no_certification_away() {
    let job = "[[job]]\nname = \"courses\"\ntarget = \"certification-holder\"\nkey = \"{{ id }}\"\n[job.source]\n\
               type = \"csv\"\npath = \"courses.csv\"\nsettle = \"0s\"\n[job.map]\ncertification = \"{{ course }}\"\n\
               record_type = \"staff\"\nholder = \"{{ no }}\"\nvalidto = \"{{ to }}\"\n";
    let rig = Rig::new(job).await;
    let courses = ["First Aid", "Heights"].map(|name| rig.service.put("certification", json!({ "name": name })));
    let people = rig.persons(1..3);
    let holds = || {
        let all = rig.service.all("certification.holder");
        all.iter().map(|one| (one["certification_id"].clone(), one["record_id"].clone())).collect::<Vec<_>>()
    };
    rig.put("courses.csv", "Id,No,Course,To\n1,P00001,First Aid,2041-01-01\n");
    assert_eq!(writes(&rig.sync().await), (1, 0, 0));
    let before = holds();
    assert_eq!(before, [(json!(courses[0]), json!(people[0]))]);
    for row in ["1,P00002,First Aid,2041-01-01", "1,P00001,Heights,2041-01-01"] {
        rig.put("courses.csv", &format!("Id,No,Course,To\n{row}\n"));
        let report = rig.sync().await;
        assert_eq!((writes(&report), report.counts.rejected, holds()), ((0, 0, 0), 1, before.clone()), "{report:?}");
    }
}
