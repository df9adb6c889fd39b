//! Many accounts in one process.

mod begins;
mod fair;
mod pages;
mod shown;
