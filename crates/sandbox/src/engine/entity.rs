//! What can be done to the entities of any resource: list, create, get, replace, delete.

use axum::http::StatusCode;
use jiff::Timestamp;

use super::super::answer::{Answer, Rejection};
use super::super::input::RequestBody;
use super::super::list::{self, ListScope, Listing};
use super::super::row::EntityRow;
use super::super::store::{Change, Entities};
use super::super::tables;
use super::super::zone;
use super::{Call, missing};

/// The entity that those of an operation belong to: the position of the field that holds its id, and the id.
type Parent = Option<(usize, i64)>;

impl Call<'_> {
    pub(super) fn list(&self) -> Result<Answer, Rejection> {
        let entities = self.store.read();
        if let Some(id) = self.parameter("id").filter(|_| self.order.operation.takes("id")) {
            let row = id.parse().ok().and_then(|id: i64| entities.rows(self.resource.name).get(&id));
            return Ok(self.one(&entities, row.ok_or_else(|| missing(self.resource))?));
        }
        let parent = self.parent(&entities, self.order.path.len())?;
        let view = self.view(self.resource, &entities);
        // A list that can't be ordered can't be walked, and is whole as far as the service goes at all.
        let walked = if self.order.operation.takes("order") { self.options.page_max } else { u32::MAX };
        let rows = list::select(
            &view,
            &Listing {
                filter: self.parameter("q"),
                order: self.parameter("order"),
                limit: self.parameter("limit"),
                page: self.parameter("page"),
                since: self.since()?,
                page_max: walked.min(self.resource.list_max.unwrap_or(u32::MAX)),
                scope: parent.map_or(ListScope::Everything, |(position, id)| ListScope::Of(position, id)),
            },
        )?;
        if rows.is_empty() && self.options.empty_as_404 {
            return Err(Rejection::missing("no records found"));
        }
        Ok(self.answer(|status| Answer::document(status, view.list(rows))))
    }

    pub(super) fn get(&self) -> Result<Answer, Rejection> {
        let entities = self.store.read();
        Ok(self.one(&entities, self.found(&entities)?))
    }

    pub(super) fn create(&self) -> Result<Answer, Rejection> {
        let body = self.object()?;
        let mut entities = self.store.write();
        let (input, mut row) = self.fresh(&entities, &body)?;
        self.settle(&entities, &input, &mut row)?;
        self.save(&mut entities, vec![Change::Put(self.resource, row.clone())])?;
        Ok(self.one(&entities, &row))
    }

    pub(super) fn replace(&self) -> Result<Answer, Rejection> {
        let body = self.object()?;
        let mut entities = self.store.write();
        let mut row = self.found(&entities)?.clone();
        let input = self.input(&entities, &body, true);
        input.check_names()?;
        let id = row.id;
        if body.get("id").is_some_and(|sent| sent.as_i64() != Some(id) && sent.as_str() != Some(&id.to_string())) {
            return Err(Rejection::bad("the id in the body is not that in the path"));
        }
        if input.is_custom_only() {
            input.merge_custom(&mut row)?;
        } else {
            input.replace(&mut row)?;
            self.settle(&entities, &input, &mut row)?;
        }
        row.modified = self.order.now;
        self.save(&mut entities, vec![Change::Put(self.resource, row.clone())])?;
        Ok(self.one(&entities, &row))
    }

    pub(super) fn delete(&self) -> Result<Answer, Rejection> {
        let mut entities = self.store.write();
        let id = self.found(&entities)?.id;
        for rule in self.resource.rules {
            rule.check_removal(&entities, id)?;
        }
        self.save(&mut entities, vec![Change::Gone(self.resource, id)])?;
        Ok(self.answer(Answer::bare))
    }

    /// Makes an association, or renews the one that there is between the same two (specification, States).
    pub(super) fn associate(&self) -> Result<Answer, Rejection> {
        let body = self.object()?;
        let mut entities = self.store.write();
        let (input, mut row) = self.fresh(&entities, &body)?;
        self.settle(&entities, &input, &mut row)?;
        let same = ["induction_id", "staff_id", "sp_member_id"].map(|field| self.resource.at(field));
        let known = entities.rows(self.resource.name).values();
        let known = known.into_iter().find(|known| same.iter().all(|at| known.value(*at) == row.value(*at)));
        let attempts = self.resource.at("attempts");
        let tried = known.map_or(0, |known| known.integer(attempts).unwrap_or(0));
        if let Some(known) = known {
            row = known.clone();
            row.modified = self.order.now;
            input.fill(&mut row)?;
        }
        row.set(attempts, (tried + 1).into());
        self.settle(&entities, &input, &mut row)?;
        self.save(&mut entities, vec![Change::Put(self.resource, row.clone())])?;
        Ok(self.one(&entities, &row))
    }

    /// Ties an entity to its parent and checks it as a whole.
    fn settle(&self, entities: &Entities, input: &RequestBody<'_>, row: &mut EntityRow) -> Result<(), Rejection> {
        if let Some((position, id)) = self.parent(entities, self.order.path.len() - usize::from(input.is_update))? {
            if row.integer(position).is_some_and(|sent| sent != id) {
                return Err(Rejection::bad(format!(
                    "{} in the body is not that in the path",
                    self.resource.fields[position].name
                )));
            }
            row.set(position, id.into());
        }
        input.check_required(row)?;
        let may_conflict = self.order.operation.may_answer(StatusCode::CONFLICT);
        for rule in self.resource.rules {
            rule.check(entities, self.resource, row).map_err(|refusal| match refusal.status {
                StatusCode::CONFLICT if !may_conflict => Rejection::bad(refusal.message),
                _ => refusal,
            })?;
        }
        let taken = self.resource.unique.iter().any(|group| entities.is_taken(self.resource, group, row));
        if taken && may_conflict && !self.options.accept_duplicates {
            return Err(Rejection::new(StatusCode::CONFLICT, format!("{} already exists", self.resource.name)));
        }
        Ok(())
    }

    /// The entity at the end of the path.
    fn found<'e>(&self, entities: &'e Entities) -> Result<&'e EntityRow, Rejection> {
        let last = self.order.path.len().saturating_sub(1);
        let parent = self.parent(entities, last)?;
        let row = self.row_at(last, self.resource, entities)?;
        let is_its = parent.is_none_or(|(position, id)| row.integer(position) == Some(id));
        is_its.then_some(row).ok_or_else(|| missing(self.resource))
    }

    /// The parent in the first `depth` places of the path. Each entity there must belong to the one before it.
    fn parent(&self, entities: &Entities, depth: usize) -> Result<Parent, Rejection> {
        let mut line = Vec::new();
        let mut own = self.resource;
        while let Some((by, parent)) = own.parent.and_then(|(by, parent)| Some((by, tables::resource(parent)?))) {
            line.push((own.at(by), parent));
            own = parent;
        }
        let mut known: Parent = None;
        for (place, (position, parent)) in line.into_iter().rev().enumerate().take(depth) {
            let row = self.row_at(place, parent, entities)?;
            if known.is_some_and(|(position, id)| row.integer(position) != Some(id)) {
                return Err(missing(parent));
            }
            known = Some((position, row.id));
        }
        Ok(known)
    }

    fn since(&self) -> Result<Option<Timestamp>, Rejection> {
        let Some(header) =
            self.order.headers.get("if-modified-since").filter(|_| self.order.operation.takes("If-Modified-Since"))
        else {
            return Ok(None);
        };
        let since = header.to_str().ok().and_then(zone::read_since);
        since.map(Some).ok_or_else(|| Rejection::bad("If-Modified-Since takes yyyy-mm-ddThh:mm:ss in UTC"))
    }
}
