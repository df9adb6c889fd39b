//! A proxy on a socket that says who someone is.

use rosterd::history::user_of;

use super::browser::Browser;
use super::{JOB, LEAVERS};
use crate::support::daemon::{Daemon, eventually};
use crate::support::{Config, World, people};

/// Pages on a socket for processes of that account.
fn pages(account: &str) -> (World, Daemon) {
    let approvals = format!(
        "[approvals]\nurl = \"https://roster.example.com\"\nsocket = \"web.sock\"\nproxy_user = \"{account}\"\nuser_header = \
         \"X-Remote-User\"\ngroups_header = \"X-Remote-Groups\"\n[[approvals.allow]]\ngroup = \"hr\"\njobs = [\"staff\"]\nmay = \
         [\"approve\"]\n"
    );
    let world = World::of(Config::served(JOB, &format!("{LEAVERS}{approvals}")));
    world.sync_of(people(1..4)).expect(4);
    let daemon = world.daemon();
    let socket = world.dir().join("web.sock");
    eventually("the pages answer", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    (world, daemon)
}

fn own_account() -> String {
    user_of(rustix::process::geteuid().as_raw()).unwrap()
}

fn proxy(world: &World) -> Browser {
    Browser::on(world.dir().join("web.sock"), "roster.example.com")
}

#[test]
fn the_proxy_says_who_it_is_and_a_form_takes_its_session_too() {
    let (world, _daemon) = pages(&own_account());
    let mut ana = proxy(&world).with("X-Remote-User", "ana").with("X-Remote-Groups", "staff,hr");
    let page = ana.get("/held/staff").expect(200);
    assert!(page.body.contains("Person 1") && page.body.contains("ana"), "{page:?}");
    let (token, set, digest) = (page.field("token"), page.field("held_set"), page.field("digest"));
    let form =
        [("token", token.as_str()), ("held_set", &set), ("digest", &digest), ("action", "approve"), ("scope", "all")];
    // Another user with the session and the token of this one, and one whose groups were taken away.
    let mut thief =
        Browser { headers: Vec::new(), ..ana.clone() }.with("X-Remote-User", "bo").with("X-Remote-Groups", "hr");
    thief.post("/held/staff", &form).expect(403);
    let mut left = Browser { headers: Vec::new(), ..ana.clone() }.with("X-Remote-User", "ana");
    left.post("/held/staff", &form).expect(404);
    let mut nameless = Browser { headers: Vec::new(), ..ana.clone() };
    nameless.post("/held/staff", &form).expect(403);
    assert_eq!(world.status()["held"], 3);
    ana.post("/held/staff", &form).expect(200);
    eventually("they are sent", || world.staff().len() == 3);
    let told = world.run(&["history"]).expect(0).out;
    assert!(told.contains("by ana (proxy) via page"), "{told}");
    for target in ["/login", "/callback?code=x&state=y"] {
        ana.get(target).expect(404);
    }
}

#[test]
fn a_header_counts_once_whatever_its_letters() {
    let (world, _daemon) = pages(&own_account());
    for headers in [
        &[][..],
        &[("X-Remote-User", "ana"), ("X-Remote-User", "ana")],
        &[("X-Remote-User", "ana"), ("x-remote-user", "bo")],
        &[("X-REMOTE-USER", "bo"), ("x-Remote-uSer", "ana")],
        &[("X_Remote_User", "ana")],
        &[("X-Remote-User", "")],
        &[("X-Remote-User", "ana"), ("X-Remote-Groups", "x"), ("x-remote-groups", "hr")],
        &[("X-Forwarded-User", "ana")],
    ] {
        let mut browser = proxy(&world);
        browser.headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        if !browser.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("x-remote-groups")) {
            browser = browser.with("X-Remote-Groups", "hr");
        }
        let answer = browser.get("/held/staff");
        assert_eq!(answer.status, 403, "{headers:?}: {answer:?}");
        assert!(!answer.body.contains("Person") && answer.header("set-cookie").is_none(), "{headers:?}");
    }
}

#[test]
fn a_process_of_another_account_is_not_heard() {
    let other = if rustix::process::geteuid().is_root() { "nobody" } else { "root" };
    let (world, daemon) = pages(other);
    let mut browser = proxy(&world).with("X-Remote-User", "ana").with("X-Remote-Groups", "hr");
    for target in ["/", "/held/staff"] {
        let answer = browser.get(target);
        assert_eq!((answer.status, answer.body.as_str()), (0, ""), "{target}");
    }
    eventually("it is said", || daemon.log().contains("of another account"));
}
