//! The client library against the stand-in: operations, answers, errors.

mod budget;
mod garbage_answers;
mod lenient;
mod library;
mod oauth;
mod operations;
mod queries;
mod refusals;
mod transitions;
mod written_back;
