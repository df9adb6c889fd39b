//! What can be done with which resource: capabilities as traits, and the builder of calls.

use std::marker::PhantomData;

use serde::Serialize;

use super::call::Call;
use super::operation::Operation;
use super::page::Page;
use super::query::Query;
use super::wire::Entity;
use crate::record::RemoteId;

/// Where a kind of entity lies: below the base address, or below an entity of another kind.
pub trait Placed {
    /// [`Root`] or [`Within`].
    type Scope;
}

/// Directly below the base address.
#[derive(Clone, Copy, Debug)]
pub enum Root {}

/// Below one entity of kind `P`.
#[derive(Clone, Copy, Debug)]
pub struct Within<P>(PhantomData<fn() -> P>);

/// A kind of entity; the type is what its answers are read into.
pub trait Resource: Entity + Placed {
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

/// A resource with one list for each of several kinds.
#[diagnostic::on_unimplemented(message = "the API has no list of `{Self}` for `{Kind}`", note = "see src/api/table.rs")]
pub trait ListableFor<Kind>: Resource {
    /// The operation.
    const LIST: &'static Operation;
}

/// A resource whose list takes a filter (`q`).
#[diagnostic::on_unimplemented(message = "the list of `{Self}` takes no filter", note = "see src/api/table.rs")]
pub trait Filterable: Listable {}

/// A resource whose list takes an order.
#[diagnostic::on_unimplemented(message = "the list of `{Self}` takes no order", note = "see src/api/table.rs")]
pub trait Ordered: Listable {}

/// A resource whose list takes a limit.
#[diagnostic::on_unimplemented(message = "the list of `{Self}` takes no limit", note = "see src/api/table.rs")]
pub trait Limited: Listable {}

/// A resource whose list takes the number of a page.
#[diagnostic::on_unimplemented(message = "the list of `{Self}` has no numbered pages", note = "see src/api/table.rs")]
pub trait Paged: Listable {}

/// A resource whose list takes If-Modified-Since.
#[diagnostic::on_unimplemented(message = "the list of `{Self}` takes no time", note = "see src/api/table.rs")]
pub trait Tracked: Listable {}

/// A resource whose list takes filter, order and limit, so that it can be walked by id.
#[diagnostic::on_unimplemented(message = "the list of `{Self}` has no id cursor", note = "see src/api/table.rs")]
pub trait Walkable: Filterable + Ordered + Limited + Placed<Scope = Root> {}

impl<R: Filterable + Ordered + Limited + Placed<Scope = Root>> Walkable for R {}

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

/// Movements: somebody is signed in or out by a PUT without an id.
#[diagnostic::on_unimplemented(message = "the API signs nobody in or out with `{Self}`", note = "see src/api/table.rs")]
pub trait Movable: Resource {
    /// What is sent.
    type Input: Serialize;
    /// The operation.
    const PUT: &'static Operation;
}

/// Builds the calls of one resource; sends nothing. What the service can't do does not compile:
///
/// ```
/// use rosterd::api::{Api, Certification, CertificationHolder, Staff};
/// use rosterd::record::RemoteId;
///
/// let id = RemoteId::new(7).expect("7 is an id");
/// assert_eq!(Api::<Staff>::root().delete(id).target(), "/staff/7");
/// let holders = Api::<Certification>::root().below::<CertificationHolder>(id);
/// assert_eq!(holders.delete(id).target(), "/certification/7/holder/7");
/// ```
///
/// Zones and assets stay for ever:
///
/// ```compile_fail,E0277
/// # use rosterd::{api::{Api, Zone}, record::RemoteId};
/// # let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Zone>::root().delete(id);
/// ```
///
/// ```compile_fail,E0277
/// # use rosterd::{api::{Api, Asset}, record::RemoteId};
/// # let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Asset>::root().delete(id);
/// ```
///
/// Holders of a certification are not below a community, and not below the base address:
///
/// ```compile_fail,E0271
/// # use rosterd::{api::{Api, CertificationHolder, Community}, record::RemoteId};
/// # let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Community>::root().below::<CertificationHolder>(id);
/// ```
///
/// ```compile_fail,E0271
/// # use rosterd::api::{Api, CertificationHolder};
/// Api::<CertificationHolder>::root();
/// ```
#[derive(Clone, Debug)]
pub struct Api<R> {
    /// The ids of the entities above, the highest first.
    parents: Vec<RemoteId>,
    resource: PhantomData<fn() -> R>,
}

impl<R: Placed> Api<R> {
    /// The resource as it lies directly below the base address.
    pub fn root() -> Self
    where
        R: Placed<Scope = Root>,
    {
        Self { parents: Vec::new(), resource: PhantomData }
    }

    /// What lies below one entity of this resource.
    pub fn below<C: Placed<Scope = Within<R>>>(&self, id: RemoteId) -> Api<C> {
        Api { parents: [self.parents.as_slice(), &[id]].concat(), resource: PhantomData }
    }

    pub(super) fn call<T>(&self, operation: &'static Operation) -> Call<T> {
        Call::new(operation, self.parents.clone())
    }

    pub(super) fn one<T>(&self, operation: &'static Operation, id: RemoteId) -> Call<T> {
        Call::new(operation, [self.parents.as_slice(), &[id]].concat())
    }
}

impl<R: Resource> Api<R> {
    /// Reads one entity; `None` where there is none of that id.
    pub fn get(&self, id: RemoteId) -> Call<Option<R>>
    where
        R: Gettable,
    {
        self.one(R::GET, id).of(id).utc()
    }

    /// Lists what fits `query`, at most one page of it.
    pub fn list(&self, query: &Query<R>) -> Call<Vec<R>>
    where
        R: Listable,
    {
        self.call(R::LIST).asking(&query.asked)
    }

    /// Lists one page, and tells nothing new, nothing there and nothing left from each other.
    pub fn page(&self, query: &Query<R>) -> Call<Page<R>>
    where
        R: Listable,
    {
        self.call(R::LIST).asking(&query.asked)
    }

    /// Lists all of one kind by one plain request.
    pub fn list_for<Kind>(&self) -> Call<Vec<R>>
    where
        R: ListableFor<Kind>,
    {
        self.call(R::LIST).utc()
    }

    /// Creates an entity; `None` where the service confirms it without showing it.
    pub fn create(&self, input: &R::Input) -> Call<Option<R>>
    where
        R: Creatable,
    {
        self.call(R::CREATE).json(input)
    }

    /// Replaces an entity as a whole; `None` where the service confirms it without showing it.
    pub fn replace(&self, id: RemoteId, input: &R::Input) -> Call<Option<R>>
    where
        R: Replaceable,
    {
        self.one(R::REPLACE, id).of(id).json(input)
    }

    /// Removes an entity; one that is not there is removed already.
    pub fn delete(&self, id: RemoteId) -> Call<Deleted>
    where
        R: Deletable,
    {
        self.one(R::DELETE, id)
    }

    /// Signs somebody in or out. It may create a movement each time: read the status first, and skip what is so already.
    pub fn put(&self, input: &R::Input) -> Call<Option<R>>
    where
        R: Movable,
    {
        self.call(R::PUT).json(input)
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
