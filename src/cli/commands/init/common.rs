//! What every first configuration has.

use jiff::tz::TimeZone;

use crate::cli::ui::sanitize;

/// What every first configuration begins with.
pub(super) const HEAD: &str = "#\n# Next: fill in [api], then `rosterd check`, `rosterd preview JOB`, `rosterd plan`. Every change waits for your\n\
         # approval until writes is \"auto\".\n\n\
         [api]\n\
         base_url = \"https://api.example.com/v1\"   # the service's address, with its version\n\
         auth_url = \"https://login.example.com\"    # where access tokens come from\n\
         client_id = \"…\"\n\
         client_secret_file = \"client_secret\"      # readable by its owner only; beside this file\n\
         # api_key_file = \"api_key\"                # the other kind of credential, in place of the three lines above\n\
         requests_per_minute = 100\n\n\
         [state]\n\
         # dir = \"/var/lib/rosterd\"             # what is remembered; an instance has a folder of its own below it\n\n\
         [[job]]\n";

/// What every first configuration ends with.
pub(super) const TAIL: &str = "\n[job.leavers]\naction = \"keep\"                    # or \"delete\", after the grace below\ngrace = \"24h\"\n\n\
         [job.guard]                        # above these, changes wait for an approval\nmax_leavers = \"2%\"\nmax_updates = \"30%\"\nmax_blanked = \"5%\"\nmin_records = 1\n";

/// The line that says where days begin and end: as on this machine.
pub(super) fn time_zone() -> String {
    let system = TimeZone::system();
    let name = system.iana_name().filter(|name| !name.starts_with("Etc/") && TimeZone::get(name).is_ok());
    format!("time_zone = {}                  # days begin and end in it\n", quoted(name.unwrap_or("UTC")))
}

/// A text as TOML, whose escapes are those of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text fit for a comment.
pub(super) fn printable(text: &str) -> String {
    sanitize(text)
}
