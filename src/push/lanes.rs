//! The credentials of a push: the first one, and further ones that take their share of many changes.
//!
//! Invariants:
//! - The changes of one person go by one credential, from the first request to the last.
//! - A further one sends nothing before it has shown the same entity as the first: a credential of another account would
//!   write to strangers (law 2).
//! - What stops a further one stops it alone. What it did not do goes to those that are left.
//!
//! Rejected: to give each request to whichever credential is free. Requests of one person could overtake each other, and a
//! service that is slow to show one credential what another one wrote would look as if it had lost it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use tokio::sync::OnceCell;

use super::circuit_breaker::CircuitBreaker;
use super::error::Error;
use crate::api::Client;
use crate::fault::chain;
use crate::mirror::{Elements, EntityRef, Mirror, Remote};
use crate::record::{Key, Values};
use crate::store::Store;

/// A credential, and whether it still sends.
pub(super) struct Lane<'a> {
    number: usize,
    pub(super) client: Client,
    pub(super) breaker: CircuitBreaker<'a>,
    /// Set once it was looked whether it is of this account.
    looked: OnceCell<()>,
}

/// The further credentials of a push; none where there is too little to do for them.
#[derive(Default)]
pub(super) struct Lanes<'a>(Vec<Lane<'a>>);

impl<'a> Lanes<'a> {
    /// Those that are worth having for `count` changes: what fits a minute of the first credential needs no other.
    pub(super) fn for_changes(client: &Client, breaker: &'a CircuitBreaker<'a>, count: usize) -> Self {
        if count <= client.budget().limit as usize {
            return Self::default();
        }
        let lane = |(number, client)| Lane {
            number,
            client,
            breaker: CircuitBreaker::beside(breaker),
            looked: OnceCell::new(),
        };
        Self((1..).zip(client.further()).map(lane).collect())
    }

    /// Distributes changes among the credentials that work now; the first share is that of the first one, which is `None`.
    /// Each has the same share, and where one goes, only its share goes to others.
    pub(super) fn share<T>(&self, all: Vec<T>, key: impl Fn(&T) -> &Key) -> Vec<(Option<&Lane<'a>>, Vec<T>)> {
        let working = self.0.iter().filter(|lane| lane.breaker.reason().is_none());
        let lanes: Vec<Option<&Lane<'_>>> = std::iter::once(None).chain(working.map(Some)).collect();
        let number = |lane: &Option<&Lane<'_>>| lane.map_or(0, |lane| lane.number);
        let mut shares: Vec<_> = lanes.iter().map(|lane| (*lane, Vec::new())).collect();
        for one in all {
            let taken_by = share_of(key(&one), lanes.iter().map(number));
            shares[taken_by].1.push(one);
        }
        shares
    }

    /// Why some take no part any more.
    pub(super) fn notes(&self) -> Vec<String> {
        let stopped = self.0.iter().filter_map(|lane| Some((lane, lane.breaker.reason()?)));
        stopped
            .map(|(lane, reason)| {
                let (number, which) = (lane.number, lane.client.credential());
                format!("further credential {number} ({which}) was not used to the end: {reason}")
            })
            .collect()
    }
}

impl Lane<'_> {
    /// Whether it takes part: it must show an entity that the first credential shows too.
    pub(super) async fn takes_part(&self, first: &Client, store: &Store, mirror: &Mirror) -> Result<bool, Error> {
        let look = || async {
            if let Err(reason) = self.shows_the_same(first, store, mirror).await? {
                self.breaker.give_up(reason);
            }
            Ok::<_, Error>(())
        };
        self.looked.get_or_try_init(look).await?;
        Ok(self.breaker.reason().is_none())
    }

    async fn shows_the_same(
        &self,
        first: &Client,
        store: &Store,
        mirror: &Mirror,
    ) -> Result<Result<(), String>, Error> {
        let mut newest = None;
        mirror.each_id(store, |id| newest = newest.max(Some(id)))?;
        let Some(at) = newest.map(|id| mirror.at(store, id)).transpose()?.flatten() else {
            return Ok(Err("there is nothing yet by which its account could be told".to_owned()));
        };
        Ok(same_account(first, &self.client, at).await)
    }
}

/// Fails where a credential does not show an entity as the first one does: it may be of another account.
pub async fn same_account(first: &Client, other: &Client, at: EntityRef) -> Result<(), String> {
    let (first, own) = futures_util::try_join!(shown(first, at), shown(other, at))?;
    match first.is_some() && first == own {
        true => Ok(()),
        false => Err(format!("it does not show id {} as the first one does: it may be of another account", at.id)),
    }
}

/// Which of the lanes with these numbers takes the changes of a key, by its place.
fn share_of(key: &Key, numbers: impl Iterator<Item = usize>) -> usize {
    let weight = |(_, number): &(usize, usize)| {
        let mut hasher = DefaultHasher::new();
        (key.as_str(), number).hash(&mut hasher);
        hasher.finish()
    };
    numbers.enumerate().max_by_key(weight).map_or(0, |(place, _)| place)
}

/// What distinguishes an entity from one of another account.
async fn shown(client: &Client, at: EntityRef) -> Result<Option<(String, Option<Values>)>, String> {
    let answered = Remote::get(client, at).await.map_err(|error| chain(&error))?;
    Ok(answered.value.map(|shown| {
        let entity = shown.entity(&Elements::default());
        // When it was made says enough; not every service tells.
        let fields = entity.created.is_empty().then_some(entity.fields);
        (entity.created, fields)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_stays_with_one_credential_and_moves_only_where_that_one_goes() {
        let keys: Vec<Key> = (0..4_000).map(|number| Key::new(&format!("p{number}")).unwrap()).collect();
        let mut shares = [0; 4];
        for key in &keys {
            let share = share_of(key, 0..4);
            shares[share] += 1;
            let left = [0, 1, 3][share_of(key, [0, 1, 3].into_iter())];
            assert!(left == share || share == 2, "{key:?}");
        }
        assert!(shares.iter().all(|share| (800..1_200).contains(share)), "{shares:?}");
        assert_eq!(share_of(&keys[0], 0..1), 0);
    }
}
