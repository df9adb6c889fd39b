//! Documents of an account: a row for each. A pause is set by whichever worker it reaches, so a document needs no lease.

use std::io;

use super::connection::Value;
use super::database::Account;
use crate::crash::point;

impl Account {
    pub(in crate::store) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        const READ: &str = "select bytes from rosterd.document where account = $1 and name = $2";
        let rows = self.query(READ, || vec![Value::Text(name.to_owned())]).map_err(io::Error::other)?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    pub(in crate::store) fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        const REPLACE: &str = "insert into rosterd.document (account, name, bytes) values ($1, $2, $3)
            on conflict (account, name) do update set bytes = excluded.bytes";
        let values = || vec![Value::Text(name.to_owned()), Value::Bytes(bytes.to_vec())];
        self.query(REPLACE, values).map_err(io::Error::other)?;
        point("document: on disk");
        Ok(())
    }

    /// Where the answer is lost and the document is there, it counts as one that was there before.
    pub(in crate::store) fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        const WRITE: &str = "insert into rosterd.document (account, name, bytes) values ($1, $2, $3)
            on conflict (account, name) do nothing returning name";
        let values = || vec![Value::Text(name.to_owned()), Value::Bytes(bytes.to_vec())];
        let made = self.query(WRITE, values).map_err(io::Error::other)?;
        point("document: on disk");
        Ok(!made.is_empty())
    }

    pub(in crate::store) fn remove(&self, name: &str) -> io::Result<()> {
        const REMOVE: &str = "delete from rosterd.document where account = $1 and name = $2";
        self.query(REMOVE, || vec![Value::Text(name.to_owned())]).map_err(io::Error::other)?;
        point("document: removed");
        Ok(())
    }

    pub(in crate::store) fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        const LIST: &str = "select name from rosterd.document where account = $1 and starts_with(name, $2)";
        let prefix = format!("{folder}/");
        let rows = self.query(LIST, || vec![Value::Text(prefix.clone())]).map_err(io::Error::other)?;
        Ok(rows.iter().map(|row| row.get::<_, &str>(0)[prefix.len()..].to_owned()).collect())
    }
}
