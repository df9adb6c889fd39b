//! The photos of users: which version each has, and the bytes of those that are sent.
//!
//! A read asks which versions there are, in batches, and the cell of `photo` refers to one: the user's id and the version. So
//! an unchanged photo costs a line of an answer, and what a reference names is fetched without another read.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::{EntraErrorKind, Error};
use super::limits::BATCH_REQUESTS;
use super::options::Options;
use super::page::{ListPage, id};
use super::request::{Graph, bounded, list_url};
use crate::source::Access;

/// What a user's object calls the reference.
pub(super) const PHOTO: &str = "photo";
/// The longest name of a version, in bytes.
const VERSION_BYTES_MAX: usize = 256;
/// How often a question is sent whose answers say that the service is busy.
const PHOTO_ASKED_MAX: u32 = 3;
/// So many photos in a row that are refused are no trouble of one photo.
const REFUSED_MAX: u32 = 5;
/// In place of a status, where an answer is none to the question.
const NO_BATCH: u16 = 0;

/// Takes a photo by its place among those that are wanted, or why it can't be had.
pub type PhotoVisit<'v> = dyn FnMut(usize, Result<&[u8], String>) -> ControlFlow<()> + Send + 'v;

/// Fetches the photos that references name, and hands over each with its place in `wanted`, or why it can't be had. One
/// that is there no more is left out; one that was replaced since is handed over as it is now.
///
/// # Errors
///
/// No token is issued, the service can't be reached, or it refuses one photo after the other.
pub fn photos(options: &Options, wanted: &[&str], access: Access<'_>, take: &mut PhotoVisit<'_>) -> Result<(), Error> {
    let work = async {
        let mut graph = Graph::new(options, access.clock)?;
        let mut refused = 0;
        for (at, reference) in wanted.iter().enumerate() {
            let Some(user) = user_of(reference) else { continue };
            let url = list_url(options, &["users", user, "photo", "$value"])?;
            let taken = match graph.photo(&url).await {
                Ok(None) => continue,
                Ok(Some(bytes)) => {
                    refused = 0;
                    take(at, Ok(&bytes))
                }
                // What is wrong with one photo stops no other.
                Err(error @ EntraErrorKind::Status { .. }) if refused + 1 < REFUSED_MAX => {
                    refused += 1;
                    take(at, Err(error.to_string()))
                }
                Err(error) => return Err(error),
            };
            if taken.is_break() {
                break;
            }
        }
        Ok(())
    };
    // The caller may be a task of another runtime.
    let fetched = std::thread::scope(|scope| {
        let fetching = std::thread::Builder::new().name("entra".to_owned()).spawn_scoped(scope, || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(EntraErrorKind::Thread)?.block_on(bounded(options, access, work))
        });
        let fetching = fetching.map_err(EntraErrorKind::Thread)?;
        fetching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    fetched.map_err(|kind| Error { address: options.graph.to_string(), kind })
}

/// What refers to a version of a user's photo; `None` where one of the two is not what the service documents.
pub(super) fn reference(user: &str, version: &str) -> Option<String> {
    let is_id = !user.is_empty() && user.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    let is_version = version.len() <= VERSION_BYTES_MAX && !version.trim().is_empty();
    let is_plain = !version.contains(char::is_control);
    (is_id && is_version && is_plain).then(|| format!("{user} {}", version.trim()))
}

/// Whose photo a reference names.
pub(super) fn user_of(reference: &str) -> Option<&str> {
    reference.split_once(' ').map(|(user, _)| user)
}

/// Asks which photos users have. Whatever is answered, the users themselves are read: where a photo is not known, the status
/// of the answer stands in place of the reference.
pub(super) struct PhotoVersions<'a> {
    options: &'a Options,
    /// The status for which no more is asked in this read.
    given_up: Option<u16>,
}

/// Users whose photos are still to be asked about, by the number of the request.
type OpenUsers<'u> = HashMap<String, &'u mut Map<String, Value>>;

/// The answer to a batch.
#[derive(Deserialize)]
pub(super) struct BatchAnswer {
    pub(super) responses: Vec<BatchPart>,
}

/// The answer to one request of a batch.
#[derive(Deserialize)]
pub(super) struct BatchPart {
    pub(super) id: String,
    status: u16,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    pub(super) body: Value,
}

impl BatchPart {
    /// How long the service wants to be left alone.
    pub(super) fn wait(&self) -> Option<Duration> {
        let header = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
        let text = header.and_then(|(_, value)| value.as_str());
        text.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs)
    }
}

impl<'a> PhotoVersions<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self { options, given_up: None }
    }

    /// Puts what refers to their photos into the objects of a page's users.
    pub(super) async fn join(&mut self, graph: &mut Graph<'_>, page: &mut ListPage) -> Result<(), EntraErrorKind> {
        for users in page.value.chunks_mut(BATCH_REQUESTS) {
            let asked = users.len();
            let mut open: OpenUsers<'_> =
                users.iter_mut().enumerate().map(|(number, user)| (number.to_string(), user)).collect();
            open.values_mut().for_each(|user| drop(user.remove(PHOTO)));
            for attempt in 1..=PHOTO_ASKED_MAX {
                if self.given_up.is_some() || open.is_empty() {
                    break;
                }
                let Some((status, said)) = self.ask(graph, &mut open).await? else { break };
                let is_last = attempt == PHOTO_ASKED_MAX;
                // A service that answers for no one at all is not asked for the others.
                let is_down = is_last && open.len() == asked;
                if is_down || (!is_last && graph.wait(said, attempt).await.is_err()) {
                    self.given_up = Some(status);
                }
                if is_last {
                    open.drain().for_each(|(_, user)| drop(user.insert(PHOTO.to_owned(), status.into())));
                }
            }
            if let Some(status) = self.given_up {
                open.drain().for_each(|(_, user)| drop(user.insert(PHOTO.to_owned(), status.into())));
            }
        }
        Ok(())
    }

    /// Asks once about users, and takes out those whose answer is clear. Returns the status of an answer to the others, and
    /// how long they are to wait; `None` where there are none.
    async fn ask(
        &mut self,
        graph: &mut Graph<'_>,
        open: &mut OpenUsers<'_>,
    ) -> Result<Option<(u16, Option<Duration>)>, EntraErrorKind> {
        let answer = match graph.batch(&list_url(self.options, &["$batch"])?, &self.questions(open)?).await {
            Ok(body) => serde_json::from_slice::<BatchAnswer>(&body).map_err(|_| NO_BATCH),
            Err(EntraErrorKind::Status { status, .. } | EntraErrorKind::Busy { status, .. }) => Err(status),
            Err(EntraErrorKind::TooLarge) => Err(NO_BATCH),
            Err(error) => return Err(error),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(status) => {
                self.given_up = Some(status);
                return Ok(None);
            }
        };
        let (mut busy, mut wait) = (None, None);
        for part in answer.responses {
            if let 429 | 500.. = part.status {
                (busy, wait) = (Some(part.status), wait.max(part.wait()));
                continue;
            }
            let Some(user) = open.remove(&part.id) else { continue };
            let reference = match part.status {
                200 => {
                    let version = part.body.get("@odata.mediaEtag").and_then(Value::as_str);
                    version.and_then(|version| reference(id(user), version)).map_or(Value::from(200), Value::String)
                }
                404 => Value::Null,
                status => status.into(),
            };
            user.insert(PHOTO.to_owned(), reference);
        }
        // One that was not answered at all is asked about again.
        let busy = busy.or((!open.is_empty()).then_some(NO_BATCH));
        Ok(busy.map(|status| (status, wait)))
    }

    fn questions(&self, open: &OpenUsers<'_>) -> Result<Value, EntraErrorKind> {
        let root = self.options.graph.url().path().trim_end_matches('/').len();
        let mut requests = Vec::with_capacity(open.len());
        for (number, user) in open {
            let url = list_url(self.options, &["users", id(user), "photo"])?;
            requests.push(json!({ "id": number, "method": "GET", "url": &url.path()[root..] }));
        }
        Ok(json!({ "requests": requests }))
    }
}

/// Why it is not known which photo a user has, by the status that stands in place of the reference.
pub(super) fn flaw(status: Option<u64>) -> String {
    let meaning = match status {
        Some(403) => "; give the app the application permission User.Read.All, with an administrator's consent",
        Some(429 | 503 | 504) => "; it is busy, and the next run asks again",
        _ => "",
    };
    match status {
        Some(200) => "the service does not say which version of the photo this user has".to_owned(),
        Some(status) if status != u64::from(NO_BATCH) => {
            format!("the service answered {status} to a request for the photo{meaning}")
        }
        _ => "the service did not answer whether this user has a photo".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_leads_to_its_user() {
        for (user, version, expected) in [
            ("02bd9fd6-8f93", "\"BA09D118\"", Some("02bd9fd6-8f93 \"BA09D118\"")),
            ("1", " W/\"a b\" ", Some("1 W/\"a b\"")),
            ("1", " ", None),
            ("1", "a\nb", None),
            ("", "a", None),
            ("../users", "a", None),
            ("1 2", "a", None),
        ] {
            let made = reference(user, version);
            assert_eq!(made.as_deref(), expected, "{user} {version}");
            assert!(made.is_none_or(|made| user_of(&made) == Some(user)), "{user}");
        }
        assert_eq!(reference("1", &"a".repeat(VERSION_BYTES_MAX + 1)), None);
        assert_eq!(user_of("1"), None);
    }
}
