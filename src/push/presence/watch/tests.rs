//! When movements are checked, and what is remembered until then.

use tokio::time::advance;

use super::*;
use crate::api::{Credential, Options, SecretSource};

/// A state folder, and a client of a service that is not asked.
fn ground() -> (tempfile::TempDir, Store, Client, Clock) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let clock = Clock::fixed("2026-01-02T10:00:00Z".parse().unwrap());
    let options =
        Options::new("http://127.0.0.1:9/v1".to_owned(), Credential::ApiKey(SecretSource::Text("key".into())));
    let client = Client::new(&options, &clock).unwrap();
    (dir, store, client, clock)
}

/// A copy was read and a PUT begun.
async fn begun<'a>(presence: &'a Presence<'_>, id: RemoteId) -> Room<'a> {
    let mut room = presence.room(id, || None).await.unwrap();
    let mut batch = Batch::default();
    room.intend(&mut batch, None);
    presence.store.commit(batch).unwrap();
    room.send(Some(presence.clock.now()), false);
    room
}

#[tokio::test(start_paused = true)]
async fn law_10_movements_are_looked_at_15_seconds_after_an_update() {
    let (_dir, store, client, clock) = ground();
    let presence = Presence::open(&client, &store, &clock, Target::Staff).unwrap();
    let room = begun(&presence, RemoteId::new(5).unwrap()).await;
    advance(Duration::from_secs(60)).await;
    assert!(!presence.is_due(), "the PUT has not ended");
    drop(room);
    assert!(presence.is_due(), "it was sent a minute ago");

    let presence = Presence::open(&client, &store, &clock, Target::Staff).unwrap();
    presence.state().open.clear();
    drop(begun(&presence, RemoteId::new(6).unwrap()).await);
    advance(Duration::from_millis(14_900)).await;
    assert!(!presence.is_due());
    advance(Duration::from_millis(100)).await;
    assert!(presence.is_due());
}

#[tokio::test]
async fn law_10_who_is_updated_again_during_a_look_is_looked_at_once_more() {
    let (_dir, store, client, clock) = ground();
    let presence = Presence::open(&client, &store, &clock, Target::Staff).unwrap();
    let id = RemoteId::new(5).unwrap();
    let looked_at = |presence: &Presence<'_>| -> BTreeMap<RemoteId, (Echo, u64)> {
        presence.state().open.iter().map(|(id, open)| (*id, (open.echo, open.serial))).collect()
    };
    drop(begun(&presence, id).await);
    let first = looked_at(&presence);
    drop(begun(&presence, id).await);
    for (echoes, left) in [(first, 1), (looked_at(&presence), 0)] {
        presence.forget(&echoes).unwrap();
        let stored = ECHOES.list::<Vec<_>>(&store, &Target::Staff).unwrap().len();
        assert_eq!((presence.state().open.len(), stored), (left, left));
    }
}

#[tokio::test(start_paused = true)]
async fn law_10_after_a_look_that_failed_another_is_due_a_while_later_and_none_where_it_may_not() {
    let (_dir, store, client, clock) = ground();
    for denied in [false, true] {
        let presence = Presence::open(&client, &store, &clock, Target::Staff).unwrap();
        presence.state().open.clear();
        drop(begun(&presence, RemoteId::new(5).unwrap()).await);
        advance(LOOK_AFTER).await;
        assert!(presence.is_due());
        let said = presence.postpone(1, PresenceFailure { reason: "a fault".to_owned(), denied });
        assert!(said.contains("1 person") && said.contains("a fault"), "{said}");
        assert!(!presence.is_due());
        advance(LOOK_AGAIN).await;
        assert_eq!(presence.is_due(), !denied);
        // A later fault of another kind gives no right back.
        presence.postpone(2, PresenceFailure { reason: "a fault".to_owned(), denied: false });
        assert_eq!(presence.state().denied, denied);
    }
}

#[tokio::test]
async fn law_10_who_can_t_be_put_right_is_remembered_on_disk() {
    let (_dir, store, client, clock) = ground();
    let presence = Presence::open(&client, &store, &clock, Target::Staff).unwrap();
    let id = RemoteId::new(5).unwrap();
    drop(begun(&presence, id).await);
    let serial = presence.state().open[&id].serial;
    let stored =
        || ECHOES.list::<Vec<_>>(&store, &Target::Staff).unwrap().into_iter().map(|(_, echo)| echo.astray).collect();
    let [first, second]: [Astray; 2] = [true, false]
        .map(|onsite| serde_json::from_value(serde_json::json!({"onsite": onsite, "lacks": "location"})).unwrap());
    for (serial, astray, expected) in [
        (serial + 1, first, None),
        (serial, first, Some(first)),
        (serial, first, Some(first)),
        (serial, second, Some(second)),
    ] {
        presence.mark(id, serial, astray).unwrap();
        let stored: Vec<Option<Astray>> = stored();
        assert_eq!(stored, [expected]);
    }
}
