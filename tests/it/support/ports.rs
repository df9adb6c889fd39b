//! Ports for servers that are started later.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the system gives to who asks for any: another test's server may get one of those before it is used.
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;

/// A free port on this machine, which no one else gets.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run beside each other begin apart.
    let begin = u16::try_from(std::process::id().wrapping_mul(97) % u32::from(COUNT)).unwrap();
    loop {
        let place = (u32::from(begin) + u32::from(NEXT.fetch_add(1, Ordering::Relaxed))) % u32::from(COUNT);
        let port = FIRST + u16::try_from(place).unwrap();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// The same with its address.
pub(crate) fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}
