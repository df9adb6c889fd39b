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
use super::held::{Form, Replied, note_look, unclear, unreadable, whole};
use super::reply;
use super::site::Site;
use super::story::StoryPage;
use super::view;
use super::visitor::Visitor;
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
        let visitor = site.visitor(&headers, Some(&job))?;
        let allowed = site.seen(&visitor, &job)?;
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
        let allowed = site.seen(&visitor, &job)?;
        let key = form.one("key").and_then(Key::new).ok_or_else(|| unclear(&site))?;
        note_look(&site, &visitor, &allowed, Some(key.clone())).await?;
        show(&site, &visitor, allowed, key.as_str().to_owned(), true).await
    };
    whole(revealed.await)
}

async fn show(site: &Arc<Site>, visitor: &Visitor, allowed: Allowed, key: String, shows: bool) -> Replied {
    let page = site.with_store(move |store| {
        let job = allowed.job();
        let Some(name) = Key::new(key.trim()) else { return Ok(StoryPage::unknown(job, &key)) };
        let story = PersonStory::load(store, job, &name)?;
        let Some(story) = story else { return Ok(StoryPage::unknown(job, &key)) };
        let paused = view::paused(job, view::pauses(store, job));
        Ok(StoryPage::of(&story, job, &name, paused, shows))
    });
    let page = page.await?.map_err(|error: crate::reconcile::Error| unreadable(site, &error))?;
    Ok(site.pages.story(visitor, &page))
}
