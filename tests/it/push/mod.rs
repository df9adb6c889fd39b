//! What is sent, in which order, and what stays as it was.

mod answered_by_another;
mod clock_skew;
mod credentials;
mod drift;
mod kept;
mod killed;
mod lossy;
mod lying_lists;
mod network;
mod one_at_a_time;
mod ownership;
mod photos;
mod unowned;
mod unsure;
