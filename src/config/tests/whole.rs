//! What a good configuration becomes.

use std::path::Path;
use std::time::Duration;

use jiff::SignedDuration;

use super::support::{API, JOB, Place, bare, check};
use crate::api::Credential;
use crate::config::{Job, Mode, Protection, StateOptions};
use crate::plan::{LeaverAction, Leavers, Limit, Limits, OnDrift, Writes};
use crate::source::Source;
use crate::source::csv::{self, Encoding};
use crate::store::Home;

fn file(job: &Job) -> &csv::Options {
    match &job.source {
        Source::Csv(options) => options,
        Source::Web(_) | Source::Ldap(_) | Source::Entra(_) | Source::Cached { .. } => panic!("the job reads a file"),
    }
}

#[test]
fn what_is_left_out_has_its_default() {
    let place = Place::with(&format!("{API}{JOB}"));
    let config = place.load(&[]).unwrap();
    assert_eq!(config.api.requests_per_minute, 100);
    assert_eq!(config.api.timeout, Duration::from_secs(60));
    assert_eq!(config.api.page_size, 1000);
    assert_eq!(config.state.home.folder(), Some(Path::new("/var/lib/rosterd")));
    assert_eq!(config.state.full_pull, StateOptions::FULL_PULL);
    assert_eq!(config.source_path, place.dir.path().join("config.toml"));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let job = &config.jobs[0];
    assert_eq!(file(job).path, place.dir.path().join("hr.csv"));
    assert_eq!(file(job).encoding, Encoding::Auto);
    assert_eq!((file(job).delimiter, file(job).header), (None, None));
    assert_eq!(job.mode, Mode::Full);
    assert_eq!(job.match_on, ["email"]);
    assert_eq!(job.writes, Writes::Auto);
    assert_eq!(job.leavers, Leavers::default());
    assert_eq!(job.limits, Limits::default());
    assert!(job.schedule.is_none());
}

#[test]
fn what_is_said_is_taken() {
    let place = Place::with(
        r#"
[api]
base_url = "http://127.0.0.1:8080/v1/"
api_key_file = "secret"
api_key_scheme = "basic"
requests_per_minute = 20
timeout = "2m"
page_size = 200
[state]
dir = "state"
full_pull = "2d"
[[job]]
name = "employees"
target = "staff"
schedule = "0 6 * * 1-5"
time_zone = "Pacific/Auckland"
key = "{{ no }}"
match_on = ["email", "name"]
include = "{{ status != 'Terminated' }}"
writes = "approve"
active_from = "{{ start }}"
active_until = "{{ end }}"
prefer = "{{ fte }}"
seed_only = ["cf.Locker No."]
on_drift = "report"
protect = ["ceo@example.com"]
values.Site = { AKL = "Auckland Office", "a.b" = "Dotted" }
[job.source]
type = "csv"
path = "/srv/hr.csv"
mode = "full"
settle = "0s"
final_newline = false
size_max = "1GiB"
encoding = "latin1"
delimiter = "tab"
header = 3
optional = ["Locker"]
[job.map]
name = "{{ name }}"
email = "{{ email }}"
"cf.Locker No." = "{{ locker }}"
[job.leavers]
action = "delete"
grace = "30d"
grace_reads = 2
[job.guard]
max_leavers = 40
max_updates = "12.5%"
max_blanked = "7"
max_creates = "100%"
max_missing = "1%"
min_records = 100
segment = "{{ department }}"
"#,
    );
    let config = place.load(&[]).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.api.base_url, "http://127.0.0.1:8080/v1");
    assert!(matches!(config.api.credential, Credential::ApiKeyBasic(_)));
    assert_eq!((config.api.requests_per_minute, config.api.page_size), (20, 200));
    assert_eq!(config.api.timeout, Duration::from_secs(120));
    assert_eq!(config.state.home, Home::Folder(place.dir.path().join("state")));
    assert_eq!(config.state.full_pull, SignedDuration::from_hours(48));
    let job = &config.jobs[0];
    assert_eq!(job.name.as_str(), "employees");
    assert_eq!(job.schedule.as_ref().map(crate::config::Schedule::as_str), Some("0 6 * * 1-5"));
    assert_eq!(job.time_zone.iana_name(), Some("Pacific/Auckland"));
    assert_eq!(job.mapping.key, "{{ no }}");
    assert_eq!(job.mapping.include.as_deref(), Some("{{ status != 'Terminated' }}"));
    assert_eq!(job.mapping.tables["Site"]["AKL"], "Auckland Office");
    assert_eq!(job.mapping.tables["Site"]["a.b"], "Dotted");
    assert_eq!(job.mapping.fields["cf.Locker No."], "{{ locker }}");
    assert_eq!(job.mapping.optional, ["Locker"]);
    assert_eq!(job.match_on, ["email", "name"]);
    assert_eq!(job.writes, Writes::Approve);
    assert_eq!(job.mode, Mode::Full);
    assert_eq!(file(job).path.to_str(), Some("/srv/hr.csv"));
    assert_eq!((file(job).settle, file(job).size_max), (Duration::ZERO, 1 << 30));
    assert!(!file(job).final_newline);
    assert_eq!(file(job).encoding, Encoding::Named(encoding_rs::WINDOWS_1252));
    assert_eq!((file(job).delimiter, file(job).header), (Some(b'\t'), Some(3)));
    assert_eq!(file(job).optional, ["Locker"]);
    let grace = SignedDuration::from_hours(30 * 24);
    assert_eq!(job.leavers, Leavers { action: LeaverAction::Delete, grace, grace_reads: 2 });
    assert!(job.leaver_set.fields.is_empty());
    let given = |text: &Option<String>| text.clone().unwrap_or_default();
    assert_eq!(given(&job.mapping.active_from), "{{ start }}");
    assert_eq!(given(&job.mapping.active_until), "{{ end }}");
    assert_eq!(given(&job.mapping.prefer), "{{ fte }}");
    assert_eq!(given(&job.mapping.segment), "{{ department }}");
    assert_eq!((&job.seed_only[..], job.on_drift), (&["cf.Locker No.".into()][..], OnDrift::Report));
    assert_eq!(job.protect, ["ceo@example.com"]);
    let limits = Limits {
        leavers: Limit::Count(40),
        missing: Limit::Percent(1.0),
        updates: Limit::Percent(12.5),
        blanked: Limit::Count(7),
        creates: Limit::Percent(100.0),
        min_records: 100,
    };
    assert_eq!(job.limits, limits);
}

#[test]
fn max_missing_is_as_max_leavers_unless_it_is_given() {
    let place = Place::with(&format!("{API}{JOB}[job.guard]\nmax_leavers = 40\n"));
    assert_eq!(place.load(&[]).unwrap().jobs[0].limits.missing, Limit::Count(40));
}

#[test]
fn fault_103_an_open_guard_is_accepted_with_a_warning() {
    let open = "[job.guard]\nmax_leavers = \"off\"\nmax_updates = \"100%\"\nmax_blanked = 0\nmin_records = 0\n";
    let place = Place::with(&format!("{API}{JOB}{open}"));
    let config = place.load(&[]).unwrap();
    let warnings: Vec<String> = config.warnings.iter().map(|line| bare(line, place.dir.path())).collect();
    assert_eq!(
        warnings,
        [
            "config.toml:17: job.guard.max_leavers: there is no limit; a broken source then changes everyone at once",
            "config.toml:18: job.guard.max_updates: 100% is no limit; a broken source then changes everyone at once",
            "config.toml:19: job.guard.max_blanked: no limit is below 3: so many are changed all the same; to hold every \
             change, say writes = \"approve\"",
            "config.toml:20: job.guard.min_records: an empty source makes everyone a leaver; use at least 1 unless the \
             source may be empty",
        ]
    );
    assert_eq!(config.jobs[0].limits.leavers, Limit::Off);
}

#[test]
fn what_is_unusual_is_a_warning() {
    for (line, expected) in [
        (
            "api.requests_per_minute",
            "config.toml:3: api.requests_per_minute: the service grants 100 a minute unless agreed otherwise",
        ),
        (
            "api.base_url",
            "config.toml:2: api.base_url: the address does not end in a version; it is usually the address with /v1",
        ),
        (
            "job.map.globalroaming",
            "config.toml:17: job.map.globalroaming: without globalroaming_locations, people who roam can't be updated; \
             the service does not tell where they roam; map both or neither",
        ),
        (
            "job.key",
            "config.toml:9: job.key: is the name: it changes, and who gets that of another person would be taken for them; \
             name a number that stays with its person, such as \"{{ employee_no }}\"",
        ),
    ] {
        let text = match line {
            "api.requests_per_minute" => {
                format!("{}{JOB}", API.replace("auth_url", "requests_per_minute = 101\nauth_url"))
            }
            "api.base_url" => format!("{}{JOB}", API.replace("/v1", "")),
            "job.key" => format!("{API}{JOB}").replace("{{ no }}", "{{ name }}"),
            _ => format!("{API}{JOB}globalroaming = \"{{{{ roams }}}}\"\n")
                .replace("name = \"{{ name }}\"\n", "name = \"{{ name }}\"\n\n"),
        };
        let place = Place::with(&text);
        let config = place.load(&[]).unwrap();
        let warnings: Vec<String> = config.warnings.iter().map(|line| bare(line, place.dir.path())).collect();
        assert_eq!(warnings, [expected]);
    }
}

#[test]
fn what_is_set_in_leavers_is_taken_and_what_will_stay_so_is_reported() {
    let set =
        "[job.leavers]\naction = \"update\"\n[job.leavers.set]\nname = \"{{ last.name }} (left)\"\ntitle = \"Left\"\n";
    let place = Place::with(&format!("{API}{JOB}{set}"));
    let config = place.load(&[]).unwrap();
    let job = &config.jobs[0];
    assert_eq!(job.leavers.action, LeaverAction::Update);
    assert_eq!(job.leaver_set.fields.keys().collect::<Vec<_>>(), ["name", "title"]);
    let warnings: Vec<String> = config.warnings.iter().map(|line| bare(line, place.dir.path())).collect();
    assert_eq!(
        warnings,
        [
            "config.toml:20: job.leavers.set.title: stays as it is set when a person comes back, since the job does not own \
          this field; map it in [job.map] to have it set back"
        ]
    );
}

#[test]
fn the_status_page_answers_on_this_machine_by_default() {
    let listen = |lines: &str| {
        let place = Place::with(&format!("{API}{lines}{JOB}"));
        let config = place.load(&[]).unwrap();
        let warned = config.warnings.iter().any(|line| line.contains("status.listen"));
        (config.status.listen.map(|address| address.to_string()), warned)
    };
    for (lines, address, warned) in [
        ("", Some("127.0.0.1:9464"), false),
        ("[status]\nlisten = \"\"\n", None, false),
        ("[status]\nlisten = \"[::1]:80\"\n", Some("[::1]:80"), false),
        ("[status]\nlisten = \"0.0.0.0:9464\"\n", Some("0.0.0.0:9464"), true),
    ] {
        assert_eq!(listen(lines), (address.map(str::to_owned), warned), "{lines}");
    }
    check(
        &format!("{API}[status]\nlisten = \"9464\"\n{JOB}"),
        &[],
        &["config.toml:7: status.listen: \"9464\" is no address with a port; write it like \"127.0.0.1:9464\" or \
           \"[::1]:9464\"; \"\" turns the page off"],
    );
}

#[test]
fn a_source_and_the_state_have_folders_of_their_own() {
    for (state, inbox, is_refused) in [
        ("in", "in", true),
        ("in/state", "in", true),
        ("state", "state/in", true),
        ("in", "inbox", false),
        ("a/b", "a/c", false),
    ] {
        let place = Place::with("");
        for folder in [state, inbox] {
            std::fs::create_dir_all(place.dir.path().join(folder)).unwrap();
        }
        let source = JOB.replace("path = \"hr.csv\"", &format!("path = \"{inbox}\""));
        assert!(source.contains(inbox), "{source}");
        place.file("config.toml", &format!("{API}[state]\ndir = \"{state}\"\n{source}"), 0o600);
        let found = place.load(&[]).err().unwrap_or_default();
        let is_said = found.len() == 1 && found[0].contains("source.path") && found[0].contains("own folder");
        assert_eq!((found.is_empty(), is_said), (!is_refused, is_refused), "{state}, {inbox}: {found:?}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn certificates_for_a_database_are_looked_for_also_where_it_is_on_this_machine() {
    let state = "[state]\nurl = \"postgresql://rosterd@localhost/rosterd\"\nca_file = \"none.pem\"\n";
    let found = Place::with(&format!("{API}{state}{JOB}")).load(&[]).unwrap_err();
    assert!(found.len() == 1 && found[0].starts_with("config.toml:8: state.ca_file: there is no file "), "{found:?}");
}

#[test]
fn receivers_of_notices_are_checked_and_their_addresses_are_shown_nowhere() {
    let whole = "[notify]\nwebhook = \"https://chat.example.com/hook/canary1\"\nheartbeat = \"http://127.0.0.1:1/canary2?x=1\"\n\
                 mail = { to = \"it@example.com\", from = \"Rosterd <r@example.com>\", smtp = \"smtp://mail.example.com\", \
                 user = \"me\", password = \"canary3\" }\n";
    let config = Place::with(&format!("{API}{whole}{JOB}")).load(&[]).unwrap();
    assert!(!format!("{config:?}").contains("canary"), "{config:?}");
    let mail = config.notify.mail.unwrap();
    assert_eq!((mail.relay.port, mail.relay.protection), (587, Protection::StartTls));
    assert_eq!(config.notify.webhook.unwrap().origin, "https://chat.example.com");
    let off = "[notify]\nwebhook = \"\"\nheartbeat = \"\"\nmail = {}\n";
    assert!(Place::with(&format!("{API}{off}{JOB}")).load(&[]).unwrap().notify.is_off());
    let hook =
        "is no https address; write it like https://chat.example.com/hook; plain http is for this machine itself only";
    let relay = "write it like smtps://mail.example.com, or smtp://mail.example.com for STARTTLS";
    let address = "write it like it@example.com";
    for (line, expected) in [
        ("webhook = \"http://chat.example.com/canary\"", format!("notify.webhook: {hook}")),
        ("heartbeat = \"canary\"", format!("notify.heartbeat: {hook}")),
        ("mail.to = \"it\"", format!("notify.mail.to: \"it\" is no mail address; {address}")),
        ("mail.smtp = \"https://x\"", format!("notify.mail.smtp: is no address of a mail server; {relay}")),
        (
            "mail.smtp = \"smtp://a:canary@x\"",
            "notify.mail.smtp: holds a name or password; write them as user and password_file".into(),
        ),
        ("mail.user = \"a\"", "notify.mail.user: there is no password for it; add password_file".into()),
        (
            "mail = { smtp = \"smtp://mail.example.com\", start_tls = false }",
            "notify.mail.start_tls: mails would go unprotected; leave it out".into(),
        ),
        (
            "mail = { smtp = \"smtps://mail.example.com\", start_tls = true }",
            "notify.mail.start_tls: smtps:// speaks TLS from the first byte; leave it out".into(),
        ),
        ("ca_file = \"none.pem\"", "notify.ca_file: there is no file ".into()),
        (
            "proxy = \"ftp://x\"",
            "notify.proxy: \"ftp://x\" is no address of a proxy; write it like http://proxy.example.com:3128".into(),
        ),
    ] {
        let place = Place::with(&format!("{API}[notify]\n{line}\n{JOB}"));
        let found = place.load(&[]).unwrap_err();
        let expected = format!("config.toml:7: {expected}");
        assert!(found.iter().any(|found| found.starts_with(&expected)), "{line}: {found:?}");
        assert!(!found.iter().any(|line| line.contains("canary")), "{found:?}");
    }
}

#[test]
fn what_is_turned_off_may_stand_there() {
    let job = JOB.replace("key =", "seed_only = []\nprotect = []\norg_key = \"\"\nkey =");
    let job = job.replace("path =", "order = \"name\"\npath =");
    Place::with(&format!("{API}[status]\nlisten = \"\"\n[notify]\n{job}[job.leavers.set]\n")).load(&[]).unwrap();
}
