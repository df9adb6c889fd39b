//! What can be done with which resource: capabilities as traits, and the builder of calls.

use std::marker::PhantomData;

use serde::Serialize;

use crate::RemoteId;
use crate::call::Call;
use crate::operation::Operation;
use crate::page::Page;
use crate::query::Query;
use crate::wire::Entity;

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

/// Declares what a resource may be able to do: the trait, what the compiler says where a resource can't, and what the
/// trait holds: the operation, and what it sends.
macro_rules! capabilities {
    ($($(#[$about:meta])* $name:ident $(<$kind:ident>)? : $above:ident, $message:literal
        $(, $operation:ident $($input:ident)?)?;)+
    ) => {
        $(
            $(#[$about])*
            #[diagnostic::on_unimplemented(message = $message, note = "see src/api/table.rs")]
            pub trait $name $(<$kind>)?: $above {
                $(
                    $(
                        /// What is sent.
                        type $input: Serialize;
                    )?
                    /// The operation.
                    const $operation: &'static Operation;
                )?
            }
        )+
    };
}

capabilities! {
    /// A resource of which one entity can be read.
    Gettable: Resource, "the API has no GET of one `{Self}`", GET;
    /// A resource that can be listed.
    Listable: Resource, "the API has no list of `{Self}`", LIST;
    /// A resource with one list for each of several kinds.
    ListableFor<Kind>: Resource, "the API has no list of `{Self}` for `{Kind}`", LIST;
    /// A resource whose list takes a filter (`q`).
    Filterable: Listable, "the list of `{Self}` takes no filter";
    /// A resource whose list takes an order.
    Ordered: Listable, "the list of `{Self}` takes no order";
    /// A resource whose list takes a limit.
    Limited: Listable, "the list of `{Self}` takes no limit";
    /// A resource whose list takes the number of a page.
    Paged: Listable, "the list of `{Self}` has no numbered pages";
    /// A resource whose list takes If-Modified-Since.
    Tracked: Listable, "the list of `{Self}` takes no time";
    /// A resource that can be created.
    Creatable: Resource, "the API has no POST for `{Self}`", CREATE Input;
    /// A resource that can be replaced.
    Replaceable: Resource, "the API has no PUT for `{Self}`", REPLACE Input;
    /// A resource that can be removed.
    Deletable: Resource, "the API has no DELETE for `{Self}`", DELETE;
    /// Movements: somebody is signed in or out by a PUT without an id.
    Movable: Resource, "the API signs nobody in or out with `{Self}`", PUT Input;
}

/// A resource whose list takes filter, order and limit, so that it can be walked by id.
pub trait Walkable: Filterable + Ordered + Limited + Placed<Scope = Root> {}

impl<R: Filterable + Ordered + Limited + Placed<Scope = Root>> Walkable for R {}

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
