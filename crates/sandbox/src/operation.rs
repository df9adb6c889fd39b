//! The service's operations, read from the operation table, and which of them a request means.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::http::StatusCode;

/// The operation table: one operation a line, columns separated by tabs.
const TABLE: &str = include_str!("../../client/src/operations.tsv");

/// Operations whose method and path the specification doesn't show.
const UNSHOWN: &[(&str, &str, &str)] = &[
    ("staff.bulk", "PUT", "/staff"),
    ("sp.org.groups.update", "PUT", "/sp/org/{id}/groups"),
    ("asset.issue", "PUT", "/asset/{id}/issue"),
];

static OPERATIONS: LazyLock<Vec<Operation>> =
    LazyLock::new(|| TABLE.lines().skip(1).filter(|line| !line.is_empty()).map(Operation::read).collect());

/// One operation of the service.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Its name, such as `staff.list`.
    pub(crate) name: &'static str,
    /// Its HTTP method.
    pub(crate) method: &'static str,
    /// The scope it needs, such as `staff:read`.
    pub(crate) scope: String,
    /// What the table says about it besides.
    pub(crate) note: &'static str,
    /// The status of its success.
    pub(crate) success: u16,
    errors: Vec<u16>,
    path: Vec<Segment>,
    parameters: Vec<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
enum Segment {
    Literal(&'static str),
    Parameter(&'static str),
}

/// What a method and a path mean.
#[derive(Debug)]
pub(crate) enum Route {
    /// An operation, with the path's parameters in order.
    Operation(&'static Operation, Vec<String>),
    /// The path exists, the method doesn't; these do.
    OtherMethod(Vec<&'static str>),
    /// There is no such path.
    Unknown,
}

impl Operation {
    fn read(line: &'static str) -> Self {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let column = |index: usize| columns.get(index).copied().unwrap_or_default();
        let name = column(0);
        let (method, path) = UNSHOWN
            .iter()
            .find(|(unshown, ..)| *unshown == name)
            .map_or((column(1), column(2)), |&(_, method, path)| (method, path));
        let access = if matches!(method, "GET" | "HEAD") { "read" } else { "write" };
        Self {
            name,
            method,
            scope: format!("{}:{access}", column(3)),
            note: column(7),
            success: column(4).parse().unwrap_or(200),
            errors: column(5).split(' ').filter_map(|status| status.parse().ok()).collect(),
            path: segments(path).map(Segment::read).collect(),
            parameters: column(6).split(' ').collect(),
        }
    }

    /// Its path, each parameter as a name in braces.
    pub(crate) fn template(&self) -> String {
        let segment = |segment: &Segment| match segment {
            Segment::Literal(text) => format!("/{text}"),
            Segment::Parameter(name) => format!("/{{{name}}}"),
        };
        self.path.iter().map(segment).collect()
    }

    /// The domain of scopes that it belongs to, `oauth2` for token requests.
    pub(crate) fn domain(&self) -> &str {
        if self.is_token_request() { "oauth2" } else { self.scope.split(':').next().unwrap_or_default() }
    }

    /// Whether callers are asked to use another one.
    pub(crate) fn is_deprecated(&self) -> bool {
        self.note.starts_with("deprecated")
    }

    /// Whether it lists entities.
    pub(crate) fn is_list(&self) -> bool {
        self.name.rsplit('.').next().is_some_and(|verb| verb == "list" || verb.starts_with("list-"))
    }

    /// Whether its row names this status among the errors.
    pub(crate) fn may_answer(&self, status: StatusCode) -> bool {
        self.errors.contains(&status.as_u16())
    }

    /// Whether its row names this query parameter or header.
    pub(crate) fn takes(&self, parameter: &str) -> bool {
        self.parameters.contains(&parameter)
    }

    /// Whether it is carried out at the token endpoint.
    pub(crate) fn is_token_request(&self) -> bool {
        self.name.starts_with("oauth2.")
    }

    /// The path's parameters where `path` fits, and how many of its segments are literal.
    fn fits(&self, path: &[String]) -> Option<(usize, Vec<String>)> {
        if path.len() != self.path.len() || self.is_token_request() {
            return None;
        }
        let mut literal = 0;
        let mut parameters = Vec::new();
        for (own, given) in self.path.iter().zip(path) {
            match own {
                Segment::Literal(text) if text == given => literal += 1,
                Segment::Literal(_) => return None,
                Segment::Parameter(_) => parameters.push(given.clone()),
            }
        }
        Some((literal, parameters))
    }
}

impl Segment {
    fn read(text: &'static str) -> Self {
        let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        name.map_or(Self::Literal(text), Self::Parameter)
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// All operations.
pub(crate) fn operations() -> &'static [Operation] {
    &OPERATIONS
}

/// Every scope that an operation needs: `domain:read` and `domain:write` of each domain.
pub(crate) fn scopes() -> Vec<String> {
    let domains: BTreeSet<&str> = OPERATIONS
        .iter()
        .filter(|operation| !operation.is_token_request())
        .filter_map(|operation| operation.scope.split(':').next())
        .collect();
    domains.iter().flat_map(|domain| [format!("{domain}:read"), format!("{domain}:write")]).collect()
}

/// Finds the operation of a method and a path below the API root; the path that is literal for longest wins
/// (`/staff/movement` is no staff id). `segments` are percent-decoded.
pub(crate) fn route(method: &str, segments: &[String]) -> Route {
    let fitting: Vec<_> = OPERATIONS
        .iter()
        .filter_map(|operation| operation.fits(segments).map(|(literal, found)| (literal, operation, found)))
        .collect();
    let Some(closest) = fitting.iter().map(|(literal, ..)| *literal).max() else { return Route::Unknown };
    let has = |method: &str| {
        let found = fitting.iter().find(|(literal, operation, _)| *literal == closest && operation.method == method);
        found.map(|(_, operation, parameters)| Route::Operation(operation, parameters.clone()))
    };
    // HEAD is GET whose body stays away, where the table has no HEAD of its own.
    has(method).or_else(|| has("GET").filter(|_| method == "HEAD")).unwrap_or_else(|| {
        let own = fitting.iter().filter(|(literal, ..)| *literal == closest).map(|(_, operation, _)| operation.method);
        let methods: BTreeSet<&str> =
            own.flat_map(|method| [method, if method == "GET" { "HEAD" } else { method }]).collect();
        Route::OtherMethod(methods.into_iter().collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_operation_once() {
        assert_eq!(operations().len(), 114);
        let names: BTreeSet<_> = operations().iter().map(|operation| operation.name).collect();
        assert_eq!(names.len(), 114);
        assert!(
            operations().iter().all(|operation| matches!(operation.method, "GET" | "HEAD" | "POST" | "PUT" | "DELETE"))
        );
    }

    #[test]
    fn a_request_means_one_operation() {
        for (method, path, expected) in [
            ("GET", "/staff", "staff.list"),
            ("PUT", "/staff", "staff.bulk"),
            ("GET", "/staff/7", "staff.get 7"),
            ("GET", "/staff/movement", "staff.movement.list"),
            ("GET", "/staff/movement/9", "staff.movement.get 9"),
            ("DELETE", "/staff/movement", "405 GET HEAD PUT"),
            ("OPTIONS", "/staff", "405 GET HEAD POST PUT"),
            ("POST", "/staff/7/photo", "405 GET HEAD PUT"),
            ("POST", "/zone/1/link/2", "405 PUT"),
            ("HEAD", "/staff", "staff.list"),
            ("HEAD", "/staff/7/photo", "staff.photo.head 7"),
            ("GET", "/certification/3/holder/4", "certification.holder.get 3 4"),
            ("PUT", "/zone/1/unlink/2", "zone.unlink 1 2"),
            ("DELETE", "/zone/1", "405 GET HEAD PUT"),
            ("GET", "/customfield/element/staff", "customfield.element.list-staff"),
            ("GET", "/customfield/element/dog", "404"),
            ("POST", "/oauth2/token", "404"),
            ("GET", "/", "404"),
        ] {
            let path: Vec<String> = segments(path).map(str::to_owned).collect();
            let found = match route(method, &path) {
                Route::Operation(operation, ids) => [&[operation.name.to_owned()], ids.as_slice()].concat().join(" "),
                Route::OtherMethod(methods) => format!("405 {}", methods.join(" ")),
                Route::Unknown => "404".to_owned(),
            };
            assert_eq!(found, expected, "{method} {path:?}");
        }
    }

    #[test]
    fn a_scope_is_its_domain_and_whether_it_writes() {
        let scope = |name: &str| operations().iter().find(|operation| operation.name == name).unwrap().scope.clone();
        assert_eq!(scope("staff.list"), "staff:read");
        assert_eq!(scope("staff.photo.head"), "staff:read");
        assert_eq!(scope("sp.member.delete"), "contractor:write");
        assert!(scopes().contains(&"visitor:read".to_owned()) && scopes().iter().all(|scope| scope.contains(':')));
    }
}
