//! What an operation answers with, before it becomes bytes: documents as JSON, which `media` turns into what is accepted.

use axum::http::StatusCode;
use serde_json::Value;

use crate::answer::Answer;
use crate::row::EntityRow;
use crate::view::View;

/// What an operation answers with.
pub(crate) enum Reply<'v, 'e> {
    /// One entity.
    One(&'v View<'e>, &'v EntityRow),
    /// Entities in the order of the list.
    List(&'v View<'e>, Vec<&'v EntityRow>),
    /// A document that is no entity.
    Document(Value),
    /// Bytes in a format of their own, such as an image.
    Bytes { media_type: String, bytes: Vec<u8> },
    /// A status and nothing else.
    Nothing,
}

impl Reply<'_, '_> {
    /// The answer with this status.
    pub(crate) fn answer(self, status: StatusCode) -> Answer {
        let mut body = Vec::new();
        match self {
            Self::One(view, row) => view.write(row, true, &mut body),
            Self::List(view, rows) => {
                body.push(b'[');
                for (index, row) in rows.into_iter().enumerate() {
                    if index > 0 {
                        body.push(b',');
                    }
                    view.write(row, false, &mut body);
                }
                body.push(b']');
            }
            Self::Document(document) => body = document.to_string().into_bytes(),
            Self::Bytes { media_type, bytes } => {
                return Answer { status, headers: vec![("content-type", media_type)], body: bytes };
            }
            Self::Nothing => return Answer::bare(status),
        }
        Answer::document(status, body)
    }
}
