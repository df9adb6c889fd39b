//! Decisions in the browser: logins, what is shown and decided, and everything that must not work.

mod attacks;
mod browser;
mod decisions;
mod logins;
mod provider;
mod proxied;
mod settings;
mod stand_by;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use browser::Browser;
use provider::Provider;
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, eventually};
use crate::support::ports::free_port;
use crate::support::{Config, World, people};

/// What `hr` may do.
const RULE: &str =
    "[[approvals.allow]]\ngroup = \"hr\"\njobs = [\"staff\"]\nmay = [\"approve\", \"reject\", \"pause\"]\n";
/// A job whose changes all wait, and whose leavers go at once.
const JOB: &str = "writes = \"approve\"\n";
const LEAVERS: &str =
    "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\nmax_missing = \"off\"\n";

/// A daemon with pages, the provider that it asks, and a service.
struct Pages {
    world: World,
    provider: Provider,
    daemon: Option<Daemon>,
    port: u16,
}

impl Pages {
    /// Pages with `RULE`, and one of their own to read, where nothing is held yet.
    fn start() -> Self {
        Self::with("", RULE)
    }

    /// With these lines of `[approvals]`, and these rules.
    fn with(lines: &str, rules: &str) -> Self {
        Self::of(lines, rules, |config| config)
    }

    /// The same with another configuration besides.
    fn of(lines: &str, rules: &str, other: impl FnOnce(Config) -> Config) -> Self {
        let (provider, port) = (Provider::start(), free_port());
        let approvals = format!(
            "[approvals]\nurl = \"http://127.0.0.1:{port}\"\nlisten = \"127.0.0.1:{port}\"\n{lines}\
             oidc = {{ issuer = \"{}\", client_id = \"rosterd\", client_secret_file = \"oidc_secret\" }}\n{rules}",
            provider.issuer()
        );
        let world = World::of(other(Config::served(JOB, &format!("{LEAVERS}{approvals}"))));
        secret(&world, "oidc_secret", "s+e c:ret");
        Self { world, provider, daemon: None, port }
    }

    /// With so many people at the service, and a file of these.
    fn holding(self, before: usize, now: std::ops::Range<usize>) -> Self {
        if before > 0 {
            self.world.sync_of(people(1..before + 1)).expect(4);
            self.world.run(&["approve", "staff"]).expect(0);
            self.world.sync().expect(0);
        }
        self.world.sync_of(people(now)).expect(4);
        self.up()
    }

    /// With the daemon.
    fn up(mut self) -> Self {
        self.daemon = Some(self.world.daemon());
        let port = self.port;
        eventually("the pages answer", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        self
    }

    /// A browser in which no one is logged in.
    fn browser(&self) -> Browser {
        Browser::at(self.port)
    }

    /// A browser in which someone is, of these groups.
    fn logged_in(&self, name: &str, groups: &[&str]) -> Browser {
        let mut browser = self.browser();
        self.provider.person(name, groups);
        let answer = self.provider.log_in(&mut browser, "/login?job=staff");
        assert_eq!((answer.status, answer.header("location")), (303, Some("/held/staff")), "{answer:?}");
        browser
    }

    /// What was decided, the first decision first, : decision, by, via, keys.
    fn decisions(&self) -> Vec<Value> {
        let history = self.world.run(&["history", "--json"]).expect(0).json();
        let events = history["events"].as_array().unwrap().iter().filter(|event| event["what"] == "decision");
        events.map(|event| json!([event["decision"], event["by"], event["via"], event["keys"]])).rev().collect()
    }

    /// How many changes are held.
    fn held(&self) -> u64 {
        self.world.status()["held"].as_u64().unwrap()
    }
}

/// Lays down a secret beside the configuration.
fn secret(world: &World, name: &str, text: &str) {
    let path = world.dir().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}
