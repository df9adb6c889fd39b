//! What proves that it is the app.

use super::{HIDDEN, config, synced, world};
use crate::support::graph::{CLIENT, Graph, TENANT};

#[test]
fn law_11_a_secret_that_is_wrong_is_named_by_what_to_do() {
    let (graph, world) = synced("");
    graph.change(|tenant| drop(tenant.users.remove(0)));
    world.put("word", b"another-w0rd\n");
    let ran = world.sync().hides(&HIDDEN).hides(&["another-w0rd"]).expect(1);
    let (status, _, reason) = ran.ended();
    let said = "it answered 401 (AADSTS7000215) and issued no token: the client secret is wrong";
    assert!(status == "failed" && reason.contains(said), "{reason}");
    world.expect_people(1..41);
    world.put("word", b"hunter2\n");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 1));
}

#[test]
fn another_tenant_or_app_is_refused_where_tokens_are_issued() {
    for (from, to, said) in [
        (TENANT, "example.org", "AADSTS90002) and issued no token: there is no such tenant"),
        (CLIENT, "another", "AADSTS700016) and issued no token: the tenant has no app of this client_id"),
    ] {
        let (_graph, world) = synced("");
        world.edit_config(from, to);
        let ran = world.sync().hides(&HIDDEN).expect(1);
        assert!(ran.reason().contains(said), "{ran:?}");
        world.expect_people(1..41);
    }
}

#[test]
fn an_app_may_show_a_certificate() {
    let graph = Graph::start(1..13);
    let by_certificate = "certificate_file = \"app.pem\"\nkey_file = \"app.key\"\n";
    let world = world(config(&graph, by_certificate));
    graph.register_certificate(world.dir());
    assert_eq!(world.sync().hides(&HIDDEN).expect(0).writes(), (12, 0, 0));
    // The tenant learns of another one; the old one is what is shown.
    let elsewhere = tempfile::tempdir().unwrap();
    graph.register_certificate(elsewhere.path());
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("AADSTS700027) and issued no token: the certificate is not the app's"), "{ran:?}");
    world.put("app.key", b"no key\n");
    let ran = world.sync().expect(1);
    assert!(ran.reason().contains("app.key holds no RSA key"), "{ran:?}");
    world.expect_people(1..13);
}

#[test]
fn a_tenant_that_is_not_there_fails_the_run() {
    let (graph, world) = synced("");
    drop(graph);
    let ran = world.sync().hides(&HIDDEN).expect(1);
    assert!(ran.reason().contains("/token: it can't be reached"), "{ran:?}");
    world.expect_people(1..41);
}
