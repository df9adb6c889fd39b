//! The caller's side of requests: rows that the worker which has the account takes.

use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::connection::Value;
use super::database::Account;
use crate::store::relay::{
    AnswerPart, Holder, HolderRequest, Look, Relay, RequestKind, RequestProgress, Stage, TakeRequest, TakesRequests,
};
use crate::store::{Error, ErrorKind};

impl RequestKind {
    pub(super) fn number(self) -> i16 {
        match self {
            Self::Command => 1,
            Self::Page => 2,
        }
    }

    pub(super) fn of(number: i16) -> Option<Self> {
        [Self::Command, Self::Page].into_iter().find(|kind| kind.number() == number)
    }
}

impl Account {
    fn failed(&self, kind: ErrorKind) -> Error {
        Error { place: self.place(), kind }
    }

    /// Takes the requests of this account from now on, in that form.
    pub(in crate::store) fn take_requests(&self, form: u32, take: TakeRequest) -> Result<TakesRequests, ErrorKind> {
        Ok(self.database.desk()?.serve(self.id()?, form, take))
    }
}

impl Relay for Account {
    fn node(&self) -> &str {
        &self.node
    }

    fn holder(&self) -> Result<Option<Holder>, Error> {
        const HOLDER: &str =
            "select coalesce(node, 'a worker') as node, serves, extract(epoch from since)::float8 as since
            from rosterd.account where name = $1 and holder is not null and expires_at > clock_timestamp()";
        let rows = self.look_up(HOLDER).map_err(|kind| self.failed(kind))?;
        Ok(rows.first().map(|row| Holder {
            node: row.get("node"),
            since: row
                .get::<_, Option<f64>>("since")
                .and_then(|seconds| Timestamp::from_millisecond((seconds * 1000.0) as i64).ok()),
            form: row.get::<_, Option<i32>>("serves").and_then(|form| u32::try_from(form).ok()),
        }))
    }

    /// The number is the caller's own, so that an answer which was lost asks for nothing twice.
    fn ask(&self, request: &HolderRequest) -> Result<i64, Error> {
        const ASK: &str = "insert into rosterd.request (id, account, kind, call, caller) values ($2, $1, $3, $4, $5)
            on conflict (id) do nothing";
        let mut bytes = [0; 8];
        SystemRandom::new().fill(&mut bytes).expect("the system has random numbers");
        let number = i64::from_le_bytes(bytes) & i64::MAX;
        let values = || {
            vec![
                Value::Big(number),
                Value::Small(request.kind.number()),
                Value::Bytes(request.call.clone()),
                Value::Text(request.by.clone()),
            ]
        };
        self.query(ASK, values).map(|_| number).map_err(|kind| self.failed(kind))
    }

    fn look(&self, number: i64, look: Look) -> Result<RequestProgress, Error> {
        const LOOK: &str = "with seen as (delete from rosterd.answer where request = $2 and n < $3),
             touched as (
               update rosterd.request set alive_at = clock_timestamp(), stops = stops or $4
                where id = $2 and account = $1 and ($4 and not stops or alive_at < clock_timestamp() - interval '2 s'))
            select r.holder is not null as is_taken, a.holder is not null and a.expires_at > clock_timestamp() as is_held,
                   a.holder is not distinct from r.holder as is_own, p.kind, p.bytes
              from rosterd.request r join rosterd.account a on a.id = r.account
              left join lateral (select n, kind, bytes from rosterd.answer where request = r.id and n >= $3 order by n limit 4) p on true
             where r.id = $2 and r.account = $1 order by p.n";
        let seen = i32::try_from(look.seen).unwrap_or(i32::MAX);
        let values = || vec![Value::Big(number), Value::Int(seen), Value::Flag(look.stops)];
        let rows = self.query(LOOK, values).map_err(|kind| self.failed(kind))?;
        let Some(first) = rows.first() else { return Ok(RequestProgress { stage: Stage::Lost, parts: Vec::new() }) };
        let stage = match (first.get("is_taken"), first.get("is_held"), first.get("is_own")) {
            (false, true, _) => Stage::Waits,
            (false, false, _) => Stage::Free,
            (true, true, true) => Stage::Taken,
            (true, true, false) => Stage::Lost,
            (true, false, _) => Stage::Doubtful,
        };
        let part = |row: &tokio_postgres::Row| {
            let kind = u8::try_from(row.get::<_, Option<i16>>("kind")?).ok()?;
            Some(AnswerPart { kind, bytes: row.get("bytes") })
        };
        Ok(RequestProgress { stage, parts: rows.iter().filter_map(part).collect() })
    }

    fn take_back(&self, number: i64) -> Result<bool, Error> {
        // Where the answer is lost, it is gone as well: no one but its caller removes a request that waits.
        const TAKE: &str =
            "with gone as (delete from rosterd.request where id = $2 and account = $1 and holder is null returning id)
            select exists (select from gone) or not exists (select from rosterd.request where id = $2) as is_gone";
        let rows = self.query(TAKE, || vec![Value::Big(number)]).map_err(|kind| self.failed(kind))?;
        Ok(rows.first().is_some_and(|row| row.get("is_gone")))
    }

    fn end(&self, number: i64) -> Result<(), Error> {
        let end = "delete from rosterd.request where id = $2 and account = $1";
        self.query(end, || vec![Value::Big(number)]).map(drop).map_err(|kind| self.failed(kind))
    }
}
