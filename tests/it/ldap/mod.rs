//! A directory as a source: against a real server, and against one that says what no real one can be made to say.

mod answers;
mod binds;
mod commands;
mod external;
mod first;
mod hostile;
mod lagging;
mod reads;
mod sight;
mod tls;

use crate::support::scripted::Scripted;
use crate::support::slapd;
use crate::support::{Config, World};

/// What removes leavers at the first complete read.
const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n[job.guard]\nmax_leavers = \"off\"\n";

/// A configuration with these lines of `[job.source]`, whose people are known by employeeNumber.
pub(crate) fn config(source: String) -> Config {
    Config {
        job: "key = \"{{ employeeNumber }}\"\nmatch_on = [\"employee_id\", \"email\"]\n".into(),
        source,
        map: "name = \"{{ cn }}\"\nemail = \"{{ mail }}\"\ntitle = \"{{ title }}\"\n\
              employee_id = \"{{ employeeNumber }}\"\n"
            .into(),
        ..Config::rest(LEAVE_AT_ONCE)
    }
}

/// A world that reads these servers by an anonymous bind.
fn world(servers: &[&Scripted], lines: &str) -> World {
    let urls: Vec<String> = servers.iter().map(|server| server.url()).collect();
    World::of(config(slapd::source(&urls, lines)))
}
