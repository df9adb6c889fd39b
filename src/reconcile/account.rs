//! Whose people the store holds (law 2).
//!
//! The store remembers the service's address and, by a salted digest, the credential that it was last filled with. Another
//! address is refused before anything is asked. Another credential may be one of another account at the same address: then
//! a whole listing comes first and is held against the people known, and only after that is anything of it believed.

use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

use super::model::context::Context;
use super::model::error::Error;
use crate::mirror::Mirror;
use crate::store::{Batch, MetaKey, Store};

/// The credential that the store was last filled with.
#[derive(Serialize, Deserialize)]
struct Caller {
    salt: String,
    identity: String,
}

/// Fails where the store belongs to another address than `base_url`; tells whether it belongs to any.
pub fn expect_account(store: &Store, base_url: &str) -> Result<bool, Error> {
    match store.meta::<String>(MetaKey::Account)? {
        Some(stored) if stored != base_url => Err(Error::Account { stored, configured: base_url.to_owned() }),
        stored => Ok(stored.is_some()),
    }
}

/// The same of a run.
pub(crate) fn check(context: &Context<'_>) -> Result<bool, Error> {
    expect_account(context.store, &context.config.api.base_url)
}

/// Binds the store to this account if it belongs to none yet. Fails if no more rows can be written.
pub(crate) fn claim(context: &Context<'_>) -> Result<(), Error> {
    context.store.expect_room()?;
    if check(context)? {
        return Ok(());
    }
    let mut batch = Batch::default();
    batch.put_meta(MetaKey::Account, &context.config.api.base_url);
    batch.put_meta(MetaKey::Caller, &caller(context));
    Ok(context.store.commit(batch)?)
}

/// Whether another credential is used than the one that the store was filled with.
pub(crate) fn is_doubted(context: &Context<'_>) -> Result<bool, Error> {
    let known = check(context)?;
    let caller = context.store.meta::<Caller>(MetaKey::Caller)?;
    Ok(known && caller.is_none_or(|caller| caller.identity != context.client.identity(caller.salt.as_bytes())))
}

/// Stores what a doubted credential read, and the credential with it, once the people known were recognized.
pub(crate) fn trust(context: &Context<'_>, mirrors: &mut [&mut Mirror]) -> Result<(), Error> {
    for mirror in mirrors {
        mirror.save(context.store)?;
    }
    Ok(context.store.set_meta(MetaKey::Caller, &caller(context))?)
}

fn caller(context: &Context<'_>) -> Caller {
    let mut salt = [0; 16];
    SystemRandom::new().fill(&mut salt).expect("the kernel gives random bytes");
    let salt = format!("{:032x}", u128::from_le_bytes(salt));
    Caller { identity: context.client.identity(salt.as_bytes()), salt }
}
