//! The way to a tenant: certificates and proxies.

use super::{BY_SECRET, HIDDEN, config, world};
use crate::support::graph::Graph;
use crate::support::{Config, authority};

/// Where the tenant is by way of a proxy.
const GRAPH: &str = "https://graph.example.com";

#[test]
fn an_authority_of_ones_own_is_believed_where_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    authority::certificates(dir.path(), "DNS:localhost");
    let graph = Graph::secured(1..13, dir.path());
    let world = world(config(&graph, BY_SECRET));
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("set ca_file") && graph.lists() == 0, "{ran:?}");
    world.edit_config("type =", &format!("ca_file = {:?}\ntype =", dir.path().join("ca.pem")));
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (12, 0, 0));
}

#[test]
fn a_certificate_for_another_name_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    authority::certificates(dir.path(), "DNS:other.example.com");
    let graph = Graph::secured(1..13, dir.path());
    let ca_file = format!("ca_file = {:?}\n", dir.path().join("ca.pem"));
    let world = world(config(&graph, &(ca_file + BY_SECRET)));
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("it can't be reached") && graph.lists() == 0, "{ran:?}");
}

#[test]
fn token_and_pages_come_by_the_proxy_that_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    authority::certificates(dir.path(), "DNS:graph.example.com");
    let graph = Graph::secured(1..13, dir.path());
    let ca_file = format!("ca_file = {:?}\n", dir.path().join("ca.pem"));
    let source = format!("{}{ca_file}{BY_SECRET}", graph.source_behind_proxy(GRAPH));
    let world = world(Config { source, ..config(&graph, "") });
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (12, 0, 0));
    let asked = graph.arrived();
    assert!(asked.iter().any(|asked| asked.line == "CONNECT graph.example.com:443"), "{asked:?}");
    let secrets = asked.iter().filter(|asked| asked.line.starts_with("CONNECT") && asked.headers.contains("t0ken"));
    assert_eq!(secrets.count(), 0, "the proxy sees no token");
}
