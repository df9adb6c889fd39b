//! Lease and fence, on a real server.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::testing::{Database, account, database, is_there, named, restore};
use super::*;
use crate::store::engine::Engine as _;
use crate::store::{
    AnswerPart, Batch, Error, ErrorKind, HolderRequest, Home, Keyspace, Log, Look, Membership as _, PART_BYTES,
    Relay as _, RequestKind, Stage, Store, TakenRequest,
};

fn put(name: &str) -> Batch {
    let mut batch = Batch::default();
    batch.put(Keyspace::Synced, name, &1);
    batch
}

/// An account in a database that no other test has; nothing where there is no server.
fn fresh() -> Option<(Database, Account)> {
    let database = is_there().then(database)?;
    let account = account(&database);
    Some((database, account))
}

/// Another worker that sees the same account: a process of its own would.
fn other_worker(account: &Account) -> Account {
    account.as_another_worker()
}

fn kind<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "fine".to_owned(),
        Err(error) => format!("{:?}", error.kind),
    }
}

#[test]
fn an_account_has_one_holder_until_it_is_released() {
    let Some((_, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    assert!(matches!(Rows::open(&one), Err(ErrorKind::Leased { .. })), "not twice in one process");
    let other = other_worker(&one);
    assert!(matches!(Rows::open(&other), Err(ErrorKind::Leased { .. })));
    rows.commit(put("a")).unwrap();
    assert_eq!(rows.before_sending().unwrap(), std::time::Duration::ZERO, "a new account has no one before");
    drop(rows);
    let rows = Rows::open(&other).unwrap();
    assert_eq!(rows.before_sending().unwrap(), std::time::Duration::ZERO, "it was released");
    assert!(rows.get(&Keyspace::Synced.key("a")).unwrap().is_some());
}

#[test]
fn law_5_a_holder_whose_lease_ran_out_commits_nothing_once_another_has_it() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    rows.commit(put("a")).unwrap();
    database.sql("update rosterd.account set expires_at = clock_timestamp() - interval '3 s'");
    let other = other_worker(&one);
    let successor = Rows::open(&other).unwrap();
    let wait = successor.before_sending().unwrap().as_secs();
    assert!((40..=45).contains(&wait), "45 s after the claim: {wait}");
    assert_eq!(kind(rows.commit(put("b"))), "Fenced");
    assert_eq!(kind(rows.before_sending()), "Fenced");
    let mut bulk = rows.bulk_load();
    let loaded = (0..2000).try_for_each(|number| bulk.add(put(&format!("{number}"))));
    assert_eq!(kind(loaded.and_then(|()| bulk.commit())), "Fenced");
    drop(rows);
    successor.commit(put("c")).unwrap();
    for (name, is_there) in [("a", true), ("b", false), ("7", false), ("c", true)] {
        assert_eq!(successor.get(&Keyspace::Synced.key(name)).unwrap().is_some(), is_there, "{name}");
    }
}

#[test]
fn a_lease_that_ran_out_and_that_no_one_took_goes_on_with_its_renewal() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    database.sql("update rosterd.account set expires_at = clock_timestamp() - interval '3 s'");
    assert_eq!(kind(rows.commit(put("a"))), "Fenced", "the database's clock says that it is over");
}

/// F9: an asynchronous failover loses the claim, and an epoch comes again.
#[test]
fn law_5_an_epoch_that_comes_again_belongs_to_its_holder_alone() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    rows.commit(put("a")).unwrap();
    // The standby did not have the claim; another worker claims there, with the same epoch and counter.
    database.sql("update rosterd.account set holder = 'another', commits = 1");
    assert_eq!(kind(rows.commit(put("b"))), "Fenced");
}

/// The answer to a commit was lost, and that to the question what became of it.
#[test]
fn law_5_a_commit_whose_outcome_is_not_known_ends_the_tenure() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    rows.commit(put("a")).unwrap();
    // As if another commit of this tenure had come through whose answer no one heard.
    database.sql("update rosterd.account set commits = commits + 1");
    assert_eq!(kind(rows.commit(put("b"))), "Fenced", "it is not taken for the other one");
    assert_eq!(kind(rows.before_sending()), "Fenced");
    assert!(rows.get(&Keyspace::Synced.key("b")).unwrap().is_none());
}

#[test]
fn what_is_read_ahead_is_what_is_there_until_something_is_written() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    rows.commit(put("a")).unwrap();
    let key = |name: &str| Keyspace::Synced.key(name);
    let get = |name: &str| rows.get(&key(name)).unwrap();
    let ahead = || rows.read_ahead(&mut || ["a", "b", "a"].map(key).to_vec()).unwrap();
    let there = get("a");
    ahead();
    assert!(there.is_some() && get("a") == there && get("b").is_none());
    // They are not asked for again: no one else may write them.
    database.sql("delete from rosterd.rows");
    assert_eq!(get("a"), there);
    ahead();
    assert!(get("a").is_none());
    rows.commit(put("b")).unwrap();
    assert!(get("b").is_some());
    let removed = |name: &str| {
        let mut batch = Batch::default();
        batch.remove(Keyspace::Synced, name);
        batch
    };
    ahead();
    rows.commit(removed("b")).unwrap();
    assert!(get("b").is_none());
    let mut bulk = rows.bulk_load();
    bulk.add(put("a")).unwrap();
    ahead();
    bulk.commit().unwrap();
    assert!(get("a").is_some());
}

#[test]
fn law_5_a_tenure_of_another_timeline_commits_nothing() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    database.sql("update rosterd.account set timeline = timeline + 1");
    assert_eq!(kind(rows.commit(put("a"))), "Fenced");
}

#[test]
fn a_takeover_that_ends_half_way_is_one_for_the_next_worker_too() {
    let Some((database, one)) = fresh() else { return };
    let expire = || database.sql("update rosterd.account set expires_at = clock_timestamp() - interval '1 s'");
    let rows = Rows::open(&one).unwrap();
    expire();
    let other = other_worker(&one);
    drop(Rows::open(&other).unwrap());
    drop(rows);
    assert!(matches!(Rows::open(&one), Err(ErrorKind::Leased { .. })), "it was not released");
    expire();
    let rows = Rows::open(&one).unwrap();
    let before = rows.predecessor().unwrap();
    assert!(before.is_lost && before.budget.is_none());
    rows.hands_over(Box::new(|| b"budget".to_vec()));
    drop(rows);
    let rows = Rows::open(&other).unwrap();
    let before = rows.predecessor().unwrap();
    assert!(!before.is_lost);
    assert_eq!(before.budget.unwrap().0, b"budget");
    let wait = rows.before_sending().unwrap().as_secs();
    assert!(wait > 30, "the wait of the takeover goes on: {wait}");
}

#[test]
fn a_configuration_that_is_read_again_may_send_by_the_lease_that_this_process_has() {
    if !is_there() {
        return;
    }
    let database = database();
    let rows = Rows::open(&account(&database)).unwrap();
    assert!(account(&database).send_permit()().is_ok());
    drop(rows);
    assert!(account(&database).send_permit()().is_err());
}

#[test]
fn what_is_left_of_the_budget_goes_on_through_a_tenure_that_sends_nothing() {
    if !is_there() {
        return;
    }
    let account = account(&database());
    let rows = Rows::open(&account).unwrap();
    rows.hands_over(Box::new(|| b"budget".to_vec()));
    drop(rows);
    drop(Rows::open(&account).unwrap());
    assert_eq!(Rows::open(&account).unwrap().predecessor().unwrap().budget.unwrap().0, b"budget");
}

#[test]
fn an_account_does_not_see_the_rows_documents_and_lines_of_another() {
    let Some((database, _)) = fresh() else { return };
    let homes = ["one", "two"].map(|name| Home::Database(named(&database, name)));
    for home in &homes {
        let store = Store::open(home).unwrap();
        store.commit(put(&home.to_string())).unwrap();
        home.replace("paused/all", home.to_string().as_bytes()).unwrap();
        Log::of(home).append("2026-01", &home.to_string()).unwrap();
    }
    for home in &homes {
        let store = Store::open(home).unwrap();
        let mut names = Vec::new();
        store
            .scan(Keyspace::Synced, "", |name, _| {
                names.push(name.to_owned());
                Ok(())
            })
            .unwrap();
        assert_eq!(names, [home.to_string()]);
        assert_eq!(home.read("paused/all").unwrap().unwrap(), home.to_string().as_bytes());
        let mut lines = Vec::new();
        Log::of(home).lines("2026-01", |line| lines.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
        assert_eq!(lines, [home.to_string()]);
    }
}

#[test]
fn documents_and_lines_are_what_was_written() {
    let Some((_, one)) = fresh() else { return };
    let home = Home::Database(one);
    assert_eq!(home.read("paused/all").unwrap(), None);
    assert!(home.write_new("paused/all", b"1").unwrap());
    assert!(!home.write_new("paused/all", b"2").unwrap());
    home.replace("paused/job-a", b"3").unwrap();
    home.replace("paused/job-a", b"4").unwrap();
    home.replace("notices.json", b"5").unwrap();
    let mut names = home.list("paused").unwrap();
    names.sort();
    assert_eq!(names, ["all", "job-a"]);
    assert_eq!(home.read("paused/job-a").unwrap().unwrap(), b"4");
    home.remove("paused/all").unwrap();
    home.remove("paused/all").unwrap();
    assert_eq!(home.list("paused").unwrap(), ["job-a"]);
    let log = Log::of(&home);
    assert_eq!(log.segments().unwrap(), [""; 0]);
    for (segment, line) in [("2026-02", "c"), ("2026-01", "a"), ("2026-01", "bb")] {
        log.append(segment, line).unwrap();
    }
    assert_eq!(log.segments().unwrap(), ["2026-01", "2026-02"]);
    assert_eq!(log.tail("2026-01", 1000).unwrap(), b"a\nbb");
    assert_eq!(log.tail("2026-01", 3).unwrap(), b"bb");
    let changed = log.rewrite(|| {
        Box::new(|line: &[u8]| match line {
            b"a" => crate::store::LineFate::Goes,
            b"c" => crate::store::LineFate::Becomes(b"d".to_vec()),
            _ => crate::store::LineFate::Stays,
        })
    });
    assert_eq!(changed.unwrap(), 2);
    let lines = |segment: &str| -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        log.lines(segment, |line| lines.push(String::from_utf8_lossy(line).into_owned()))?;
        Ok(lines)
    };
    assert_eq!((lines("2026-01").unwrap(), lines("2026-02").unwrap()), (vec!["bb".to_owned()], vec!["d".to_owned()]));
}

#[test]
fn a_database_of_a_later_version_is_refused() {
    let Some((database, one)) = fresh() else { return };
    drop(Rows::open(&one).unwrap());
    database.sql("update rosterd.meta set version = 2");
    assert!(matches!(Rows::open(&other_worker(&one)), Err(ErrorKind::Newer { format: 2 })));
}

#[test]
fn fault_12_a_row_that_was_changed_behind_the_program_s_back_is_damage() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    rows.commit(put("a")).unwrap();
    database.sql("update rosterd.rows set payload = payload || '\\x00'::bytea");
    assert!(kind(rows.get(&Keyspace::Synced.key("a"))).starts_with("Damaged"));
}

/// A first run asks for each person in vain, several times.
#[test]
fn a_space_without_rows_is_asked_for_once_until_a_row_comes_into_it() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    let has = |space: Keyspace, name: &str| rows.get(&space.key(name)).unwrap().is_some();
    let is_empty = || [Keyspace::Synced, Keyspace::Owner].map(|space| !has(space, "a"));
    assert_eq!(is_empty(), [true, true]);
    // A statement about rows would fail now.
    database.sql("alter table rosterd.rows rename to hidden");
    assert_eq!(is_empty(), [true, true]);
    database.sql("alter table rosterd.hidden rename to rows");
    rows.commit(put("a")).unwrap();
    assert_eq!(is_empty(), [false, true]);
    let mut bulk = rows.bulk_load();
    let mut batch = Batch::default();
    (0..500).for_each(|number| batch.put(Keyspace::Owner, &format!("a{number}"), &1));
    batch.put(Keyspace::Owner, "a", &1);
    bulk.add(batch).unwrap();
    bulk.commit().unwrap();
    assert_eq!(is_empty(), [false, false]);
}

/// Waits until something is there.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_request_is_answered_once_by_the_worker_that_has_the_account() {
    if !is_there() {
        return;
    }
    let database = database();
    let one = account(&database);
    let rows = Rows::open(&one).unwrap();
    let other = other_worker(&one).on_node("node b (x)");
    assert_eq!(other.node(), "node-b--x-");
    assert_eq!(other.holder().unwrap().unwrap().form, None, "it takes none yet");
    // Says what was asked, in two parts, and ends when its caller is to end.
    let answers = |taken: TakenRequest| {
        let _answering = std::thread::spawn(move || {
            let TakenRequest { request, reply, caller } = taken;
            reply.send(AnswerPart { kind: 1, bytes: format!("{} {:?}", request.by, request.kind).into_bytes() });
            if request.call.is_empty() {
                tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(caller.ended());
            }
            reply.finish(AnswerPart { kind: 2, bytes: request.call });
        });
    };
    let takes = one.take_requests(7, Arc::new(answers)).unwrap();
    let holder = until(|| other.holder().unwrap().filter(|holder| holder.form == Some(7)));
    assert!(holder.node.starts_with("process") && holder.since.is_some(), "{holder:?}");
    let ask = |call: &[u8]| {
        other.ask(&HolderRequest { kind: RequestKind::Page, call: call.to_vec(), by: "ana@b".to_owned() }).unwrap()
    };
    let heard = |number: i64, stops: bool| {
        let mut seen: Vec<AnswerPart> = Vec::new();
        until(|| {
            let look = Look { seen: seen.len() as u32, stops };
            seen.extend(other.look(number, look).unwrap().parts);
            (seen.len() == 2).then_some(())
        });
        seen
    };
    let call = vec![b'x'; 3 * PART_BYTES];
    let number = ask(&call);
    let parts = heard(number, false);
    assert_eq!((parts[0].kind, parts[0].bytes.as_slice()), (1, &b"ana@b Page"[..]));
    assert!(parts[1].kind == 2 && parts[1].bytes == call);
    assert!(!other.take_back(number).unwrap(), "it was taken");
    other.end(number).unwrap();
    assert_eq!(other.look(number, Look { seen: 0, stops: false }).unwrap().stage, Stage::Lost);
    let waiting = ask(b"");
    until(|| (other.look(waiting, Look { seen: 0, stops: false }).unwrap().parts.len() == 1).then_some(()));
    assert_eq!(heard(waiting, true).len(), 2, "its caller was asked to end");
    other.end(waiting).unwrap();
    assert_eq!(database.sql("select count(*) from rosterd.answer"), "0");
    // Another worker has the account by now: this one takes nothing any more, and what it took is lost.
    let taken = ask(b"");
    until(|| (other.look(taken, Look { seen: 0, stops: false }).unwrap().stage == Stage::Taken).then_some(()));
    database.sql("update rosterd.account set holder = 'another', epoch = epoch + 1");
    assert_eq!(other.look(taken, Look { seen: 0, stops: false }).unwrap().stage, Stage::Lost);
    let late = ask(b"late");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(other.look(late, Look { seen: 0, stops: false }).unwrap().stage, Stage::Waits);
    database.sql("update rosterd.account set holder = null, expires_at = 'epoch'");
    assert_eq!(other.look(late, Look { seen: 0, stops: false }).unwrap().stage, Stage::Free);
    assert!(other.take_back(late).unwrap() && other.take_back(late).unwrap(), "no one did it, and no one will");
    drop((takes, rows));
}

#[test]
fn what_one_account_waits_for_holds_up_no_other() {
    if !is_there() {
        return;
    }
    let database = database();
    let (one, other) = (account(&database), named(&database, "other"));
    let (_long, short) = (Rows::open(&one).unwrap(), Rows::open(&other).unwrap());
    let blocker = other_worker(&one);
    let ask = |account: &Account, statement: &'static str| account.query(statement, Vec::new).map(drop);
    ask(&blocker, "select pg_advisory_lock(7) where $1 > 0").unwrap();
    std::thread::scope(|scope| {
        // As many statements as a bulk load and a removal of two accounts make at once.
        let waits = [(), (), ()].map(|()| {
            scope.spawn(|| ask(&one, "select pg_advisory_lock_shared(7), pg_advisory_unlock_shared(7) where $1 > 0"))
        });
        let waiting = || database.sql("select count(*) from pg_locks where locktype = 'advisory' and not granted");
        while waiting() != "3" {
            std::thread::yield_now();
        }
        short.commit(put("a")).unwrap();
        assert!(waits.iter().all(|wait| !wait.is_finished()), "they still wait");
        ask(&blocker, "select pg_advisory_unlock(7) where $1 > 0").unwrap();
        waits.into_iter().for_each(|wait| wait.join().unwrap().unwrap());
    });
}

/// PgBouncer answers so where its server does not let it in any more.
#[test]
fn what_a_pooler_without_a_server_answers_is_a_lost_connection_and_no_refused_statement() {
    if !is_there() {
        return;
    }
    let database = database();
    let account = account(&database);
    database.sql(
        "create function raised(code text) returns int language plpgsql as
         $$ begin raise exception using errcode = code, message = 'server login has been failing'; end $$",
    );
    let said = |code: &str| {
        let answer =
            account.query_once("select raised($2) where $1 > 0", vec![connection::Value::Text(code.to_owned())]);
        answer.unwrap_err().to_string()
    };
    assert!(said("08P01").contains("the connection to the database broke: server login has been failing"));
    assert!(said("22012").contains("the database refused a statement"));
}

#[test]
fn workers_see_one_another_and_who_has_what() {
    if !is_there() {
        return;
    }
    let database = database();
    let one = account(&database);
    let (first, second) = (DatabaseMembership::of(&one), DatabaseMembership::of(&other_worker(&one)));
    let offers = |names: &[&str]| names.iter().map(ToString::to_string).collect::<std::collections::BTreeSet<_>>();
    assert!(first.look(&offers(&["a", "main"])).unwrap().others.is_empty());
    let rows = Rows::open(&one).unwrap();
    let seen = second.look(&offers(&["b"])).unwrap();
    let others: Vec<_> = seen.others.values().map(|other| (other.offers.clone(), other.is_new)).collect();
    assert_eq!(others, [(offers(&["a", "main"]), true)]);
    assert_eq!(seen.held["main"].worker, *seen.others.keys().next().unwrap());
    assert_eq!(second.holders().unwrap(), seen.held);
    database.sql("update rosterd.worker set began_at = began_at - interval '1 minute'");
    let offered = first.look(&offers(&["a"])).unwrap();
    assert_eq!(
        offered.others.into_values().map(|other| (other.offers, other.is_new)).collect::<Vec<_>>(),
        [(offers(&["b"]), false)]
    );
    drop(rows);
    first.leave().unwrap();
    database.sql("update rosterd.worker set seen_at = seen_at - interval '16 s'");
    let seen = first.look(&offers(&["a"])).unwrap();
    assert!(seen.others.is_empty() && seen.held.is_empty(), "{seen:?}");
}

#[test]
fn law_9_a_state_that_was_restored_from_a_dump_is_known_as_a_copy() {
    let Some((database, one)) = fresh() else { return };
    let rows = Rows::open(&one).unwrap();
    rows.commit(put("a")).unwrap();
    drop(rows);
    let mark = one.mark().unwrap();
    assert_eq!(one.mark().unwrap(), mark);
    restore(&database);
    assert_ne!(one.mark().unwrap(), mark);
    let rows = Rows::open(&one).unwrap();
    assert!(rows.get(&Keyspace::Synced.key("a")).unwrap().is_some());
    rows.commit(put("b")).unwrap();
}
