//! What an earlier process left without an outcome, settled before anything is planned (law 3).
//!
//! Creates are looked up, twice where need be. Of an update the pull has just shown what became of it, and of a removal
//! one request shows it. What is found to be done is confirmed as if the answer had come: in the snapshot and in the
//! audit file. What is not done is planned again.

use super::attempt::{earlier, loss};
use super::commit::Written;
use super::error::Error;
use super::request::body::lost;
use super::taken::has_taken;
use super::{Outcome, Push};
use crate::mirror::Mirror;
use crate::plan::HoldReason;
use crate::queue::{Change, State};
use crate::record::{Action, Entity, Field, FieldKind, Key, Value};

impl Push<'_> {
    /// Settles changes of unknown fate, without sending any of them again; returns the creates of which several people at
    /// the service could be the result.
    pub async fn recover(&self, mirror: &mut Mirror, unknown: Vec<Change>) -> Result<Vec<(Key, HoldReason)>, Error> {
        let (creates, others): (Vec<Change>, Vec<Change>) =
            unknown.into_iter().partition(|change| change.wish.action == Action::Create);
        for mut change in others {
            let before = earlier(&change);
            match change.wish.action {
                Action::Update => self.recover_update(mirror, &mut change, before.as_ref()).await?,
                Action::Create | Action::Delete => self.recover_removal(mirror, &change, before.as_ref()).await?,
            };
        }
        if creates.is_empty() {
            return Ok(Vec::new());
        }
        let looked = self.look_up(mirror, creates).await?;
        Ok(looked.unclear.into_iter().map(|(change, reason)| (change.key, reason)).collect())
    }

    /// It is done where each field that was to move did, and holds what was wanted. Any other value may be that of someone else: sent
    /// once more, it shows what the service makes of it.
    async fn recover_update(
        &self,
        mirror: &Mirror,
        change: &mut Change,
        before: Option<&Entity>,
    ) -> Result<Option<Outcome>, Error> {
        let after = change.wish.id.map(|id| mirror.get(self.store, id)).transpose()?.flatten();
        let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
        if change.only_photo().is_some() {
            // Which photo the service has, no list shows.
            return Ok(None);
        }
        // A leaver's wish, and one that takes something back, names only what it sets.
        let names_all = !change.wish.leaver && change.undo.is_none();
        let is_named = |field: &&Field| names_all || change.wish.fields.contains_key(&field.name);
        let named = self.fields.iter().filter(|field| field.kind != FieldKind::Photo).filter(is_named);
        let to_move = named.filter(|field| {
            let wanted = change.wish.fields.get(&field.name).unwrap_or(&Value::Empty);
            !field.kind.same(wanted, before.value(&field.name))
        });
        let moved: Vec<&str> = to_move.map(|field| field.name.as_str()).collect();
        if before.created != after.created {
            return Ok(None);
        }
        let has_moved = |field: &&str| before.value(field) != after.value(field);
        if !moved.iter().any(has_moved) {
            // Not so far: it is no more than one that waits, unless it arrives.
            return self.wait(change).map(|()| None);
        }
        let holds = |field: &str| has_taken(self.fields, &change.wish.fields, field, before, &after);
        if !moved.iter().all(|field| has_moved(field) && holds(field)) {
            return Ok(None);
        }
        // Its answer would have shown what it took away.
        if let (State::Sent { held, .. }, Some(at)) = (&change.state, mirror.at(self.store, after.id)?)
            && !held.is_empty()
        {
            let Ok((Some(fresh), _)) = self.look(mirror, at).await else { return Ok(None) };
            if let Some(what) = lost(held, &fresh, &change.wish.fields, mirror.elements()) {
                self.witness.alarm(&loss(&what, after.id)).map_err(Error::Audit)?;
            }
        }
        self.confirm(mirror, change, Written::found(Some(before), after)).map(Some)
    }

    /// It is done where the service no longer has them. One that can't be asked now is asked when it is tried again.
    async fn recover_removal(
        &self,
        mirror: &Mirror,
        change: &Change,
        before: Option<&Entity>,
    ) -> Result<Option<Outcome>, Error> {
        let Some(id) = change.wish.id else { return Ok(None) };
        let Some(at) = mirror.at(self.store, id)? else { return Ok(None) };
        match self.look(mirror, at).await {
            Ok((None, _)) => self.confirm_removed(change, id, before).map(Some),
            Ok((Some(_), _)) | Err(_) => Ok(None),
        }
    }
}
