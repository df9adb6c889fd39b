//! The reports next to a file: they stay true after the file was read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::inbox::{Inbox, world};
use crate::support::{HEADER, World, people, row};

/// A world in which every update waits for a person, and a first file has been read.
fn held(mode: &str) -> World {
    let world = world(&format!("mode = \"{mode}\"\n"), "[job.guard]\nmax_updates = 0\n");
    Inbox(&world).drop("a.csv", people(1..20));
    world.sync().expect(0);
    Inbox(&world).drop("b.csv", people(1..20).replace("Clerk", "Baker"));
    world.sync().expect(4);
    world
}

#[test]
fn the_reports_of_a_file_tell_what_became_of_what_waited() {
    for mode in ["full", "changes"] {
        let world = held(mode);
        let inbox = Inbox(&world);
        let table = || inbox.text("processed", "b.csv.report.csv");
        let page = || inbox.text("processed", "b.csv.report.html");
        assert_eq!(table().matches(",waiting,").count(), 19, "{mode}: {}", table());
        assert!(page().contains("something waits") && !page().contains("Brought up to date"), "{mode}");
        world.sync();
        assert!(!page().contains("Brought up to date"), "{mode}: nothing was decided");

        world.run(&["approve", "staff", "P00001", "P00002"]).expect(0);
        world.run(&["reject", "staff", "P00003"]).expect(0);
        world.sync();
        for line in ["2,P00001,changed,,", "3,P00002,changed,,", "4,P00003,rejected,,"] {
            assert!(table().contains(&format!("\r\n{line}\r\n")), "{mode}: {}", table());
        }
        assert_eq!(
            table().matches(",waiting,too many people would change at once: ").count(),
            16,
            "{mode}: {}",
            table()
        );
        assert!(page().contains("something waits") && page().contains("Brought up to date"), "{mode}");

        world.run(&["approve", "staff"]).expect(0);
        world.sync();
        assert_eq!((table().matches(",waiting,").count(), table().matches(",changed,").count()), (0, 18), "{mode}");
        assert!(!table().contains("at once"), "{mode}: {}", table());
        assert!(page().contains("The file was used") && !page().contains("wait until"), "{mode}: {}", page());
        assert_eq!(inbox.kept(), [] as [String; 0], "{mode}: nothing waits, so nothing is kept");
    }
}

#[test]
fn a_report_names_the_file_that_tells_what_waits_now() {
    let world = held("full");
    let inbox = Inbox(&world);
    inbox.drop("c.csv", people(1..20));
    world.sync().expect(0);
    let page = inbox.text("processed", "b.csv.report.html");
    assert!(page.contains("Another file was read since, c.csv") && !page.contains("something waits"), "{page}");
    let table = inbox.text("processed", "b.csv.report.csv");
    assert_eq!(table.matches(",replaced by the next file,").count(), 19, "{table}");
}

#[test]
fn a_report_says_what_became_of_its_own_file_and_nothing_of_what_the_next_one_did() {
    for mode in ["full", "changes"] {
        let world = held(mode);
        let inbox = Inbox(&world);
        world.run(&["approve", "staff", "P00002"]).expect(0);
        // The next file takes everything back, and changes another; of that one person is approved at once.
        let next = people(1..20).replace(&row(7, "Clerk"), &row(7, "Chef")).replace(&row(2, "Clerk"), &row(2, "Baker"));
        inbox.drop("c.csv", next + &row(30, "Clerk"));
        world.sync();
        world.run(&["approve", "staff"]);
        world.sync();
        let table = inbox.text("processed", "b.csv.report.csv");
        let page = inbox.text("processed", "b.csv.report.html");
        let said = |what: &str| table.matches(&format!(",{what},")).count();
        assert_eq!((said("waiting"), said("already right"), said("added")), (0, 0, 0), "{mode}: {table}");
        assert!(said("replaced by the next file") >= 17, "{mode}: {table}");
        assert!(page.contains("<h1>Another file was read since</h1>"), "{mode}: {page}");
        assert!(!page.contains("nothing for you to do") && !page.contains("decided on"), "{mode}: {page}");
    }
}

#[test]
fn a_row_that_counts_later_is_listed_with_its_day() {
    let world = world("", "");
    let from = "active_from = \"{{ '' if title == 'Clerk' else title }}\"";
    world.edit_config("target = \"staff\"", &format!("target = \"staff\"\n{from}"));
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..4) + &row(4, "2999-01-01"));
    world.sync().expect(0);
    let (table, page) = (inbox.text("processed", "a.csv.report.csv"), inbox.text("processed", "a.csv.report.html"));
    assert!(table.contains("\r\n5,P00004,not yet,counts from 2999-01-01 on,\r\n"), "{table}");
    assert!(page.contains("<h2>Not yet (1)</h2>") && page.contains("Is the date right?"), "{page}");
    inbox.drop("b.csv", people(1..4) + &row(4, "2998-01-01"));
    let shown = world.run(&["explain", "staff", "P00004"]);
    assert!(shown.out.contains("its row does not count today"), "{shown:?}");
}

#[test]
fn who_is_missing_and_held_is_not_said_to_go() {
    let world = world("", "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_missing = 1\n");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..20));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..10));
    world.sync().expect(4);
    let page = inbox.text("processed", "b.csv.report.html");
    assert!(page.contains("they stay until that is decided") && !page.contains("about to go"), "{page}");
}

#[test]
fn a_report_whose_last_waiting_person_is_forgotten_waits_for_no_one() {
    for is_damaged in [false, true] {
        let world = world("", "[job.guard]\nmax_updates = 0\n");
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..20));
        world.sync().expect(0);
        let held = 5..9;
        let moved = |rows: String, number| rows.replace(&row(number, "Clerk"), &row(number, "Baker"));
        inbox.drop("b.csv", held.clone().fold(people(1..20), moved));
        world.sync().expect(4);
        assert!(inbox.text("processed", "b.csv.report.html").contains("something waits"));
        if is_damaged {
            inbox.put_kept("waiting", Some("{ P00005"));
        }
        let ran = held.map(|number| world.run(&["forget", &format!("P{number:05}")]).expect(0)).collect::<Vec<_>>();
        assert_eq!(ran[0].err.contains("report on the last file of job staff"), is_damaged, "{ran:?}");
        assert!(!ran[1].err.contains("report on the last file"), "{ran:?}");
        world.sync();
        let page = inbox.text("processed", "b.csv.report.html");
        assert!(is_damaged || !page.contains("something waits"), "{page}");
        assert!(!page.contains("P00005") && !inbox.kept().contains(&"waiting".to_owned()), "{is_damaged}: {page}");
    }
}

#[test]
fn reports_that_are_gone_are_not_made_again() {
    let world = held("full");
    for report in ["b.csv.report.csv", "b.csv.report.html"] {
        let path = fs::read_dir(Inbox(&world).path("processed")).unwrap().map(|entry| entry.unwrap().path());
        fs::remove_file(path.into_iter().find(|path| path.to_string_lossy().ends_with(report)).unwrap()).unwrap();
    }
    world.run(&["approve", "staff"]).expect(0);
    world.sync().expect(0);
    let names = Inbox(&world).names("processed");
    assert!(!names.iter().any(|name| name.starts_with("b.csv.")), "{names:?}");
}

#[test]
fn the_reports_of_a_failed_file_list_the_rows_that_could_not_be_used() {
    let world = world("", "");
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..40));
    world.sync().expect(0);
    let torn = (5..20)
        .fold(people(1..40), |text, number| text.replace(&format!("Person {number},"), &format!("Person\0 {number},")));
    inbox.drop("b.csv", torn);
    world.sync().expect(1);
    let table = inbox.text("failed", "b.csv.report.csv");
    assert_eq!(table.matches(",not used,").count(), 15, "{table}");
    assert!(table.contains("\r\n6,,not used,"), "{table}");
    let page = inbox.text("failed", "b.csv.report.html");
    assert!(page.contains("The file was not used") && page.contains("Rows that were not used (15)"), "{page}");
    // Where so few are left that nothing is taken, what was wrong with the others is reported too.
    let few = people(1..40).lines().take(3).map(|line| format!("{line}\n")).collect::<String>();
    inbox.drop("c.csv", few.replace("Person 2,", "Person\0 2,"));
    world.sync();
    let both = ["processed", "failed"].map(|folder| inbox.names(folder));
    assert!(both.iter().flatten().any(|name| name == "c.csv.report.csv"), "{both:?}");
}

#[test]
fn a_report_is_in_the_language_that_is_set_and_names_who_answers_and_where_people_decide() {
    let rest = "[job.guard]\nmax_updates = 0\n[report]\nlanguage = \"de\"\n[notify]\ncontact = \"Haus & Hof\"\n[approvals]\n\
                url = \"https://approve.example.com/\"\nsocket = \"approvals.sock\"\nproxy_user = \"root\"\nuser_header = \"X-User\"\n\
                [[approvals.allow]]\nuser = \"mia\"\njobs = [\"*\"]\nmay = [\"approve\"]\n";
    let world = world("", rest);
    let inbox = Inbox(&world);
    inbox.drop("a.csv", people(1..20));
    world.sync().expect(0);
    inbox.drop("b.csv", people(1..20).replace("Clerk", "Baker"));
    world.sync().expect(4);
    let table = || inbox.text("processed", "b.csv.report.csv");
    let page = || inbox.text("processed", "b.csv.report.html");
    assert!(
        table().contains("Zeile,Schlüssel,Ergebnis,Grund,Wert\r\n") && table().contains("\r\n3,P00002,wartet,"),
        "{}",
        table()
    );
    let waits = page();
    assert!(
        waits.contains("<html lang=\"de\">") && waits.contains("<h1>Die Datei wurde gelesen, und etwas wartet</h1>"),
        "{waits}"
    );
    assert!(waits.contains("<a href=\"https://approve.example.com/held/staff\">"), "{waits}");
    assert!(waits.contains("Fragen? Wenden Sie sich an Haus &amp; Hof."), "{waits}");
    assert_eq!(
        waits.matches("zu viele Personen würden auf einmal geändert").count(),
        1,
        "one reason is given once: {waits}"
    );
    assert!(!waits.contains("lang=\"en\""), "nothing is left in English: {waits}");

    world.run(&["forget", "P00002"]).expect(0);
    for report in [table(), page()] {
        assert!(!report.contains("P00002") && report.contains("P00003"), "{report}");
    }
    world.run(&["approve", "staff"]).expect(0);
    world.sync();
    assert!(page().contains("Aktualisiert am") && !page().contains("approve.example.com"), "{}", page());
    assert!(!table().contains("P00002") && table().contains("\r\n4,P00003,geändert,"), "{}", table());
}

#[test]
fn what_is_said_of_a_whole_file_is_in_the_language_that_is_set() {
    let german = "[report]\nlanguage = \"de\"\n";
    for (name, content, sentence, detail) in [
        ("b.xls", "PK", "Es ist eine Tabelle in einem Format, das hier nicht gelesen werden kann.", None),
        ("b.csv", "", "Die Datei ist leer.", None),
        (
            "b.csv",
            "Name,Mail\nAna,a@example.com\n",
            "Die erste Zeile muss dieselben Spaltennamen haben",
            Some("is missing"),
        ),
        ("b.csv", &people(1..9).replace(',', ";"), "Die Datei ist anders geschrieben", Some("its delimiter was")),
        ("b.csv", HEADER, "Die Datei enthält keine Personen, oder weniger, als sie muss.", Some("min_records")),
        ("b.txt", "x", "deren Namen zu *.csv oder *.xlsx passen", None),
    ] {
        let world = world("", german);
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..9));
        world.sync().expect(0);
        inbox.drop(name, content);
        assert!(matches!(world.sync().code, Some(1 | 4)), "{name}");
        let page = inbox.text("failed", &format!("{name}.report.html"));
        assert!(page.contains("Die Datei wurde nicht verwendet") && page.contains(sentence), "{name}: {page}");
        let english = page.split_once("<li>Für die IT: <span lang=\"en\">").map(|(_, rest)| rest);
        match detail {
            Some(detail) => assert!(english.is_some_and(|rest| rest.contains(detail)), "{name}: {page}"),
            None => assert_eq!(english, None, "{name}"),
        }
    }
    // Who is missing, and why no one is removed.
    for (now, sentence) in [
        (people(3..9), "2 von 8 Personen stehen nicht in dieser Datei, seit "),
        (people(3..9).trim_end().to_owned(), "Niemand wird entfernt, weil er in dieser Datei fehlt"),
    ] {
        let world = world("", &format!("[job.leavers]\naction = \"delete\"\ngrace = \"7d\"\n{german}"));
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..9));
        world.sync().expect(0);
        inbox.drop("b.csv", now);
        world.sync();
        let page = inbox.text("processed", "b.csv.report.html");
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
}

#[test]
fn what_can_t_be_used_of_a_row_is_shown_with_its_reason_in_the_language_that_is_set() {
    let world = world("", "[report]\nlanguage = \"fr\"\n");
    let inbox = Inbox(&world);
    let file = people(1..20).replace(&row(5, "Clerk"), &row(5, "#REF!")).replace(&row(6, "Clerk"), &row(6, "4.1E+09"));
    inbox.drop("a.csv", file + "P00007,Someone Else,other@example.com,Clerk\n,Nobody,n@example.com,Clerk\n");
    world.sync();
    let table = inbox.text("processed", "a.csv.report.csv");
    let page = inbox.text("processed", "a.csv.report.html");
    let line = |begins: &str| table.lines().find(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("{table}"));
    assert!(line("6,P00005,").contains("erreur du tableur") && line("6,P00005,").ends_with(",#REF!"), "{table}");
    assert!(line("7,P00006,").contains("a abrégé ce nombre") && line("7,P00006,").ends_with(",4.1E+09"), "{table}");
    assert!(line("8,P00007,").contains("la clé figure aux lignes 8, 21 avec des valeurs différentes"), "{table}");
    assert!(line("22,,").contains("la clé est vide"), "{table}");
    assert!(page.contains("<q>#REF!</q>") && page.contains("<th>valeur</th>"), "{page}");
    assert!(!table.contains("Someone Else") && !page.contains("person5@"), "{page}");

    let ran = world.run(&["sync", "--json"]);
    let status = world.run(&["status"]);
    for shown in [&ran.out, &ran.err, &status.out] {
        assert!(!shown.contains("#REF!") && !shown.contains("4.1E+09"), "law 11: {shown}");
    }
}

#[test]
fn a_file_that_every_user_may_change_is_refused_in_the_language_that_is_set() {
    let world = world("", "[report]\nlanguage = \"de\"\n");
    let inbox = Inbox(&world);
    inbox.drop("open.csv", people(1..9));
    fs::set_permissions(inbox.path("open.csv"), fs::Permissions::from_mode(0o666)).unwrap();
    world.sync().expect(1);
    let page = inbox.text("failed", "open.csv.report.html");
    assert!(page.contains("Jeder Benutzer des Rechners darf diese Datei ändern"), "{page}");
    assert!(page.contains("Für die IT: <span lang=\"en\">It is a file that every user of this machine"), "{page}");
}

#[test]
fn a_file_of_which_no_row_can_be_used_is_not_called_short() {
    let bad = "P00003,,third@example.com,Clerk\n";
    for (mode, rest, exit) in [("changes", "", 3), ("full", "[job.guard]\nmin_records = 0\n", 3), ("full", "", 4)] {
        let world = world(&format!("mode = \"{mode}\"\n"), rest);
        let inbox = Inbox(&world);
        inbox.drop("a.csv", people(1..9));
        world.sync().expect(0);
        inbox.drop("b.csv", HEADER.to_owned() + bad);
        let ran = world.sync().expect(exit);
        assert_eq!(ran.reason().contains("min_records"), exit == 4, "{mode}: {ran:?}");
        let page = inbox.text("failed", "b.csv.report.html");
        let says = page.contains("The file was not used") && page.contains("None of the rows could be used");
        assert!(says && !page.contains("cut short"), "{mode}: {page}");
        let table = inbox.text("failed", "b.csv.report.csv");
        assert!(table.contains("\r\n2,P00003,not used,\"Name: it is empty"), "{mode}: {table}");
        // What is put right is read like any other file.
        inbox.drop("b.csv", people(1..9).replace("Person 3,", "Person Three,"));
        assert_eq!(world.sync().expect(0).writes(), (0, 1, 0), "{mode}");
    }
}
