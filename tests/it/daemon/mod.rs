//! The daemon as a real process: schedules, signals, the socket, the service manager.

mod by_hand;
mod callers;
mod clocks;
mod cron_crate;
mod ends;
mod faults;
mod hangs;
mod level;
mod logs;
mod reloads;
mod serves;
mod starts;
mod unstarted;
mod urgent;
mod watched;
