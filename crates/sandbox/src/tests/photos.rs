//! Photos of employees.

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\xff";

async fn put(rig: &Rig, path: &str, kind: &str, bytes: Vec<u8>) -> u16 {
    answer(rig.request("PUT", path).header("content-type", kind).body(bytes)).await.0
}

#[tokio::test]
async fn a_photo_comes_back_byte_for_byte_across_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { data: Some(folder.path().to_owned()), seed_staff: 2, ..Options::default() };
    let first = rig(options()).await;
    assert_eq!(put(&first, "/staff/1001/photo", "image/png", PNG.to_vec()).await, 200);
    first.sandbox.stop().await;
    let second = rig(options()).await;
    for method in ["GET", "HEAD"] {
        let response = second.request(method, "/staff/1001/photo").send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"image/png".parse().unwrap())
        );
        assert_eq!(response.headers()["content-length"], PNG.len().to_string());
        assert_eq!(response.bytes().await.unwrap(), if method == "GET" { PNG } else { b"" });
    }
    assert_eq!(put(&second, "/staff/1001/photo", "IMAGE/JPEG; q=1", vec![1, 2]).await, 200);
    let response = second.request("GET", "/staff/1001/photo").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "image/jpeg");
    assert_eq!(response.bytes().await.unwrap(), vec![1, 2]);
}

#[tokio::test]
async fn a_photo_that_is_none_is_refused() {
    let rig = rig(Options { seed_staff: 2, ..Options::default() }).await;
    for (path, kind, size, expected) in [
        ("/staff/1001/photo", "image/png", 1 << 20, 200),
        ("/staff/1001/photo", "image/png", (1 << 20) + 1, 413),
        ("/staff/1001/photo", "image/png", 0, 400),
        ("/staff/1001/photo", "image/gif", 9, 415),
        ("/staff/1001/photo", "application/json", 9, 415),
        ("/staff/9/photo", "image/png", 9, 404),
    ] {
        assert_eq!(put(&rig, path, kind, vec![7; size]).await, expected, "{path} {kind} {size}");
    }
    let response = rig.request("GET", "/staff/1001/photo").send().await.unwrap();
    assert_eq!(response.bytes().await.unwrap().len(), 1 << 20);
    assert_eq!(rig.request("HEAD", "/staff/1002/photo").send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn a_photo_goes_with_its_employee() {
    let rig = rig(Options { seed_staff: 2, ..Options::default() }).await;
    assert_eq!(put(&rig, "/staff/1001/photo", "image/png", PNG.to_vec()).await, 200);
    assert_eq!(rig.send("DELETE", "/staff/1001", None).await.0, 204);
    assert!(rig.sandbox.all("staff.photo").is_empty());
    assert_eq!(rig.get("/staff/1001/photo").await.0, 404);
}
