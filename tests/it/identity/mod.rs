//! Who is who: keys, emails, names, ids.

mod account;
mod conflict;
mod decided_alone;
mod duplicates;
mod keys;
mod moved_names;
mod namesakes;
mod shared_mailbox;
mod slips;
