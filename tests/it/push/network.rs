//! What a network does to connections: they are never made, or break without a sign.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rosterd::sandbox::Options;

use crate::support::{Config, World, people};

/// The configuration with another address of the service.
fn point_at(world: &World, address: SocketAddr) {
    let text = world.config_text();
    let url = world.service().url();
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    assert!(text.contains(host));
    world.put_config(&text.replace(host, &address.to_string()));
}

/// A listener whose queue is full: a client that connects now gets no answer at all.
fn deaf() -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let knock = |_| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let waiting: Vec<TcpStream> = (0..10_000).map_while(knock).collect();
    assert!(waiting.len() < 10_000, "its queue has no end");
    (listener, waiting)
}

#[test]
fn fault_27_a_connection_that_is_never_made_sends_nothing_and_uses_no_budget() {
    let api = "requests_per_minute = 100000\ntimeout = \"1s\"\n".to_owned();
    let world = World::of(Config { api, ..Config::default() });
    world.csv(people(1..4));
    let (listener, _waiting) = deaf();
    point_at(&world, listener.local_addr().unwrap());
    let ran = world.sync().expect(1);
    assert_eq!((ran.ended().0.as_str(), ran.job()["requests"].as_u64()), ("failed", Some(0)), "{ran:?}");
    let status = world.run(&["status", "--json"]).expect(1).json();
    assert_eq!(status["budget"]["used"], 0, "{status}");
    assert_eq!(status["jobs"][0]["queued"].as_u64().unwrap_or(0), 0, "{status}");
}

/// Hands connections through to the service; each third is dropped when its second request arrives, unanswered.
struct HalfOpen {
    address: SocketAddr,
    dropped: Arc<AtomicUsize>,
}

impl HalfOpen {
    fn before(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&dropped);
        thread::spawn(move || {
            for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let counter = Arc::clone(&counter);
                thread::spawn(move || hand_through(client, service, number % 3 == 0, &counter));
            }
        });
        Self { address, dropped }
    }
}

fn hand_through(mut client: TcpStream, service: SocketAddr, dies: bool, dropped: &AtomicUsize) {
    let mut server = TcpStream::connect(service).unwrap();
    let answered = Arc::new(AtomicBool::new(false));
    let (flag, mut from, mut to) = (Arc::clone(&answered), server.try_clone().unwrap(), client.try_clone().unwrap());
    let back = thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            flag.store(true, Ordering::SeqCst);
            if to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
    });
    let mut bytes = [0; 16 * 1024];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        if dies && answered.load(Ordering::SeqCst) {
            dropped.fetch_add(1, Ordering::SeqCst);
            break;
        }
        server.write_all(&bytes[..read]).unwrap();
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    back.join().unwrap();
}

#[test]
fn fault_53_connections_that_died_while_idle_lose_and_double_no_one() {
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, Config::default());
    world.csv(people(0..60));
    let url = world.service().url();
    let service = url.trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
    let half_open = HalfOpen::before(service);
    point_at(&world, half_open.address);
    let mut runs = Vec::new();
    for _ in 0..6 {
        runs.push(world.sync());
        if runs.last().unwrap().code == Some(0) {
            break;
        }
    }
    assert_eq!(runs.last().unwrap().code, Some(0), "{runs:?}");
    assert!(half_open.dropped.load(Ordering::SeqCst) > 0, "no connection was used twice");
    world.expect_people(0..60);
    assert_eq!(world.count("staff.create"), 60, "nothing is sent twice");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}
