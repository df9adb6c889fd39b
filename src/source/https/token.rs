//! A token for the download.

use secrecy::SecretString;

use super::error::HttpsErrorKind;
use super::options::TokenClient;
use crate::source::client_token::{self, ClientProof, TokenFault, TokenRequest};

/// Asks for a token.
pub(super) async fn issued(
    http: &reqwest::Client,
    client: &TokenClient,
    secret: &SecretString,
) -> Result<SecretString, HttpsErrorKind> {
    let asked = TokenRequest {
        url: &client.token_url,
        client_id: &client.client_id,
        proof: ClientProof::Basic(secret),
        scopes: &client.scopes,
    };
    client_token::issued(http, &asked).await.map_err(|fault| {
        let problem = match fault {
            TokenFault::Unreachable(reason) => format!("it can't be reached: {reason}"),
            TokenFault::Refused { status, .. } => {
                format!("it answered {status}; check oauth: client_id, its secret and its scopes")
            }
            TokenFault::None(reason) => reason.to_owned(),
        };
        HttpsErrorKind::Token(format!("{}: {problem}", client.token_url))
    })
}
