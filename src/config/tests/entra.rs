//! Jobs with a tenant of Microsoft Entra ID.

use std::time::Duration;

use super::support::{API, JOB, Place};
use crate::config::Config;
use crate::source::Source;
use crate::source::entra::{Credential, Options};

const TENANT: &str = "tenant = \"example.onmicrosoft.com\"\nclient_id = \"app\"\n";
const SECRET: &str = "client_secret_file = \"word\"\n";
const CERTIFICATE: &str = "certificate_file = \"cert.pem\"\nkey_file = \"key.pem\"\n";

fn text(lines: &str) -> String {
    let source = format!("type = \"entra\"\n{lines}");
    format!("{API}{}", JOB.replace("type = \"csv\"\npath = \"hr.csv\"\n", &source).replace("key = \"{{ no }}\"\n", ""))
}

fn place(lines: &str) -> Place {
    let place = Place::with(&text(lines));
    for name in ["word", "cert.pem", "key.pem"] {
        place.file(name, "hunter2\n", 0o600);
    }
    place.file("open.pem", "hunter2\n", 0o644);
    place
}

fn options(config: Config) -> Options {
    let Source::Entra(options) = config.jobs[0].source.clone() else { panic!("the job reads a tenant") };
    *options
}

#[test]
fn a_tenant_has_defaults_and_is_shown_without_its_secret() {
    let config = place(&format!("{TENANT}client_secret = \"hunter2\"\n")).load(&[]).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(config.jobs[0].mapping.key, "{{ id }}");
    let options = options(config);
    assert_eq!((options.timeout, options.filter.as_deref()), (Duration::from_secs(1800), None));
    assert_eq!(options.graph.to_string(), "https://graph.microsoft.com/v1.0");
    assert_eq!(options.login.to_string(), "https://login.microsoftonline.com/");
    assert!(options.groups.is_empty() && options.select.is_empty() && options.ca_file.is_none());
}

#[test]
fn an_app_proves_itself_by_a_secret_or_by_a_certificate() {
    for (lines, is_secret) in [(SECRET, true), (CERTIFICATE, false)] {
        let options = options(place(&format!("{TENANT}{lines}")).load(&[]).unwrap());
        assert_eq!(matches!(options.credential, Credential::Secret(_)), is_secret, "{lines}");
    }
    let place = place(TENANT);
    place.file("employees.oauth_secret", "hunter2\n", 0o440);
    let dir = place.dir.path().to_str().unwrap().to_owned();
    assert!(place.load(&[("CREDENTIALS_DIRECTORY", &dir)]).is_ok());
}

#[test]
fn what_is_wrong_with_a_tenant_is_named() {
    let with = |lines: &str| format!("{TENANT}{SECRET}{lines}");
    for (lines, expected) in [
        (format!("client_id = \"app\"\n{SECRET}"), "tenant: is missing"),
        (format!("tenant = \"../x\"\nclient_id = \"app\"\n{SECRET}"), "tenant: \"../x\" is no tenant"),
        (format!("tenant = \"a/b\"\nclient_id = \"app\"\n{SECRET}"), "tenant: \"a/b\" is no tenant"),
        (format!("tenant = \"common\"\nclient_id = \"app\"\n{SECRET}"), "tenant: \"common\" is no tenant"),
        (format!("tenant = \"example.com\"\n{SECRET}"), "client_id: is missing"),
        (TENANT.to_owned(), "client_secret_file: is missing"),
        (with(CERTIFICATE), "certificate_file: two kinds of credential are given"),
        (with("key_file = \"key.pem\"\n"), "key_file: two kinds of credential are given"),
        (format!("{TENANT}certificate_file = \"cert.pem\"\n"), "key_file: is missing"),
        (format!("{TENANT}key_file = \"key.pem\"\n"), "certificate_file: is missing"),
        (
            format!("{TENANT}certificate_file = \"none.pem\"\nkey_file = \"key.pem\"\n"),
            "certificate_file: there is no file",
        ),
        (
            format!("{TENANT}certificate_file = \"cert.pem\"\nkey_file = \"open.pem\"\n"),
            "key_file: every user of this machine may read or change open.pem",
        ),
        (with("graph_url = \"http://graph.example.com/v1.0\"\n"), "graph_url: plain http would send the credential"),
        (with("graph_url = \"https://graph.example.com/v1.0?x=s3cret\"\n"), "graph_url: an address with ? or #"),
        (with("login_url = \"ftp://login.example.com\"\n"), "login_url: \"ftp://login.example.com\" is no https"),
        (
            with("login_url = \"https://ana:s3cret@login.example.com\"\n"),
            "login_url: a name or password in the address",
        ),
        (with("select = [\"employeeId,mail\"]\n"), "select: \"employeeId,mail\" is no name of a property"),
        (with("select = [\"photo\"]\n"), "select: \"photo\" is no property that can be selected"),
        (with("groups = [\"\"]\n"), "groups: holds an empty name"),
        (with("timeout = \"0s\"\n"), "timeout: must be more than nothing"),
        (with("ca_file = \"none.pem\"\n"), "ca_file: there is no file"),
        (with("mode = \"changes\"\n"), "mode: a tenant is always read whole"),
        (with("base = \"dc=example\"\n"), "base: goes with type = \"ldap\"; leave it out"),
        (with("path = \"hr.csv\"\n"), "path: goes with a file; leave it out"),
        (with("url = \"https://hr.example.com\"\n"), "url: goes with `url` of a file or type = \"ldap\"; leave it out"),
    ] {
        let errors = place(&lines).load(&[]).unwrap_err();
        let (line, said) = errors[0].split_once("job.source.").unwrap_or_default();
        assert!(line.starts_with("config.toml:") && said.starts_with(expected), "{lines}: {errors:?}");
        assert_eq!(errors.len(), 1, "{lines}: {errors:?}");
        assert!(!errors[0].contains("s3cret") && !errors[0].contains("hunter2"), "{errors:?}");
    }
}

#[test]
fn a_photo_of_a_tenant_is_named_as_it_is() {
    for (template, fits) in [
        ("{{ photo }}", true),
        ("{{ source[\"photo\"] }}", true),
        ("", true),
        ("{{ photo | trim }}", false),
        ("{{ photo }}x", false),
        ("{{ mail }}", false),
        ("{{ photo or mail }}", false),
    ] {
        let text = format!("{}photo = '{template}'\n", text(&format!("{TENANT}{SECRET}")));
        let place = place("");
        place.file("config.toml", &text, 0o600);
        let errors = place.load(&[]).err().unwrap_or_default();
        assert_eq!(errors.is_empty(), fits, "{template}: {errors:?}");
        let said = "map.photo: photos of a tenant are fetched by what `photo` says; write it alone, without filters";
        assert!(fits || errors[0].contains(said), "{template}: {errors:?}");
    }
}

#[test]
fn law_6_two_jobs_do_not_read_the_same_people() {
    let one = text(&format!("{TENANT}{SECRET}"));
    let (_, job) = one.split_once("[[job]]").unwrap();
    let job = job.replace("name = \"employees\"", "name = \"two\"");
    for (job, same) in [(job.clone(), true), (job.replace("type =", "groups = [\"Staff\"]\ntype ="), false)] {
        let place = place("");
        place.file("config.toml", &format!("{one}[[job]]{job}"), 0o600);
        let errors = place.load(&[]).err().unwrap_or_default();
        assert_eq!(
            errors.iter().any(|error| error.contains("job employees reads the same people")),
            same,
            "{errors:?}"
        );
    }
}
