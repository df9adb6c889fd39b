//! Notices by mail and webhook over TLS: which servers rosterd trusts, which get its password, and what it reports when
//! it can't send.

use std::sync::Arc;

use rosterd::clock::Clock;
use rosterd::notify::Notifier;
use tokio::runtime::Runtime;

use crate::support::mailer::{PASSWORD, Server, Tls, USER};
use crate::support::{Config, World, people};

/// The names of a certificate that fits.
const HERE: &str = "DNS:localhost,IP:127.0.0.1";
const BAD: &str = "P00100,,x@example.com,Clerk\n";

/// A world with something to tell, under these lines of `[notify]`.
fn world(notify: &str) -> World {
    let world = World::of(Config::rest(&format!("[notify]\n{notify}\n")));
    world.put("word", format!("{PASSWORD}\n").as_bytes());
    world.put("wrong", b"hunter2\n");
    world.csv(people(1..5) + BAD);
    world.sync().expect(3);
    world
}

/// Tells what is new, and says who could not be reached and why.
fn tell(world: &World) -> Vec<String> {
    let runtime = Runtime::new().unwrap();
    let config = world.checked();
    let mut teller =
        Notifier::open(&config.state.home, &config.notify, &Arc::default()).unwrap().for_jobs(&config.jobs);
    runtime.block_on(teller.look(&world.snapshot()));
    runtime.block_on(teller.deliver(Clock::system().now()));
    teller.unheard().into_iter().map(|place| place.reason).collect()
}

fn mail(smtp: &str, password: &str, lines: &str) -> String {
    format!(
        "{lines}\n[notify.mail]\nto = \"it@example.com\"\nfrom = \"rosterd@example.com\"\nsmtp = \"{smtp}\"\n\
         user = \"{USER}\"\npassword_file = \"{password}\"\n"
    )
}

#[test]
fn a_mail_goes_over_tls_with_a_login_to_a_server_that_is_believed() {
    for tls in [Tls::Whole, Tls::Upgraded] {
        let server = Server::mail(tls, HERE);
        let (scheme, more) = match tls {
            Tls::Whole => ("smtps", ""),
            _ => ("smtp", "start_tls = true\n"),
        };
        let ca_file = format!("ca_file = {:?}", server.ca_file());
        let world = world(&(mail(&format!("{scheme}://localhost:{}", server.port), "word", &ca_file) + more));
        assert_eq!(tell(&world), [""; 0], "{tls:?}");
        let heard = server.heard();
        assert_eq!(heard.whole.len(), 1, "{tls:?}: {heard:?}");
        assert!(heard.whole[0].contains("job staff could do only a part"), "{heard:?}");
        assert!(heard.secret.iter().any(|line| line == "RCPT TO:<it@example.com>"), "{heard:?}");
        check_open(&heard.open, tls);
        let checked = world.run(&["check"]);
        assert!(checked.out.contains("notify.mail: ok: ") && checked.out.contains("takes the login"), "{checked:?}");
        let heard = server.heard();
        assert!(heard.whole.is_empty() && heard.secret.iter().any(|line| line.starts_with("AUTH ")), "{heard:?}");
        let offline = world.run(&["check", "--offline"]).expect(0);
        assert!(offline.out.contains("notify.mail: ok: "), "{offline:?}");
        let heard = server.heard();
        assert!(heard.secret.is_empty() && heard.open.is_empty(), "{heard:?}");
    }
}

/// Nothing but greetings goes unprotected.
fn check_open(open: &[String], tls: Tls) {
    let is_greeting = |line: &String| line.starts_with("EHLO ") || line == "STARTTLS" || line == "QUIT";
    assert!(open.iter().all(is_greeting), "{tls:?}: {open:?}");
}

#[test]
fn law_11_where_a_server_is_not_to_be_believed_nothing_is_sent_and_that_is_reported() {
    for (tls, names, scheme, password, trusts, told) in [
        (Tls::Whole, HERE, "smtps", "word", false, "set notify.ca_file to"),
        (Tls::Upgraded, HERE, "smtp", "word", false, "set notify.ca_file to"),
        (Tls::Whole, "DNS:mail.example.com", "smtps", "word", true, "name the server as its certificate does"),
        (Tls::Upgraded, "DNS:mail.example.com", "smtp", "word", true, "name the server as its certificate does"),
        (Tls::Whole, HERE, "smtps", "wrong", true, "refused the login (535); check notify.mail.user"),
        (Tls::Upgraded, HERE, "smtp", "wrong", true, "refused the login (535); check notify.mail.user"),
        (Tls::Never, HERE, "smtp", "word", true, "offers no STARTTLS, and without TLS nothing is sent"),
        (Tls::Never, HERE, "smtps", "word", true, "does this port speak TLS?"),
        (Tls::Whole, HERE, "smtp", "word", true, ""),
    ] {
        let case = format!("{tls:?} {names} {scheme} {password} {trusts}");
        let server = Server::mail(tls, names);
        let ca_file = if trusts { format!("ca_file = {:?}", server.ca_file()) } else { String::new() };
        let more = if scheme == "smtp" { "start_tls = true\n" } else { "" };
        let world = world(&(mail(&format!("{scheme}://localhost:{}", server.port), password, &ca_file) + more));
        let unheard = tell(&world);
        assert!(unheard.len() == 1 && unheard[0].contains(told), "{case}: {unheard:?}");
        assert!(unheard[0].starts_with("localhost: "), "{case}: {unheard:?}");
        let heard = server.heard();
        assert!(heard.whole.is_empty(), "{case}: {heard:?}");
        check_open(&heard.open, tls);
        if password == "word" {
            assert!(!heard.secret.iter().any(|line| line.starts_with("AUTH")), "{case}: {heard:?}");
        }
        // It is shown where people look.
        let status = world.run(&["status"]).hides(&[PASSWORD, "hunter2"]);
        assert!(status.out.contains("mail reaches no one since") && status.out.contains(told), "{case}: {status:?}");
        assert!(status.out.contains("1 notice waits"), "{case}: {status:?}");
        let json = world.run(&["status", "--json"]).json();
        assert_eq!((&json["unheard"][0]["channel"], &json["unheard"][0]["waiting"]), (&"mail".into(), &1.into()));
        let checked = world.run(&["check"]).expect(1).hides(&[PASSWORD, "hunter2"]);
        assert!(checked.out.contains("notify.mail: wrong: ") && checked.out.contains(told), "{case}: {checked:?}");
        check_open(&server.heard().open, tls);
    }
}

#[test]
fn a_webhook_over_tls_is_called_where_its_authority_is_trusted() {
    for (names, trusts, told) in [
        (HERE, true, ""),
        (HERE, false, "set notify.ca_file to"),
        ("DNS:chat.example.com", true, "name the server as its certificate does"),
    ] {
        let server = Server::web(names);
        let ca_file = if trusts { format!("ca_file = {:?}\n", server.ca_file()) } else { String::new() };
        let world = world(&format!("webhook = \"https://localhost:{}/canary\"\n{ca_file}", server.port));
        let unheard = tell(&world);
        let heard = server.heard();
        if told.is_empty() {
            assert_eq!(unheard, [""; 0]);
            assert_eq!((heard.secret[0].as_str(), heard.whole.len()), ("POST /canary HTTP/1.1", 1), "{heard:?}");
        } else {
            assert!(unheard.len() == 1 && unheard[0].contains(told), "{unheard:?}");
            assert!(heard.secret.is_empty(), "{heard:?}");
            let status = world.run(&["status"]).hides(&["canary"]);
            assert!(status.out.contains("webhook reaches no one since"), "{status:?}");
        }
    }
}

#[test]
fn the_authority_of_the_service_is_believed_unless_another_is_named() {
    let server = Server::web(HERE);
    for (lines, is_believed) in [("", true), ("ca_file = \"\"\n", false)] {
        let mut world = world("");
        let api = format!("requests_per_minute = 3000\nca_file = {:?}\n", server.ca_file());
        let notify = format!("[notify]\nwebhook = \"https://localhost:{}/hook\"\n{lines}", server.port);
        world.reconfigure(|config| Config { api, rest: notify, ..config });
        assert_eq!(tell(&world).is_empty(), is_believed, "{lines}");
    }
}

#[test]
fn fault_52_a_proxy_is_used_where_it_is_configured_and_never_from_the_environment() {
    let (own, foreign) = (Server::proxy(), Server::proxy());
    let address = |proxy: &Server| format!("http://127.0.0.1:{}", proxy.port);
    for (lines, is_used) in [("", false), (&*format!("proxy = \"{}\"\n", address(&own)), true)] {
        let world = world(&format!("webhook = \"https://chat.invalid/canary\"\n{lines}"));
        let broken = world.config_text() + "\n[nonsense]\n";
        world.put_config(&broken);
        let mut command = world.command(&["run"]);
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"] {
            command.env(name, address(&foreign));
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let (own, foreign) = (own.heard(), foreign.heard());
        assert!(foreign.secret.is_empty(), "{foreign:?}");
        assert_eq!(own.secret.iter().any(|line| line == "CONNECT chat.invalid:443 HTTP/1.1"), is_used, "{own:?}");
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(log.contains("a notice could not be delivered") && !log.contains("canary"), "{log}");
    }
}
