//! The page of one person.
//!
//! Invariants:
//! - Only who may see what a job holds sees its people. Hidden values are shown for a click that is written down, as on the
//!   page of what is held.

use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;

use super::access::Allowed;
use super::decide;
use super::held::{Form, Replied, unclear, unreadable, whole};
use super::reply;
use super::site::Site;
use super::story::StoryPage;
use super::visitor::Visitor;
use crate::config::Right;
use crate::operator::PersonStory;
use crate::record::Key;

/// The person that someone asks for.
#[derive(Deserialize)]
pub(super) struct PersonQuery {
    #[serde(default)]
    key: String,
}

/// What is known of someone.
pub(super) async fn look(
    State(site): State<Arc<Site>>,
    Path(job): Path<String>,
    Query(asked): Query<PersonQuery>,
    headers: HeaderMap,
) -> Response {
    let looked = async {
        let name = crate::record::JobName::new(&job).filter(|job| !job.is_part());
        let visitor = site.visitor(&headers, name.as_ref())?;
        let allowed = seen(&site, &visitor, &job)?;
        if asked.key.trim().is_empty() {
            return Ok(visitor.kept(reply::see_other(&format!("/held/{}", allowed.name))));
        }
        Ok(visitor.kept(show(&site, &visitor, allowed, asked.key, false).await?))
    };
    whole(looked.await)
}

/// The same with the values that are hidden, once that was written down.
pub(super) async fn reveal_all(State(site): State<Arc<Site>>, Path(job): Path<String>, request: Request) -> Response {
    let revealed = async {
        let (form, visitor) = Form::of(&site, request).await?;
        let allowed = seen(&site, &visitor, &job)?;
        let key = form.one("key").and_then(Key::new).ok_or_else(|| unclear(&site))?;
        let (own, name, person, one) =
            (Arc::clone(&site), allowed.name.clone(), visitor.person.clone(), Some(key.clone()));
        let written = site.with_store(move |store| decide::note_look(&own, store, &name, &person, one));
        written.await?.map_err(|error| {
            tracing::warn!(%error, "a look at hidden values could not be written to the audit file: {error}");
            Box::new(site.pages.unavailable())
        })?;
        show(&site, &visitor, allowed, key.as_str().to_owned(), true).await
    };
    whole(revealed.await)
}

/// The job, where someone may see its people.
fn seen(site: &Site, visitor: &Visitor, job: &str) -> Result<Allowed, Box<Response>> {
    let allowed = site.allowed(visitor, job).filter(|one| one.rights.allow(Right::See));
    allowed.ok_or_else(|| Box::new(site.pages.missing()))
}

async fn show(site: &Arc<Site>, visitor: &Visitor, allowed: Allowed, key: String, shows: bool) -> Replied {
    let page = site.with_store(move |store| {
        let job = allowed.job();
        let Some(name) = Key::new(key.trim()) else { return Ok(StoryPage::unknown(job, &key)) };
        let story = PersonStory::load(store, job, &name)?;
        Ok(story.map_or_else(|| StoryPage::unknown(job, &key), |story| StoryPage::of(&story, job, &name, shows)))
    });
    let page = page.await?.map_err(|error: crate::reconcile::Error| unreadable(site, &error))?;
    Ok(site.pages.story(visitor, &page))
}
