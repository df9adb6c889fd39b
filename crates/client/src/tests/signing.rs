//! Credentials: keys, tokens, renewal, refusal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{Reply, Seen, Server, client, json};
use crate::{Api, Call, Credential, Options, Query, Retry, SecretSource, Staff};

fn list() -> Call<Vec<Staff>> {
    Api::<Staff>::root().list(&Query::default())
}

fn secret() -> SecretSource {
    SecretSource::Text("s3cret-canary".into())
}

/// Gives out `token-1`, `token-2` and so on.
fn token(count: &AtomicUsize) -> Reply {
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    json(200, &format!(r#"{{"access_token":"token-{number}","token_type":"Bearer","expires_in":"3600"}}"#))
}

/// A service that accepts what `accepts` says of the `Authorization` header.
async fn oauth(accepts: impl Fn(&str) -> bool + Send + Sync + 'static) -> Server {
    let count = AtomicUsize::new(0);
    Server::start(move |seen, _| match seen.line.as_str() {
        "POST /oauth2/token" => token(&count),
        _ if accepts(seen.header("authorization").unwrap_or_default()) => json(200, "[]"),
        _ => json(403, r#"{"error":"access denied"}"#),
    })
    .await
}

#[tokio::test]
async fn keys_are_sent_in_either_form() {
    let server = Server::start(|_, _| json(200, "[]")).await;
    let key = || SecretSource::Text("k3y".into());
    let check = async |credential: Credential, expected: &str| {
        client(&Options { credential, ..server.options() }).send(list()).await.unwrap();
        assert_eq!(server.seen().last().unwrap().header("authorization"), Some(expected));
    };
    check(Credential::ApiKey(key()), "APIKEY k3y").await;
    check(Credential::ApiKeyBasic(key()), "Basic azN5Og==").await;
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again() {
    let server = Server::start(|_, _| json(401, r#"{"error":"who are you?"}"#)).await;
    let error = server.client().send(list()).await.unwrap_err();
    assert!(error.permission() && error.retry() == Retry::Never("the credential lacks the permission"));
    assert_eq!((error.operation, server.calls().len()), ("staff.list", 1));
}

#[tokio::test]
async fn many_requests_share_one_token_request() {
    let server = oauth(|header| header == "Bearer token-1").await;
    let client = client(&server.oauth(secret()));
    let sends = (0..5).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.send(list()).await.map(drop) })
    });
    for send in sends.collect::<Vec<_>>() {
        send.await.unwrap().unwrap();
    }
    assert_eq!((server.tokens(), client.requests(), client.budget().used), (1, 5, 5));
    let request: Seen = server.seen().into_iter().find(|seen| seen.line == "POST /oauth2/token").unwrap();
    assert_eq!(request.header("authorization"), Some("Basic cm9zdGVyZDpzM2NyZXQtY2FuYXJ5"));
    assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(request.body, "grant_type=client_credentials&scope=staff%3Aread+staff%3Awrite");
}

#[tokio::test]
async fn fault_34_a_refused_token_is_renewed_once() {
    let server = oauth(|header| header == "Bearer token-2").await;
    let client = client(&server.oauth(secret()));
    client.send(list()).await.unwrap();
    assert_eq!((server.tokens(), server.calls().len()), (2, 2));
}

#[tokio::test]
async fn a_token_that_many_requests_lose_is_renewed_once() {
    let server = oauth(|header| header == "Bearer token-2").await;
    let client = client(&server.oauth(secret()));
    let sends = (0..40).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.send(list()).await.map(drop) })
    });
    for send in sends.collect::<Vec<_>>() {
        send.await.unwrap().unwrap();
    }
    assert_eq!(server.tokens(), 2);
}

#[tokio::test]
async fn fault_34_a_lasting_refusal_makes_no_storm() {
    let server = oauth(|_| false).await;
    let client = client(&server.oauth(secret()));
    for _ in 0..5 {
        let error = client.send(list()).await.unwrap_err();
        assert!(error.permission() && error.words() == Some("access denied"), "{error:?}");
    }
    assert_eq!((server.tokens(), server.calls().len()), (2, 6));
}

#[tokio::test]
async fn a_rotated_secret_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "old\n").unwrap();
    let rotated = Arc::new(AtomicUsize::new(0));
    let seen_rotated = rotated.clone();
    let server = Server::start(move |seen, _| {
        let now = seen_rotated.load(Ordering::SeqCst);
        let (basic, bearer) = [("Basic cm9zdGVyZDpvbGQ=", "Bearer a"), ("Basic cm9zdGVyZDpuZXc=", "Bearer b")][now];
        match (seen.line.as_str(), seen.header("authorization").unwrap_or_default()) {
            ("POST /oauth2/token", header) if header == basic => {
                json(200, &format!(r#"{{"access_token":"{}"}}"#, &bearer[7..]))
            }
            ("POST /oauth2/token", _) => json(401, r#"{"error":"invalid_client"}"#),
            (_, header) if header == bearer => json(200, "[]"),
            _ => json(401, ""),
        }
    })
    .await;
    let client = client(&server.oauth(SecretSource::File(path.clone())));
    client.send(list()).await.unwrap();
    std::fs::write(&path, "new\n").unwrap();
    rotated.store(1, Ordering::SeqCst);
    client.send(list()).await.unwrap();
    assert_eq!(server.tokens(), 2);
}

#[tokio::test]
async fn a_refused_client_is_not_hammered_until_its_secret_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "wrong").unwrap();
    let server = Server::start(|_, _| json(401, r#"{"error":"invalid_client"}"#)).await;
    let client = client(&server.oauth(SecretSource::File(path.clone())));
    for _ in 0..3 {
        let error = client.send(list()).await.unwrap_err();
        assert!(error.permission() && error.kind.to_string().contains("invalid_client"), "{error:?}");
    }
    assert_eq!((server.tokens(), client.requests()), (1, 0));
    std::fs::write(&path, "another").unwrap();
    client.send(list()).await.unwrap_err();
    assert_eq!(server.tokens(), 2);
}

#[tokio::test]
async fn a_token_service_that_fails_for_a_while_is_asked_three_times() {
    let server = Server::start(|_, number| match number {
        0 => json(503, ""),
        1 => Reply::Bytes(Vec::new()),
        2 => json(200, r#"{"access_token":"t"}"#),
        _ => json(200, "[]"),
    })
    .await;
    client(&server.oauth(secret())).send(list()).await.unwrap();
    assert_eq!((server.tokens(), server.calls().len()), (3, 1));
}

#[tokio::test]
async fn law_11_no_secret_is_in_debug_or_errors() {
    let server = Server::start(|_, _| json(401, r#"{"error":"s3cret-canary"}"#)).await;
    let options = server.oauth(secret());
    let client = client(&options);
    let error = client.send(list()).await.unwrap_err();
    let shown = format!("{options:?} {client:?} {error:?} {error} {}", error.kind);
    assert!(!shown.contains("canary"), "{shown}");
}
