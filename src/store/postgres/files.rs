//! Files of an account: parts in `blob`, and a row in `file` that names them once all of them are there.
//!
//! Every write has the fence of the account's lease in its own statement.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::connection::Value;
use super::database::{Account, unique};
use super::fence::fenced;
use crate::crash::point;
use crate::store::ErrorKind;
use crate::store::embedded::ignore_not_found;
use crate::store::kept::KeptForm;

/// How much of a file is in memory, and in one statement; next to nothing in a debug build, so that every test has files of
/// several parts.
const PART_BYTES: u64 = if cfg!(debug_assertions) { 1024 } else { 1024 * 1024 };

/// A statement that only the lease's holder carries out; its own values come after the third.
macro_rules! held {
    ($rest:expr) => {
        concat!("with ", fenced!(), ", ", $rest, " select from fence")
    };
}

impl Account {
    /// Carries out a statement made by `held`. It is one that says the same when it is said twice.
    fn write(&self, statement: &'static str, values: impl Fn() -> Vec<Value>) -> io::Result<()> {
        let lease = self.lease().ok_or(ErrorKind::Fenced).map_err(ErrorKind::into_io)?;
        match self.query(statement, || lease.tenure.fence(values())) {
            Ok(rows) if rows.is_empty() => {
                lease.lose();
                Err(ErrorKind::Fenced.into_io())
            }
            done => done.map(drop).map_err(ErrorKind::into_io),
        }
    }

    pub(in crate::store) fn put_document(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        const PUT: &str = held!(
            "put as (
               insert into rosterd.document (account, name, bytes) select $1, $4, $5 from fence
               on conflict (account, name) do update set bytes = excluded.bytes)"
        );
        self.write(PUT, || vec![Value::Text(name.to_owned()), Value::Bytes(bytes.to_vec())])
    }

    pub(in crate::store) fn drop_document(&self, name: &str) -> io::Result<()> {
        const DROP: &str = held!(
            "gone as (
               delete from rosterd.document where account = $1 and name = $4 and exists (select from fence))"
        );
        self.write(DROP, || vec![Value::Text(name.to_owned())])
    }

    pub(in crate::store) fn take_file(&self, name: &str, path: &Path) -> io::Result<()> {
        const PART: &str = held!(
            "put as (
               insert into rosterd.blob (account, id, part, bytes) select $1, $4, $5, $6 from fence
               on conflict (account, id, part) do update set bytes = excluded.bytes)"
        );
        const NAME: &str = held!(
            "put as (
               insert into rosterd.file (account, name, blob, size) select $1, $4, $5, $6 from fence
               on conflict (account, name) do update set blob = excluded.blob, size = excluded.size)"
        );
        // A name of its own: what a late writer leaves is never part of another file.
        let id = format!("{name}#{}", unique());
        let file = File::open(path)?;
        let mut size = 0;
        for number in 0.. {
            let mut part = Vec::new();
            let length = (&file).take(PART_BYTES).read_to_end(&mut part)?;
            if length == 0 {
                break;
            }
            size += length as i64;
            self.write(PART, || vec![Value::Text(id.clone()), Value::Int(number), Value::Bytes(part.clone())])?;
        }
        point("file: its parts are there");
        self.write(NAME, || vec![Value::Text(name.to_owned()), Value::Text(id.clone()), Value::Big(size)])?;
        point("file: it counts");
        fs::remove_file(path)?;
        self.sweep(folder_of(name))
    }

    pub(in crate::store) fn share_file(&self, name: &str, second: &str) -> io::Result<()> {
        const SHARE: &str = held!(
            "put as (
               insert into rosterd.file (account, name, blob, size)
               select account, $5, blob, size from rosterd.file
                where account = $1 and name = $4 and exists (select from fence)
               on conflict (account, name) do update set blob = excluded.blob, size = excluded.size)"
        );
        self.write(SHARE, || vec![Value::Text(name.to_owned()), Value::Text(second.to_owned())])?;
        self.sweep(folder_of(second))
    }

    pub(in crate::store) fn drop_file(&self, name: &str) -> io::Result<()> {
        const DROP: &str = held!(
            "gone as (
               delete from rosterd.file where account = $1 and name = $4 and exists (select from fence))"
        );
        self.write(DROP, || vec![Value::Text(name.to_owned())])?;
        self.sweep(folder_of(name))
    }

    pub(in crate::store) fn sweep_files(&self, folder: &str) -> io::Result<()> {
        self.sweep(&format!("{folder}/"))
    }

    /// Removes the parts whose ids begin so and that no file names.
    fn sweep(&self, prefix: &str) -> io::Result<()> {
        const SWEEP: &str = held!(
            "gone as (
               delete from rosterd.blob b where b.account = $1 and starts_with(b.id, $4) and exists (select from fence)
                 and not exists (select from rosterd.file f where f.account = $1 and f.blob = b.id))"
        );
        self.write(SWEEP, || vec![Value::Text(prefix.to_owned())])
    }

    /// The names of all that is kept in a form.
    pub(in crate::store) fn names(&self, form: KeptForm) -> io::Result<Vec<String>> {
        let statement = match form {
            KeptForm::Document => "select name from rosterd.document where account = $1",
            KeptForm::File => "select name from rosterd.file where account = $1",
        };
        let rows = self.query(statement, Vec::new).map_err(ErrorKind::into_io)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(in crate::store) fn files(&self, folder: &str) -> io::Result<Vec<String>> {
        const LIST: &str = "select name from rosterd.file where account = $1 and starts_with(name, $2)";
        let prefix = format!("{folder}/");
        let rows = self.query(LIST, || vec![Value::Text(prefix.clone())]).map_err(ErrorKind::into_io)?;
        Ok(rows.iter().map(|row| row.get::<_, &str>(0)[prefix.len()..].to_owned()).collect())
    }

    /// Writes a file to `path`, in place of what lies there; false where there is none.
    pub(in crate::store) fn fetch_file(&self, name: &str, path: &Path) -> io::Result<bool> {
        let make = || {
            ignore_not_found(fs::remove_file(path))?;
            File::options().write(true).create_new(true).mode(0o600).open(path)
        };
        Ok(self.fetch(name, make)?.is_some())
    }

    pub(in crate::store) fn read_file(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.fetch(name, || Ok(Vec::new()))
    }

    /// Writes a file, part by part, to what is made for it; `None` where there is none.
    fn fetch<W: io::Write>(&self, name: &str, make: impl FnOnce() -> io::Result<W>) -> io::Result<Option<W>> {
        const FIND: &str = "select blob, size from rosterd.file where account = $1 and name = $2";
        const PART: &str = "select bytes from rosterd.blob where account = $1 and id = $2 and part = $3";
        let rows = self.query(FIND, || vec![Value::Text(name.to_owned())]).map_err(ErrorKind::into_io)?;
        let Some(found) = rows.first() else { return Ok(None) };
        let (id, size): (String, i64) = (found.get("blob"), found.get("size"));
        let (mut written, mut left) = (make()?, size);
        for number in 0.. {
            if left <= 0 {
                break;
            }
            let values = || vec![Value::Text(id.clone()), Value::Int(number)];
            let rows = self.query(PART, values).map_err(ErrorKind::into_io)?;
            let part: &[u8] = rows.first().map_or(&[], |row| row.get(0));
            if part.is_empty() {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    format!("part {number} of {name} is missing"),
                ));
            }
            written.write_all(part)?;
            left -= part.len() as i64;
        }
        Ok(Some(written))
    }
}

/// The folder of a file, with the slash behind it.
fn folder_of(name: &str) -> &str {
    name.rfind('/').map_or("", |at| &name[..=at])
}
