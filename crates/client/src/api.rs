//! The builder of calls.

use std::marker::PhantomData;

use crate::RemoteId;
use crate::call::Call;
use crate::operation::Operation;
use crate::page::Page;
use crate::query::Query;
use crate::resource::{
    Creatable, Deletable, Deleted, Gettable, Listable, ListableFor, Movable, Placed, Replaceable, Resource, Root,
    Within,
};

/// Builds the calls of one resource; sends nothing. What the service can't do does not compile:
///
/// ```
/// use rosterd_client::{Api, Certification, CertificationHolder, Staff};
/// use rosterd_client::RemoteId;
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
/// # use rosterd_client::{Api, RemoteId, Zone};
/// # let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Zone>::root().delete(id);
/// ```
///
/// ```compile_fail,E0277
/// # use rosterd_client::{Api, Asset, RemoteId};
/// # let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Asset>::root().delete(id);
/// ```
///
/// Holders of a certification are not below a community, and not below the base address:
///
/// ```compile_fail,E0271
/// # use rosterd_client::{Api, CertificationHolder, Community, RemoteId};
/// # let id = RemoteId::new(7).expect("7 is an id");
/// Api::<Community>::root().below::<CertificationHolder>(id);
/// ```
///
/// ```compile_fail,E0271
/// # use rosterd_client::{Api, CertificationHolder};
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

    pub(crate) fn call<T>(&self, operation: &'static Operation) -> Call<T> {
        Call::new(operation, self.parents.clone())
    }

    pub(crate) fn one<T>(&self, operation: &'static Operation, id: RemoteId) -> Call<T> {
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

    /// Signs a person in or out. Each call may create a movement: read the status first, and send only what differs
    /// from it.
    pub fn put(&self, input: &R::Input) -> Call<Option<R>>
    where
        R: Movable,
    {
        self.call(R::PUT).json(input)
    }
}
