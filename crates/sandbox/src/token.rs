//! The token endpoint (specification, Authentication; its errors are those of RFC 6749, 5.2).

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::answer::Answer;
use crate::credential::Credentials;
use crate::decode;

/// Answers a token request.
pub(crate) fn answer(credentials: &Credentials, headers: &HeaderMap, body: &[u8]) -> Answer {
    let answer = match form(headers, body) {
        Some(form) => granted(credentials, headers, &form).unwrap_or_else(|refused| refused),
        None => refusal(StatusCode::BAD_REQUEST, "invalid_request", "the body is no form"),
    };
    answer.with("cache-control", "no-store".to_owned())
}

/// The name of the operation that a token request means.
pub(crate) fn operation(headers: &HeaderMap, body: &[u8]) -> &'static str {
    match form(headers, body).as_deref().and_then(|form| value(form, "grant_type")) {
        Some("refresh_token") => "oauth2.token-refresh",
        _ => "oauth2.token-client-credentials",
    }
}

type Form = [(String, String)];

fn granted(credentials: &Credentials, headers: &HeaderMap, form: &Form) -> Result<Answer, Answer> {
    let bad = |code, message| Err(refusal(StatusCode::BAD_REQUEST, code, message));
    let Some(client) = credentials.client(headers) else {
        let message = "the client authenticates with HTTP Basic, its id and its secret";
        return Err(refusal(StatusCode::UNAUTHORIZED, "invalid_client", message)
            .with("www-authenticate", "Basic realm=\"token\"".to_owned()));
    };
    if value(form, "client_secret").is_some() {
        return bad("invalid_request", "the secret belongs into the Basic header alone");
    }
    let wanted: Option<Vec<String>> =
        value(form, "scope").map(|text| text.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect());
    let within = |had: &[String]| wanted.iter().flatten().all(|scope| had.contains(scope));
    match value(form, "grant_type") {
        Some("client_credentials") => {
            if !within(&client.scopes) {
                return bad("invalid_scope", "the client doesn't have all of these scopes");
            }
            let scopes = wanted.map_or_else(|| Arc::clone(&client.scopes), Into::into);
            let grant = credentials.grant(&client, scopes);
            Ok(token(credentials, &grant.access, &grant.refresh, &grant.scopes))
        }
        Some("refresh_token") => {
            let Some(refresh) = value(form, "refresh_token") else {
                return bad("invalid_request", "refresh_token is missing");
            };
            let Some(scopes) = credentials.refreshable(&client, refresh) else {
                return bad("invalid_grant", "the refresh token is unknown or void");
            };
            if !within(&scopes) {
                return bad("invalid_scope", "the refresh token doesn't have all of these scopes");
            }
            let scopes = wanted.map_or(scopes, Into::into);
            Ok(token(credentials, &credentials.issue(&client, &scopes), refresh, &scopes))
        }
        Some(_) => bad("unsupported_grant_type", "give client_credentials or refresh_token"),
        None => bad("invalid_request", "grant_type is missing"),
    }
}

fn token(credentials: &Credentials, access: &str, refresh: &str, scopes: &[String]) -> Answer {
    let body = json!({
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": credentials.lifetime.as_secs(),
        "refresh_token": refresh,
        "scope": scopes.join(" "),
    });
    Answer::document(StatusCode::OK, body.to_string().into_bytes())
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Answer {
    let body = json!({ "error": code, "error_description": message });
    Answer::document(status, body.to_string().into_bytes())
}

fn form(headers: &HeaderMap, body: &[u8]) -> Option<Vec<(String, String)>> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let is_form = kind.split(';').next()?.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded");
    if is_form { decode::pairs(std::str::from_utf8(body).ok()?) } else { None }
}

fn value<'a>(form: &'a Form, name: &str) -> Option<&'a str> {
    form.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
}
