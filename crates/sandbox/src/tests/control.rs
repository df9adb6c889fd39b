//! The control interface: clients, keys and faults while the sandbox runs.

use serde_json::json;

use super::*;
use crate::Restriction;

async fn control(rig: &Rig, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let url = format!("{}/control{path}", rig.sandbox.auth_url());
    let request = rig.client.request(method.parse().unwrap(), url);
    answer(body.into_iter().fold(request, |request, body| request.json(&body))).await
}

async fn token(rig: &Rig, id: &str, secret: &str, form: &[(&str, &str)]) -> (u16, Value) {
    let url = format!("{}/oauth2/token", rig.sandbox.auth_url());
    answer(rig.client.post(url).basic_auth(id, Some(secret)).form(form)).await
}

const GRANT: &[(&str, &str)] = &[("grant_type", "client_credentials")];

async fn staff(rig: &Rig, credential: &str) -> u16 {
    answer(rig.bare(Method::GET, "/staff").header("authorization", credential)).await.0
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

#[tokio::test]
async fn a_client_is_made_rotated_revoked_and_deleted() {
    let rig = rig(Options::default()).await;
    let wanted = json!({ "name": "HR", "scopes": ["staff:read"] });
    let (status, made) = control(&rig, "POST", "/clients", Some(wanted)).await;
    assert_eq!((status, &made["state"], &made["scopes"]), (201, &json!("active"), &json!(["staff:read"])));
    let (id, secret) = (text(&made, "id"), text(&made, "secret"));
    let (_, shown) = control(&rig, "GET", "/clients", None).await;
    assert_eq!(shown[1], json!({ "id": id, "name": "HR", "scopes": ["staff:read"], "state": "active" }));
    assert_eq!((shown.as_array().unwrap().len(), text(&shown[0], "id")), (2, "sandbox-client"));

    let (status, first) = token(&rig, id, secret, GRANT).await;
    assert_eq!((status, text(&first, "scope")), (200, "staff:read"));
    let bearer = |grant: &Value| format!("Bearer {}", text(grant, "access_token"));
    assert_eq!(staff(&rig, &bearer(&first)).await, 200);

    let (status, rotated) = control(&rig, "POST", &format!("/clients/{id}/rotate"), None).await;
    assert_eq!(status, 200);
    let fresh = text(&rotated, "secret");
    assert_ne!(fresh, secret);
    assert_eq!(staff(&rig, &bearer(&first)).await, 401);
    assert_eq!(token(&rig, id, secret, GRANT).await.0, 401);
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", text(&first, "refresh_token"))];
    assert_eq!(token(&rig, id, fresh, &refresh).await.1["error"], "invalid_grant");

    let (_, second) = token(&rig, id, fresh, GRANT).await;
    assert_eq!(staff(&rig, &bearer(&second)).await, 200);
    let (status, revoked) = control(&rig, "POST", &format!("/clients/{id}/revoke"), None).await;
    assert_eq!((status, &revoked["state"], revoked.get("secret")), (200, &json!("disabled"), None));
    assert_eq!(staff(&rig, &bearer(&second)).await, 401);
    let (status, refused) = token(&rig, id, fresh, GRANT).await;
    assert_eq!((status, text(&refused, "error")), (401, "invalid_client"));
    assert_eq!(control(&rig, "POST", &format!("/clients/{id}/rotate"), None).await.0, 409);

    assert_eq!(control(&rig, "DELETE", &format!("/clients/{id}"), None).await.0, 204);
    assert_eq!(control(&rig, "DELETE", &format!("/clients/{id}"), None).await.0, 404);
    assert_eq!(control(&rig, "GET", "/clients", None).await.1.as_array().unwrap().len(), 1);
    // No other client was touched, and nothing of it was a request to the API.
    assert_eq!(token(&rig, "sandbox-client", "sandbox-secret", GRANT).await.0, 200);
    assert_eq!(rig.sandbox.requests().len(), 4);
}

#[tokio::test]
async fn a_refresh_token_is_its_clients_own() {
    let rig = rig(Options::default()).await;
    let wanted = json!({ "name": "HR", "scopes": ["staff:read"] });
    let (_, made) = control(&rig, "POST", "/clients", Some(wanted)).await;
    let (_, grant) = token(&rig, "sandbox-client", "sandbox-secret", GRANT).await;
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", text(&grant, "refresh_token"))];
    assert_eq!(token(&rig, text(&made, "id"), text(&made, "secret"), &refresh).await.1["error"], "invalid_grant");
    assert_eq!(token(&rig, "sandbox-client", "sandbox-secret", &refresh).await.0, 200);
}

#[tokio::test]
async fn a_key_is_made_restricted_and_deleted() {
    let rig = rig(Options { rate: 1, ..Options::default() }).await;
    let wanted = json!({ "name": "gate 1", "restrictions": ["staff", "visitors"] });
    let (status, made) = control(&rig, "POST", "/keys", Some(wanted.clone())).await;
    assert_eq!(status, 201);
    let key = format!("APIKEY {}", text(&made, "key"));
    assert_eq!(control(&rig, "POST", "/keys", Some(wanted.clone())).await.0, 409);
    let (_, shown) = control(&rig, "GET", "/keys", None).await;
    assert_eq!(shown, json!([{ "name": "command line", "restrictions": [] }, wanted]));
    // Each credential has its own count.
    assert_eq!(staff(&rig, &key).await, 200);
    assert_eq!(staff(&rig, &key).await, 429);
    assert_eq!(rig.get("/staff").await.0, 200);
    assert_eq!(control(&rig, "DELETE", "/keys/gate%201", None).await.0, 204);
    assert_eq!(staff(&rig, &key).await, 401);
    assert_eq!(control(&rig, "DELETE", "/keys/gate%201", None).await.0, 404);
}

#[tokio::test]
async fn a_restriction_opens_its_domain_and_no_other() {
    use Restriction::{Certifications, Contractors, Locations, Notifications, Staff, Unrestricted, Visitors};
    let paths = [
        ("/staff", Some(Staff)),
        ("/customfield/element/staff", Some(Staff)),
        ("/location", Some(Locations)),
        ("/zone", Some(Locations)),
        ("/sp/member", Some(Contractors)),
        ("/sp/org", Some(Contractors)),
        ("/certification", Some(Certifications)),
        ("/qualification", Some(Certifications)),
        ("/notification", Some(Notifications)),
        ("/visitor/event", Some(Visitors)),
        ("/asset", None),
        ("/assetgroup", None),
        ("/induction/1/holder", None),
        ("/community/1/member", None),
        ("/custom-questionnaire/question", None),
    ];
    for restriction in [Unrestricted, Locations, Notifications, Certifications, Contractors, Staff, Visitors] {
        let rig = rig(Options { api_key_restrictions: vec![restriction], ..Options::default() }).await;
        for (path, needed) in paths {
            let may = restriction == Unrestricted || needed == Some(restriction);
            assert_eq!(rig.get(path).await.0 != 403, may, "{restriction} {path}");
        }
    }
}

#[tokio::test]
async fn faults_are_changed_while_it_runs() {
    let rig = rig(Options::default()).await;
    assert_eq!(control(&rig, "PUT", "/faults", Some(json!(["GET /staff status=503"]))).await.0, 204);
    assert_eq!(rig.get("/staff").await.0, 503);
    let (status, refused) = control(&rig, "PUT", "/faults", Some(json!(["status=1"]))).await;
    assert!(status == 400 && text(&refused, "error").contains("a fault is a few words"), "{refused}");
    assert_eq!(rig.get("/staff").await.0, 503);
    assert_eq!(control(&rig, "PUT", "/faults", Some(json!([]))).await.0, 204);
    assert_eq!(rig.get("/staff").await.0, 200);
}

#[tokio::test]
async fn the_add_on_for_assets_is_switched() {
    let rig = rig(Options { assets: false, ..Options::default() }).await;
    for (enabled, status) in [(true, 200), (false, 403)] {
        assert_eq!(control(&rig, "PUT", "/assets", Some(json!({ "enabled": enabled }))).await.0, 204);
        for path in ["/asset", "/assetgroup"] {
            assert_eq!(rig.get(path).await.0, status, "{path}");
        }
    }
}

#[tokio::test]
async fn the_description_needs_no_credential_and_is_not_counted() {
    let rig = rig(Options::default()).await;
    let (status, document) = answer(rig.client.get(format!("{}/openapi.json", rig.sandbox.auth_url()))).await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    assert!(rig.sandbox.requests().is_empty());
}

#[tokio::test]
async fn what_a_fault_holds_is_counted_and_released() {
    let rig = rig(Options::default()).await;
    assert_eq!(control(&rig, "PUT", "/faults", Some(json!(["staff.list hold"]))).await.0, 204);
    let released = async {
        while control(&rig, "GET", "/held", None).await != (200, json!({ "held": 1 })) {
            tokio::task::yield_now().await;
        }
        control(&rig, "POST", "/held/release", None).await
    };
    let (answered, released) = tokio::join!(rig.get("/staff"), released);
    assert_eq!((answered.0, released), (200, (200, json!({ "released": 1 }))));
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let rig = rig(Options::default()).await;
    for (method, path, body, status) in [
        ("POST", "/clients", json!({ "name": "x", "scopes": [] }), 400),
        ("POST", "/clients", json!({ "name": "x", "scopes": ["staff:fly"] }), 400),
        ("POST", "/clients", json!({ "name": " ", "scopes": ["staff:read"] }), 400),
        ("POST", "/clients", json!({ "scopes": ["staff:read"] }), 400),
        ("POST", "/clients", json!({ "name": "x", "scopes": ["staff:read"], "secret": "x" }), 400),
        ("POST", "/clients/nobody/rotate", Value::Null, 404),
        ("POST", "/clients/nobody/revoke", Value::Null, 404),
        ("POST", "/keys", json!({ "name": "x", "restrictions": [] }), 400),
        ("POST", "/keys", json!({ "name": "x", "restrictions": ["assets"] }), 400),
        ("POST", "/keys", json!([]), 400),
        ("PUT", "/faults", json!({}), 400),
        ("PUT", "/assets", json!({ "enabled": 1 }), 400),
        ("PUT", "/assets", json!([false]), 400),
        ("GET", "/shoes", Value::Null, 404),
        ("GET", "/faults", Value::Null, 405),
        ("PATCH", "/clients", Value::Null, 405),
    ] {
        let (found, refused) = control(&rig, method, path, Some(body)).await;
        assert_eq!(found, status, "{method} {path}");
        assert!(refused["error"].is_string());
    }
    let url = format!("{}/control/clients", rig.sandbox.auth_url());
    let response = rig.client.put(url).send().await.unwrap();
    assert_eq!(response.headers()["allow"], "GET, POST");
}

#[tokio::test]
async fn clients_and_keys_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Some(folder.path().to_owned()), ..Options::default() };
    let first = rig(options()).await;
    let wanted = json!({ "name": "HR", "scopes": ["staff:read"] });
    let (_, made) = control(&first, "POST", "/clients", Some(wanted.clone())).await;
    let (_, gone) = control(&first, "POST", "/clients", Some(wanted)).await;
    control(&first, "POST", &format!("/clients/{}/revoke", text(&gone, "id")), None).await;
    let (_, key) = control(&first, "POST", "/keys", Some(json!({ "name": "gate", "restrictions": ["staff"] }))).await;
    let (_, rotated) = control(&first, "POST", "/clients/sandbox-client/rotate", None).await;
    let path = folder.path().join("credentials.json");
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
    assert!(!first.sandbox.takes_its_options());
    first.sandbox.stop().await;

    let second = rig(options()).await;
    assert_eq!(token(&second, text(&made, "id"), text(&made, "secret"), GRANT).await.0, 200);
    assert_eq!(token(&second, text(&gone, "id"), text(&gone, "secret"), GRANT).await.0, 401);
    assert_eq!(staff(&second, &format!("APIKEY {}", text(&key, "key"))).await, 200);
    assert_eq!(token(&second, "sandbox-client", text(&rotated, "secret"), GRANT).await.0, 200);
    assert!(!second.sandbox.takes_its_options());
    second.sandbox.stop().await;

    // A client of the command line replaces the one that the command line gave before, and nothing else does.
    let third = rig(Options { client_secret: "given".into(), ..options() }).await;
    assert!(third.sandbox.takes_its_options());
    assert_eq!(token(&third, "sandbox-client", "given", GRANT).await.0, 200);
    assert_eq!(token(&third, "sandbox-client", text(&rotated, "secret"), GRANT).await.0, 401);
    assert_eq!(token(&third, text(&made, "id"), text(&made, "secret"), GRANT).await.0, 200);
    third.sandbox.stop().await;

    std::fs::write(&path, "{}").unwrap();
    let refused = Sandbox::start(options()).await.map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("credentials.json"), "{refused}");
}
