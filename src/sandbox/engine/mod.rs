//! Carries operations out: one way to list, create, get, replace and delete, whatever the resource.

use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::answer::{Answer, Refusal};
use super::decode;
use super::input::Input;
use super::list::{self, Listing};
use super::operation::Operation;
use super::options::Options;
use super::reply::Reply;
use super::resource::Resource;
use super::row::Row;
use super::store::{Entities, Store};
use super::tables::{Action, binding};
use super::view::View;
use super::zone;

/// A request that may be carried out.
pub(super) struct Order<'a> {
    pub(super) operation: &'static Operation,
    /// The path's parameters in order.
    pub(super) path: &'a [String],
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    pub(super) now: Timestamp,
}

/// Query parameters of lists. One that the operation's row doesn't name is refused: the caller would take the answer
/// for something else than it is.
const LIST_PARAMETERS: &[&str] = &["q", "order", "limit", "page"];

/// Carries an operation out.
pub(super) fn carry_out(store: &Store, options: &Options, order: &Order<'_>) -> Result<Answer, Refusal> {
    let query = decode::pairs(order.query).ok_or_else(|| Refusal::bad("the query is not UTF-8"))?;
    let parameter = |name: &str| query.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
    let zone = parameter("time_zone").map_or(Some(TimeZone::UTC), zone::zone);
    let zone = zone.ok_or_else(|| Refusal::bad("time_zone is none of the zones that can be used"))?;
    if let Some(name) = LIST_PARAMETERS.iter().find(|name| parameter(name).is_some() && !order.operation.takes(name)) {
        return Err(Refusal::bad(format!("{} doesn't take {name}", order.operation.name)));
    }
    let Some((action, resource)) = binding(order.operation.name) else {
        let message = format!("the sandbox doesn't have {} yet", order.operation.name);
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, message));
    };
    let call = Call { store, options, order, resource, zone };
    match action {
        Action::List => call.list(&Listing {
            filter: parameter("q"),
            order: parameter("order"),
            limit: parameter("limit"),
            since: call.since()?,
            // A list that can't be ordered can't be walked, and is whole.
            page_max: if order.operation.takes("order") { options.page_max } else { u32::MAX },
        }),
        Action::Create => call.create(),
        Action::Get => call.get(),
        Action::Replace => call.replace(),
        Action::Delete => call.delete(),
    }
}

struct Call<'a> {
    store: &'a Store,
    options: &'a Options,
    order: &'a Order<'a>,
    resource: &'static Resource,
    zone: TimeZone,
}

impl Call<'_> {
    fn list(&self, listing: &Listing<'_>) -> Result<Answer, Refusal> {
        let entities = self.store.read();
        let view = self.view(&entities);
        let rows = list::select(&view, listing)?;
        if rows.is_empty() && self.options.empty_as_404 {
            return Err(Refusal::missing("no records found"));
        }
        Ok(self.answer(Reply::List(&view, rows)))
    }

    fn get(&self) -> Result<Answer, Refusal> {
        let id = self.id()?;
        let entities = self.store.read();
        let row = entities.rows(self.resource.name).get(&id).ok_or_else(|| self.missing())?;
        Ok(self.entity(&entities, row))
    }

    fn create(&self) -> Result<Answer, Refusal> {
        let body = self.object()?;
        let mut entities = self.store.write();
        let mut row = Row::new(self.resource, entities.next_id(self.resource), self.order.now);
        let input = self.input(&entities, body);
        input.check_names()?;
        input.fill(&mut row)?;
        for position in self.resource.required.iter().filter_map(|name| self.resource.position(name)) {
            if row.value(position).is_null() {
                return Err(Refusal::bad(format!("{} is required", self.resource.fields[position].name)));
            }
        }
        let taken = |position: &usize| entities.is_taken(self.resource, *position, row.value(*position), None);
        if !self.options.accept_duplicates && self.resource.unique_positions().any(|position| taken(&position)) {
            return Err(Refusal::new(StatusCode::CONFLICT, format!("{} already exists", self.resource.name)));
        }
        self.save(&mut entities, &row)?;
        Ok(self.entity(&entities, &row))
    }

    fn replace(&self) -> Result<Answer, Refusal> {
        let id = self.id()?;
        let body = self.object()?;
        let mut entities = self.store.write();
        let mut row = entities.rows(self.resource.name).get(&id).ok_or_else(|| self.missing())?.clone();
        let input = self.input(&entities, body);
        input.check_names()?;
        if input.body.get("id").is_some_and(|sent| sent.as_i64() != Some(id) && sent.as_str() != Some(&id.to_string()))
        {
            return Err(Refusal::bad("the id in the body is not that in the path"));
        }
        if input.is_custom_only() {
            input.merge_custom(&mut row)?;
        } else {
            input.replace(&mut row)?;
        }
        row.modified = self.order.now;
        self.save(&mut entities, &row)?;
        Ok(self.entity(&entities, &row))
    }

    fn delete(&self) -> Result<Answer, Refusal> {
        let id = self.id()?;
        match self.store.write().remove(self.resource, id) {
            Ok(true) => Ok(self.answer(Reply::Nothing)),
            Ok(false) => Err(self.missing()),
            Err(error) => Err(failed(&error)),
        }
    }

    fn save(&self, entities: &mut Entities, row: &Row) -> Result<(), Refusal> {
        entities.put(self.resource, vec![row.clone()]).map_err(|error| failed(&error))
    }

    fn entity(&self, entities: &Entities, row: &Row) -> Answer {
        self.answer(Reply::One(&self.view(entities), row))
    }

    /// The answer of a success; one of 204 has no body, whatever there is to say.
    fn answer(&self, reply: Reply<'_, '_>) -> Answer {
        let success = StatusCode::from_u16(self.order.operation.success).unwrap_or(StatusCode::OK);
        let is_bare = self.options.put_without_body && self.order.operation.method == "PUT";
        if is_bare || success == StatusCode::NO_CONTENT {
            return Reply::Nothing.answer(StatusCode::NO_CONTENT);
        }
        reply.answer(success)
    }

    fn view<'e>(&self, entities: &'e Entities) -> View<'e> {
        View::new(self.resource, entities, self.zone.clone(), self.options.show_roaming)
    }

    fn input<'e>(&self, entities: &'e Entities, body: Map<String, Value>) -> Input<'e> {
        Input { resource: self.resource, entities, body, normalize: self.options.normalize }
    }

    fn missing(&self) -> Refusal {
        Refusal::missing(format!("there is no {} of that id", self.resource.name))
    }

    /// The id in the path; what is no number is no id of anything.
    fn id(&self) -> Result<i64, Refusal> {
        self.order.path.last().and_then(|id| id.parse().ok()).ok_or_else(|| self.missing())
    }

    /// The body where it is one entity.
    fn object(&self) -> Result<Map<String, Value>, Refusal> {
        match self.body()? {
            Value::Object(body) => Ok(body),
            _ => Err(Refusal::bad("the body is no JSON object")),
        }
    }

    /// The body, whatever its media type, as a JSON value.
    fn body(&self) -> Result<Value, Refusal> {
        let kind = self.order.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
        if !is_json {
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not application/json"));
        }
        serde_json::from_slice(self.order.body).map_err(|_| Refusal::bad("the body is no JSON"))
    }

    fn since(&self) -> Result<Option<Timestamp>, Refusal> {
        let Some(header) =
            self.order.headers.get("if-modified-since").filter(|_| self.order.operation.takes("If-Modified-Since"))
        else {
            return Ok(None);
        };
        let since = header.to_str().ok().and_then(zone::read_since);
        since.map(Some).ok_or_else(|| Refusal::bad("If-Modified-Since takes yyyy-mm-ddThh:mm:ss in UTC"))
    }
}

fn failed(_: &std::io::Error) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the data could not be written")
}
