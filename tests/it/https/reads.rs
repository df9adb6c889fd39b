//! Reads that come to their end.

use super::{HIDDEN, config, forty, source, synced};
use crate::support::web::{Web, answer, file, framed};
use crate::support::{Config, World, people, row};

#[test]
fn law_4_a_file_that_is_as_before_writes_nothing() {
    let (web, world) = synced("");
    let ran = world.sync().expect(0);
    assert_eq!((ran.writes(), ran.ended()), ((0, 0, 0), ("done".into(), true, String::new())));
    let asked = web.arrived();
    assert_eq!(asked.len(), 2, "each run asks once");
    assert_eq!(asked[0].line, format!("GET {}", super::TARGET));
    for request in asked {
        assert_eq!(request.header("if-none-match").or(request.header("if-modified-since")), None);
        assert_eq!(request.header("accept-encoding"), None, "it is not to be compressed");
        assert!(request.header("accept").unwrap().starts_with("text/csv"));
    }
}

#[test]
fn who_changes_comes_and_goes_does_so_however_the_file_is_framed() {
    let (web, world) = synced("headers = { Accept = \"application/csv\" }\n");
    let next = people(2..42).replace(&row(2, "Clerk"), &row(2, "Moved"));
    let chunks: String = next
        .as_bytes()
        .chunks(100)
        .map(|chunk| format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap()))
        .collect();
    web.say(move |_, _| {
        framed(
            200,
            "application/octet-stream",
            "transfer-encoding: chunked\r\n",
            format!("{chunks}0\r\n\r\n").as_bytes(),
        )
    });
    let ran = world.sync().hides(&HIDDEN).expect(0);
    assert_eq!(ran.writes(), (1, 1, 1));
    world.expect_people(2..42);
    assert_eq!(web.arrived()[0].header("accept"), Some("application/csv"));
}

#[test]
fn the_guard_holds_a_file_of_a_tenth_of_the_people() {
    let web = forty();
    let world =
        World::of(Config { rest: "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n".into(), ..config(&web, "") });
    assert_eq!(world.sync().expect(0).writes(), (40, 0, 0));
    web.say(|_, _| file(&people(1..5)));
    assert_eq!(world.sync().hides(&HIDDEN).expect(4).writes(), (0, 0, 0));
    world.expect_people(1..41);
}

#[test]
fn law_7_another_address_is_held_first() {
    for change in [
        ("/hr/staff.csv", "/hr/other.csv"),
        ("key=s3cret", "key=s3cret&site=2"),
        ("type =", "user = \"ana\"\npassword_file = \"api_key\"\ntype ="),
    ] {
        let (web, world) = synced("");
        web.say(|_, _| file(&people(1..40)));
        world.edit_config(change.0, change.1);
        let ran = world.sync().hides(&HIDDEN).expect(4);
        assert_eq!(ran.writes(), (0, 0, 0), "{change:?}");
        world.expect_people(1..41);
    }
}

#[test]
fn a_job_of_several_parts_downloads_once() {
    let web = forty();
    let text = "No,Name,Mail,Company,Company No\n1,Ana,ana@example.com,Acme,A1\n";
    web.say(move |_, _| file(text));
    let world = World::of(Config {
        target: "contractor".into(),
        job: "key = \"{{ no }}\"\norg_key = \"{{ company_no }}\"\nmatch_on = [\"email\"]\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ mail }}\"\n\"org.name\" = \"{{ company }}\"\n\"org.legalid\" = \"{{ company_no }}\"\n".into(),
        ..config(&web, "")
    });
    let ran = world.sync().expect(0);
    assert!(ran.writes().0 >= 2, "{ran:?}");
    assert_eq!(web.arrived().len(), 1);
}

#[test]
fn a_job_that_asks_first_which_certifications_there_are_downloads_once() {
    let web = Web::start(|_, _| file("No,Course\nP00001,First Aid\n"));
    let world = World::of(Config {
        target: "certification-holder".into(),
        job: "key = \"{{ no }}-{{ course }}\"\n".into(),
        map: "certification = \"{{ course }}\"\nrecord_type = \"staff\"\nholder = \"{{ no }}\"\n".into(),
        ..config(&web, "")
    });
    world.service().put("certification", serde_json::json!({"name": "First Aid"}));
    world.person(1, "Clerk");
    assert_eq!(world.sync().expect(0).writes(), (1, 0, 0));
    assert_eq!(web.arrived().len(), 1);
}

#[test]
fn a_workbook_is_read_as_one_of_this_machine() {
    const BOOK: &[u8] = include_bytes!("../../fixtures/workbooks/openpyxl.xlsx");
    const TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    let web = Web::start(|_, _| answer(200, TYPE, "", BOOK));
    let world = World::of(config(&web, ""));
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (5, 0, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    web.say(|_, _| answer(200, TYPE, "", &BOOK[..BOOK.len() / 2]));
    let (status, complete, reason) = world.sync().hides(&HIDDEN).expect(1).ended();
    assert!(status == "failed" && !complete && reason.contains("cut or damaged"), "{reason}");
    assert_eq!(world.staff().len(), 5);
    web.say(|_, _| answer(200, TYPE, "", BOOK));
    let ran = world.run(&["init", &web.url("/staff.xlsx")]).expect(0);
    assert!(ran.out.contains("{{ employee_no }}"), "{ran:?}");
}

#[test]
fn a_file_in_the_encoding_of_before_is_read_and_another_one_refused() {
    let (web, world) = synced("");
    let latin = people(1..41).replace("Person 7,", "Pers\u{f6}n 7,");
    let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    web.say(move |_, _| answer(200, "text/csv", "", &latin));
    let (status, _, reason) = world.sync().expect(1).ended();
    assert!(status == "failed" && reason.contains("it was UTF-8 until now"), "{reason}");
}

#[test]
fn two_jobs_do_not_read_the_same_file() {
    let web = forty();
    let one = config(&web, "");
    let two = Config { name: "two".into(), source: source(&web, ""), rest: String::new(), ..one.clone() };
    let world = World::of(one.and(&two));
    let ran = world.run(&["check", "--offline"]).hides(&HIDDEN).expect(2);
    assert!(ran.err.contains("job staff reads this file for the same target"), "{ran:?}");
}
