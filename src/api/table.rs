//! The table of resources: one row each, and everything that a name is needed for is made from its row.

use super::operation::{Operation, Verb};
use super::resource::{Creatable, Deletable, Gettable, Listable, ListableFor, Replaceable, Resource, Walkable};
use super::wire::{Element, ForMembers, ForStaff, Location, LocationInput, Staff, StaffInput};

/// Makes the [`Operation`] of one capability of one row.
macro_rules! operation {
    (@make $name:expr, $verb:ident, $path:expr, $about:expr, [$($parameter:literal)*]) => {
        Operation {
            name: $name,
            method: Verb::$verb.method(),
            path: $path,
            about: $about,
            parameters: &[$($parameter),*],
            verb: Verb::$verb,
        }
    };
    ($name:literal $path:literal $one:literal $many:literal get) => {
        operation!(@make concat!($name, ".get"), Get, concat!($path, "/{id}"), concat!("Reads one ", $one), ["time_zone"])
    };
    ($name:literal $path:literal $one:literal $many:literal list $($parameter:literal)*) => {
        operation!(@make concat!($name, ".list"), List, $path, concat!("Lists ", $many), [$($parameter)* "time_zone"])
    };
    ($name:literal $path:literal $one:literal $many:literal walk $($parameter:literal)*) => {
        operation!(@make concat!($name, ".list"), List, $path, concat!("Lists ", $many),
            ["q" "order" "limit" "If-Modified-Since" "time_zone" $($parameter)*])
    };
    ($name:literal $path:literal $one:literal $many:literal list_for $kind:literal) => {
        operation!(@make concat!($name, ".list-", $kind), List, concat!($path, "/", $kind),
            concat!("Lists ", $many, " of kind ", $kind), ["time_zone"])
    };
    ($name:literal $path:literal $one:literal $many:literal create) => {
        operation!(@make concat!($name, ".create"), Create, $path, concat!("Creates one ", $one), ["time_zone"])
    };
    ($name:literal $path:literal $one:literal $many:literal replace) => {
        operation!(@make concat!($name, ".update"), Replace, concat!($path, "/{id}"),
            concat!("Replaces one ", $one, "; what is not sent becomes empty"), ["time_zone"])
    };
    ($name:literal $path:literal $one:literal $many:literal delete) => {
        operation!(@make concat!($name, ".delete"), Delete, concat!($path, "/{id}"), concat!("Removes one ", $one),
            ["time_zone"])
    };
}

/// Implements one capability of one row.
macro_rules! capability {
    ($resource:ident $row:tt get) => {
        impl Gettable for $resource {
            const GET: &'static Operation = &capability!(@row $row get);
        }
    };
    ($resource:ident $row:tt list $($parameter:literal)*) => {
        impl Listable for $resource {
            const LIST: &'static Operation = &capability!(@row $row list $($parameter)*);
        }
    };
    ($resource:ident $row:tt walk $($parameter:literal)*) => {
        impl Listable for $resource {
            const LIST: &'static Operation = &capability!(@row $row walk $($parameter)*);
        }
        impl Walkable for $resource {}
    };
    ($resource:ident $row:tt list_for<$kind:ty> $parameter:literal) => {
        impl ListableFor<$kind> for $resource {
            const LIST: &'static Operation = &capability!(@row $row list_for $parameter);
        }
    };
    ($resource:ident $row:tt create<$input:ty>) => {
        impl Creatable for $resource {
            type Input = $input;
            const CREATE: &'static Operation = &capability!(@row $row create);
        }
    };
    ($resource:ident $row:tt replace<$input:ty>) => {
        impl Replaceable for $resource {
            type Input = $input;
            const REPLACE: &'static Operation = &capability!(@row $row replace);
        }
    };
    ($resource:ident $row:tt delete) => {
        impl Deletable for $resource {
            const DELETE: &'static Operation = &capability!(@row $row delete);
        }
    };
    (@row [$name:literal $path:literal $one:literal $many:literal] $($capability:tt)*) => {
        operation!($name $path $one $many $($capability)*)
    };
}

/// One row per resource: its type, the stem of its operation names, its path, what a person calls one and many of it,
/// and what can be done with it. `walk` is a list with the id cursor; `list` takes the parameters in brackets.
macro_rules! resources {
    ($($resource:ident $row:tt : $($capability:ident $(<$type:ty>)? $([$($parameter:literal)*])?),+ ;)+) => {
        /// Every operation of the table, in its order.
        static OPERATIONS: &[Operation] = &[$($(
            capability!(@row $row $capability $($($parameter)*)?)
        ),+),+];

        $(
            impl Resource for $resource {
                const NAME: &'static str = resources!(@name $row);
            }
            $(capability!($resource $row $capability $(<$type>)? $($($parameter)*)?);)+
        )+
    };
    (@name [$name:literal $path:literal $one:literal $many:literal]) => { $name };
}

resources! {
    Staff    ["staff" "/staff" "employee" "employees"]:
        walk, create<StaffInput>, get, replace<StaffInput>, delete;
    Element  ["customfield.element" "/customfield/element" "custom field" "custom fields"]:
        list_for<ForStaff>["staff"], list_for<ForMembers>["sp-member"];
    Location ["location" "/location" "location" "locations"]:
        list["q" "limit"], create<LocationInput>;
}

/// Every operation that the client knows, in the order of the table.
pub fn operations() -> &'static [Operation] {
    OPERATIONS
}

/// Finds an operation by its name.
pub(super) fn by_name(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// The operation whose name is nearest to one that does not exist.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    OPERATIONS
        .iter()
        .map(|operation| (strsim::jaro_winkler(name, operation.name), operation.name))
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_one_of_the_specification() {
        let rows: Vec<Vec<&str>> =
            include_str!("../operations.tsv").lines().skip(1).map(|line| line.split('\t').collect()).collect();
        for operation in operations() {
            let row = rows.iter().find(|row| row[0] == operation.name);
            let row = row.unwrap_or_else(|| panic!("{} is not in the list of operations", operation.name));
            assert_eq!(operation.method.as_str(), row[1], "{}", operation.name);
            assert_eq!(operation.path, row[2], "{}", operation.name);
            if operation.method == super::super::operation::Method::Get {
                let mut expected: Vec<&str> = row[6].split(' ').collect();
                let mut parameters = operation.parameters.to_vec();
                expected.sort_unstable();
                parameters.sort_unstable();
                assert_eq!(parameters, expected, "{}", operation.name);
            }
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        let mut names: Vec<&str> = operations().iter().map(|operation| operation.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        assert_eq!(nearest("staff.lst"), Some("staff.list"));
        assert_eq!(nearest("location.creat"), Some("location.create"));
    }
}
