//! The pages, of templates that escape whatever they are given.

use axum::http::StatusCode;
use axum::response::Response;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use super::provider::FRESH_LOGIN;
use super::reply;
use super::story::StoryPage;
use super::view::{HeldPage, JobRow};
use super::visitor::Visitor;
use crate::config::Instance;
use crate::fault::chain;
use crate::operator::DecisionError;
use crate::record::{JobName, reveal};
use crate::web;

const TEMPLATES: [(&str, &str); 8] = [
    ("base.html", include_str!("../web/base.html")),
    ("chart.css", include_str!("../web/chart.css")),
    ("layout.html", include_str!("pages/layout.html")),
    ("overview.html", include_str!("pages/overview.html")),
    ("held.html", include_str!("pages/held.html")),
    ("story.html", include_str!("pages/story.html")),
    ("story_form.html", include_str!("pages/story_form.html")),
    ("message.html", include_str!("pages/message.html")),
];

/// The pages.
pub(super) struct Pages(Environment<'static>);

/// What every template is given.
#[derive(Serialize)]
struct Frame<'a, T> {
    title: &'a str,
    /// Who is logged in.
    user: Option<&'a str>,
    /// What the forms of their session hold.
    token: Option<&'a str>,
    page: T,
}

/// What the page of a job shows.
#[derive(Serialize)]
pub(super) struct Held<'a> {
    pub(super) held: &'a HeldPage,
    /// Who consented already, where two have to.
    pub(super) consents: &'a [String],
    /// What to say above it.
    pub(super) note: Option<&'a str>,
}

#[derive(Serialize)]
struct MessagePage<'a> {
    text: &'a str,
    /// Where to go on: an address of these pages, and what it is called.
    link: Option<(String, &'a str)>,
}

impl Pages {
    /// The pages of an account; one of several on a machine has a name, which each page shows.
    pub(super) fn new(account: Option<&Instance>) -> Self {
        let mut templates = web::templates(&TEMPLATES);
        templates.add_global("account", account.map(ToString::to_string));
        Self(templates)
    }

    fn made(&self, status: StatusCode, template: &str, frame: &impl Serialize) -> Response {
        let template = self.0.get_template(template).expect("it is one of this program");
        match template.render(Value::from(Serde(frame))) {
            Ok(html) => reply::page(status, html),
            Err(error) => {
                let error = chain(&error);
                tracing::error!(error, "a page could not be made: {error}");
                reply::page(StatusCode::INTERNAL_SERVER_ERROR, String::new())
            }
        }
    }

    pub(super) fn overview(&self, visitor: &Visitor, jobs: &[JobRow]) -> Response {
        let frame =
            Frame { title: "Decisions", user: Some(visitor.person.called()), token: Some(&visitor.token), page: jobs };
        self.made(StatusCode::OK, "overview.html", &frame)
    }

    pub(super) fn held(&self, status: StatusCode, visitor: &Visitor, page: &Held<'_>) -> Response {
        let frame = Frame { title: "Held", user: Some(visitor.person.called()), token: Some(&visitor.token), page };
        self.made(status, "held.html", &frame)
    }

    pub(super) fn story(&self, visitor: &Visitor, page: &StoryPage) -> Response {
        let frame = Frame { title: "Person", user: Some(visitor.person.called()), token: Some(&visitor.token), page };
        self.made(StatusCode::OK, "story.html", &frame)
    }

    pub(super) fn message(&self, status: StatusCode, title: &str, text: &str) -> Response {
        self.with_link(status, title, text, None)
    }

    fn with_link(&self, status: StatusCode, title: &str, text: &str, link: Option<(String, &str)>) -> Response {
        self.made(status, "message.html", &Frame { title, user: None, token: None, page: MessagePage { text, link } })
    }

    /// There is no such page, or no such job for who asks.
    pub(super) fn missing(&self) -> Response {
        let link = Some(("/".to_owned(), "All jobs"));
        self.with_link(StatusCode::NOT_FOUND, "Not found", "There is nothing here, or not for you.", link)
    }

    /// They may see it, and may not do that.
    pub(super) fn forbidden(&self) -> Response {
        let text = "You may see this, but not decide it. Nothing was done.";
        self.with_link(StatusCode::FORBIDDEN, "Not allowed", text, Some(("/".to_owned(), "All jobs")))
    }

    pub(super) fn unavailable(&self) -> Response {
        let text = "The state can't be used at the moment. Nothing was done; try again soon.";
        self.message(StatusCode::SERVICE_UNAVAILABLE, "Not now", text)
    }

    /// This worker stands by, and the one that has the account does not answer.
    pub(super) fn absent(&self) -> Response {
        let text = "The worker that has these pages does not answer at the moment. Whether something was done is not known: look \
                    again soon.";
        self.message(StatusCode::SERVICE_UNAVAILABLE, "Not now", text)
    }

    pub(super) fn undecided(&self, error: &DecisionError) -> Response {
        let status = match error {
            DecisionError::Store(_) | DecisionError::Audit(_) => return self.unavailable(),
            _ => StatusCode::CONFLICT,
        };
        let text = format!("{}. Nothing was decided.", reveal(&chain(error)));
        self.with_link(status, "Not decided", &text, Some(("/".to_owned(), "All jobs")))
    }

    /// A login did not work, or is missing.
    pub(super) fn login_failed(&self, status: StatusCode, text: &str, job: Option<&JobName>) -> Response {
        let job = job.map(|job| format!("held/{job}")).unwrap_or_default();
        self.with_link(status, "Not logged in", text, Some((format!("/{job}"), "Log in")))
    }

    /// So many leavers take a login of the last minutes.
    pub(super) fn login_again(&self, job: &JobName, leavers: usize) -> Response {
        let minutes = FRESH_LOGIN.as_mins();
        let text = format!(
            "{leavers} people would leave by this. That takes a login of the last {minutes} minutes. Nothing was decided: log in \
             again, then look and decide."
        );
        let link = Some((format!("/login?fresh=1&job={job}"), "Log in again"));
        self.with_link(StatusCode::FORBIDDEN, "Log in again", &text, link)
    }

    pub(super) fn logged_out(&self, by_provider: bool) -> Response {
        let text = "You are logged out of these pages. The place where you logged in may still know you.";
        let link = by_provider.then(|| ("/login".to_owned(), "Log in"));
        self.with_link(StatusCode::OK, "Logged out", text, link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_of_one_of_several_accounts_names_it() {
        let north = "north".parse().unwrap();
        for (account, shown) in [(None, false), (Some(&north), true)] {
            let pages = Pages::new(account);
            let frame = Frame { title: "Decisions", user: None, token: None, page: Vec::<JobRow>::new() };
            let page = pages.0.get_template("overview.html").unwrap().render(Value::from(Serde(&frame))).unwrap();
            assert_eq!(
                (page.contains("rosterd north: decisions"), page.contains("– rosterd north</title>")),
                (shown, shown)
            );
        }
    }
}
