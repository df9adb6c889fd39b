//! Many accounts in one process.

mod begins;
mod fair;
mod pages;
mod shared;
mod soak;
mod shown;
