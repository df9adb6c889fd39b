//! The photos of users: which version each has, and the bytes of those that are sent.
//!
//! A read asks which versions there are, in batches, and the cell of `photo` refers to one: the user's id and the version. So
//! an unchanged photo costs a line of an answer, and what a reference names is fetched without another read.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::{EntraErrorKind, Error};
use super::fetch::{bounded, list_url};
use super::limits::{ASKED_MAX, BATCH_REQUESTS};
use super::options::Options;
use super::page::{ListPage, id};
use super::request::{Asked, Graph, refused};
use crate::source::Access;

/// What a user's object calls the reference.
pub(super) const PHOTO: &str = "photo";
/// The longest name of a version, in bytes.
const VERSION_BYTES_MAX: usize = 256;

/// Fetches the photos that references name, and hands over each with its place in `wanted`; one that is there no more is
/// left out. A photo that was replaced since is handed over as it is now.
///
/// # Errors
///
/// No token is issued, or an answer is neither a photo nor that there is none.
pub fn photos(
    options: &Options,
    wanted: &[&str],
    access: Access<'_>,
    take: &mut (dyn FnMut(usize, &[u8]) -> ControlFlow<()> + Send),
) -> Result<(), Error> {
    let work = async {
        let mut graph = Graph::new(options, access.clock)?;
        for (at, reference) in wanted.iter().enumerate() {
            let Some(user) = user_of(reference) else { continue };
            let url = list_url(options, &["users", user, "photo", "$value"])?;
            if let Some(bytes) = graph.photo(&url).await?
                && take(at, &bytes).is_break()
            {
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
fn reference(user: &str, version: &str) -> Option<String> {
    let is_id = !user.is_empty() && user.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    let is_version = version.len() <= VERSION_BYTES_MAX && !version.trim().is_empty();
    let is_plain = !version.contains(char::is_control);
    (is_id && is_version && is_plain).then(|| format!("{user} {}", version.trim()))
}

/// Whose photo a reference names.
fn user_of(reference: &str) -> Option<&str> {
    reference.split_once(' ').map(|(user, _)| user)
}

/// Asks which photos users have.
pub(super) struct PhotoVersions<'a> {
    options: &'a Options,
    /// The service asked for more time than a read has.
    is_given_up: bool,
}

/// The answer to a batch.
#[derive(Deserialize)]
struct BatchAnswer {
    responses: Vec<BatchPart>,
}

/// The answer to one request of a batch.
#[derive(Deserialize)]
struct BatchPart {
    id: String,
    status: u16,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    body: Value,
}

impl BatchPart {
    /// How long the service wants to be left alone.
    fn wait(&self) -> Option<Duration> {
        let header = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
        let text = header.and_then(|(_, value)| value.as_str());
        text.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs)
    }
}

impl<'a> PhotoVersions<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self { options, is_given_up: false }
    }

    /// Puts what refers to their photos into the objects of a page's users; nothing where that is not known in the end.
    pub(super) async fn join(&mut self, graph: &mut Graph<'_>, page: &mut ListPage) -> Result<(), EntraErrorKind> {
        for users in page.value.chunks_mut(BATCH_REQUESTS) {
            let mut open: HashMap<String, &mut Map<String, Value>> = HashMap::new();
            for (number, user) in users.iter_mut().enumerate() {
                user.remove(PHOTO);
                open.insert(number.to_string(), user);
            }
            for attempt in 1..=ASKED_MAX {
                if self.is_given_up {
                    return Ok(());
                }
                let said = self.ask(graph, &mut open).await?;
                if open.is_empty() {
                    break;
                }
                self.is_given_up = attempt < ASKED_MAX && graph.wait(said, attempt).await.is_err();
            }
        }
        Ok(())
    }

    /// Asks once about users, and takes out those whose answer is clear. Returns how long the others are to wait.
    async fn ask(
        &self,
        graph: &mut Graph<'_>,
        open: &mut HashMap<String, &mut Map<String, Value>>,
    ) -> Result<Option<Duration>, EntraErrorKind> {
        let root = self.options.graph.url().path().trim_end_matches('/').len();
        let mut requests = Vec::with_capacity(open.len());
        for (number, user) in &*open {
            let url = list_url(self.options, &["users", id(user), "photo"])?;
            requests.push(json!({ "id": number, "method": "GET", "url": &url.path()[root..] }));
        }
        let url: Url = list_url(self.options, &["$batch"])?;
        let answer = graph.batch(&url, &json!({ "requests": requests })).await?;
        let answer: BatchAnswer = serde_json::from_slice(&answer)
            .map_err(|_| EntraErrorKind::Garbled("it is not JSON with the `responses` of a batch"))?;
        let mut wait = None;
        for part in answer.responses {
            let reference = match part.status {
                404 => Value::Null,
                200 => {
                    let version = part.body.get("@odata.mediaEtag").and_then(Value::as_str);
                    let user = open.get(&part.id).map(|user| id(user)).unwrap_or_default();
                    // Asked again, it would say the same: such a photo is not known.
                    let Some(reference) = version.and_then(|version| reference(user, version)) else {
                        open.remove(&part.id);
                        continue;
                    };
                    Value::String(reference)
                }
                403 => return Err(refused(StatusCode::FORBIDDEN, part.body.to_string().as_bytes(), Asked::Photos)),
                _ => {
                    wait = wait.max(part.wait());
                    continue;
                }
            };
            if let Some(user) = open.remove(&part.id) {
                user.insert(PHOTO.to_owned(), reference);
            }
        }
        Ok(wait)
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
