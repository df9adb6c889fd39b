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
