//! What can be done with which resource: capabilities as traits, and the builder of calls.

use std::marker::PhantomData;

use serde::Serialize;

use super::call::{Call, Query};
use super::operation::Operation;
use super::page::Page;
use super::wire::Wire;
use crate::record::RemoteId;

/// A kind of entity; the type is what its answers are read into.
pub trait Resource: Wire {
    /// The stem of its operations' names.
    const NAME: &'static str;
}

/// A resource of which one entity can be read.
#[diagnostic::on_unimplemented(message = "the API has no GET of one `{Self}`", note = "see src/api/table.rs")]
pub trait Gettable: Resource {
    /// The operation.
    const GET: &'static Operation;
}

/// A resource that can be listed.
#[diagnostic::on_unimplemented(message = "the API has no list of `{Self}`", note = "see src/api/table.rs")]
pub trait Listable: Resource {
    /// The operation.
    const LIST: &'static Operation;
}

/// A resource whose list takes `order` and `q`, so that it can be walked by id.
#[diagnostic::on_unimplemented(message = "the list of `{Self}` has no id cursor", note = "see src/api/table.rs")]
pub trait Walkable: Listable {}

/// A resource with one list for each of several kinds.
#[diagnostic::on_unimplemented(message = "the API has no list of `{Self}` for `{Kind}`", note = "see src/api/table.rs")]
pub trait ListableFor<Kind>: Resource {
    /// The operation.
    const LIST: &'static Operation;
}

/// A resource that can be created.
#[diagnostic::on_unimplemented(message = "the API has no POST for `{Self}`", note = "see src/api/table.rs")]
pub trait Creatable: Resource {
    /// What is sent.
    type Input: Serialize;
    /// The operation.
    const CREATE: &'static Operation;
}

/// A resource that can be replaced.
#[diagnostic::on_unimplemented(message = "the API has no PUT for `{Self}`", note = "see src/api/table.rs")]
pub trait Replaceable: Resource {
    /// What is sent.
    type Input: Serialize;
    /// The operation.
    const REPLACE: &'static Operation;
}

/// A resource that can be removed.
#[diagnostic::on_unimplemented(message = "the API has no DELETE for `{Self}`", note = "see src/api/table.rs")]
pub trait Deletable: Resource {
    /// The operation.
    const DELETE: &'static Operation;
}

/// Builds the calls of one resource; sends nothing. What the service can't do does not compile:
///
/// ```
/// use rosterd::api::{Api, Staff};
/// use rosterd::record::RemoteId;
///
/// let id = RemoteId::new(7).expect("7 is an id");
/// assert_eq!(Api::<Staff>::root().delete(id).target(), "/staff/7");
/// ```
///
/// ```compile_fail,E0277
/// use rosterd::api::{Api, Location};
/// use rosterd::record::RemoteId;
///
/// let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Location>::root().delete(id);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Api<R> {
    resource: PhantomData<fn() -> R>,
}

impl<R: Resource> Api<R> {
    /// The resource as it lies directly below the base address.
    pub fn root() -> Self {
        Self { resource: PhantomData }
    }

    /// Reads one entity; `None` where there is none of that id.
    pub fn get(&self, id: RemoteId) -> Call<Option<R>>
    where
        R: Gettable,
    {
        Call::one(R::GET, id).time_zone()
    }

    /// Lists what fits `query`, at most one page of it.
    pub fn list(&self, query: &Query) -> Call<Vec<R>>
    where
        R: Listable,
    {
        Call::new(R::LIST).query(query)
    }

    /// Lists one page, and tells nothing new, nothing there and nothing left from each other.
    pub fn page(&self, query: &Query) -> Call<Page<R>>
    where
        R: Listable,
    {
        Call::new(R::LIST).query(query)
    }

    /// Lists all of one kind by one plain request.
    pub fn list_for<Kind>(&self) -> Call<Vec<R>>
    where
        R: ListableFor<Kind>,
    {
        Call::new(R::LIST).query(&Query::default())
    }

    /// Creates an entity; `None` where the service confirms it without showing it.
    pub fn create(&self, input: &R::Input) -> Call<Option<R>>
    where
        R: Creatable,
    {
        Call::new(R::CREATE).body(input)
    }

    /// Replaces an entity as a whole; `None` where the service confirms it without showing it.
    pub fn replace(&self, id: RemoteId, input: &R::Input) -> Call<Option<R>>
    where
        R: Replaceable,
    {
        Call::one(R::REPLACE, id).body(input)
    }

    /// Removes an entity; one that is not there is removed already.
    pub fn delete(&self, id: RemoteId) -> Call<Deleted>
    where
        R: Deletable,
    {
        Call::one(R::DELETE, id)
    }
}

/// The answer to a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The service removed it, or will (removal may be asynchronous).
    Now,
    /// It was not there.
    Already,
}
