//! Credentials, scopes and the rate limit.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::Window;

async fn token(rig: &Rig, user: &str, secret: &str, form: &[(&str, &str)]) -> (u16, Value) {
    let url = format!("{}/oauth2/token", rig.sandbox.auth_url());
    let request = rig.client.post(url).form(form);
    answer(if user.is_empty() { request } else { request.basic_auth(user, Some(secret)) }).await
}

async fn bearer(rig: &Rig, scope: &str) -> String {
    let form = [("grant_type", "client_credentials"), ("scope", scope)];
    let (status, grant) = token(rig, "sandbox-client", "sandbox-secret", &form).await;
    assert_eq!(status, 200, "{grant}");
    grant["access_token"].as_str().unwrap().to_owned()
}

async fn with_bearer(rig: &Rig, token: &str, method: &str, path: &str) -> u16 {
    answer(rig.bare(method.parse().unwrap(), path).bearer_auth(token)).await.0
}

#[tokio::test]
async fn a_key_is_taken_in_its_own_header_and_as_basic() {
    let rig = rig(Options::default()).await;
    let list = || rig.bare(Method::GET, "/staff");
    for (request, expected) in [
        (list(), 401),
        (list().header("authorization", "APIKEY sandbox-key"), 200),
        (list().header("authorization", "APIKEY wrong"), 401),
        (list().header("authorization", "Bearer sandbox-key"), 401),
        (list().header("authorization", "sandbox-key"), 401),
        (list().basic_auth("sandbox-key", Some("")), 200),
        (list().basic_auth("sandbox-key", Some("x")), 401),
        (list().basic_auth("sandbox-client", Some("sandbox-secret")), 401),
    ] {
        let (status, body) = answer(request).await;
        assert_eq!(status, expected);
        assert_eq!(body.get("error").is_some(), expected == 401, "{body}");
    }
}

#[tokio::test]
async fn a_token_request_is_answered_as_rfc_6749_says() {
    let rig = rig(Options { scopes: vec!["staff:read".into(), "staff:write".into()], ..Options::default() }).await;
    let grant = ("grant_type", "client_credentials");
    for (user, secret, form, status, error) in [
        ("sandbox-client", "sandbox-secret", &[grant][..], 200, ""),
        ("sandbox-client", "sandbox-secret", &[grant, ("scope", "staff:read")], 200, ""),
        ("sandbox-client", "sandbox-secret", &[grant, ("scope", "visitor:read")], 400, "invalid_scope"),
        ("sandbox-client", "wrong", &[grant], 401, "invalid_client"),
        ("", "", &[grant, ("client_id", "sandbox-client"), ("client_secret", "sandbox-secret")], 401, "invalid_client"),
        ("sandbox-client", "sandbox-secret", &[grant, ("client_secret", "x")], 400, "invalid_request"),
        ("sandbox-client", "sandbox-secret", &[], 400, "invalid_request"),
        ("sandbox-client", "sandbox-secret", &[("grant_type", "password")], 400, "unsupported_grant_type"),
        ("sandbox-client", "sandbox-secret", &[("grant_type", "refresh_token")], 400, "invalid_request"),
        (
            "sandbox-client",
            "sandbox-secret",
            &[("grant_type", "refresh_token"), ("refresh_token", "x")],
            400,
            "invalid_grant",
        ),
    ] {
        let (found, body) = token(&rig, user, secret, form).await;
        assert_eq!((found, body["error"].as_str().unwrap_or("")), (status, error), "{form:?}");
    }
    assert_eq!(rig.sandbox.token_requests(), 10);
    assert!(rig.sandbox.requests().is_empty());
}

#[tokio::test]
async fn a_token_has_the_scopes_asked_for_and_no_more() {
    let rig = rig(Options::default()).await;
    let reading = bearer(&rig, "staff:read").await;
    assert_eq!(with_bearer(&rig, &reading, "GET", "/staff").await, 200);
    assert_eq!(with_bearer(&rig, &reading, "HEAD", "/staff").await, 200);
    assert_eq!(with_bearer(&rig, &reading, "DELETE", "/staff/1").await, 403);
    assert_eq!(with_bearer(&rig, &reading, "GET", "/location").await, 403);
    let writing = bearer(&rig, "staff:write").await;
    assert_eq!(with_bearer(&rig, &writing, "GET", "/staff").await, 403);
    assert_eq!(with_bearer(&rig, &writing, "DELETE", "/staff/1").await, 404);
}

#[tokio::test]
async fn a_refresh_token_renews_and_a_new_secret_voids() {
    let rig = rig(Options::default()).await;
    let grant = [("grant_type", "client_credentials"), ("scope", "staff:read")];
    let (_, first) = token(&rig, "sandbox-client", "sandbox-secret", &grant).await;
    assert_eq!(
        (&first["token_type"], &first["expires_in"], &first["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("staff:read"))
    );
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", first["refresh_token"].as_str().unwrap())];
    let (status, second) = token(&rig, "sandbox-client", "sandbox-secret", &refresh).await;
    assert_eq!(status, 200);
    assert_ne!(first["access_token"], second["access_token"]);
    let second = second["access_token"].as_str().unwrap();
    assert_eq!(with_bearer(&rig, second, "GET", "/staff").await, 200);
    rig.sandbox.rotate_secret("another");
    assert_eq!(with_bearer(&rig, second, "GET", "/staff").await, 401);
    assert_eq!(token(&rig, "sandbox-client", "sandbox-secret", &refresh).await.0, 401);
    assert_eq!(token(&rig, "sandbox-client", "another", &refresh).await.0, 400);
}

#[tokio::test]
async fn a_token_that_has_expired_is_401() {
    let rig = rig(Options { token_lifetime: Duration::ZERO, ..Options::default() }).await;
    let token = bearer(&rig, "staff:read").await;
    assert_eq!(with_bearer(&rig, &token, "GET", "/staff").await, 401);
}

#[tokio::test]
async fn a_restricted_key_is_forbidden_elsewhere() {
    let rig = rig(Options { api_key_scopes: vec!["location:read".into()], ..Options::default() }).await;
    assert_eq!(rig.get("/location").await.0, 200);
    assert_eq!(rig.get("/staff").await.0, 403);
}

#[tokio::test]
async fn law_12_more_than_the_rate_is_429_with_the_seconds_to_wait() {
    for window in [Window::Sliding, Window::Fixed] {
        let rig = rig(Options { rate: 3, window, ..Options::default() }).await;
        let token = bearer(&rig, "staff:read").await;
        for expected in [200, 200, 200, 429] {
            assert_eq!(rig.get("/staff").await.0, expected);
        }
        let response = rig.request("GET", "/staff").send().await.unwrap();
        let wait: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((50..=60).contains(&wait), "{wait}");
        assert!(response.json::<Value>().await.unwrap()["error"].is_string());
        // Another credential has its own count.
        assert_eq!(with_bearer(&rig, &token, "GET", "/staff").await, 200);
        assert_eq!((rig.sandbox.refused_by_rate(), rig.sandbox.busiest_minute()), (2, 6));
        rig.sandbox.set_rate(0);
        assert_eq!(rig.get("/staff").await.0, 200);
    }
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let rig = rig(Options::default()).await;
    for (method, path, expected) in [
        ("GET", "/shoe", 404),
        ("GET", "/staff/", 404),
        ("GET", "/", 404),
        ("DELETE", "/staff", 405),
        ("DELETE", "/location", 405),
        ("GET", "/staff?time_zone=Mars/Base", 400),
        ("GET", "/staff/1?time_zone=utc", 400),
    ] {
        let (status, body) = rig.send(method, path, None).await;
        assert_eq!(status, expected, "{method} {path}");
        assert!(body["error"].is_string());
    }
    let outside = rig.client.get(rig.sandbox.auth_url()).header("accept", "application/json");
    assert_eq!(answer(outside).await.0, 404);
}

#[tokio::test]
async fn every_request_is_remembered_with_its_answer() {
    let rig = rig(Options::default()).await;
    rig.get("/staff?q=id%3E7&limit=2").await;
    rig.send("DELETE", "/staff/9", None).await;
    rig.send("POST", "/staff", Some(json!({ "name": "Ana" }))).await;
    let seen: Vec<_> = rig
        .sandbox
        .requests()
        .into_iter()
        .map(|request| (request.method, request.path, request.query, request.operation, request.status))
        .collect();
    let expected = [
        ("GET", "/staff", "q=id%3E7&limit=2", "staff.list", 200),
        ("DELETE", "/staff/9", "", "staff.delete", 404),
        ("POST", "/staff", "", "staff.create", 200),
    ]
    .map(|(method, path, query, operation, status)| {
        (method.to_owned(), path.to_owned(), query.to_owned(), operation, status)
    });
    assert_eq!(seen, expected);
    assert_eq!(rig.sandbox.writes(), 1);
}
