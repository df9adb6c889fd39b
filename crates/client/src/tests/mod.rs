//! The client against a service that is scripted byte by byte.

mod failures;
mod lists;
mod server;
mod signing;
