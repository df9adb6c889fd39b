//! Writes everything that a state remembers.

use std::fs::File;
use std::io::{self, Read as _, Write};

use ring::digest::{Context, SHA256};
use serde::Serialize;

use super::entry::{Bytes, Contents, Entry, FORM, Header, PART_BYTES};
use super::error::TransferError;
use super::reader::hex;
use crate::store::engine::Projection;
use crate::store::kept::KeptForm;
use crate::store::{Keyspace, Log, MetaKey, Store};

impl Store {
    /// Writes everything that is remembered, and returns how much that is.
    pub fn export(&self, program: &str, out: &mut dyn Write) -> Result<Contents, TransferError> {
        let mut sealed = Sealed { out, digest: Context::new(&SHA256) };
        let mut contents = Contents::default();
        let account = self.get(Keyspace::Meta, &MetaKey::Account.to_string())?;
        sealed.line(&Header { rosterd_state: FORM, program: program.to_owned(), account })?;
        for name in self.home.names(KeptForm::Document).map_err(TransferError::Kept)? {
            if let Some(content) = self.home.read(&name).map_err(TransferError::Kept)? {
                sealed.line(&Entry::Document { name, content: Bytes(content) })?;
                contents.documents += 1;
            }
        }
        contents.lines = self.export_log(&mut sealed)?;
        contents.files = self.export_files(&mut sealed)?;
        for space in Keyspace::ALL {
            let mut failed = None;
            self.engine.walk(&space.key(""), Projection::Rows, &mut |key, value| {
                if !MetaKey::is_of_engine(key) {
                    let row = Entry::Row { key: Bytes(key.to_vec()), value: Bytes(value.to_vec()) };
                    failed = sealed.line(&row).err();
                    contents.rows += 1;
                }
                Ok(failed.is_none())
            })?;
            failed.map_or(Ok(()), Err)?;
        }
        let Sealed { out, digest } = sealed;
        write_line(out, &Entry::End { contents, sha256: hex(digest.finish().as_ref()) })?;
        Ok(contents)
    }

    fn export_log(&self, sealed: &mut Sealed<'_>) -> Result<u64, TransferError> {
        let log = Log::of(&self.home);
        let mut lines = 0;
        for of in log.segments().map_err(TransferError::Kept)? {
            let mut failed = None;
            let shown = log.lines(&of, |line| {
                let line = line.trim_ascii_end();
                if failed.is_none() && !line.is_empty() {
                    // A line that a power cut damaged is none that anything can read; it stays to be seen.
                    let text = String::from_utf8_lossy(line).replace('\0', "\u{fffd}");
                    failed = sealed.line(&Entry::Line { of: of.clone(), text }).err();
                    lines += 1;
                }
            });
            failed.map_or(Ok(()), Err)?;
            shown.map_err(TransferError::Kept)?;
        }
        Ok(lines)
    }

    fn export_files(&self, sealed: &mut Sealed<'_>) -> Result<u64, TransferError> {
        let scratch = tempfile::Builder::new().prefix("looking-").tempdir_in(self.home.spill_dir());
        let scratch = scratch.map_err(TransferError::Kept)?;
        let mut files = 0;
        for name in self.home.names(KeptForm::File).map_err(TransferError::Kept)? {
            let found = self.home.file(&name, &scratch.path().join("file")).map_err(TransferError::Kept)?;
            let Some(path) = found else { continue };
            let file = File::open(path).map_err(TransferError::Kept)?;
            let size = file.metadata().map_err(TransferError::Kept)?.len();
            sealed.line(&Entry::File { name, size })?;
            loop {
                let mut part = Vec::new();
                (&file).take(PART_BYTES as u64).read_to_end(&mut part).map_err(TransferError::Kept)?;
                if part.is_empty() {
                    break;
                }
                sealed.line(&Entry::Part(Bytes(part)))?;
            }
            files += 1;
        }
        Ok(files)
    }
}

/// What is written, with the digest of all of it so far.
struct Sealed<'a> {
    out: &'a mut dyn Write,
    digest: Context,
}

impl Sealed<'_> {
    fn line(&mut self, value: &impl Serialize) -> Result<(), TransferError> {
        let line = write_line(self.out, value)?;
        self.digest.update(&line);
        Ok(())
    }
}

fn write_line(out: &mut dyn Write, value: &impl Serialize) -> Result<Vec<u8>, TransferError> {
    let line = serde_json::to_vec(value).map(|mut line| {
        line.push(b'\n');
        line
    });
    let line = line.map_err(|error| TransferError::File(io::Error::from(error)))?;
    out.write_all(&line).map_err(TransferError::File)?;
    Ok(line)
}
