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
use crate::store::{Batch, Keyspace};

/// The row of the service's address.
pub(crate) const ADDRESS: &str = "account";
/// The row of the credential.
const CALLER: &str = "caller";

/// The credential that the store was last filled with.
#[derive(Serialize, Deserialize)]
struct Caller {
    salt: String,
    identity: String,
}

/// Fails where the store belongs to another address; tells whether it belongs to any.
pub(crate) fn check(context: &Context<'_>) -> Result<bool, Error> {
    let configured = context.config.api.base_url.clone();
    match context.store.get::<String>(Keyspace::Meta, ADDRESS)? {
        Some(stored) if stored != configured => Err(Error::Account { stored, configured }),
        stored => Ok(stored.is_some()),
    }
}

/// Binds the store to this account if it belongs to none yet. Fails if no more rows can be written.
pub(crate) fn claim(context: &Context<'_>) -> Result<(), Error> {
    context.store.expect_room()?;
    if check(context)? {
        return Ok(());
    }
    let mut batch = Batch::default();
    batch.put(Keyspace::Meta, ADDRESS, &context.config.api.base_url);
    batch.put(Keyspace::Meta, CALLER, &caller(context));
    Ok(context.store.commit(batch)?)
}

/// Whether another credential is used than the one that the store was filled with.
pub(crate) fn is_doubted(context: &Context<'_>) -> Result<bool, Error> {
    let known = check(context)?;
    let caller = context.store.get::<Caller>(Keyspace::Meta, CALLER)?;
    Ok(known && caller.is_none_or(|caller| caller.identity != context.client.identity(caller.salt.as_bytes())))
}

/// Stores what a doubted credential read, and the credential with it, once the people known were recognized.
pub(crate) fn trust(context: &Context<'_>, mirrors: &mut [&mut Mirror]) -> Result<(), Error> {
    for mirror in mirrors {
        mirror.save(context.store)?;
    }
    let mut batch = Batch::default();
    batch.put(Keyspace::Meta, CALLER, &caller(context));
    Ok(context.store.commit(batch)?)
}

fn caller(context: &Context<'_>) -> Caller {
    let mut salt = [0; 16];
    SystemRandom::new().fill(&mut salt).expect("the kernel gives random bytes");
    let salt = format!("{:032x}", u128::from_le_bytes(salt));
    Caller { identity: context.client.identity(salt.as_bytes()), salt }
}
