//! The daemon as a real process: schedules, signals, the socket, the service manager.

mod ends;
mod reloads;
mod serves;
mod starts;
mod watched;
