//! Seals what goes between two workers by way of their database: sessions, codes of logins and what people decide.
//!
//! ```text
//! worker that stands by                    worker that has the account
//!   its public key            ──▶
//!                             ◀──           its public key
//!   channel, sealed request   ──▶
//!                             ◀──           sealed answer, or: no such channel
//! ```
//!
//! Invariants:
//! - Who reads the database learns nothing of a request or an answer. The keys are made for one channel and are in memory alone.
//! - An answer is opened only for the request that it belongs to.
//! - A request of a channel that is not known was not looked at, so it may be sent again in a new one.
//!
//! Who may write to the database is not kept out: it holds what is approved.
//!
//! Rejected: a key made from the API key, which both workers have. While that is replaced, they have different ones.

use std::sync::{Mutex, PoisonError};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};

/// The length of a public key.
const PUBLIC: usize = 32;
/// What a message is: a public key, something sealed, or that the channel is not known.
const KEY: u8 = 1;
const SEALED: u8 = 2;
const UNKNOWN: u8 = 3;
/// How many channels a worker keeps: one for each worker that stands by, and some of those that were.
const CHANNELS_MAX: usize = 64;

type PublicKey = [u8; PUBLIC];
type RawNonce = [u8; NONCE_LEN];

/// A side that wants a channel.
pub(super) struct Opening {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

/// The side of a channel that asks.
pub(super) struct Channel {
    name: PublicKey,
    key: LessSafeKey,
}

/// A request under way.
pub(super) struct SealedRequest {
    /// What is sent.
    pub(super) bytes: Vec<u8>,
    nonce: RawNonce,
}

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Answer(Vec<u8>),
    /// The request was not looked at.
    UnknownChannel,
    /// It is no answer to this request.
    Garbled,
}

/// The channels of the side that answers, the one that was used last at the end.
#[derive(Default)]
pub(super) struct Channels(Mutex<Vec<(PublicKey, LessSafeKey)>>);

/// What the side that answers makes of a message.
pub(super) enum Received {
    /// The answer goes back as it is.
    Reply(Vec<u8>),
    /// A request, and what seals its answer.
    Request(Vec<u8>, Box<AnswerSeal>),
}

/// Seals one answer.
pub(super) struct AnswerSeal {
    key: LessSafeKey,
    request: RawNonce,
}

impl Opening {
    pub(super) fn new() -> Self {
        let private =
            EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).expect("the system gives random numbers");
        let public = private.compute_public_key().expect("a fresh key has a public one");
        Self { private, public: public.as_ref().try_into().expect("it is 32 bytes long") }
    }

    /// What is sent to open the channel.
    pub(super) fn message(&self) -> Vec<u8> {
        message(KEY, &[&self.public])
    }

    /// The channel, with the answer of the other side; `None` where it is none.
    pub(super) fn opened(self, answer: &[u8]) -> Option<Channel> {
        let (KEY, other) = kind(answer)? else { return None };
        let name = self.public;
        let keys = [name, other.try_into().ok()?];
        Some(Channel { name, key: agreed(self.private, other, keys)? })
    }
}

impl Channel {
    pub(super) fn seal(&self, request: &[u8]) -> SealedRequest {
        let (nonce, sealed) = seal(&self.key, b"request", request);
        SealedRequest { bytes: message(SEALED, &[&self.name, &nonce, &sealed]), nonce }
    }

    pub(super) fn open(&self, request: &SealedRequest, answer: &[u8]) -> Opened {
        match kind(answer) {
            Some((UNKNOWN, [])) => Opened::UnknownChannel,
            Some((SEALED, sealed)) => {
                open(&self.key, &request.nonce, sealed).map_or(Opened::Garbled, |(_, answer)| Opened::Answer(answer))
            }
            _ => Opened::Garbled,
        }
    }
}

impl Channels {
    /// What is to be done with a message; `None` where it is none.
    pub(super) fn take(&self, received: &[u8]) -> Option<Received> {
        let mut channels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kind(received)? {
            (KEY, other) => {
                let Opening { private, public } = Opening::new();
                let name: PublicKey = other.try_into().ok()?;
                let key = agreed(private, other, [name, public])?;
                channels.retain(|(known, _)| *known != name);
                if channels.len() >= CHANNELS_MAX {
                    channels.remove(0);
                }
                channels.push((name, key));
                Some(Received::Reply(message(KEY, &[&public])))
            }
            (SEALED, rest) => {
                let (name, sealed) = rest.split_first_chunk::<PUBLIC>()?;
                let Some(at) = channels.iter().position(|(known, _)| known == name) else {
                    return Some(Received::Reply(message(UNKNOWN, &[])));
                };
                let channel = channels.remove(at);
                let key = channel.1.clone();
                channels.push(channel);
                let (request, bytes) = open(&key, b"request", sealed)?;
                Some(Received::Request(bytes, Box::new(AnswerSeal { key, request })))
            }
            _ => None,
        }
    }
}

impl AnswerSeal {
    pub(super) fn seal(&self, answer: &[u8]) -> Vec<u8> {
        let (nonce, sealed) = seal(&self.key, &self.request, answer);
        message(SEALED, &[&nonce, &sealed])
    }
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    std::iter::once(&[kind][..]).chain(parts.iter().copied()).flatten().copied().collect()
}

fn kind(message: &[u8]) -> Option<(u8, &[u8])> {
    message.split_first().map(|(kind, rest)| (*kind, rest))
}

/// The key of a channel; `keys` are the public ones, that of the side which asks first.
fn agreed(private: EphemeralPrivateKey, other: &[u8], keys: [PublicKey; 2]) -> Option<LessSafeKey> {
    let key = agree_ephemeral(private, &UnparsedPublicKey::new(&X25519, other), |secret| {
        let secret = Salt::new(HKDF_SHA256, &keys.concat()).extract(secret);
        let key = secret.expand(&[b"rosterd pages"], &CHACHA20_POLY1305).expect("it is short");
        LessSafeKey::new(UnboundKey::from(key))
    });
    key.ok()
}

fn seal(key: &LessSafeKey, bound_to: &[u8], text: &[u8]) -> (RawNonce, Vec<u8>) {
    let mut nonce = RawNonce::default();
    SystemRandom::new().fill(&mut nonce).expect("the system gives random numbers");
    let mut sealed = text.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound_to), &mut sealed)
        .expect("it is less than 256 GiB");
    (nonce, sealed)
}

fn open(key: &LessSafeKey, bound_to: &[u8], sealed: &[u8]) -> Option<(RawNonce, Vec<u8>)> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let mut text = sealed.to_vec();
    let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(bound_to), &mut text).ok()?.len();
    text.truncate(opened);
    Some((*nonce, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_channel(channels: &Channels) -> Channel {
        let opening = Opening::new();
        let Some(Received::Reply(answer)) = channels.take(&opening.message()) else { panic!("a key is answered") };
        opening.opened(&answer).unwrap()
    }

    fn received(channels: &Channels, request: &SealedRequest) -> (Vec<u8>, Box<AnswerSeal>) {
        let Some(Received::Request(text, seal)) = channels.take(&request.bytes) else { panic!("it is a request") };
        (text, seal)
    }

    #[test]
    fn an_answer_is_opened_for_its_own_request_only_and_shows_nothing_on_the_way() {
        let channels = Channels::default();
        let (one, other) = (open_channel(&channels), open_channel(&channels));
        let (first, second) = (one.seal(b"a cookie"), one.seal(b"a cookie"));
        assert_ne!(first.bytes, second.bytes);
        let (text, seal) = received(&channels, &first);
        let answer = seal.seal(b"a page");
        assert_eq!(text, b"a cookie");
        for on_its_way in [&first.bytes, &answer] {
            assert!(!on_its_way.windows(6).any(|part| part == b"cookie" || part == b"a page"));
        }
        assert_eq!(one.open(&first, &answer), Opened::Answer(b"a page".to_vec()));
        assert_eq!(one.open(&second, &answer), Opened::Garbled);
        assert_eq!(other.open(&first, &answer), Opened::Garbled);
        for wrong in [&[][..], &answer[..9], &[&answer[..], &[0]].concat(), &[UNKNOWN, 0], &first.bytes] {
            assert_eq!(one.open(&first, wrong), Opened::Garbled);
        }
    }

    #[test]
    fn a_request_that_was_changed_or_is_of_an_unknown_channel_is_not_looked_at() {
        let channels = Channels::default();
        let channel = open_channel(&channels);
        let request = channel.seal(b"approve");
        for at in 1 + PUBLIC..request.bytes.len() {
            let mut bytes = request.bytes.clone();
            bytes[at] ^= 1;
            assert!(channels.take(&bytes).is_none(), "{at}");
        }
        for wrong in [&[][..], &[KEY], &[KEY, 7, 7], &[SEALED], &request.bytes[..40], &[9], &[KEY; 1 + PUBLIC + 1]] {
            assert!(channels.take(wrong).is_none(), "{wrong:?}");
        }
        let Some(Received::Reply(answer)) = Channels::default().take(&request.bytes) else { panic!("it says so") };
        assert_eq!(channel.open(&request, &answer), Opened::UnknownChannel);
        received(&channels, &request);
    }

    #[test]
    fn the_channel_that_is_used_least_makes_room() {
        let channels = Channels::default();
        let (kept, left) = (open_channel(&channels), open_channel(&channels));
        for _ in 2..CHANNELS_MAX {
            open_channel(&channels);
        }
        received(&channels, &kept.seal(b"x"));
        open_channel(&channels);
        received(&channels, &kept.seal(b"x"));
        let request = left.seal(b"x");
        let Some(Received::Reply(answer)) = channels.take(&request.bytes) else { panic!("it is gone") };
        assert_eq!(left.open(&request, &answer), Opened::UnknownChannel);
    }
}
