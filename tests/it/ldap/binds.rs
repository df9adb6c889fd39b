//! Binds that are refused: a directory locks an account after a few of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::config;
use crate::support::scripted::{BIND, Scripted, code, done, entry};
use crate::support::{Config, World, slapd};

const LINES: &str = "bind_dn = \"cn=me\"\nbind_password_file = \"word\"\n";

/// A server that refuses binds with this text until the flag is set.
fn refusing(text: &'static str) -> (Scripted, Arc<AtomicBool>) {
    let takes = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&takes);
    let server = Scripted::start(move |asked, _| match asked.operation {
        BIND if !told.load(Ordering::SeqCst) => vec![code(49, text)],
        _ if asked.is_page() => vec![entry(1, &[]), done(b"")],
        _ => vec![code(0, "")],
    });
    (server, takes)
}

fn world(server: &Scripted) -> World {
    let world = World::with(rosterd::sandbox::Options::default(), config(slapd::source(&[server.url()], LINES)));
    world.put("word", b"canary-word\n");
    world
}

#[test]
fn fault_78_a_wrong_password_is_tried_once_however_often_a_job_runs() {
    for text in ["", "80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data 52e, v2580"] {
        let (server, takes) = refusing(text);
        let mut world = world(&server);
        for binds in [1, 1, 1, 1, 1] {
            let ran = world.sync().expect(1).hides(&["canary-word"]);
            assert_eq!(server.binds(), binds, "{}", ran.reason());
        }
        let reason = world.sync().expect(1).reason();
        for word in ["is not tried again", "rosterd check", "invalid credentials"] {
            assert!(reason.contains(word), "{word:?} is missing in {reason:?}");
        }
        assert_eq!((world.plan().expect(1).code, server.binds()), (Some(1), 1), "nor is it by a plan");
        world.put("word", b"another\n");
        world.sync().expect(1);
        assert_eq!(server.binds(), 2, "another password is tried");
        world.reconfigure(|config| Config { source: config.source.replace("cn=me", "cn=you"), ..config });
        world.sync().expect(1);
        world.sync().expect(1);
        assert_eq!(server.binds(), 3, "another name is tried");
        takes.store(true, Ordering::SeqCst);
        assert!(world.sync().expect(1).reason().contains("is not tried again"), "nobody told it so");
        world.run(&["check"]).expect(0);
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "a person's attempt was taken");
    }
}

#[test]
fn fault_78_a_check_that_is_refused_counts_too() {
    let (server, _) = refusing("");
    let world = world(&server);
    world.sync().expect(1);
    world.put("word", b"another canary-word\n");
    world.run(&["check"]).expect(1).hides(&["canary-word"]);
    world.sync().expect(1);
    assert_eq!(server.binds(), 2, "no run tries what a check tried");
    world.run(&["check"]).expect(1);
    assert_eq!(server.binds(), 3, "a person may try again");
}

#[test]
fn fault_78_an_account_that_may_not_sign_in_is_tried_again() {
    // Active Directory says so only of the right password, or looks at none.
    for data in ["data 775", "data 532", "data 773"] {
        let (server, takes) = refusing(data);
        let world = world(&server);
        world.sync().expect(1);
        world.sync().expect(1);
        assert_eq!(server.binds(), 2, "{data}");
        takes.store(true, Ordering::SeqCst);
        assert_eq!(world.sync().expect(0).writes(), (1, 0, 0), "{data}: it was unlocked");
    }
}
