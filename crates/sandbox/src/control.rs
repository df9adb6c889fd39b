//! The control interface: what an account owner does in the service's own pages, and what only a stand-in can.
//!
//! It lies outside the API root, asks for no credential, is not counted and never struck by a fault: a test that has
//! spent its rate or revoked its client must still reach it. It speaks JSON. `openapi.json` is served next to it.

use std::sync::atomic::Ordering;

use axum::http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Rejection};
use crate::credential::{ApiKey, Client, ClientState, Restriction, fresh_secret};
use crate::fault::Fault;
use crate::operation::scopes;
use crate::service::Service;

/// How long the name of a key or a client may be, in bytes.
const NAME_MAX: usize = 100;

/// One thing that can be asked for.
struct Route {
    method: Method,
    /// Literal segments, and `*` for the one that names an entry.
    path: &'static [&'static str],
    act: fn(&Request<'_>) -> Result<Answer, Rejection>,
}

/// A request to the control interface.
struct Request<'a> {
    service: &'a Service,
    /// The text that replaces `*`.
    name: &'a str,
    body: &'a [u8],
}

static ROUTES: &[Route] = &[
    Route { method: Method::GET, path: &["clients"], act: list_clients },
    Route { method: Method::POST, path: &["clients"], act: create_client },
    Route { method: Method::POST, path: &["clients", "*", "rotate"], act: rotate_client },
    Route { method: Method::POST, path: &["clients", "*", "revoke"], act: revoke_client },
    Route { method: Method::DELETE, path: &["clients", "*"], act: delete_client },
    Route { method: Method::GET, path: &["keys"], act: list_keys },
    Route { method: Method::POST, path: &["keys"], act: create_key },
    Route { method: Method::DELETE, path: &["keys", "*"], act: delete_key },
    Route { method: Method::PUT, path: &["faults"], act: set_faults },
    Route { method: Method::GET, path: &["held"], act: count_held },
    Route { method: Method::POST, path: &["held", "release"], act: release_held },
    Route { method: Method::PUT, path: &["assets"], act: set_assets },
];

/// Answers a request; `path` are the decoded segments below `/control`.
pub(crate) fn answer(service: &Service, method: &Method, path: &[String], body: &[u8]) -> Answer {
    let fitting: Vec<&Route> = ROUTES.iter().filter(|route| route.fits(path)).collect();
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let Some(route) = fitting.iter().find(|route| route.method == method) else {
        let methods: Vec<&str> = fitting.iter().map(|route| route.method.as_str()).collect();
        return if methods.is_empty() {
            Rejection::missing("there is no such path").into()
        } else {
            Answer::other_method(&methods)
        };
    };
    let name = path.get(1).map_or("", String::as_str);
    (route.act)(&Request { service, name, body }).unwrap_or_else(Answer::from)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewClient {
    name: String,
    scopes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    restrictions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assets {
    enabled: bool,
}

fn list_clients(request: &Request<'_>) -> Result<Answer, Rejection> {
    request
        .service
        .credentials
        .see(|account| Ok(document(StatusCode::OK, &account.clients.iter().map(shown).collect::<Vec<_>>())))
}

fn create_client(request: &Request<'_>) -> Result<Answer, Rejection> {
    let wanted: NewClient = request.object("an object of name, a text, and scopes, a list of texts")?;
    check_name(&wanted.name)?;
    if wanted.scopes.is_empty() || wanted.scopes.iter().any(|scope| !scopes().contains(scope)) {
        return Err(Rejection::bad(format!("scopes takes at least one of {}", scopes().join(", "))));
    }
    let client = Client::new(format!("client-{}", fresh_secret()), wanted.name, wanted.scopes);
    let mut shown = shown(&client);
    shown["secret"] = client.secret.as_str().into();
    request.service.credentials.change(|account| {
        account.clients.push(client);
        Ok(document(StatusCode::CREATED, &shown))
    })
}

fn rotate_client(request: &Request<'_>) -> Result<Answer, Rejection> {
    request.change_client(|client| {
        if client.state != ClientState::Active {
            return Err(Rejection::new(StatusCode::CONFLICT, "the client is disabled"));
        }
        client.rotate(fresh_secret());
        Ok(document(StatusCode::OK, &json!({ "id": client.id, "secret": client.secret })))
    })
}

fn revoke_client(request: &Request<'_>) -> Result<Answer, Rejection> {
    request.change_client(|client| {
        client.state = ClientState::Disabled;
        Ok(document(StatusCode::OK, &shown(client)))
    })
}

fn delete_client(request: &Request<'_>) -> Result<Answer, Rejection> {
    request.service.credentials.change(|account| {
        let place = account.clients.iter().position(|client| client.id == request.name);
        account.clients.remove(place.ok_or_else(|| Rejection::missing("there is no client of that id"))?);
        Ok(Answer::bare(StatusCode::NO_CONTENT))
    })
}

fn list_keys(request: &Request<'_>) -> Result<Answer, Rejection> {
    request.service.credentials.see(|account| {
        let shown = |key: &ApiKey| json!({ "name": key.name, "restrictions": key.restrictions });
        Ok(document(StatusCode::OK, &account.keys.iter().map(shown).collect::<Vec<_>>()))
    })
}

fn create_key(request: &Request<'_>) -> Result<Answer, Rejection> {
    let wanted: NewKey = request.object("an object of name, a text, and restrictions, a list of texts")?;
    check_name(&wanted.name)?;
    if wanted.restrictions.is_empty() {
        return Err(Rejection::bad(
            "restrictions takes at least one name, unrestricted for a key that may do everything",
        ));
    }
    for name in &wanted.restrictions {
        name.parse::<Restriction>().map_err(|error| Rejection::bad(error.to_string()))?;
    }
    let key = ApiKey { name: wanted.name, key: fresh_secret(), restrictions: wanted.restrictions, scopes: Vec::new() };
    let shown = json!({ "name": key.name, "restrictions": key.restrictions, "key": key.key });
    request.service.credentials.change(|account| {
        if account.keys.iter().any(|other| other.name == key.name) {
            return Err(Rejection::new(StatusCode::CONFLICT, "there is a key of that name"));
        }
        account.keys.push(key);
        Ok(document(StatusCode::CREATED, &shown))
    })
}

fn delete_key(request: &Request<'_>) -> Result<Answer, Rejection> {
    request.service.credentials.change(|account| {
        let place = account.keys.iter().position(|key| key.name == request.name);
        account.keys.remove(place.ok_or_else(|| Rejection::missing("there is no key of that name"))?);
        Ok(Answer::bare(StatusCode::NO_CONTENT))
    })
}

fn set_faults(request: &Request<'_>) -> Result<Answer, Rejection> {
    let specs: Vec<String> = request.body("a list of texts, one for each fault")?;
    let faults: Result<Vec<Fault>, _> = specs.iter().map(|spec| spec.parse()).collect();
    let faults = faults.map_err(|error| Rejection::bad(error.to_string()))?;
    request.service.set_faults(faults);
    Ok(Answer::bare(StatusCode::NO_CONTENT))
}

/// How many requests wait for their release.
fn count_held(request: &Request<'_>) -> Result<Answer, Rejection> {
    Ok(document(StatusCode::OK, &json!({ "held": request.service.gate.waiting() })))
}

fn release_held(request: &Request<'_>) -> Result<Answer, Rejection> {
    Ok(document(StatusCode::OK, &json!({ "released": request.service.gate.open() })))
}

fn set_assets(request: &Request<'_>) -> Result<Answer, Rejection> {
    let assets: Assets = request.object("an object of enabled, true or false")?;
    request.service.assets.store(assets.enabled, Ordering::Relaxed);
    Ok(Answer::bare(StatusCode::NO_CONTENT))
}

impl Route {
    fn fits(&self, path: &[String]) -> bool {
        self.path.len() == path.len() && self.path.iter().zip(path).all(|(own, given)| *own == "*" || own == given)
    }
}

impl Request<'_> {
    /// The body as an object; a list of its values, which serde would take as well, is none.
    fn object<T: DeserializeOwned>(&self, expected: &str) -> Result<T, Rejection> {
        let members: Map<String, Value> = self.body(expected)?;
        serde_json::from_value(Value::Object(members)).map_err(|_| not(expected))
    }

    fn body<T: DeserializeOwned>(&self, expected: &str) -> Result<T, Rejection> {
        serde_json::from_slice(self.body).map_err(|_| not(expected))
    }

    fn change_client(
        &self,
        change: impl FnOnce(&mut Client) -> Result<Answer, Rejection>,
    ) -> Result<Answer, Rejection> {
        self.service.credentials.change(|account| {
            let client = account.clients.iter_mut().find(|client| client.id == self.name);
            change(client.ok_or_else(|| Rejection::missing("there is no client of that id"))?)
        })
    }
}

/// A client as it is shown, never with its secret.
fn shown(client: &Client) -> Value {
    json!({ "id": client.id, "name": client.name, "scopes": client.scopes, "state": client.state })
}

fn not(expected: &str) -> Rejection {
    Rejection::bad(format!("the body is not {expected}, as JSON"))
}

fn check_name(name: &str) -> Result<(), Rejection> {
    let is_good = !name.trim().is_empty() && name.len() <= NAME_MAX;
    if is_good { Ok(()) } else { Err(Rejection::bad(format!("name takes a text of 1 to {NAME_MAX} bytes"))) }
}

fn document(status: StatusCode, value: &impl Serialize) -> Answer {
    Answer::document(status, serde_json::to_vec(value).expect("it has string keys, and memory takes every byte"))
}
