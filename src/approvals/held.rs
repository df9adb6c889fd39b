//! What someone asks for: to see what is held, to decide on it, to pause a job.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use reqwest::Url;

use super::access::Allowed;
use super::consent::Subject;
use super::decide::{self, Decision, Outcome, Ruling};
use super::pages::Held;
use super::random;
use super::site::Site;
use super::view::{self, PageQuery, Revealed};
use super::visitor::Visitor;
use crate::config::{Job, Right};
use crate::operator::{ChosenKey, HeldSet};
use crate::record::Key;

/// The longest form that is read, in bytes: the keys of a large set, one by one.
const FORM_MAX: usize = 1024 * 1024;

/// What a form says.
pub(super) struct Form(Vec<(String, String)>);

pub(super) type Replied = Result<Response, Box<Response>>;

impl Form {
    /// Reads a form of someone with a session, with the token of that session; `Err` is the answer to anything else.
    pub(super) async fn of(site: &Site, request: Request) -> Result<(Self, Visitor), Box<Response>> {
        let (head, body) = request.into_parts();
        let refused = |status, title, text| Box::new(site.pages.message(status, title, text));
        let Some(visitor) = site.sender(&head.headers) else {
            let text = "Your session is over. Nothing was done; log in and look again.";
            return Err(Box::new(site.pages.login_failed(StatusCode::FORBIDDEN, text, None)));
        };
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/x-www-form-urlencoded") {
            let text = "This is no form of these pages.";
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Not a form", text));
        }
        let Ok(bytes) = to_bytes(body, FORM_MAX).await else {
            let text = "The form is too long. Nothing was done.";
            return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, "Too long", text));
        };
        let mut url = Url::parse("x:").expect("an address");
        url.set_query(Some(&String::from_utf8_lossy(&bytes)));
        let form = Self(url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect());
        if !form.one("token").is_some_and(|token| random::same(token, &visitor.token)) {
            let text = "This form belongs to another session. Nothing was done; look again.";
            return Err(refused(StatusCode::FORBIDDEN, "Another session", text));
        }
        Ok((form, visitor))
    }

    /// The only value of that name.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        values.next().filter(|_| values.next().is_none())
    }

    /// What is decided on; `None` where the form says that not, or not clearly.
    fn subject(&self, job: &Job) -> Option<Subject> {
        let keys = match self.one("scope")? {
            "all" => None,
            "chosen" => {
                let ticked = self.0.iter().filter(|(name, _)| name == "key");
                let keys: Option<BTreeSet<ChosenKey>> = ticked.map(|(_, text)| ChosenKey::parse(job, text)).collect();
                Some(keys.filter(|keys| !keys.is_empty())?)
            }
            _ => return None,
        };
        Some(Subject { set: self.one("held_set")?.parse().ok()?, digest: self.one("digest")?.to_owned(), keys })
    }
}

/// The jobs that someone may do something with.
pub(super) async fn overview(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    whole(overview_of(&site, &headers).await)
}

async fn overview_of(site: &Arc<Site>, headers: &HeaderMap) -> Replied {
    let visitor = site.visitor(headers, None)?;
    let config = site.engine.config();
    let jobs = config.jobs.iter().map(|job| job.name.as_str());
    let allowed: Vec<Allowed> = jobs.filter_map(|job| site.allowed(&visitor, job)).collect();
    let rows = site.with_store(move |store| {
        let rows = allowed.iter().map(|one| view::job_row(store, one.job(), &one.rights));
        rows.collect::<Result<Vec<_>, _>>()
    });
    let rows = rows.await?.map_err(|error| unreadable(site, &error))?;
    Ok(visitor.kept(site.pages.overview(&visitor, &rows)))
}

/// What a job holds.
pub(super) async fn look(
    State(site): State<Arc<Site>>,
    Path(job): Path<String>,
    Query(part): Query<PageQuery>,
    headers: HeaderMap,
) -> Response {
    let looked = async {
        let visitor = site.visitor(&headers, Some(&job))?;
        let allowed = site.seen(&visitor, &job)?;
        let shown = Shown { part, revealed: Revealed::None, status: StatusCode::OK, note: None };
        Ok(visitor.kept(show(&site, &visitor, &allowed, shown).await?))
    };
    whole(looked.await)
}

/// A decision on what a job holds, or a look at values that are hidden.
pub(super) async fn decide(State(site): State<Arc<Site>>, Path(job): Path<String>, request: Request) -> Response {
    let decided = async {
        let (form, visitor) = Form::of(&site, request).await?;
        let allowed = site.seen(&visitor, &job)?;
        match form.one("action") {
            Some("approve") => carry_out(&site, &visitor, &allowed, &form, Ruling::Approve).await,
            Some("reject") => carry_out(&site, &visitor, &allowed, &form, Ruling::Reject).await,
            Some("show") => reveal(&site, &visitor, &allowed, &form).await,
            _ => Err(unclear(&site)),
        }
    };
    whole(decided.await)
}

/// What is shown of a job.
struct Shown {
    part: PageQuery,
    revealed: Revealed,
    status: StatusCode,
    /// What to say above it.
    note: Option<String>,
}

async fn show(site: &Arc<Site>, visitor: &Visitor, allowed: &Allowed, shown: Shown) -> Replied {
    let (config, name, rights) = (Arc::clone(&allowed.config), allowed.name.clone(), allowed.rights.clone());
    let Shown { part, revealed, status, note } = shown;
    let view = site.with_store(move |store| {
        let allowed = Allowed { config, name, rights };
        let set = HeldSet::load(store, allowed.job())?;
        view::held_page(store, &allowed, &set, &part, &revealed)
    });
    let view = view.await?.map_err(|error| unreadable(site, &error))?;
    let consents = site.consents.of(&allowed.name, view.set, &view.digest);
    let page = Held { held: &view, consents: &consents, note: note.as_deref() };
    Ok(site.pages.held(status, visitor, &page))
}

async fn carry_out(site: &Arc<Site>, visitor: &Visitor, allowed: &Allowed, form: &Form, ruling: Ruling) -> Replied {
    if !allowed.rights.allow(ruling.right()) {
        return Err(Box::new(site.pages.forbidden()));
    }
    let subject = form.subject(allowed.job()).ok_or_else(|| unclear(site))?;
    let decision = Decision { ruling, subject, person: visitor.person.clone(), logged_in: visitor.logged_in };
    let (own, config, name) = (Arc::clone(site), Arc::clone(&allowed.config), allowed.name.clone());
    let outcome = site.with_store(move |store| {
        let job = config.jobs.iter().find(|job| job.name == name).expect("it was found there");
        decide::decide(&own, store, job, &decision)
    });
    let outcome = outcome.await?.map_err(|error| {
        tracing::warn!(%error, "a decision on a page could not be made: {error}");
        Box::new(site.pages.undecided(&error))
    })?;
    let note =
        |status, note: String| Shown { part: PageQuery::default(), revealed: Revealed::None, status, note: Some(note) };
    let many = |count: usize| if count == 1 { "1 change".to_owned() } else { format!("{count} changes") };
    match outcome {
        Outcome::Done { count, has_grace } => {
            let job = &allowed.name;
            let mut text = format!("{} {}.", many(count), ruling.done());
            if has_grace {
                text += &format!(
                    " Who is missing leaves once the grace is over; until then `rosterd reject {job} KEY` takes it back."
                );
            }
            show(site, visitor, allowed, note(StatusCode::OK, text)).await
        }
        Outcome::Consented => {
            let text = "Your consent counts. A second person has to approve just the same before anything is released.";
            show(site, visitor, allowed, note(StatusCode::OK, text.to_owned())).await
        }
        Outcome::Changed => {
            let text = "What is held changed meanwhile. Nothing was decided: look again.";
            show(site, visitor, allowed, note(StatusCode::CONFLICT, text.to_owned())).await
        }
        Outcome::LoginIsOld { leavers } => Ok(site.pages.login_again(&allowed.name, leavers)),
        Outcome::Nothing => {
            let text =
                "Nothing was decided: none of these is held any more, or each names what has to be mended first.";
            show(site, visitor, allowed, note(StatusCode::CONFLICT, text.to_owned())).await
        }
    }
}

/// Shows values that are hidden, once that was written down.
async fn reveal(site: &Arc<Site>, visitor: &Visitor, allowed: &Allowed, form: &Form) -> Replied {
    let key = match form.one("key") {
        Some(key) => Some(Key::new(key).ok_or_else(|| unclear(site))?),
        None => None,
    };
    note_look(site, visitor, allowed, key.clone()).await?;
    let revealed = key.map_or(Revealed::All, Revealed::One);
    let page = form.one("page").and_then(|page| page.parse().ok());
    let part = PageQuery::new(page, form.one("q").map(str::to_owned));
    show(site, visitor, allowed, Shown { part, revealed, status: StatusCode::OK, note: None }).await
}

/// Writes down that someone looks at hidden values, of one key or of all; `Err` is the answer where that can't be.
pub(super) async fn note_look(
    site: &Arc<Site>,
    visitor: &Visitor,
    allowed: &Allowed,
    key: Option<Key>,
) -> Result<(), Box<Response>> {
    let (own, name, person) = (Arc::clone(site), allowed.name.clone(), visitor.person.clone());
    let written = site.with_store(move |store| decide::note_look(&own, store, &name, &person, key));
    written.await?.map_err(|error| {
        tracing::warn!(%error, "a look at hidden values could not be written to the audit file: {error}");
        Box::new(site.pages.unavailable())
    })
}

/// Pauses a job.
pub(super) async fn pause(State(site): State<Arc<Site>>, Path(job): Path<String>, request: Request) -> Response {
    whole(halt(&site, &job, request, decide::pause).await)
}

/// Lets a job go on.
pub(super) async fn resume(State(site): State<Arc<Site>>, Path(job): Path<String>, request: Request) -> Response {
    whole(halt(&site, &job, request, decide::resume).await)
}

async fn halt(site: &Arc<Site>, job: &str, request: Request, carry_out: decide::Halt) -> Replied {
    let (_, visitor) = Form::of(site, request).await?;
    let allowed = site.allowed(&visitor, job).ok_or_else(|| Box::new(site.pages.missing()))?;
    if !allowed.rights.allow(Right::Pause) {
        return Err(Box::new(site.pages.forbidden()));
    }
    let (own, name) = (Arc::clone(site), allowed.name.clone());
    // Without the store: what is to stop must not wait for who has it.
    let done = tokio::task::spawn_blocking(move || carry_out(&own, &name, &visitor.person)).await;
    match done {
        Ok(Ok(())) => Ok(super::reply::see_other("/")),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a pause could not be set or lifted: {error}");
            Err(Box::new(site.pages.unavailable()))
        }
        Err(_) => Err(Box::new(site.pages.unavailable())),
    }
}

pub(super) fn unclear(site: &Site) -> Box<Response> {
    let text = "The form does not say clearly what to do: choose changes, or all of them. Nothing was done.";
    Box::new(site.pages.message(StatusCode::BAD_REQUEST, "Not clear", text))
}

pub(super) fn unreadable(site: &Site, error: &dyn std::error::Error) -> Box<Response> {
    tracing::warn!(%error, "the state could not be read for a page: {error}");
    Box::new(site.pages.unavailable())
}

pub(super) fn whole(answer: Replied) -> Response {
    answer.unwrap_or_else(|response| *response)
}
