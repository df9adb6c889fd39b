//! The capabilities of resources as traits.

use std::marker::PhantomData;

use serde::Serialize;

use crate::operation::Operation;
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
            #[diagnostic::on_unimplemented(message = $message, note = "see table.rs")]
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
    /// Movements: a person is signed in or out by a PUT without an id.
    Movable: Resource, "the API has no sign-in or sign-out with `{Self}`", PUT Input;
}

/// A resource whose list takes filter, order and limit, so that it can be walked by id.
pub trait Walkable: Filterable + Ordered + Limited + Placed<Scope = Root> {}

impl<R: Filterable + Ordered + Limited + Placed<Scope = Root>> Walkable for R {}

/// The answer to a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The service removed it, or will (removal may be asynchronous).
    Now,
    /// It was not there.
    Already,
}
