//! Who is who: keys, emails, names, ids.

mod account;
mod conflict;
mod duplicates;
mod keys;
mod moved_names;
mod namesakes;
mod shared_mailbox;
mod slips;
