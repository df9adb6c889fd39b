//! Tokens that were given out. They live as long as the sandbox runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Client, ClientState};

/// How many tokens of a kind are good at a time; the oldest goes first.
const TOKENS_MAX: usize = 10_000;

/// The client that a token was given to, and which of its secrets it had then.
#[derive(Clone, PartialEq)]
pub(super) struct Owner {
    pub(super) id: String,
    rotations: u64,
}

/// All tokens.
pub(super) struct Tokens {
    /// Makes tokens of one start of the sandbox differ from those of another.
    salt: i128,
    issued: u64,
    bearers: BTreeMap<u64, Token>,
    refreshes: BTreeMap<u64, Token>,
}

struct Token {
    text: String,
    owner: Owner,
    scopes: Arc<[String]>,
    /// None: for ever.
    until: Option<Instant>,
}

impl Owner {
    pub(super) fn of(client: &Client) -> Self {
        Self { id: client.id.clone(), rotations: client.rotations }
    }

    /// Whether that client is still the one that the token was given to.
    pub(super) fn is_still(&self, client: &Client) -> bool {
        client.state == ClientState::Active && *self == Self::of(client)
    }
}

impl Tokens {
    pub(super) fn new(salt: i128) -> Self {
        Self { salt, issued: 0, bearers: BTreeMap::new(), refreshes: BTreeMap::new() }
    }

    /// Gives out a bearer token.
    pub(super) fn access(&mut self, owner: &Owner, scopes: &Arc<[String]>, lifetime: Duration) -> String {
        let token = self.next("access", owner, scopes, Instant::now().checked_add(lifetime));
        keep(&mut self.bearers, self.issued, token)
    }

    /// Gives out a refresh token.
    pub(super) fn refresh(&mut self, owner: &Owner, scopes: &Arc<[String]>) -> String {
        let token = self.next("refresh", owner, scopes, None);
        keep(&mut self.refreshes, self.issued, token)
    }

    /// Whose bearer token that is, and what it may do.
    pub(super) fn bearer(&self, text: &str) -> Option<(Owner, Arc<[String]>)> {
        let token = find(&self.bearers, text)?;
        let is_good = token.until.is_none_or(|until| Instant::now() < until);
        is_good.then(|| (token.owner.clone(), Arc::clone(&token.scopes)))
    }

    /// The scopes of a refresh token of that owner.
    pub(super) fn refreshable(&self, owner: &Owner, text: &str) -> Option<Arc<[String]>> {
        let token = find(&self.refreshes, text).filter(|token| token.owner == *owner)?;
        Some(Arc::clone(&token.scopes))
    }

    fn next(&mut self, kind: &str, owner: &Owner, scopes: &Arc<[String]>, until: Option<Instant>) -> Token {
        self.issued += 1;
        let text = format!("{kind}.{:x}.{}", self.salt, self.issued);
        Token { text, owner: owner.clone(), scopes: Arc::clone(scopes), until }
    }
}

fn keep(tokens: &mut BTreeMap<u64, Token>, number: u64, token: Token) -> String {
    let text = token.text.clone();
    tokens.insert(number, token);
    if tokens.len() > TOKENS_MAX {
        tokens.pop_first();
    }
    text
}

/// A token ends in its number.
fn find<'a>(tokens: &'a BTreeMap<u64, Token>, text: &str) -> Option<&'a Token> {
    let number: u64 = text.rsplit('.').next()?.parse().ok()?;
    tokens.get(&number).filter(|token| token.text == text)
}
