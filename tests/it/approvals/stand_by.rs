//! The pages of a worker that stands by: whichever worker a browser reaches, the one that has the account answers.

use std::process::Command;

use serde_json::json;

use super::decisions::decide;
use super::{Pages, RULE, free_port};
use crate::support::daemon::{Daemon, eventually};
use crate::support::{Config, people, postgres};

/// Pages whose place is that of a worker that stands by, while another one has the account; its socket too.
fn beside_another() -> (Pages, Daemon) {
    let mut pages = Pages::of("", RULE, Config::in_database);
    pages.world.sync_of(people(1..6)).expect(4);
    let started = |name: &'static str, ready: &'static str, prepare: &dyn Fn(&mut Command)| {
        let world = &pages.world;
        let (log, spill) = (world.dir().join(format!("{name}.log")), world.dir().join(name));
        let prepare = |command: &mut Command| {
            command.env("ROSTERD__STATE__SPILL_DIR", spill).env("ROSTERD__STATE__NODE", name);
            prepare(command);
        };
        Daemon::start(world.command(&["run"]), log, prepare, |daemon| daemon.log().contains(ready))
    };
    let elsewhere = format!("127.0.0.1:{}", free_port());
    let holder = started("holder", "people decide at", &|command| {
        command.env("ROSTERD__CONTROL__SOCKET", "holder.sock").env("ROSTERD__APPROVALS__LISTEN", &elsewhere);
    });
    let stands_by = started("standby", "the daemon waits until it can have its state", &|_| {});
    pages.daemon = Some(stands_by);
    let port = pages.port;
    eventually("the pages answer", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    (pages, holder)
}

#[test]
fn people_log_in_and_decide_at_a_worker_that_stands_by() {
    if !postgres::is_there() {
        return;
    }
    let (pages, holder) = beside_another();
    let mut browser = pages.logged_in("ana", &["hr"]);
    let page = browser.get("/held/staff").expect(200);
    assert!(page.body.contains("Person 5") && page.header("cache-control") == Some("no-store"), "{page:?}");
    decide(&mut browser, &page, "approve", &["P00001", "P00003"]).expect(200);
    eventually("they are sent", || pages.world.staff().len() == 2);
    let by = "ana@example.com (oidc, sub sub-ana)";
    assert_eq!(pages.decisions(), [json!(["approved", by, "page", ["P00001", "P00003"]])]);
    // A name that is not the pages' gets nowhere, and neither does a form from elsewhere.
    let mut other = pages.browser();
    other.host = "evil.example.net".to_owned();
    other.get("/").expect(421);
    browser.clone().post("/held/none", &[("token", "x")]).expect(403);
    let left = pages.world.database().sql("select count(*) from rosterd.request");
    assert_eq!(left, "0", "nothing of a page is left in the database");
    // After a takeover the pages are there, and people log in again.
    assert!(holder.stop().success());
    eventually("the other one has them", || browser.get("/held/staff").status == 303);
    let mut browser = pages.logged_in("ana", &["hr"]);
    assert!(browser.get("/held/staff").expect(200).body.contains("P00005"));
}
