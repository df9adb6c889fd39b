//! Carries operations out: one way to list, create, get, replace and delete, whatever the resource, and one file for
//! each of the few actions that are something else.

mod asset;
mod entity;
mod group;
mod link;
mod movement;
mod photo;
mod roster;
mod upload;

use axum::http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::answer::{Answer, Rejection};
use super::binding::{Action, Binding, binding};
use super::decode;
use super::input::RequestBody;
use super::media;
use super::operation::Operation;
use super::options::Options;
use super::resource::Resource;
use super::row::EntityRow;
use super::store::{Change, Entities, Store};
use super::view::{Sight, View};
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
    /// Whether the account has the add-on for assets.
    pub(super) assets: bool,
}

/// Query parameters of lists. One that the operation's row doesn't name is refused: the caller would take the answer
/// for something else than it is.
const LIST_PARAMETERS: &[&str] = &["q", "order", "limit", "page"];

/// Carries an operation out.
pub(super) fn carry_out(store: &Store, options: &Options, order: &Order<'_>) -> Result<Answer, Rejection> {
    let query = decode::pairs(order.query).ok_or_else(|| Rejection::bad("the query is not UTF-8"))?;
    let Binding { action, resource, only, .. } = binding(order.operation.name);
    let mut call = Call { store, options, order, resource, only, query, zone: TimeZone::UTC };
    if let Some(name) = call.parameter("time_zone") {
        call.zone =
            zone::zone(name).ok_or_else(|| Rejection::bad("time_zone is none of the zones that can be used"))?;
    }
    let foreign = LIST_PARAMETERS.iter().find(|name| call.parameter(name).is_some() && !order.operation.takes(name));
    if let Some(name) = foreign {
        return Err(Rejection::bad(format!("{} doesn't take {name}", order.operation.name)));
    }
    if !order.assets && order.operation.scope.starts_with("asset:") {
        return Err(Rejection::new(StatusCode::FORBIDDEN, "the account doesn't have the add-on for assets"));
    }
    match action {
        Action::List => call.list(),
        Action::Create => call.create(),
        Action::Get => call.get(),
        Action::Replace => call.replace(),
        Action::Delete => call.delete(),
        Action::Upload => call.upload(),
        Action::ShowPhoto => call.show_photo(),
        Action::PutPhoto => call.put_photo(),
        Action::Move => call.put_movement(),
        Action::Associate => call.associate(),
        Action::ListGroups => call.list_groups(),
        Action::AddGroups => call.add_groups(),
        Action::Link => call.link(true),
        Action::Unlink => call.link(false),
        Action::Issue => call.issue(),
        Action::Return => call.take_back(),
    }
}

struct Call<'a> {
    store: &'a Store,
    options: &'a Options,
    order: &'a Order<'a>,
    resource: &'static Resource,
    only: Option<&'static [&'static str]>,
    query: Vec<(String, String)>,
    zone: TimeZone,
}

impl Call<'_> {
    /// A parameter of the query.
    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The id at a place in the path; what is no number is no id of anything.
    fn id_at(&self, place: usize, resource: &Resource) -> Result<i64, Rejection> {
        let text = self.order.path.get(place);
        text.and_then(|id| id.parse().ok()).ok_or_else(|| missing(resource))
    }

    /// The entity at a place in the path.
    fn row_at<'e>(
        &self,
        place: usize,
        resource: &Resource,
        entities: &'e Entities,
    ) -> Result<&'e EntityRow, Rejection> {
        let id = self.id_at(place, resource)?;
        entities.rows(resource.name).get(&id).ok_or_else(|| missing(resource))
    }

    /// The body where it is one entity.
    fn object(&self) -> Result<Map<String, Value>, Rejection> {
        match self.body()? {
            Value::Object(body) => Ok(body),
            _ => Err(Rejection::bad("the body is no object")),
        }
    }

    /// The body, whatever its media type, as a JSON value.
    fn body(&self) -> Result<Value, Rejection> {
        media::read(self.order.headers, self.order.body)
    }

    /// The media type of the body, in lower case and without parameters.
    fn media_type(&self) -> String {
        media::sent(self.order.headers)
    }

    fn input<'i>(&'i self, entities: &'i Entities, body: &'i Map<String, Value>, is_update: bool) -> RequestBody<'i> {
        let normalize = self.options.normalize;
        RequestBody { resource: self.resource, entities, body, is_update, zone: &self.zone, normalize }
    }

    /// A new entity of the operation's resource as the body describes it, and the body.
    fn fresh<'i>(
        &'i self,
        entities: &'i Entities,
        body: &'i Map<String, Value>,
    ) -> Result<(RequestBody<'i>, EntityRow), Rejection> {
        let mut row = EntityRow::new(self.resource, entities.next_id(self.resource), self.order.now);
        let input = self.input(entities, body, false);
        input.check_names()?;
        input.fill(&mut row)?;
        Ok((input, row))
    }

    fn view<'e>(&self, resource: &'static Resource, entities: &'e Entities) -> View<'e> {
        let (zone, now, show_roaming) = (self.zone.clone(), self.order.now, self.options.show_roaming);
        View::new(resource, entities, Sight { zone, now, show_roaming, only: self.only })
    }

    fn save(&self, entities: &mut Entities, changes: Vec<Change>) -> Result<(), Rejection> {
        let failed = |_| Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "the data could not be written");
        entities.apply(changes).map_err(failed)
    }

    /// The answer that shows one entity of the operation's resource.
    fn one(&self, entities: &Entities, row: &EntityRow) -> Answer {
        let view = self.view(self.resource, entities);
        self.answer(|status| Answer::document(status, view.one(row)))
    }

    /// The answer of a success; one of 204 has no body, whatever there is to say.
    fn answer(&self, made: impl FnOnce(StatusCode) -> Answer) -> Answer {
        let success = StatusCode::from_u16(self.order.operation.success).unwrap_or(StatusCode::OK);
        let is_bare = self.options.put_without_body && self.order.operation.method == "PUT";
        if is_bare || success == StatusCode::NO_CONTENT {
            return Answer::bare(StatusCode::NO_CONTENT);
        }
        made(success)
    }
}

fn missing(resource: &Resource) -> Rejection {
    Rejection::missing(format!("there is no {} of that id", resource.name))
}
