//! Workers whose clocks are a day apart: none of them takes part in the lease.

use jiff::SignedDuration;
use rosterd::clock::Clock;
use rustix::process::Signal;

use crate::roster::{Work, check_end};
use crate::support::faked::Faked;
use crate::support::postgres;
use crate::worker::{self, Halt, Worker, command, sync_when_free};

#[test]
fn law_3_a_clock_that_is_a_day_off_neither_shortens_a_lease_nor_makes_it_longer() {
    if !postgres::is_there() {
        return;
    }
    let expected = Work::Changes.end();
    for hours in [24, -24] {
        let world = Work::Changes.world();
        let there = Clock::system().now() + SignedDuration::from_hours(hours);
        let Some(clock) = Faked::at(&world, &there.strftime("%Y-%m-%d %H:%M:%S").to_string()) else { return };
        let mut off = command(&world, "first", &["sync"]);
        clock.tell(&mut off);
        off.env("ROSTERD_STOP_AT", "40");
        let first = Worker::start(&world, "first", off);
        assert_eq!(first.halt(), Halt::Stopped, "{hours}: {}", worker::log(&world, "first"));
        let left = "select extract(epoch from expires_at - clock_timestamp()) between -60 and 6 from rosterd.account";
        assert_eq!(world.database().sql(left), "t", "{hours}: the lease is counted by the database's clock");
        let early = Worker::start(&world, "second", command(&world, "second", &["sync"])).wait().code();
        let is_over = world.database().sql("select expires_at < clock_timestamp() from rosterd.account") == "t";
        assert!(early == Some(11) || is_over || early == Some(0), "{hours}: {early:?}");
        sync_when_free(&world, "second");
        first.signal(Signal::CONT);
        assert_eq!(first.wait().code(), Some(1), "{hours}: {}", worker::log(&world, "first"));
        check_end(&world, &expected, "a day off");
    }
}
