//! One operation of the service, as data.

use reqwest::Method;

/// What an operation is for; decides what a 404 and an empty body mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads one entity.
    Get,
    /// Reads many entities.
    List,
    /// Makes an entity.
    Create,
    /// Replaces an entity as a whole, or does something to it.
    Replace,
    /// Removes an entity.
    Delete,
    /// Reads a photo.
    Photo,
    /// Reads what there is to say of a photo.
    PhotoHead,
    /// Asks for an access token, at the token host.
    Token,
}

impl Verb {
    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Photo | Self::PhotoHead => "photo",
            Self::Token => "token",
        }
    }

    /// Whether such a request may be sent again without asking what became of the first.
    pub fn is_read(self) -> bool {
        self.method().is_safe()
    }

    /// The method that carries it.
    pub const fn method(self) -> Method {
        match self {
            Self::Get | Self::List | Self::Photo => Method::GET,
            Self::PhotoHead => Method::HEAD,
            Self::Create | Self::Token => Method::POST,
            Self::Replace => Method::PUT,
            Self::Delete => Method::DELETE,
        }
    }
}

/// One operation of the service (specification, Endpoints).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name, for example `staff.get`.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// The path below the base address, with `{id}` where a value goes.
    pub path: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The query parameters and headers that it takes.
    pub parameters: &'static [&'static str],
    /// What it is for.
    pub verb: Verb,
}

impl Operation {
    /// The names of the values that the path asks for, in order.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        path_parameters(self.path)
    }
}

/// The names of the values that a path asks for, in order.
pub(crate) fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name))
}
