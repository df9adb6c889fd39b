//! What is shown and decided.

use std::fs;
use std::net::TcpListener;

use serde_json::json;

use super::browser::{Answer, Browser};
use super::{JOB, Pages, RULE};
use crate::monitoring::browser::{browser, examine};
use crate::monitoring::notices::Listener;
use crate::support::daemon::eventually;
use crate::support::{Config, people};

/// Decides on what a page shows.
pub(super) fn decide(browser: &mut Browser, page: &Answer, action: &str, keys: &[&str]) -> Answer {
    let (token, set, digest) = (page.field("token"), page.field("held_set"), page.field("digest"));
    let mut form = vec![("token", token.as_str()), ("held_set", &set), ("digest", &digest), ("action", action)];
    form.push(("scope", if keys.is_empty() { "all" } else { "chosen" }));
    form.extend(keys.iter().map(|key| ("key", page.tick(key))));
    browser.post("/held/staff", &form)
}

#[test]
fn what_is_approved_is_sent_and_what_is_rejected_is_dropped() {
    let pages = Pages::start().holding(0, 1..6);
    let mut browser = pages.logged_in("ana", &["hr"]);
    let list = browser.get("/").expect(200);
    assert!(list.body.contains("/held/staff") && list.body.contains("5 held"), "{list:?}");
    assert!(!list.body.contains("P00001") && !list.body.contains("Person 1"), "the list names no one: {list:?}");
    let page = browser.get("/held/staff").expect(200);
    for part in ["P00001", "Person 5", "person3@example.com", "Clerk", "create"] {
        assert!(page.body.contains(part), "{part}: {page:?}");
    }
    let after = decide(&mut browser, &page, "reject", &["P00002"]).expect(200);
    assert!(after.body.contains("1 change rejected"), "{after:?}");
    let page = browser.get("/held/staff").expect(200);
    assert!(!page.body.contains("P00002"), "{page:?}");
    decide(&mut browser, &page, "approve", &["P00001", "P00003"]).expect(200);
    eventually("they are sent", || pages.world.staff().len() == 2);
    let by = "ana@example.com (oidc, sub sub-ana)";
    assert_eq!(
        pages.decisions(),
        [json!(["rejected", by, "page", ["P00002"]]), json!(["approved", by, "page", ["P00001", "P00003"]]),]
    );
    let told = pages.world.run(&["history"]).expect(0).out;
    assert!(told.contains(&format!("by {by} via page")), "{told}");
}

#[test]
fn a_page_begins_with_the_last_runs_and_what_all_of_it_does() {
    let pages = Pages::start();
    pages.world.sync_of(people(1..41)).expect(4);
    pages.world.run(&["approve", "staff"]).expect(0);
    pages.world.sync().expect(0);
    pages.world.sync_of(people(3..42).replace("Clerk", "Baker")).expect(4);
    let pages = pages.up();
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200).body;
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}: {page}"));
    let places = [
        "<h1>staff</h1>",
        "This job keeps staff at the service as they are in a file.",
        "Every change waits here until someone approves it.",
        ": held.</p>",
        "<figure",
        "41 held",
        "2 to leave",
        "1 to come",
        "38 to change: title of 38",
        "<table aria",
    ];
    let places: Vec<usize> = places.iter().map(|part| at(part)).collect();
    assert!(places.is_sorted(), "{places:?}: {page}");
}

#[test]
fn a_page_says_how_much_of_a_job_goes_without_an_approval() {
    let pages = Pages::start();
    pages.world.sync_of(people(1..41)).expect(4);
    pages.world.run(&["approve", "staff"]).expect(0);
    pages.world.sync().expect(0);
    let path = pages.world.dir().join("config.toml");
    let config = fs::read_to_string(&path).unwrap().replace(JOB, "").replace(
        "max_leavers = \"off\"",
        "max_leavers = \"10%\"\nmax_updates = 5\nmax_creates = \"off\"\nmin_records = 7",
    );
    fs::write(&path, config).unwrap();
    pages.world.sync_of(people(6..41)).expect(4);
    let pages = pages.up();
    let page = pages.logged_in("ana", &["hr"]).get("/held/staff").expect(200).body;
    for (of, allowed) in [
        ("people that leave within 24 hours", "up to 4 (10 % of 40, and 3 in any case)"),
        ("people that are missing from the list", "any number"),
        ("people that are changed in one run", "up to 5"),
        ("people that are new in one run", "any number"),
        ("rows of a list", "at least 7, or nothing is used"),
    ] {
        assert!(page.contains(&format!("<tr><td>{of}</td><td>{allowed}</td></tr>")), "{of}: {page}");
    }
    assert!(page.contains("max_leavers: 5 people would be removed, 4 are allowed"), "{page}");
    assert!(!page.contains("Every change waits here"), "{page}");
}

#[test]
fn the_pages_can_be_used_with_a_screen_reader_and_a_keyboard_by_day_and_by_night() {
    let Some(chromium) = browser() else {
        eprintln!("skipped: no chromium on this machine");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let pages = Pages::start().holding(3, 2..9);
    let mut browser = pages.logged_in("ana", &["hr"]);
    for (name, path) in [
        ("overview", "/"),
        ("held", "/held/staff"),
        ("search", "/held/staff?q=P00007"),
        ("person", "/person/staff?key=P00003"),
    ] {
        let page = browser.get(path).expect(200).body;
        for dark in [false, true] {
            examine(&chromium, home.path(), name, &page, dark);
        }
    }
}

#[test]
fn a_search_shows_who_is_sought_and_decides_on_no_one_else_unless_all_are_meant() {
    let pages = Pages::start().holding(0, 1..40);
    let mut browser = pages.logged_in("ana", &["hr"]);
    for (sought, found) in
        [("p00007", 1), ("PERSON%203", 11), ("", 39), ("%20", 39), ("%22%3E%3Cb%3E", 0), ("Clerk", 0)]
    {
        let page = browser.get(&format!("/held/staff?q={sought}")).expect(200);
        assert_eq!(page.body.matches("form=\"decision\"").count(), found, "{sought}: {page:?}");
        assert!(!page.body.contains("\"><b>") && page.body.contains("39 held"), "{page:?}");
    }
    let page = browser.get("/held/staff?q=p00007").expect(200);
    assert!(page.body.contains("all 39, not only those that were found"), "{page:?}");
    decide(&mut browser, &page, "reject", &["P00007"]).expect(200);
    assert_eq!(pages.held(), 38);
}

#[test]
fn a_thousand_changes_come_in_parts_that_a_phone_can_load() {
    let pages = Pages::start().holding(0, 1..1001);
    let mut browser = pages.logged_in("ana", &["hr"]);
    for part in 1..=2 {
        let page = browser.get(&format!("/held/staff?page={part}")).expect(200).body;
        assert!(page.contains("1000 held") && page.contains("1,000 to come"), "{}", &page[..4000]);
        assert_eq!(page.matches("<tr><td><input").count(), 500);
        assert!(page.len() < 300_000, "{} bytes", page.len());
    }
}

#[test]
fn what_changed_between_look_and_click_is_not_decided() {
    let pages = Pages::start().holding(0, 1..4);
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200);
    pages.world.csv(people(1..5));
    pages.world.run(&["sync"]).expect(4);
    for keys in [&[][..], &["P00001"]] {
        let answer = decide(&mut browser, &page, "approve", keys).expect(409);
        assert!(answer.body.contains("changed meanwhile") && answer.body.contains("P00004"), "{answer:?}");
    }
    let page = browser.get("/held/staff").expect(200);
    let (token, set, digest) = (page.field("token"), page.field("held_set"), page.field("digest"));
    let before = (set.parse::<u64>().unwrap() - 1).to_string();
    for (set, digest, scope, key, status) in [
        (before.as_str(), digest.as_str(), "all", None, 409),
        (&set, "another", "all", None, 409),
        (&set, "", "all", None, 409),
        ("", &digest, "all", None, 400),
        (&set, &digest, "chosen", None, 400),
        (&set, &digest, "some", None, 400),
        (&set, &digest, "", Some("P00001"), 400),
        (&set, &digest, "chosen", Some("P99999"), 409),
    ] {
        let mut form = vec![
            ("token", token.as_str()),
            ("held_set", set),
            ("digest", digest),
            ("action", "approve"),
            ("scope", scope),
        ];
        form.extend(key.map(|key| ("key", key)));
        assert_eq!(browser.post("/held/staff", &form).status, status, "{form:?}");
    }
    assert_eq!((pages.decisions().len(), pages.held()), (0, 4));
    // A page that was decided on once is over: the same form again finds another set.
    decide(&mut browser, &page, "approve", &[]).expect(200);
    eventually("they are sent", || pages.world.staff().len() == 4);
    decide(&mut browser, &page, "approve", &[]).expect(409);
}

#[test]
fn many_leavers_take_a_login_of_the_last_minutes() {
    let pages = Pages::start().holding(20, 1..9);
    let mut browser = pages.browser();
    let hour_ago = rosterd::clock::Clock::system().now().as_second() - 3600;
    let claims = |at: i64| json!({"sub": "7", "email": "ana@example.com", "email_verified": true, "groups": ["hr"], "auth_time": at});
    pages.provider.claims(claims(hour_ago));
    let first = pages.provider.begin(&mut pages.browser(), "/login");
    assert_eq!(super::provider::value(&first, "max_age"), "28800", "else many a provider says not when the login was");
    pages.provider.log_in(&mut browser, "/login").expect(303);
    let page = browser.get("/held/staff").expect(200);
    assert!(page.body.contains("12 of them leave") && page.body.contains("Person 20"), "{page:?}");
    let answer = decide(&mut browser, &page, "approve", &[]).expect(403);
    assert!(answer.body.contains("login?fresh=1&amp;job=staff") && answer.body.contains("12 people"), "{answer:?}");
    // Ten at most go without.
    let ten: Vec<String> = (9..20).map(|number| format!("P{number:05}")).collect();
    let ten: Vec<&str> = ten.iter().map(String::as_str).collect();
    decide(&mut browser, &page, "approve", &ten).expect(403);
    assert_eq!(pages.held(), 12);

    let url = pages.provider.begin(&mut browser, "/login?fresh=1&job=staff");
    assert_eq!(super::provider::value(&url, "max_age"), "900");
    let state = super::provider::value(&url, "state");
    let refused = browser.get(&format!("/callback?code=code-1&state={state}")).expect(403);
    assert!(refused.body.contains("just now"), "the provider let an old login pass: {refused:?}");
    pages.provider.person("ana", &["hr"]);
    pages.provider.log_in(&mut browser, "/login?fresh=1&job=staff").expect(303);
    let page = browser.get("/held/staff").expect(200);
    decide(&mut browser, &page, "approve", &[]).expect(200);
    eventually("they are gone", || pages.world.staff().len() == 8);
}

#[test]
fn so_many_leavers_as_are_allowed_go_without_a_new_login() {
    let pages = Pages::start().holding(20, 1..11);
    let mut browser = pages.browser();
    pages.provider.claims(json!({"sub": "7", "groups": ["hr"]}));
    pages.provider.log_in(&mut browser, "/login").expect(303);
    let page = browser.get("/held/staff").expect(200);
    decide(&mut browser, &page, "approve", &[]).expect(200);
    eventually("they are gone", || pages.world.staff().len() == 10);
    assert_eq!(pages.decisions()[1][1], "someone without a name (oidc, sub 7)");
}

#[test]
fn where_two_have_to_approve_one_releases_nothing() {
    let pages = Pages::with("people = 2\n", RULE).holding(0, 1..4);
    let mut ana = pages.logged_in("ana", &["hr"]);
    let page = ana.get("/held/staff").expect(200);
    let answer = decide(&mut ana, &page, "approve", &[]).expect(200);
    assert!(answer.body.contains("second person") && answer.body.contains("ana@example.com (all of it)"), "{answer:?}");
    decide(&mut ana, &page, "approve", &[]).expect(200);
    // The same person by another session.
    let mut again = pages.logged_in("ana", &["hr"]);
    let other = again.get("/held/staff").expect(200);
    decide(&mut again, &other, "approve", &[]).expect(200);
    assert_eq!((pages.held(), pages.world.staff().len()), (3, 0));
    let mut bo = pages.logged_in("bo", &["hr"]);
    let page = bo.get("/held/staff").expect(200);
    assert!(page.body.contains("ana@example.com"), "{page:?}");
    decide(&mut bo, &page, "approve", &["P00001"]).expect(200);
    assert_eq!(pages.held(), 3, "another choice is another consent");
    decide(&mut bo, &page, "approve", &[]).expect(200);
    eventually("they are sent", || pages.world.staff().len() == 3);
    let decisions = pages.decisions();
    let last = decisions.last().unwrap();
    assert_eq!(last[0], "approved");
    assert_eq!(last[1], "bo@example.com (oidc, sub sub-bo) after ana@example.com (oidc, sub sub-ana)");
    assert!(decisions.iter().any(|one| one[0] == "consented" && one[2] == "page"), "{decisions:?}");
}

#[test]
fn a_consent_is_void_once_something_else_is_held() {
    let pages = Pages::with("people = 2\n", RULE).holding(0, 1..4);
    let mut ana = pages.logged_in("ana", &["hr"]);
    let page = ana.get("/held/staff").expect(200);
    decide(&mut ana, &page, "approve", &[]).expect(200);
    pages.world.csv(people(1..5));
    pages.world.run(&["sync"]).expect(4);
    let mut bo = pages.logged_in("bo", &["hr"]);
    let page = bo.get("/held/staff").expect(200);
    assert!(!page.body.contains("ana@example.com"), "{page:?}");
    decide(&mut bo, &page, "approve", &[]).expect(200);
    assert_eq!((pages.held(), pages.world.staff().len()), (4, 0));
    // One alone may say that nothing is to happen.
    decide(&mut bo, &page, "reject", &[]).expect(200);
    eventually("nothing is held", || pages.held() == 0);
    assert_eq!(pages.world.staff().len(), 0);
}

#[test]
fn a_page_says_of_a_grace_only_where_someone_waits_for_its_end() {
    let pages = Pages::of("", RULE, |config| {
        let job = config.job.replace(JOB, "");
        let rest = config
            .rest
            .replace("\"0s\"", "\"72h\"")
            .replace("max_missing = \"off\"", "max_missing = 3\nmax_updates = 3");
        Config { job, rest, ..config }
    });
    pages.world.sync_of(people(1..41)).expect(0);
    pages.world.sync_of(people(1..31).replacen("Clerk", "Baker", 9)).expect(4);
    let pages = pages.up();
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200);
    let approved = decide(&mut browser, &page, "approve", &["P00001"]).expect(200).body;
    assert!(approved.contains("1 change released") && !approved.contains("grace"), "{approved}");
    let page = browser.get("/held/staff").expect(200);
    let approved = decide(&mut browser, &page, "approve", &["P00031"]).expect(200).body;
    let takes_back = "`rosterd reject staff KEY` takes it back";
    assert!(approved.contains("leaves once the grace is over") && approved.contains(takes_back), "{approved}");
    pages.world.run(&["pause", "staff"]).expect(0);
    let story = browser.get("/person/staff?key=P00031").expect(200).body;
    for part in [
        "; the grace ends ",
        "leave once the grace is over",
        "`rosterd reject staff P00031`",
        "Nothing is sent: paused",
    ] {
        assert!(story.contains(part), "{part}: {story}");
    }
}

#[test]
fn that_no_one_can_decide_on_a_page_is_notified_and_shown_until_they_can() {
    let web = Listener::start(Listener::http);
    let notify = format!("[notify]\nwebhook = \"http://{}/hook\"\n", web.address);
    let pages = Pages::of("", RULE, |config| Config { rest: config.rest + &notify, ..config });
    let taken = TcpListener::bind(("127.0.0.1", pages.port)).unwrap();
    let daemon = pages.world.daemon();
    let mut told = String::new();
    let mut hears = |what: &str, words: &str| {
        eventually(what, || {
            told.extend(web.heard());
            told.contains(words)
        });
    };
    hears("it is told", "\"no_decisions\"");
    let status = pages.world.run(&["status", "--json"]).json();
    assert!(status["no_decisions"]["reason"].is_string() && status["unserved"].is_null(), "{status}");
    assert!(pages.world.run(&["status"]).out.contains("no pages for decisions since "));
    drop(taken);
    hears("that they are back is told", "pages for decisions are served again");
    assert!(pages.world.run(&["status", "--json"]).json()["no_decisions"].is_null());
    assert!(daemon.stop().success());
}

#[test]
fn hidden_values_are_shown_for_a_click_that_is_written_down() {
    let mut pages = Pages::start();
    pages.world.reconfigure(|config| config.map("mobile = \"{{ title }}\"\n"));
    let row = |key: &str, number: &str| format!("{key},Ana,{key}@example.com,{number}\n");
    let text = crate::support::HEADER.to_owned() + &row("P1", "+64211111111") + &row("P2", "+64212222222");
    pages.world.sync_of(text).expect(4);
    let pages = pages.up();
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200);
    assert!(page.body.contains("mobile: (empty) → ***"), "{page:?}");
    let token = page.field("token");
    let one = browser.post("/held/staff", &[("token", &token), ("action", "show"), ("key", "P1")]).expect(200);
    assert!(one.body.contains("mobile: (empty) → +64211111111"), "{one:?}");
    assert!(one.body.contains("mobile: (empty) → ***"), "the other's stays hidden: {one:?}");
    assert!(browser.get("/held/staff").expect(200).body.matches("→ ***").count() == 2);
    assert_eq!(
        pages.decisions(),
        [json!(["looked at hidden values", "ana@example.com (oidc, sub sub-ana)", "page", ["P1"]])]
    );
}

#[test]
fn the_story_of_one_person_says_how_things_stand_and_what_became_of_them() {
    let mut pages = Pages::start();
    pages.world.reconfigure(|config| config.map("mobile = \"{{ title }}\"\n"));
    let row = |key: &str, name: &str, number: &str| format!("{key},{name},{key}@example.com,{number}\n");
    let text = |name: &str, number: &str| {
        crate::support::HEADER.to_owned() + &row("P 1", name, number) + &row("P2", "Bo", "+64212222222")
    };
    pages.world.sync_of(text("Ana", "+64211111111")).expect(4);
    pages.world.run(&["approve", "staff"]).expect(0);
    pages.world.sync().expect(0);
    pages.world.sync_of(text("Ana <b>", "+64213333333")).expect(4);
    let pages = pages.up();
    let mut browser = pages.logged_in("ana", &["hr"]);
    let done = browser.get("/person/staff?key=P2").expect(200).body;
    assert!(done.contains("created by run") && !done.contains("goes with the next run"), "{done}");
    let held = browser.get("/held/staff").expect(200).body;
    assert!(held.contains("<a href=\"/person/staff?key=P+1\">P 1</a>"), "{held}");

    let story = browser.get("/person/staff?key=P+1").expect(200);
    let body = &story.body;
    for part in [
        "<h1>P 1: Ana</h1>",
        "At the service, as the person with id ",
        "A change is held: writes = &quot;approve&quot;: every change waits for an approval.",
        "<td>mobile</td><td>***</td><td>the same</td>",
        "<td>name</td><td>Ana</td><td>the same</td>",
        "created by run ",
        "approved by ",
        "mobile: (empty) → ***",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert!(!body.contains("mobile: (empty) → +") && !body.contains(">Bo") && !body.contains("<b>"), "{body}");
    let token = story.field("token");
    let shown = browser.post("/person/staff", &[("token", &token), ("key", "P 1")]).expect(200).body;
    assert!(shown.contains("mobile: (empty) → +64211111111") && !shown.contains("***"), "{shown}");
    assert!(!shown.contains("+64212222222"), "another person's stays hidden: {shown}");
    assert_eq!(
        pages.decisions().last().unwrap(),
        &json!(["looked at hidden values", "ana@example.com (oidc, sub sub-ana)", "page", ["P 1"]])
    );
    let unknown = browser.get("/person/staff?key=P9").expect(200).body;
    assert!(unknown.contains("knows nothing of this key") && !unknown.contains("<h2>"), "{unknown}");
    assert_eq!(browser.get("/person/staff").expect(303).header("location"), Some("/held/staff"));
    browser.get("/person/other?key=P2").expect(404);
    let mut other = pages.browser();
    pages.provider.person("eve", &["guests"]);
    pages.provider.log_in(&mut other, "/login?job=staff");
    let none = other.get("/person/staff?key=P2").expect(404);
    assert!(!none.body.contains(">Bo"), "{none:?}");
    pages.browser().get("/person/staff?key=P2").expect(303);
}

#[test]
fn a_job_is_paused_and_goes_on() {
    let pages = Pages::start().holding(0, 1..4);
    let mut browser = pages.logged_in("ana", &["hr"]);
    let token = browser.get("/").expect(200).field("token");
    browser.post("/pause/staff", &[("token", &token)]).expect(303);
    let list = browser.get("/").expect(200);
    assert!(list.body.contains("paused since") && list.body.contains("by ana@example.com"), "{list:?}");
    browser.post("/resume/staff", &[("token", &token)]).expect(303);
    assert!(!browser.get("/").expect(200).body.contains("paused since"));
    // A pause of all jobs is lifted where it was set: nothing here offers it.
    pages.world.run(&["pause"]).expect(0);
    let list = browser.get("/").expect(200).body;
    assert!(list.contains("all jobs are paused since") && !list.contains("Let it go on"), "{list}");
    pages.world.run(&["resume"]).expect(0);
    let by = "ana@example.com (oidc, sub sub-ana)";
    assert_eq!(pages.decisions()[..2], [json!(["paused", by, "page", []]), json!(["resumed", by, "page", []])]);
}
