//! What a power cut would leave is what was synced.

use std::fs::{self, File};
use std::io::Write as _;

use tempfile::TempDir;

use super::forgetful::Forgetful;

#[test]
fn what_was_not_synced_is_forgotten() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("old"), "before").unwrap();
    let disk = Forgetful::below(dir.path());
    let holds = |name: &str| fs::read_to_string(disk.cut().path().join(name)).ok();
    let mut old = File::options().append(true).open(dir.path().join("old")).unwrap();
    old.write_all(b" and after").unwrap();
    assert_eq!(holds("old").as_deref(), Some("before"));
    super::sync_data(&old).unwrap();
    assert_eq!(holds("old").as_deref(), Some("before and after"));

    let mut new = File::create(dir.path().join("new")).unwrap();
    new.write_all(b"here").unwrap();
    super::sync_folder(dir.path()).unwrap();
    assert_eq!(holds("new").as_deref(), Some(""));
    super::sync(&new).unwrap();
    assert_eq!(holds("new").as_deref(), Some("here"));
    fs::rename(dir.path().join("new"), dir.path().join("old")).unwrap();
    assert_eq!(holds("old").as_deref(), Some("before and after"));
    super::lay_down(&dir.path().join("folder")).unwrap();
    assert_eq!(holds("old").as_deref(), Some("here"), "its folder was synced for another's sake");
    assert!(disk.cut().path().join("folder").is_dir());
}
