//! Configurations: what `check` says, and what a reload does.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Pages, RULE};
use crate::support::daemon::eventually;
use crate::support::web::answer;
use crate::support::{Config, World, people};

#[test]
fn check_says_what_to_register_and_what_is_wrong_with_the_provider() {
    let pages = Pages::start();
    pages.world.csv(people(1..4));
    let good = pages.world.run(&["check"]).expect(0);
    let register = format!("register http://127.0.0.1:{}/callback", pages.port);
    assert!(good.out.contains(&register) && good.out.contains("approvals: ok"), "{good:?}");
    let offline = pages.world.run(&["check", "--offline"]).expect(0);
    assert!(offline.out.contains("was not asked"), "{offline:?}");
    let issuer = pages.provider.issuer();
    let other = format!(
        "{{\"issuer\":\"{issuer}/\",\"authorization_endpoint\":\"{issuer}\",\"token_endpoint\":\"{issuer}\",\"jwks_uri\":\"{issuer}\"}}"
    );
    for (parts, said) in [
        (answer(404, "text/plain", "", b""), "it answered 404"),
        (answer(200, "application/json", "", other.as_bytes()), "write just that as issuer"),
    ] {
        pages.provider.be_good();
        pages.provider.say("/openid-configuration", parts);
        let bad = pages.world.run(&["check"]).expect(1);
        assert!(bad.out.contains("approvals: wrong") && bad.out.contains(said), "{bad:?}");
    }
}

#[test]
fn check_says_where_a_proxy_has_no_account_or_no_way() {
    let with = |socket: &str, account: &str| {
        let approvals = format!(
            "[approvals]\nurl = \"https://roster.example.com\"\nsocket = \"{socket}\"\nproxy_user = \"{account}\"\nuser_header = \
             \"X-Remote-User\"\n[[approvals.allow]]\ngroup = \"hr\"\njobs = [\"*\"]\nmay = [\"see\"]\n"
        );
        let world = World::of(Config::served("", &approvals));
        world.csv(people(1..4));
        world
    };
    let gone = with("/run/rosterd-web/web.sock", "no-such-account").run(&["check"]).expect(1);
    assert!(gone.out.contains("there is no account no-such-account"), "{gone:?}");
    let other = if rustix::process::geteuid().is_root() { "nobody" } else { "daemon" };
    let world = with("closed/web.sock", other);
    let closed = world.dir().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(world.run(&["check"]).expect(1).out.contains("can't pass through"));
}

#[test]
fn a_reload_takes_other_rules_and_ends_the_sessions() {
    let pages = Pages::start().holding(0, 1..4);
    let mut browser = pages.logged_in("ana", &["hr"]);
    browser.get("/held/staff").expect(200);
    let whole = pages.world.config_text();
    let broken = whole.replace(RULE, &RULE.replace("approve", "aprove"));
    pages.world.put_config(&broken);
    let refused = pages.world.run(&["reload"]).expect(2);
    assert!(refused.err.contains("approvals.allow.may"), "{refused:?}");
    browser.get("/held/staff").expect(200);
    pages.world.put_config(&whole.replace(RULE, &RULE.replace("\"hr\"", "\"it\"")));
    pages.world.run(&["reload"]).expect(0);
    eventually("the session is over", || browser.get("/held/staff").status == 303);
    let mut browser = pages.logged_in("ana", &["hr"]);
    browser.get("/held/staff").expect(404);
    let off = whole.split("[approvals]").next().unwrap().to_owned() + "\n" + crate::support::config::CONTROL;
    pages.world.put_config(&off);
    pages.world.run(&["reload"]).expect(0);
    eventually("no one answers", || std::net::TcpStream::connect(("127.0.0.1", pages.port)).is_err());
}
