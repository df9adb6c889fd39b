//! Lays a configuration beside its secret in a folder of its own, and loads it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::config::{Config, Needs, load};

pub(super) const API: &str = r#"[api]
base_url = "https://api.example.com/v1"
auth_url = "https://login.example.com"
client_id = "rosterd"
client_secret_file = "secret"
"#;

pub(super) const JOB: &str = r#"[[job]]
name = "employees"
target = "staff"
key = "{{ no }}"
[job.source]
type = "csv"
path = "hr.csv"
[job.map]
name = "{{ name }}"
email = "{{ email }}"
"#;

pub(super) struct Place {
    pub(super) dir: TempDir,
}

impl Place {
    /// A folder with a configuration and a secret file, both of mode 0600.
    pub(super) fn with(text: &str) -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        place.file("config.toml", text, 0o600);
        place.file("secret", "sesame\n", 0o600);
        place
    }

    pub(super) fn file(&self, name: &str, text: &str, mode: u32) {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }

    /// Loads it; mistakes as lines without the folder's name.
    pub(super) fn load(&self, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        self.load_for(Needs::Jobs, variables)
    }

    /// The same for what needs less.
    pub(super) fn load_for(&self, needs: Needs, variables: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        load(&self.dir.path().join("config.toml"), variables, needs)
            .map_err(|errors| errors.to_string().lines().map(|line| bare(line, self.dir.path())).collect())
    }
}

/// A message without the folder's name.
pub(super) fn bare(line: &str, dir: &Path) -> String {
    line.replace(&format!("{}/", dir.display()), "")
}

pub(super) fn check(text: &str, variables: &[(&str, &str)], expected: &[&str]) {
    let found = match Place::with(text).load(variables) {
        Ok(_) => Vec::new(),
        Err(found) => found,
    };
    assert_eq!(found, expected, "in\n{text}");
}

/// `JOB` with `line` right below its name, on line 8 where `API` stands before it.
pub(super) fn job_with(line: &str) -> String {
    format!("{API}{}", JOB.replace("target =", &format!("{line}\ntarget =")))
}
