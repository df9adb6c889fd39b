//! The running sandbox: its server, and the back door through which tests look and reach into it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use crate::answer::Answer;
use crate::dispatch::Outcome;
use crate::error::Error;
use crate::fault::Fault;
use crate::options::Options;
use crate::resource::Resource;
use crate::row::EntityRow;
use crate::seed;
use crate::service::Service;
use crate::store::Store;
use crate::tables;
use crate::traffic::Request;
use crate::wire::{CuttableListener, Shears, stopped};

/// How large a request's body may be, in bytes.
const BODY_MAX: usize = 64 << 20;

/// How long [`Sandbox::stop`] waits for connections to end.
const STOP_MAX: Duration = Duration::from_secs(2);

/// A running stand-in service. Dropping it stops it, without waiting.
pub struct Sandbox {
    service: Arc<Service>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    server: Option<JoinHandle<()>>,
}

impl Sandbox {
    /// Opens the data, lays the seeds down where there is nothing yet, and begins to listen.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let store = Store::open(options.data.as_deref())?;
        let seeds = (options.seed_staff, options.seed_contractors);
        let service = Arc::new(Service::open(options, store)?);
        seed::sow(&service.store, seeds, service.clock.now())
            .map_err(|source| Error::Data { path: service.options.data.clone().unwrap_or_default(), source })?;
        let (stop, stop_seen) = watch::channel(false);
        let listener = CuttableListener { inner: listener, stop: stop_seen.clone() };
        let router = Router::new().fallback(handle).with_state(Arc::clone(&service));
        let served = axum::serve(listener, router.into_make_service_with_connect_info::<Shears>());
        let served = served.with_graceful_shutdown(stopped(stop_seen));
        // The server never fails: what goes wrong on a connection ends that connection.
        let server = tokio::spawn(async move { served.await.unwrap_or_default() });
        Ok(Self { service, address, stop, server: Some(server) })
    }

    /// The API root, for example `http://127.0.0.1:4711/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The token host, for example `http://127.0.0.1:4711`.
    pub fn auth_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The options it was started with, except the faults.
    pub fn options(&self) -> &Options {
        &self.service.options
    }

    /// Whether it takes the key and the client of its options; the control interface may have changed or removed them,
    /// before a restart too.
    pub fn takes_its_options(&self) -> bool {
        self.service.credentials.see(|account| account.takes(&self.service.options))
    }

    /// All entities of a resource (`staff`, `location`, …) as they are stored, by id; none of an unknown resource.
    pub fn all(&self, resource: &str) -> Vec<Value> {
        let Some(resource) = tables::resource(resource) else { return Vec::new() };
        self.service.store.read().rows(resource.name).values().map(|row| row.to_json(resource)).collect()
    }

    /// Lays an entity down directly, by the names that answers have, and gives its id: that of the entity, or the next.
    /// `created` and `modified` are the entity's, or now. A field that the resource doesn't have is kept and answered.
    ///
    /// # Panics
    ///
    /// Where the sandbox has no such resource, or `entity` is no object.
    pub fn put(&self, resource: &str, entity: Value) -> i64 {
        let (resource, entity) = (known(resource), object(entity));
        let mut entities = self.service.store.write();
        let mut row = EntityRow::new(resource, entities.next_id(resource), self.service.clock.now());
        row.merge(resource, entity);
        let id = row.id;
        entities.put(resource, vec![row]).expect("the journal takes the entity");
        id
    }

    /// Changes some fields of an entity, as an operator of the service would; `modified` is now. Does nothing where
    /// there is no such entity.
    ///
    /// # Panics
    ///
    /// Where the sandbox has no such resource, or `changes` is no object.
    pub fn edit(&self, resource: &str, id: i64, changes: Value) {
        let (resource, changes) = (known(resource), object(changes));
        let mut entities = self.service.store.write();
        let Some(mut row) = entities.rows(resource.name).get(&id).cloned() else { return };
        row.modified = self.service.clock.now();
        row.merge(resource, changes);
        row.id = id;
        entities.put(resource, vec![row]).expect("the journal takes the entity");
    }

    /// Removes an entity, as an operator of the service would; false where there was none.
    ///
    /// # Panics
    ///
    /// Where the sandbox has no such resource.
    pub fn remove(&self, resource: &str, id: i64) -> bool {
        self.service.store.write().remove(known(resource), id).expect("the journal takes the entry")
    }

    /// Every API request so far, in order of arrival; token requests are not among them.
    pub fn requests(&self) -> Vec<Request> {
        self.service.traffic().requests()
    }

    /// How many requests other than GET and HEAD were carried out.
    pub fn writes(&self) -> usize {
        self.service.traffic().writes
    }

    /// How many tokens were asked for.
    pub fn token_requests(&self) -> usize {
        self.service.traffic().token_requests
    }

    /// How many requests the rate limit (or a fault) answered with 429.
    pub fn refused_by_rate(&self) -> usize {
        self.service.traffic().requests().iter().filter(|request| request.status == 429).count()
    }

    /// The most API requests that arrived within any 60 seconds, those answered with 429 included.
    pub fn busiest_minute(&self) -> usize {
        self.service.traffic().busiest_minute()
    }

    /// Replaces the present faults by others. Their counts begin at zero, and requests that the old ones held continue.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.service.set_faults(faults);
    }

    /// How many requests a fault holds.
    pub fn held(&self) -> usize {
        self.service.gate.waiting()
    }

    /// Lets the requests go on that a fault holds, and tells how many they were. Those that arrive later are held as well.
    pub fn release(&self) -> usize {
        self.service.gate.open()
    }

    /// Changes the rate limit; 0 for none.
    pub fn set_rate(&self, rate: u32) {
        self.service.rate().set_limit(rate);
    }

    /// Changes the secret of the client that the options name; its tokens are void from then on.
    ///
    /// # Panics
    ///
    /// Where the data folder can't be written.
    pub fn rotate_secret(&self, secret: &str) {
        let id = &self.service.options.client_id;
        let rotated = self.service.credentials.change(|account| {
            account
                .clients
                .iter_mut()
                .filter(|client| client.id == *id)
                .for_each(|client| client.rotate(secret.to_owned()));
            Ok(())
        });
        rotated.expect("the data folder takes the secret");
    }

    /// Stops listening, cuts all connections and lets go of the data.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        self.service.close();
        if let Some(mut server) = self.server.take()
            && timeout(STOP_MAX, &mut server).await.is_err()
        {
            server.abort();
        }
    }
}

/// Shows where it listens.
impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.service.close();
    }
}

/// Answers one request. It is carried out on a task of its own, so that a caller who hangs up doesn't undo it.
async fn handle(
    State(service): State<Arc<Service>>,
    ConnectInfo(shears): ConnectInfo<Shears>,
    request: axum::extract::Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let arrival = service.arrive(&parts);
    let body = to_bytes(body, BODY_MAX).await.ok();
    let outcome = tokio::spawn(Arc::clone(&service).process(arrival, parts, body)).await;
    let date = service.clock.date_header();
    match outcome.unwrap_or(Outcome::Cut) {
        Outcome::Answered(answer) => {
            let body = Body::from(answer.body.clone());
            response(answer, body, &date)
        }
        Outcome::Half(answer) if answer.body.len() > 1 => half(answer, shears, &date),
        Outcome::Half(_) | Outcome::Cut => {
            shears.cut();
            Response::new(Body::empty())
        }
    }
}

/// An answer that promises its whole length and breaks off in the middle.
fn half(mut answer: Answer, shears: Shears, date: &str) -> Response {
    let length = answer.body.len();
    answer.body.truncate(length / 2);
    let sent = stream::iter([Ok::<_, io::Error>(answer.body.clone())]);
    let broken = stream::once(async move {
        // The server writes out what it has before it asks again.
        yield_now().await;
        shears.cut();
        Err(io::ErrorKind::ConnectionReset.into())
    });
    response(answer.with("content-length", length.to_string()), Body::from_stream(sent.chain(broken)), date)
}

/// The date is set here, so that it follows the service's clock.
fn response(answer: Answer, body: Body, date: &str) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    for (name, value) in answer.headers.iter().map(|(name, value)| (*name, value.as_str())).chain([("date", date)]) {
        match HeaderValue::from_str(value) {
            Ok(value) => drop(response.headers_mut().insert(name, value)),
            Err(_) => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
    response
}

fn known(resource: &str) -> &'static Resource {
    tables::resource(resource).expect("the sandbox has this resource")
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => panic!("an entity is an object"),
    }
}
