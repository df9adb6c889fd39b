//! Changing part of an entity where the service only knows how to replace it.

use crate::RemoteId;
use crate::answer::Answered;
use crate::api::Api;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::resource::{Gettable, Placed, Replaceable, Root};
use crate::wire::{Carry, RequestInput as _};

impl Client {
    /// Reads an entity, lets `change` change what is sent, and replaces it: what isn't touched stays. Between the two
    /// requests another client may change it too, and the service can't detect that.
    ///
    /// Nothing is sent, with [`ErrorKind::Missing`] or [`ErrorKind::Carry`], where there is no such entity, where a field of it
    /// can't be read, or where the service takes a field that it doesn't show and `change` doesn't say what it holds.
    pub async fn modify<R>(
        &self,
        id: RemoteId,
        change: impl FnOnce(&mut <R as Carry>::Sent),
    ) -> Result<Answered<Option<R>>, Error>
    where
        R: Gettable + Carry + Replaceable<Input = <R as Carry>::Sent> + Placed<Scope = Root>,
    {
        self.modify_in(&Api::root(), id, change).await
    }

    /// The same for what lies below another entity.
    pub async fn modify_in<R>(
        &self,
        api: &Api<R>,
        id: RemoteId,
        change: impl FnOnce(&mut <R as Carry>::Sent),
    ) -> Result<Answered<Option<R>>, Error>
    where
        R: Gettable + Carry + Replaceable<Input = <R as Carry>::Sent>,
    {
        let failed = |kind| Error::new(R::REPLACE.name, kind);
        let entity = self.send(api.get(id)).await?.value.ok_or_else(|| failed(ErrorKind::Missing))?;
        let mut input = entity.carried(|_| false).map_err(|error| failed(error.into()))?;
        change(&mut input);
        match input.undecided() {
            Some(field) => Err(failed(super::wire::CarryError::Unshown { field }.into())),
            None => self.send(api.replace(id, &input)).await,
        }
    }
}
