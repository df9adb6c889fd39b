//! The two grants (specification, OAuth 2.0 client credentials).

use std::time::Duration;

use rosterd::api::{Api, Grant, Query, Zone};
use secrecy::ExposeSecret as _;

use super::bench::Bench;
use crate::support::caller::{client, oauth_options};

pub(super) async fn calls(bench: &mut Bench) {
    let oauth = client(&oauth_options(&bench.sandbox, "sandbox-secret", &["location:read"]));
    let scopes = vec!["staff:read".to_owned(), "visitor:read".to_owned()];
    let first = oauth.token(&Grant::ClientCredentials { scopes: scopes.clone() }).await.unwrap();
    assert_eq!(
        (first.token_type.as_deref(), first.life, &first.scopes),
        (Some("Bearer"), Duration::from_secs(3600), &scopes)
    );
    bench.note("oauth2.token-client-credentials");

    let refresh_token = first.refresh_token.unwrap();
    let second = oauth.token(&Grant::Refresh { refresh_token, scopes: Vec::new() }).await.unwrap();
    assert_eq!((second.life, &second.scopes), (Duration::from_secs(3600), &scopes));
    assert_ne!(first.access_token.expose_secret(), second.access_token.expose_secret());
    bench.note("oauth2.token-refresh");
    assert_eq!(bench.sandbox.token_requests(), 2);

    // A token of its own signs what the client sends.
    bench.client = oauth;
    bench.row("zone.list GET /zone?time_zone=UTC 200", Api::<Zone>::root().list(&Query::default())).await;
    assert_eq!(bench.sandbox.token_requests(), 3);
    bench.client = client(&crate::support::caller::key_options(&bench.sandbox));
}
