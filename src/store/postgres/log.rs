//! The log of an account: a row for each line. A decision is written down by whichever worker it reaches, so a line needs no
//! lease. A line about a change of the holder is part of the commit that confirms it.

use std::io;
use std::path::PathBuf;

use super::connection::Value;
use super::database::{Account, unique};
use crate::crash::point;
use crate::store::Batch;
use crate::store::log_engine::{LineFate, LineJudge, LogEngine};

/// So many lines come with one answer.
const PAGE_LINES: i64 = 1000;

pub(in crate::store) struct DatabaseLog(Account);

impl DatabaseLog {
    pub(in crate::store) fn new(account: &Account) -> Self {
        Self(account.clone())
    }

    /// Walks the lines of a segment with their numbers.
    fn walk(&self, segment: &str, mut visit: impl FnMut(i64, &str) -> io::Result<()>) -> io::Result<()> {
        const PAGE: &str =
            "select n, line from rosterd.audit where account = $1 and segment = $2 and n > $3 order by n limit $4";
        let mut last = i64::MIN;
        loop {
            let values = || vec![Value::Text(segment.to_owned()), Value::Big(last), Value::Big(PAGE_LINES)];
            let rows = self.0.query(PAGE, values).map_err(io::Error::other)?;
            for row in &rows {
                last = row.get("n");
                visit(last, row.get("line"))?;
            }
            if rows.is_empty() {
                return Ok(());
            }
        }
    }
}

impl LogEngine for DatabaseLog {
    fn append(&self, segment: &str, line: &str) -> io::Result<()> {
        const APPEND: &str = "insert into rosterd.audit (account, segment, line, mark) values ($1, $2, $3, $4)
            on conflict (mark) do nothing";
        // Where an answer is lost the statement is repeated, and the mark shows whether the line is there.
        let mark = unique();
        let values = || vec![Value::Text(segment.to_owned()), Value::Text(line.to_owned()), Value::Text(mark.clone())];
        point("audit: before a line");
        self.0.query(APPEND, values).map_err(io::Error::other)?;
        point("audit: a line is on disk");
        Ok(())
    }

    fn append_with(&self, batch: &mut Batch, segment: &str, line: &str) -> io::Result<()> {
        batch.lines.push((segment.to_owned(), line.to_owned()));
        Ok(())
    }

    fn append_all(&self, segment: &str, lines: &[String]) -> io::Result<()> {
        const APPEND: &str = "insert into rosterd.audit (account, segment, line, mark)
            select $1, $2, l.line, l.mark from unnest($3::text[], $4::text[]) with ordinality as l(line, mark, n) order by l.n
            on conflict (mark) do nothing";
        let marks: Vec<String> = lines.iter().map(|_| unique()).collect();
        let values =
            || vec![Value::Text(segment.to_owned()), Value::Texts(lines.to_vec()), Value::Texts(marks.clone())];
        self.0.query(APPEND, values).map(drop).map_err(io::Error::other)
    }

    fn segments(&self) -> io::Result<Vec<String>> {
        const SEGMENTS: &str = "select distinct segment from rosterd.audit where account = $1 order by segment";
        let rows = self.0.query(SEGMENTS, Vec::new).map_err(io::Error::other)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn place(&self, segment: &str) -> PathBuf {
        PathBuf::from(format!("{}, audit lines of {segment}", self.0))
    }

    fn lines(&self, segment: &str, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.walk(segment, |_, line| {
            visit(line.as_bytes());
            Ok(())
        })
    }

    fn tail(&self, segment: &str, bytes: u64) -> io::Result<Vec<u8>> {
        const TAIL: &str = "select string_agg(line, E'\\n' order by n) from (
            select n, line, sum(octet_length(line) + 1) over (order by n desc) as size
              from rosterd.audit where account = $1 and segment = $2) as newest
            where size <= $3";
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let values = || vec![Value::Text(segment.to_owned()), Value::Big(bytes)];
        let rows = self.0.query(TAIL, values).map_err(io::Error::other)?;
        Ok(rows.first().and_then(|row| row.get::<_, Option<String>>(0)).unwrap_or_default().into_bytes())
    }

    fn rewrite(&self, judge: &dyn Fn() -> Box<LineJudge<'static>>) -> io::Result<u64> {
        const CHANGE: &str = "update rosterd.audit set line = $4 where account = $1 and segment = $2 and n = $3";
        const REMOVE: &str = "delete from rosterd.audit where account = $1 and segment = $2 and n = $3";
        let mut changed = 0;
        for segment in self.segments()? {
            let mut judge = judge();
            self.walk(&segment, |n, line| {
                let place = || vec![Value::Text(segment.clone()), Value::Big(n)];
                let done = match judge(line.as_bytes()) {
                    LineFate::Stays => return Ok(()),
                    LineFate::Goes => self.0.query(REMOVE, place),
                    LineFate::Becomes(line) => {
                        let line = String::from_utf8(line).map_err(io::Error::other)?;
                        self.0.query(CHANGE, || place().into_iter().chain([Value::Text(line.clone())]).collect())
                    }
                };
                changed += 1;
                done.map(drop).map_err(io::Error::other)
            })?;
        }
        Ok(changed)
    }
}
