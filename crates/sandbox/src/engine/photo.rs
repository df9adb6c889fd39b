//! Photos of employees: bytes in a format that the Content-Type names.

use axum::http::StatusCode;
use base64::Engine as _;

use super::super::answer::{Answer, Rejection};
use super::super::decode::BASE64;
use super::super::row::EntityRow;
use super::super::store::Change;
use super::super::tables::{PHOTO, STAFF};
use super::Call;

/// The largest photo, in bytes; the specification shows no limit.
const SIZE_MAX: usize = 1 << 20;

const MEDIA_TYPES: &[&str] = &["image/png", "image/jpeg"];

impl Call<'_> {
    pub(super) fn show_photo(&self) -> Result<Answer, Rejection> {
        let entities = self.store.read();
        let id = self.row_at(0, &STAFF, &entities)?.id;
        let photo = entities.rows(PHOTO.name).get(&id);
        let shown = photo.and_then(|photo| {
            let bytes = BASE64.decode(photo.text(PHOTO.at("base64"))?).ok()?;
            Some((photo.text(PHOTO.at("media_type"))?.to_owned(), bytes))
        });
        let (media_type, body) = shown.ok_or_else(|| Rejection::missing("the employee has no photo"))?;
        Ok(self.answer(|status| Answer { status, headers: vec![("content-type", media_type)], body }))
    }

    pub(super) fn put_photo(&self) -> Result<Answer, Rejection> {
        let media_type = self.media_type();
        let mut entities = self.store.write();
        let id = self.row_at(0, &STAFF, &entities)?.id;
        if !MEDIA_TYPES.contains(&media_type.as_str()) {
            return Err(Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a photo is image/png or image/jpeg"));
        }
        if self.order.body.is_empty() {
            return Err(Rejection::bad("the photo is empty"));
        }
        if self.order.body.len() > SIZE_MAX {
            return Err(Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, "the photo has more than 1 MB"));
        }
        let mut photo = EntityRow::new(&PHOTO, id, self.order.now);
        photo.set(PHOTO.at("media_type"), media_type.into());
        photo.set(PHOTO.at("base64"), BASE64.encode(self.order.body).into());
        self.save(&mut entities, vec![Change::Put(&PHOTO, photo)])?;
        Ok(self.answer(Answer::bare))
    }
}
