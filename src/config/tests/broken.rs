//! Broken configurations and what is said about them.

use proptest::prelude::*;

use super::support::{API, JOB, Place, check, job_with};
use crate::config::{Needs, load};

#[test]
fn fault_101_every_mistake_is_named_at_once() {
    let text = r#"[api]
base_url = "https://api.example.com/v1"
requests_per_minut = 50
timeout = 60
auth_url = "https://login.example.com"
client_id = "rosterd"
client_secret_file = "secret"
[server]
[[job]]
name = "employees"
target = "staf"
schedule = "61 * * * *"
key = "{{ no }}"
[job.source]
type = "csv"
path = "hr.csv"
settle = "a while"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
[job.guard]
max_leaver = "2%"
max_updates = "-1%"
min_records = "1"
"#;
    check(
        text,
        &[],
        &[
            "config.toml:3: api.requests_per_minut: unknown key; did you mean requests_per_minute?",
            "config.toml:4: api.timeout: must be a text in quotes; put it in quotes",
            "config.toml:8: server: unknown key",
            "config.toml:11: job.target: \"staf\" is no target; did you mean \"staff\"?",
            "config.toml:12: job.schedule: \"61\" is not right for the minute; write five fields as in crontab: minute hour \
             day month weekday",
            "config.toml:17: job.source.settle: \"a while\" is not a duration; write it like \"90s\", \"15m\", \"24h\" or \
             \"30d\"",
            "config.toml:22: job.guard.max_leaver: unknown key; did you mean max_leavers?",
            "config.toml:23: job.guard.max_updates: \"-1%\" is negative; write a share such as \"2%\", a plain count, or \
             \"off\"",
            "config.toml:24: job.guard.min_records: must be a whole number; leave out the quotes",
        ],
    );
}

#[test]
fn fault_101_what_is_no_toml_is_named_with_its_line() {
    for (text, line) in [("[api\n", 1), ("[api]\nbase_url = x\n", 2), ("[api]\na = 1\na = 2\n", 3), ("\n\n= 3\n", 3)] {
        let errors = Place::with(text).load(&[]).unwrap_err();
        assert!(errors[0].starts_with(&format!("config.toml:{line}: ")), "{errors:?}");
    }
    let errors = Place::with("[api]\nbase_url = 1\nbase_url = 2\n").load(&[]).unwrap_err();
    assert!(errors[0].starts_with("config.toml:3: base_url: "), "{errors:?}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.toml");
    let errors = load(&path, std::iter::empty(), Needs::Jobs).unwrap_err();
    assert_eq!(errors.to_string(), format!("{}: no such file", path.display()));
}

#[test]
fn an_empty_file_says_what_is_needed() {
    check(
        "",
        &[],
        &[
            "config.toml: api.base_url: is missing; give the service's address, such as https://api.example.com/v1",
            "config.toml: api: there is no credential; give client_id, auth_url and client_secret_file, or api_key_file",
            "config.toml: job: there is no job; add one with [[job]]",
        ],
    );
}

#[test]
fn a_line_of_a_job_is_named_with_what_helps() {
    for (line, expected) in [
        ("colour = 1", "unknown key"),
        ("notify = { digest = \"0 8 * * 1\" }", "no one would get the summary; add mail_to, or leave it out"),
        ("max_leavers = 1", "unknown key; it belongs in [job.guard]"),
        ("Key = 1", "unknown key; did you mean key?"),
        (
            "schedule = \"@reboot\"",
            "\"@reboot\" is not five or six fields; write five fields as in crontab: minute hour day month weekday",
        ),
        (
            "schedule = \"0 0 31 2 *\"",
            "\"0 0 31 2 *\" never comes; write five fields as in crontab: minute hour day month weekday",
        ),
        ("time_zone = \"Pacific/Aukland\"", "\"Pacific/Aukland\" is no time zone; did you mean \"Pacific/Auckland\"?"),
        ("match_on = \"email\"", "must be a list of texts; put it in square brackets"),
        ("match_on = []", "is empty; name at least one mapped field, such as \"employee_id\""),
        ("match_on = [\"emial\"]", "\"emial\" is not mapped; did you mean email?"),
        (
            "match_on = [\"employee_id\"]",
            "\"employee_id\" is not mapped; map it in [job.map] or leave it out; mapped are: email, name",
        ),
        ("writes = \"of\"", "\"of\" is none of \"auto\", \"approve\", \"off\""),
        ("values = { AKL = \"Auckland\" }", "must be a table"),
        ("values.site = { AKL = 1 }", "must be a text in quotes; put it in quotes"),
        ("protect = [\"\"]", "holds an empty text; write keys or emails"),
        ("on_drift = \"ask\"", "\"ask\" is none of \"overwrite\", \"keep\", \"report\""),
        ("seed_only = [\"nmae\"]", "\"nmae\" is not mapped; did you mean name?"),
        (
            "prefer = \"{{ fte | nubmer }}\"",
            "there is no filter `nubmer`; did you mean `upper`? (line 1, column 10 of the template)",
        ),
        ("org_key = \"{{ org }}\"", "is of no use here; only contractors have an organization each"),
    ] {
        let errors = Place::with(&job_with(line)).load(&[]).unwrap_err();
        assert_eq!(errors.len(), 1, "{line}: {errors:?}");
        let (_, said) = errors[0].strip_prefix("config.toml:8: job.").unwrap().split_once(": ").unwrap();
        assert_eq!(said, expected, "{line}");
    }
}

#[test]
fn a_changed_line_is_named_with_what_helps() {
    for (from, to, expected) in [
        (
            "name = \"employees\"",
            "name = \"a b\"",
            "config.toml:7: job.name: \"a b\" is no name for a job; use 1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit",
        ),
        (
            "name = \"employees\"\n",
            "",
            "config.toml:6: job.name: is missing; every job needs a name of its own, such as \"employees\"",
        ),
        ("target = \"staff\"\n", "", "config.toml:6: job.target: is missing; say target = \"staff\""),
        (
            "\"staff\"",
            "\"contractors\"",
            "config.toml:8: job.target: \"contractors\" is no target; did you mean \"contractor\"?",
        ),
        (
            "key = \"{{ no }}\"\n",
            "",
            "config.toml:6: job.key: is missing; name the column that identifies a person for ever, such as \"{{ employee_no }}\"",
        ),
        (
            "\"{{ no }}\"",
            "\"no\"",
            "config.toml:9: job.key: is the same text for every row; name the column that identifies a person for ever, such as \"{{ employee_no }}\"",
        ),
        (
            "name = \"{{ name }}\"",
            "name = \"{ first } { last }\"",
            "config.toml:14: job.map.name: is the same text for every row, so all people would have the same name; a column stands in two braces, such as \"{{ name }}\"",
        ),
        (
            "type = \"csv\"\n",
            "",
            "config.toml:10: job.source.type: is missing; say type = \"csv\", \"ldap\" or \"entra\"",
        ),
        (
            "\"csv\"",
            "\"excel\"",
            "config.toml:11: job.source.type: \"excel\" is no kind of source; a workbook or an inbox is named by `path`, with type = \"csv\"",
        ),
        (
            "path =",
            "base = \"dc=x\"\npath =",
            "config.toml:12: job.source.base: goes with type = \"ldap\"; leave it out",
        ),
        (
            "path = \"hr.csv\"\n",
            "",
            "config.toml:10: job.source.path: is missing; name the file that holds the people, or the folder it is dropped into",
        ),
        (
            "\"hr.csv\"",
            "\"inbox/\"\norder = \"date\"",
            "config.toml:13: job.source.order: \"date\" is none of \"name\", \"modified\"",
        ),
        (
            "\"hr.csv\"",
            "\".\"\npattern = \"[a-z].csv\"",
            "config.toml:13: job.source.pattern: knows only `*` and `?`; write it like \"staff-*.csv\"",
        ),
        (
            "\"hr.csv\"",
            "\"hr.csv\"\nexpect_every = \"0s\"",
            "config.toml:13: job.source.expect_every: must be more than nothing; write it like \"90s\", \"15m\", \"24h\" or \
             \"30d\"",
        ),
        (
            "hr.csv",
            "https://me:word@hr.example.com/staff",
            "config.toml:12: job.source.path: is an address; name a file of a web server by `url`",
        ),
        (
            "hr.csv",
            "file:///srv/hr/staff",
            "config.toml:12: job.source.path: is an address; write only the path, from its third / on",
        ),
        (
            "hr.csv",
            "smb://files/hr",
            "config.toml:12: job.source.path: is an address; mount it, and write the path where it is mounted",
        ),
        (
            "\"hr.csv\"",
            "'\\\\files\\hr'",
            "config.toml:12: job.source.path: is a path of Windows; mount it, and write the path where it is mounted",
        ),
        (
            "\"hr.csv\"",
            "'D:\\hr\\staff'",
            "config.toml:12: job.source.path: is a path of Windows; mount it, and write the path where it is mounted",
        ),
        (
            "hr.csv",
            "~/hr",
            "config.toml:12: job.source.path: begins with ~, and the daemon has no home; write the whole path, from / on",
        ),
        (
            "hr.csv",
            "hr/*.csv",
            "config.toml:12: job.source.path: is a pattern; name the folder here, and the files in it by `pattern`",
        ),
        (
            "path =",
            "encoding = \"uft-8\"\npath =",
            "config.toml:12: job.source.encoding: \"uft-8\" is no encoding; did you mean \"utf-8\"?",
        ),
        (
            "path =",
            "delimiter = \"comma\"\npath =",
            "config.toml:12: job.source.delimiter: \"comma\" is none of \"auto\", \",\", \";\", \"tab\", \"|\"",
        ),
        ("path =", "header = 0\npath =", "config.toml:12: job.source.header: 0 is not between 1 and 1000000"),
        (
            "path =",
            "size_max = 512\npath =",
            "config.toml:12: job.source.size_max: must be a text in quotes; put it in quotes",
        ),
        (
            "name = \"{{ name }}\"\n",
            "",
            "config.toml:13: job.map.name: is missing, and staff can't be created without it; add it to [job.map]",
        ),
        (
            "email = ",
            "emial = \"\"\nemail = ",
            "config.toml:15: job.map.emial: staff has no such field; did you mean email?",
        ),
        (
            "email = ",
            "locker = \"\"\nemail = ",
            "config.toml:15: job.map.locker: staff has no such field; for a custom field, write \"cf.locker\"",
        ),
        (
            "email = ",
            "onsite_status = \"\"\nemail = ",
            "config.toml:15: job.map.onsite_status: a person's presence is never changed by a sync; leave it out",
        ),
        (
            "email = ",
            "cf.Locker = \"\"\nemail = ",
            "config.toml:15: job.map.cf: must be a text in quotes; a name with a dot needs quotes: \"cf.Locker\" = \"…\"",
        ),
        (
            "email = ",
            "phone = ",
            "config.toml:6: job.match_on: nothing to find people by at the service; map employee_id or email, or name other mapped fields in match_on",
        ),
        ("[[job]]", "[job]", "config.toml:6: job: must be a list of tables; write it with two brackets: [[job]]"),
        (
            "[job.map]",
            "[job.leavers]\naction = \"update\"\n[job.map]",
            "config.toml:14: job.leavers.action: \"update\" sets nothing without [job.leavers.set]; name the fields to set in \
             [job.leavers.set], such as title = \"Left {{ left }}\"",
        ),
        (
            "[job.map]",
            "[job.leavers]\naction = \"update\"\nset.tilte = \"left\"\n[job.map]",
            "config.toml:15: job.leavers.set.tilte: staff has no such field; did you mean title?",
        ),
        (
            "[job.map]",
            "[job.guard]\nmax_leavers = \"101%\"\n[job.map]",
            "config.toml:14: job.guard.max_leavers: \"101%\" is above 100%; write a share such as \"2%\", a plain count, or \"off\"",
        ),
        (
            "https://api",
            "http://api",
            "config.toml:2: api.base_url: plain http would send the credential unprotected; use https",
        ),
        (
            "[[job]]",
            "[retention]\nprocessed = \"long\"\n[[job]]",
            "config.toml:7: retention.processed: \"long\" is not a duration; write it like \"90s\", \"15m\", \"24h\" or \"30d\"",
        ),
        (
            "[[job]]",
            "[state]\nfull_pull = \"0s\"\n[[job]]",
            "config.toml:7: state.full_pull: must be more than nothing; write it like \"90s\", \"15m\", \"24h\" or \"30d\"",
        ),
    ] {
        let text = format!("{API}{JOB}").replacen(from, to, 1);
        assert_ne!(text, format!("{API}{JOB}"), "{from} is not there");
        check(&text, &[], &[expected]);
    }
}

#[test]
fn fault_102_two_jobs_have_two_names_and_two_files() {
    let second = JOB.replace("hr.csv", "./hr.csv");
    check(
        &format!("{API}{JOB}{second}"),
        &[],
        &[
            "config.toml:17: job.name: another job is called employees already; give it its own name",
            "config.toml:22: job.source.path: job employees reads this file for the same target; merge the two jobs",
        ],
    );
}

#[test]
fn a_bad_template_is_named_where_it_stands() {
    let bad = JOB.replace("{{ email }}", "{{ email | lowre }}");
    let errors = Place::with(&format!("{API}{bad}")).load(&[]).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("config.toml:15: job.map.email: "), "{errors:?}");
    assert!(errors[0].contains("lower"), "the nearest filter is named: {errors:?}");
}

#[test]
fn templates_are_compiled_beside_other_mistakes() {
    let bad = JOB.replace("{{ email }}", "{{ email | lowre }}").replace("key = \"{{ no }}\"\n", "");
    let errors = Place::with(&format!("{API}{bad}emial = \"\"\n")).load(&[]).unwrap_err();
    let keys: Vec<&str> = errors.iter().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(keys, ["job.key", "job.map.email", "job.map.emial"]);
}

#[test]
fn a_template_without_its_quotes_gets_a_hint() {
    for slip in ["{{ email }}", "\"{{ site | lookup(\"site\") }}\""] {
        let errors = Place::with(&format!("{API}{}", JOB.replace("\"{{ email }}\"", slip))).load(&[]).unwrap_err();
        assert!(errors[0].starts_with("config.toml:15: ") && errors[0].contains("double quotes"), "{errors:?}");
    }
}

#[test]
fn a_message_stays_on_one_line() {
    let errors = Place::with(&format!("{API}\"a\\nb\\u001b\" = 1\n{JOB}")).load(&[]).unwrap_err();
    assert_eq!(errors, ["config.toml:6: api.a\\nb\\u{1b}: unknown key"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_file_gives_lines_that_exist(at in 0_usize..300, length in 0_usize..20, put in "[\\PC\n\"\\[\\]=.]{0,5}") {
        let mut text = format!("{API}{JOB}");
        let (from, to) = (at.min(text.len()), (at + length).min(text.len()));
        text.replace_range(from..to, &put);
        let place = Place::with(&text);
        if let Err(errors) = load(&place.dir.path().join("config.toml"), std::iter::empty(), Needs::Jobs) {
            prop_assert!(!errors.problems.is_empty());
            let lines = text.split('\n').count();
            for problem in &errors.problems {
                prop_assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{}", problem);
            }
        }
    }
}
