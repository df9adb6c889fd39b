//! A provider of OpenID Connect that says what a test wants, the right and the wrong.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use rosterd::clock::Clock;
use serde_json::{Value, json};

use super::browser::{Answer, Browser};
use crate::support::web::{Arrived, Part, Web, answer};

type Twist = Arc<dyn Fn(&mut Value, &mut Value) + Send + Sync>;

/// The provider.
pub(super) struct Provider {
    web: Web,
    state: Arc<Mutex<State>>,
}

struct State {
    issuer: String,
    signer: EcdsaKeyPair,
    /// Which key it shows; another than that it signs with where a test wants that.
    shown: Value,
    /// Who logs in.
    claims: Value,
    /// Of the login under way: what the browser was sent with.
    challenge: String,
    nonce: String,
    /// The code that was issued and not used yet.
    code: Option<String>,
    /// Changes the head and the claims of a token before it is signed.
    twist: Twist,
    /// Answers that are given in place of the right ones, by the end of the target.
    instead: Vec<(&'static str, Vec<Part>)>,
}

/// A key pair, and how it is shown.
fn key(id: &str) -> (EcdsaKeyPair, Value) {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
    let point = pair.public_key().as_ref().to_vec();
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    (pair, json!({"kty": "EC", "crv": "P-256", "kid": id, "x": part(&point[1..33]), "y": part(&point[33..])}))
}

impl Provider {
    pub(super) fn start() -> Self {
        let (signer, shown) = key("k1");
        let state = Arc::new(Mutex::new(State {
            issuer: String::new(),
            signer,
            shown,
            claims: json!({}),
            challenge: String::new(),
            nonce: String::new(),
            code: None,
            twist: Arc::new(|_, _| {}),
            instead: Vec::new(),
        }));
        let own = Arc::clone(&state);
        let web = Web::start(move |asked, _| own.lock().unwrap().answer(asked));
        state.lock().unwrap().issuer = web.url("");
        Self { web, state }
    }

    pub(super) fn issuer(&self) -> String {
        self.web.url("")
    }

    /// What it was asked.
    pub(super) fn asked(&self) -> Vec<String> {
        self.web.arrived().into_iter().map(|one| one.line).collect()
    }

    /// Who logs in from now on, just now.
    pub(super) fn person(&self, name: &str, groups: &[&str]) {
        let now = Clock::system().now().as_second();
        self.claims(json!({
            "sub": format!("sub-{name}"), "email": format!("{name}@example.com"), "email_verified": true, "groups": groups,
            "auth_time": now,
        }));
    }

    pub(super) fn claims(&self, claims: Value) {
        self.state.lock().unwrap().claims = claims;
    }

    /// Changes head and claims of each token.
    pub(super) fn twist(&self, twist: impl Fn(&mut Value, &mut Value) + Send + Sync + 'static) {
        self.state.lock().unwrap().twist = Arc::new(twist);
    }

    /// Signs with another key from now on; it is shown where `is_shown`.
    pub(super) fn change_key(&self, id: &str, is_shown: bool) {
        let (signer, shown) = key(id);
        let mut state = self.state.lock().unwrap();
        state.signer = signer;
        if is_shown {
            state.shown = shown;
        }
    }

    /// Answers so, whatever is right.
    pub(super) fn say(&self, target: &'static str, parts: Vec<Part>) {
        self.state.lock().unwrap().instead.push((target, parts));
    }

    /// Says and signs what is right again.
    pub(super) fn be_good(&self) {
        let mut state = self.state.lock().unwrap();
        state.instead.clear();
        state.twist = Arc::new(|_, _| {});
    }

    /// The browser's way to the provider: what it was sent there with.
    pub(super) fn begin(&self, browser: &mut Browser, target: &str) -> Url {
        let answer = browser.get(target).expect(303);
        let url: Url = answer.header("location").unwrap().parse().unwrap();
        assert_eq!(url.path(), "/authorize", "{answer:?}");
        let mut state = self.state.lock().unwrap();
        state.challenge = value(&url, "code_challenge");
        state.nonce = value(&url, "nonce");
        state.code = Some("code-1".to_owned());
        url
    }

    /// The whole login, up to what the pages answer to who comes back.
    pub(super) fn log_in(&self, browser: &mut Browser, target: &str) -> Answer {
        let url = self.begin(browser, target);
        browser.get(&format!("/callback?code=code-1&state={}", value(&url, "state")))
    }
}

/// What an address has under that name.
pub(super) fn value(url: &Url, name: &str) -> String {
    let found = url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    found.unwrap_or_else(|| panic!("no {name} in {url}"))
}

fn document(value: &Value) -> Vec<Part> {
    answer(200, "application/json", "", value.to_string().as_bytes())
}

impl State {
    fn answer(&mut self, asked: &Arrived) -> Vec<Part> {
        let target = asked.line.split(' ').nth(1).unwrap_or_default();
        if let Some((_, parts)) = self.instead.iter().find(|(end, _)| target.ends_with(end)) {
            return parts.clone();
        }
        let issuer = &self.issuer;
        match target {
            "/.well-known/openid-configuration" => document(&json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/jwks"),
            })),
            "/jwks" => document(&json!({"keys": [self.shown]})),
            "/token" => self.token(asked),
            _ => answer(404, "text/plain", "", b"no"),
        }
    }

    fn token(&mut self, asked: &Arrived) -> Vec<Part> {
        let refused = |why: &str| answer(400, "application/json", "", json!({"error": why}).to_string().as_bytes());
        let form = Url::parse(&format!("x:?{}", asked.body)).unwrap();
        let login = STANDARD.encode("rosterd:s%2Be+c%3Aret");
        if asked.header("authorization") != Some(&format!("Basic {login}")) {
            return answer(401, "application/json", "", b"{\"error\":\"invalid_client\"}");
        }
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, value(&form, "code_verifier").as_bytes()));
        if challenge != self.challenge || self.code.take() != Some(value(&form, "code")) {
            return refused("invalid_grant");
        }
        let now = Clock::system().now().as_second();
        let mut head = json!({"alg": "ES256", "kid": self.shown["kid"]});
        let mut claims =
            json!({"iss": self.issuer, "aud": "rosterd", "nonce": self.nonce, "iat": now, "exp": now + 300});
        let own = self.claims.as_object().cloned().unwrap_or_default();
        claims.as_object_mut().unwrap().extend(own);
        (self.twist)(&mut head, &mut claims);
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&head), part(&claims));
        let signature = self.signer.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        let token = format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature));
        document(&json!({"access_token": "a", "token_type": "Bearer", "id_token": token}))
    }
}
