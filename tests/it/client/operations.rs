//! Every operation of the service, called through the typed client and held against its row: what arrived, with which
//! status, what was stored and how the answer was read.

mod assets;
mod bench;
mod certifications;
mod contractors;
mod employees;
mod places;
mod readings;
mod tokens;
mod visitors;

use std::collections::BTreeSet;

use bench::Bench;
use rosterd::api::operations;

/// The list of operations that client and sandbox were built from.
const LIST: &str = include_str!("../../../crates/client/src/operations.tsv");

#[tokio::test]
async fn every_operation_does_what_its_row_says() {
    let mut bench = Bench::start().await;
    employees::calls(&mut bench).await;
    places::calls(&mut bench).await;
    contractors::calls(&mut bench).await;
    certifications::calls(&mut bench).await;
    visitors::calls(&mut bench).await;
    assets::calls(&mut bench).await;
    readings::calls(&mut bench).await;
    tokens::calls(&mut bench).await;
    employees::upload(&mut bench).await;

    let listed: BTreeSet<&str> = LIST.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let known: BTreeSet<&str> = operations().iter().map(|operation| operation.name).collect();
    assert_eq!((known.len(), &known), (114, &listed));
    assert_eq!(bench.called(), &listed);
    expect_the_statuses_of_the_list(&bench);
}

/// Every answer so far had the status that the list gives its operation.
fn expect_the_statuses_of_the_list(bench: &Bench) {
    let rows: Vec<Vec<&str>> = LIST.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    for request in bench.sandbox.requests() {
        let row = rows.iter().find(|row| row[0] == request.operation).unwrap_or_else(|| panic!("{request:?}"));
        assert_eq!((request.method.as_str(), request.status.to_string().as_str()), (row[1], row[4]), "{request:?}");
    }
}
