//! A token for the download, by the client's own right.

use secrecy::{ExposeSecret as _, SecretString};

use super::error::HttpsErrorKind;
use super::options::TokenClient;
use crate::fault::chain;

/// Asks for a token.
pub(super) async fn issued(
    http: &reqwest::Client,
    client: &TokenClient,
    secret: &SecretString,
) -> Result<SecretString, HttpsErrorKind> {
    let problem = |problem: String| HttpsErrorKind::Token(format!("{}: {problem}", client.token_url));
    let mut form = vec![("grant_type", "client_credentials".to_owned())];
    if !client.scopes.is_empty() {
        form.push(("scope", client.scopes.join(" ")));
    }
    let request = http.post(client.token_url.url().clone()).basic_auth(&client.client_id, Some(secret.expose_secret()));
    let answer = request.form(&form).send().await;
    let answer = answer.map_err(|error| problem(format!("it can't be reached: {}", chain(&error.without_url()))))?;
    let status = answer.status().as_u16();
    if status != 200 {
        return Err(problem(format!("it answered {status}; check oauth: client_id, its secret and its scopes")));
    }
    let value: serde_json::Value = answer.json().await.map_err(|_| problem("its answer is not JSON".to_owned()))?;
    let token = value.get("access_token").and_then(serde_json::Value::as_str).filter(|token| !token.is_empty());
    token.map(SecretString::from).ok_or_else(|| problem("its answer holds no access_token".to_owned()))
}
