//! Media types: what a caller sends, what it accepts, and answers in the one that it gets.
//!
//! JSON and XML are all there is (specification, Common behaviour). Where neither is acceptable the answer is XML, as
//! where no `Accept` was sent: 406 is not among the statuses of the service. Photos and web pages ignore `Accept`.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::answer::{Answer, Rejection};
use crate::operation::Operation;
use crate::xml;

const JSON: &str = "application/json";
const XML: &str = "application/xml";
const TEXT_XML: &str = "text/xml";

/// How deep values of a body may lie in one another; deeper ones could not be read back from the journal.
const DEPTH_MAX: usize = 64;

/// Operations whose entity isn't what their name says: issuing an asset makes a movement of it.
const MOVEMENTS: &[&str] = &["asset.issue", "asset.return"];

/// The media type of a body, without its parameters; empty where there is none.
pub(crate) fn sent(headers: &HeaderMap) -> String {
    let header = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads a body, whatever its media type, as a JSON value. A body of XML may leave the types of values out; they are
/// texts then, and it is for the reader of a field to take them.
pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Value, Rejection> {
    let value: Value = match sent(headers).as_str() {
        JSON => serde_json::from_slice(body).map_err(|_| Rejection::bad("the body is no JSON"))?,
        XML | TEXT_XML => xml::value(body)
            .map_err(|reason| Rejection::bad(format!("the body is no XML that can be taken: {reason}")))?,
        _ => {
            let message = "the body is neither application/json nor application/xml";
            return Err(Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
    };
    if is_deeper(&value, DEPTH_MAX) { Err(Rejection::bad("the body lies too deep in itself")) } else { Ok(value) }
}

/// The answer in the media type that the caller accepts. Every document is made as JSON; `operation` names its entity.
pub(crate) fn accepted(answer: Answer, headers: &HeaderMap, operation: Option<&Operation>) -> Answer {
    let media = choice(headers);
    let is_document = answer.headers.iter().any(|(name, value)| *name == "content-type" && value == JSON);
    if media == JSON || !is_document {
        return answer;
    }
    let entity = operation.filter(|_| answer.status.is_success()).map_or("answer", entity);
    let document = xml::document(&answer.body, entity).expect("a document is JSON that was written here");
    let headers = answer.headers.into_iter().filter(|(name, _)| *name != "content-type");
    Answer {
        status: answer.status,
        headers: headers.chain([("content-type", media.to_owned())]).collect(),
        body: document.into_bytes(),
    }
}

/// The media type of an answer: the one of the highest quality; of two, the one that is named more closely, then the
/// one that is named first, then XML.
fn choice(headers: &HeaderMap) -> &'static str {
    let texts = headers.get_all(ACCEPT).iter().filter_map(|header| header.to_str().ok());
    let ranges: Vec<Range> = texts.flat_map(|text| text.split(',')).filter_map(Range::read).collect();
    let mut best = (XML, (0, 0, 0));
    for media in [XML, TEXT_XML, JSON] {
        let rank = rank(&ranges, media);
        if rank > best.1 {
            best = (media, rank);
        }
    }
    best.0
}

/// Quality, closeness and place of the range that decides on a media type; zeros where it is not acceptable.
fn rank(ranges: &[Range], media: &str) -> (u16, u8, usize) {
    let fitting = ranges.iter().enumerate().filter_map(|(place, range)| Some((range.closeness(media)?, place, range)));
    let closest = fitting.max_by_key(|(closeness, place, _)| (*closeness, usize::MAX - place));
    match closest {
        Some((closeness, place, range)) if range.quality > 0 => (range.quality, closeness, usize::MAX - place),
        _ => (0, 0, 0),
    }
}

/// One range of an `Accept` header.
struct Range {
    pattern: String,
    /// In thousandths.
    quality: u16,
}

impl Range {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let pattern = parts.next().filter(|pattern| pattern.contains('/'))?.to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let quality = quality.map_or(Some(1000), thousandths)?;
        Some(Self { pattern, quality })
    }

    /// How closely the range names a media type; `None` where it doesn't.
    fn closeness(&self, media: &str) -> Option<u8> {
        let kind = media.split('/').next().unwrap_or_default();
        match self.pattern.as_str() {
            exact if exact == media => Some(3),
            range if range.strip_suffix("/*") == Some(kind) => Some(2),
            "*/*" => Some(1),
            _ => None,
        }
    }
}

/// A quality from 0 to 1 with at most three digits after the point; `None` where it is none, and the range with it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 1000")]
fn thousandths(text: &str) -> Option<u16> {
    let quality: f32 = text.parse().ok().filter(|quality| (0.0..=1.0).contains(quality))?;
    Some((quality * 1000.0).round() as u16)
}

/// What the entity of an operation is called: the last part of its resource's name.
fn entity(operation: &Operation) -> &'static str {
    if MOVEMENTS.contains(&operation.name) {
        return "movement";
    }
    let stem = operation.name.rsplit_once('.').map_or(operation.name, |(stem, _)| stem);
    stem.rsplit('.').next().unwrap_or(stem)
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(members) => levels == 0 || members.values().any(|value| is_deeper(value, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::operations;

    fn chosen(accept: &[&str]) -> &'static str {
        let mut headers = HeaderMap::new();
        for text in accept {
            headers.append(ACCEPT, text.parse().unwrap());
        }
        choice(&headers)
    }

    #[test]
    fn accept_chooses() {
        for (accept, expected) in [
            (&[][..], XML),
            (&["application/json"], JSON),
            (&["Application/JSON; charset=utf-8"], JSON),
            (&["application/xml"], XML),
            (&["text/xml"], TEXT_XML),
            (&["*/*"], XML),
            (&["application/*"], XML),
            (&["application/json, */*"], JSON),
            (&["application/json", "application/xml"], JSON),
            (&["application/xml, application/json"], XML),
            (&["application/xml;q=0.5, application/json;q=0.9"], JSON),
            (&["application/xml;q=0.9, application/json;q=0.5"], XML),
            (&["application/json;q=0.001, application/xml;q=0"], JSON),
            (&["application/json;q=0, */*"], XML),
            (&["application/xml;q=0, text/xml;q=0, */*;q=0.1"], JSON),
            (&["text/html, image/png"], XML),
            (&["application/json;q=0"], XML),
            (&["application/json;q=2"], XML),
            (&["", ",;", "json"], XML),
        ] {
            assert_eq!(chosen(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn an_entity_has_the_name_of_its_resource() {
        for (name, expected) in [
            ("staff.list", "staff"),
            ("sp.member.get", "member"),
            ("customfield.element.list-staff", "element"),
            ("asset.issue", "movement"),
            ("custom-questionnaire.question.get", "question"),
        ] {
            let operation = operations().iter().find(|operation| operation.name == name).unwrap();
            assert_eq!(entity(operation), expected);
        }
    }

    #[test]
    fn a_body_is_read_by_its_media_type() {
        for (kind, body, status) in [
            ("application/json", "{}", 200),
            ("Application/JSON; charset=utf-8", "{}", 200),
            ("application/json", "<a/>", 400),
            ("application/xml", "<a/>", 200),
            ("text/xml; charset=utf-8", "<a/>", 200),
            ("text/xml", "{}", 400),
            ("text/csv", "a", 415),
            ("", "{}", 415),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
            let found = read(&headers, body.as_bytes()).map_or_else(|refusal| refusal.status.as_u16(), |_| 200);
            assert_eq!(found, status, "{kind}: {body}");
        }
    }

    #[test]
    fn a_body_may_be_so_deep_and_no_deeper() {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON.parse().unwrap())]);
        for (levels, taken) in [(DEPTH_MAX, true), (DEPTH_MAX + 1, false), (100_000, false)] {
            let body = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            assert_eq!(read(&headers, body.as_bytes()).is_ok(), taken, "{levels}");
        }
    }
}
