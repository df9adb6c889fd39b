//! Runs in this process: a service, a clock that the test moves, and what others do at a moment of a run.

mod durable;
