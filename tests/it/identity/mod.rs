//! Who is who: keys, emails, names, ids.

mod account;
mod conflict;
mod duplicates;
mod keys;
mod namesakes;
mod shared_mailbox;
mod slips;
