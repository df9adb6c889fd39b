//! What is right and wrong in `[approvals]`.

use super::support::{API, JOB, Place, check};
use crate::config::{Approvals, Login, Provider};

const OIDC: &str = "[approvals]\nurl = \"https://roster.example.com\"\noidc = { issuer = \"https://login.example.com\", client_id = \
                    \"rosterd\", client_secret_file = \"secret\" }\n";
const PROXY: &str = "[approvals]\nurl = \"https://roster.example.com\"\nsocket = \"/run/x.sock\"\nproxy_user = \"www-data\"\nuser_header = \
                     \"X-Remote-User\"\n";
const RULE: &str = "[[approvals.allow]]\ngroup = \"hr\"\njobs = [\"employees\"]\nmay = [\"see\"]\n";

#[test]
fn a_provider_or_a_proxy_and_a_rule_are_enough() {
    let place = Place::with(&format!("{API}{OIDC}{RULE}{JOB}"));
    let approvals = place.load(&[]).unwrap().approvals.unwrap();
    let Login::Provider(provider) = &approvals.login else { panic!("{approvals:?}") };
    assert_eq!((approvals.fresh_login_leavers, approvals.people), (Approvals::FRESH_LOGIN_LEAVERS, 1));
    assert_eq!(provider.listen, Approvals::LISTEN);
    assert_eq!((provider.user_claim.as_str(), provider.groups_claim.as_str()), ("email", "groups"));
    assert_eq!(provider.scopes, Provider::SCOPES);
    assert_eq!(approvals.callback(), "https://roster.example.com/callback");
    assert!(!format!("{approvals:?}").contains("sesame"));
    let place = Place::with(&format!("{API}{PROXY}{RULE}{JOB}"));
    assert!(matches!(place.load(&[]).unwrap().approvals.unwrap().login, Login::Proxy(_)));
    assert!(Place::with(&format!("{API}[approvals]\n[approvals.oidc]\n{JOB}")).load(&[]).unwrap().approvals.is_none());
}

#[test]
fn what_is_wrong_is_named_with_its_key() {
    let provider = |from: &str, to: &str| format!("{API}{}{RULE}{JOB}", OIDC.replace(from, to));
    let proxy = |from: &str, to: &str| format!("{API}{}{RULE}{JOB}", PROXY.replace(from, to));
    let rule = |from: &str, to: &str| format!("{API}{OIDC}{}{JOB}", RULE.replace(from, to));
    for (text, expected) in [
        (provider("https://roster", "http://roster"), "approvals.url: plain http"),
        (provider("roster.example.com", "example.com/roster"), "approvals.url: has a path"),
        (provider("url = \"https://roster.example.com\"\n", ""), "approvals.url: is missing"),
        (provider("[approvals]", "[approvals]\nlisten = \"0.0.0.0:9465\""), "approvals.listen: can be reached"),
        (
            provider("[approvals]", "[approvals]\nlisten = \"127.0.0.1:9464\""),
            "approvals.listen: is the address of the status page",
        ),
        (provider("https://login", "http://login"), "approvals.oidc.issuer: plain http"),
        (provider("client_id = \"rosterd\", ", ""), "approvals.oidc.client_id: is missing"),
        (
            provider(", client_secret_file = \"secret\"", ""),
            "approvals.oidc.client_secret_file: the client's secret is missing",
        ),
        (provider("[approvals]", "[approvals]\npeople = 3"), "approvals.people: 3 is not between 1 and 2"),
        (provider("[approvals]", "[approvals]\nsocket = \"x.sock\""), "approvals.socket: goes with a proxy"),
        (proxy("proxy_user = \"www-data\"\n", ""), "approvals.proxy_user: is missing"),
        (proxy("user_header = \"X-Remote-User\"\n", ""), "approvals.user_header: is missing"),
        (proxy("X-Remote-User", "X Remote User"), "approvals.user_header: is no name of a header"),
        (
            proxy("[approvals]", "[approvals]\nfresh_login_leavers = 5"),
            "approvals.fresh_login_leavers: a proxy does not say",
        ),
        (rule("group = \"hr\"\n", ""), "names neither group nor user"),
        (rule("group = \"hr\"\n", "group = \"hr\"\nuser = \"ana\"\n"), "approvals.allow.user: stands beside group"),
        (rule("employees", "employes"), "approvals.allow.jobs: there is no job \"employes\""),
        (rule("[\"employees\"]", "[]"), "approvals.allow.jobs: names no job"),
        (rule("\"see\"", "\"sea\""), "approvals.allow.may: \"sea\" is none of see, approve, reject, pause"),
        (rule("[\"see\"]", "[]"), "approvals.allow.may: allows nothing"),
        (rule("[[approvals.allow]]", "[approvals.allow]"), "approvals.allow: must be a list of tables"),
        (rule("may =", "might ="), "approvals.allow.might: unknown key"),
        (format!("{API}{OIDC}{JOB}"), "approvals.allow: no one may do anything"),
        (
            format!("{API}[approvals]\nurl = \"https://roster.example.com\"\n{RULE}{JOB}"),
            "approvals.oidc: there is no way to log in",
        ),
    ] {
        let found = Place::with(&text).load(&[]).expect_err(expected);
        assert!(found.iter().any(|line| line.contains(expected)), "{expected}: {found:?}");
    }
    check(&rule("employees", "*"), &[], &[]);
}
