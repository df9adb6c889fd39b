//! Each error of the specification (Errors), provoked through the client.

mod access;
mod conflicts;
mod faults;
mod requests;

use rosterd::api::{Answer, Call, Client, Error, ErrorKind, Fate};
use rosterd::sandbox::{Options, Sandbox};

use crate::support::caller::{client, key_options};

/// A sandbox with a few of everything, and its client.
async fn sandbox(options: Options) -> (Sandbox, Client) {
    let options = Options { seed_staff: 9, seed_contractors: 12, ..options };
    let sandbox = Sandbox::start(options).await.unwrap();
    let client = client(&key_options(&sandbox));
    (sandbox, client)
}

/// The error that a call ends in.
async fn refused<T: Answer>(client: &Client, call: Call<T>) -> Error {
    let name = call.operation().name;
    match client.send(call).await {
        Ok(_) => panic!("{name} was not refused"),
        Err(error) => {
            assert_eq!(error.operation, name);
            error
        }
    }
}

/// Fails unless a call is answered with this status, which leaves nothing done.
async fn expect_status<T: Answer>(client: &Client, call: Call<T>, status: u16) {
    let name = call.operation().name;
    let error = refused(client, call).await;
    assert!(matches!(&error.kind, ErrorKind::Status { code, .. } if *code == status), "{name}: {:?}", error.kind);
    assert_eq!((error.fate(), error.permission()), (Fate::Refused, false), "{name}");
    assert!(error.words().is_some(), "{name}: the service says why");
}
