//! 401 and 403: bad credentials, restrictions of keys, scopes, and the add-on that is not there.

use rosterd::api::{
    Answer, Api, Asset, AssetGroup, Call, Certification, Client, Credential, ErrorKind, Fate, Grant, Location, Member,
    Notification, Options as ClientOptions, Query, Question, SecretSource, Staff, StaffInput, VisitorEvent, Zone,
};
use rosterd::sandbox::{Options, Restriction, Sandbox};

use super::{refused, sandbox};
use crate::support::caller::{client, id, key_options, oauth_options, options};

async fn expect_denied<T: Answer>(client: &Client, call: Call<T>, status: u16) {
    let name = call.operation().name;
    let error = refused(client, call).await;
    assert!(matches!(error.kind, ErrorKind::Denied { code, .. } if code == status), "{name}: {:?}", error.kind);
    assert_eq!((error.fate(), error.permission(), error.code()), (Fate::Refused, true, Some(status)), "{name}");
}

/// Whether a list of each domain may be read.
async fn allowed(client: &Client) -> Vec<&'static str> {
    let mut allowed = Vec::new();
    /// Lists one resource.
    macro_rules! try_list {
        ($domain:literal, $resource:ty) => {
            match client.send(Api::<$resource>::root().list(&Query::default())).await {
                Ok(_) => allowed.push($domain),
                Err(error) => assert!(matches!(error.kind, ErrorKind::Denied { code: 403, .. }), "{:?}", error.kind),
            }
        };
    }
    try_list!("staff", Staff);
    try_list!("location", Location);
    try_list!("location", Zone);
    try_list!("contractor", Member);
    try_list!("certification", Certification);
    try_list!("visitor", VisitorEvent);
    try_list!("notification", Notification);
    try_list!("asset", Asset);
    try_list!("questionnaire", Question);
    allowed
}

#[tokio::test]
async fn a_wrong_key_is_401_in_both_its_forms() {
    let (sandbox, _) = sandbox(Options::default()).await;
    let key = |text: &str| SecretSource::Text(text.into());
    for (credential, is_good) in [
        (Credential::ApiKey(key("sandbox-key")), true),
        (Credential::ApiKeyBasic(key("sandbox-key")), true),
        (Credential::ApiKey(key("other")), false),
        (Credential::ApiKeyBasic(key("other")), false),
    ] {
        let caller = client(&ClientOptions { credential, ..key_options(&sandbox) });
        let get = Api::<Staff>::root().get(id(1001));
        if is_good {
            assert!(caller.send(get).await.unwrap().value.is_some());
        } else {
            let before = caller.requests();
            expect_denied(&caller, get, 401).await;
            assert_eq!(caller.requests(), before + 1, "a key is not tried again");
        }
    }
    let anonymous = client(&options(sandbox.url(), "x"));
    expect_denied(&anonymous, Api::<Staff>::root().create(&StaffInput::default()), 401).await;
    assert_eq!(sandbox.all("staff").len(), 9);
}

#[tokio::test]
async fn a_wrong_secret_gets_no_token_and_sends_nothing() {
    let (sandbox, _) = sandbox(Options::default()).await;
    let caller = client(&oauth_options(&sandbox, "wrong", &[]));
    let error = refused(&caller, Api::<Staff>::root().list(&Query::default())).await;
    assert!(
        matches!(&error.kind, ErrorKind::Token { again: None, problem } if problem.contains("401")),
        "{:?}",
        error.kind
    );
    assert_eq!((error.fate(), error.permission(), sandbox.requests().len()), (Fate::NotSent, true, 0));

    // A scope that the client doesn't have (specification: it must be a subset), and a token that is none.
    let caller = client(&oauth_options(&sandbox, "sandbox-secret", &[]));
    let unknown = Grant::ClientCredentials { scopes: vec!["staff:read".into(), "nothing:read".into()] };
    let invented = Grant::Refresh { refresh_token: "invented".into(), scopes: Vec::new() };
    for grant in [unknown, invented] {
        let error = caller.token(&grant).await.unwrap_err();
        assert!(
            matches!(&error.kind, ErrorKind::Token { again: None, problem } if problem.contains("400")),
            "{:?}",
            error.kind
        );
    }
}

#[tokio::test]
async fn a_restricted_key_is_forbidden_elsewhere() {
    let all = [
        "staff",
        "location",
        "location",
        "contractor",
        "certification",
        "visitor",
        "notification",
        "asset",
        "questionnaire",
    ];
    for (restriction, expected) in [
        (Restriction::Unrestricted, &all[..]),
        (Restriction::Staff, &["staff"]),
        (Restriction::Locations, &["location", "location"]),
        (Restriction::Contractors, &["contractor"]),
        (Restriction::Certifications, &["certification"]),
        (Restriction::Visitors, &["visitor"]),
        (Restriction::Notifications, &["notification"]),
    ] {
        let options = Options { api_key_restrictions: vec![restriction], rate: 0, ..Options::default() };
        let (_sandbox, caller) = sandbox(options).await;
        assert_eq!(allowed(&caller).await, expected, "{restriction}");
    }
}

#[tokio::test]
async fn a_token_without_the_scope_is_forbidden_and_renewed_only_once() {
    let (sandbox, _) = sandbox(Options { rate: 0, ..Options::default() }).await;
    let caller = client(&oauth_options(&sandbox, "sandbox-secret", &["staff:read", "visitor:read"]));
    assert_eq!(allowed(&caller).await, ["staff", "visitor"]);
    let before = sandbox.token_requests();
    let staff = Api::<Staff>::root();
    expect_denied(&caller, staff.delete(id(1001)), 403).await;
    expect_denied(&caller, staff.create(&StaffInput::default()), 403).await;
    expect_denied(&caller, staff.replace(id(1001), &StaffInput::default()), 403).await;
    assert!(sandbox.token_requests() > before, "the first refusal may be that of an old token");
    let before = sandbox.token_requests();
    expect_denied(&caller, staff.delete(id(1001)), 403).await;
    assert!(sandbox.token_requests() <= before + 1, "a refusal of a fresh token is final");
    assert_eq!(sandbox.all("staff").len(), 9, "nothing was done");
}

#[tokio::test]
async fn without_the_add_on_assets_are_forbidden() {
    let (sandbox, caller): (Sandbox, Client) = sandbox(Options { assets: false, ..Options::default() }).await;
    expect_denied(&caller, Api::<Asset>::root().list(&Query::default()), 403).await;
    expect_denied(&caller, Api::<Asset>::root().get(id(4001)), 403).await;
    expect_denied(&caller, Api::<Asset>::root().take_back(id(4001)), 403).await;
    expect_denied(&caller, Api::<AssetGroup>::root().list(&Query::default()), 403).await;
    expect_denied(&caller, Api::<AssetGroup>::root().delete(id(4901)), 403).await;
    assert!(!sandbox.all("assetgroup").is_empty());
}
