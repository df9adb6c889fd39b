//! Moving what is remembered from one kind of state to another.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::inbox::Inbox;
use crate::support::postgres::{self, Database, Server};
use crate::support::{Config, World, people};

/// Where a state lies.
enum Place {
    Folder(&'static str),
    Database(Database),
}

impl Place {
    fn new(name: &'static str) -> Self {
        if name.starts_with("database") { Self::Database(Server::shared().database()) } else { Self::Folder(name) }
    }

    /// Writes the configuration with the state there.
    fn configure(&self, world: &World, config: &Config) {
        let state = match self {
            Self::Folder(name) => format!("dir = \"{name}\"\n"),
            Self::Database(database) => format!("url = \"{}\"\nspill_dir = \"spill\"\n", database.url()),
        };
        let text = config.text(&world.service().url()).replace("dir = \"state\"\n", &state);
        world.put("config.toml", text.as_bytes());
    }

    /// Sees that the budget counts as spent, and lets a minute pass.
    fn pass_a_minute(&self, world: &World) {
        match self {
            Self::Folder(name) => {
                let budget = world.dir().join(name).join("budget");
                assert_eq!(fs::read(&budget).unwrap(), b"", "an emptied budget counts as spent");
                fs::remove_file(budget).unwrap();
            }
            Self::Database(database) => {
                assert_eq!(database.sql("select holder is null and budget = '' from rosterd.account"), "t");
                database.sql("update rosterd.account set epoch = 0, budget = null");
            }
        }
    }
}

fn config() -> Config {
    let config = Config::rest("[job.guard]\nmax_updates = 5\n").job("on_bad_value = \"row\"\n");
    Config { path: "inbox".into(), api: "requests_per_minute = 3000\n".into(), ..config }
}

fn moved(from: &'static str, to: &'static str) {
    if (from.starts_with("database") || to.starts_with("database")) && !postgres::is_there() {
        return;
    }
    let (from, to) = (Place::new(from), Place::new(to));
    let world = World::default();
    let inbox = Inbox(&world);
    fs::create_dir(inbox.path("")).unwrap();
    from.configure(&world, &config());
    inbox.drop("a.csv", people(1..30) + "P00031,,person31@example.com,Clerk\n");
    world.sync().expect(3);
    inbox.drop("b.csv", people(1..30).replacen("Clerk", "Baker", 9));
    world.sync().expect(4);
    world.run(&["reject", "staff", "P00001"]).expect(0);
    world.run(&["pause"]).expect(0);
    world.sync();
    let told = || {
        let status = world.run(&["status", "--json"]).json();
        let job = &status["jobs"][0];
        let history = world.run(&["history", "--json", "--limit", "0"]).expect(0).json();
        (job["held"].clone(), job["known"].clone(), job["paused"].clone(), history["events"].clone())
    };
    let before = told();
    assert_eq!(before.0, 8, "{before:?}");

    let exported = world.run(&["state", "export", "moved.rosterd", "--json"]).expect(0).json();
    assert!(exported["rows"].as_u64().unwrap() > 29 && exported["files"] == 2, "{exported}");
    let file = world.dir().join("moved.rosterd");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = world.run(&["state", "export", "moved.rosterd"]).expect(2);
    assert!(again.err.contains("is there already"), "{again:?}");
    let own = world.run(&["state", "import", "moved.rosterd"]).expect(2);
    assert!(own.err.contains("is not empty"), "{own:?}");

    to.configure(&world, &config());
    let imported = world.run(&["state", "import", "moved.rosterd", "--json"]).expect(0).json();
    assert_eq!(imported, exported);
    to.pass_a_minute(&world);
    assert_eq!(told(), before);
    world.run(&["resume"]).expect(0);
    let writes = world.service().writes();
    let lists = world.count("staff.list");
    let ran = world.sync().expect(4);
    assert_eq!((ran.writes(), world.service().writes(), ran.job()["held"].as_u64()), ((0, 0, 0), writes, Some(8)));
    assert!(world.count("staff.list") > lists, "the service was listed");
    world.run(&["approve", "staff"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 8, 0));
    let table = inbox.text("processed", "b.csv.report.csv");
    assert_eq!((table.matches(",changed,").count(), table.matches(",rejected,").count()), (8, 1), "{table}");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    world.expect_people(1..30);
}

#[test]
fn what_is_remembered_moves_from_a_folder_to_another_one() {
    moved("one", "two");
}

#[test]
fn what_is_remembered_moves_from_a_folder_to_a_database() {
    moved("one", "database");
}

#[test]
fn what_is_remembered_moves_from_a_database_to_a_folder() {
    moved("database", "two");
}

#[test]
fn what_is_remembered_moves_from_a_database_to_another_one() {
    moved("database one", "database two");
}

#[test]
fn a_state_that_a_daemon_has_is_neither_exported_nor_imported() {
    let world = World::of(Config::served("", ""));
    world.csv(people(1..4));
    world.sync().expect(0);
    world.run(&["state", "export", "moved.rosterd"]).expect(0);
    let daemon = world.daemon();
    for command in ["export", "import"] {
        let file = if command == "export" { "second.rosterd" } else { "moved.rosterd" };
        let ran = world.run(&["state", command, file]).expect(11);
        assert!(ran.err.contains("in use") || ran.err.contains("has it"), "{command}: {ran:?}");
    }
    assert!(!world.dir().join("second.rosterd").exists());
    drop(daemon);
}

#[test]
fn mistakes_with_a_moved_state_are_told_and_change_nothing() {
    let world = World::synced(Config::default(), 3);
    world.run(&["state", "export", "moved.rosterd"]).expect(0);
    Place::Folder("other").configure(&world, &Config::default());
    for (file, words) in [
        ("moved.roster", "No such file"),
        ("staff.csv", "no exported state of rosterd"),
        ("api_key", "no exported state of rosterd"),
        (".", "directory"),
    ] {
        let ran = world.run(&["state", "import", file]).expect(2);
        assert!(ran.err.contains(words) && ran.err.contains("hint:"), "{file}: {ran:?}");
    }
    let whole = fs::read(world.dir().join("moved.rosterd")).unwrap();
    world.put("cut.rosterd", &whole[..whole.len() - 3]);
    let ran = world.run(&["state", "import", "cut.rosterd"]).expect(2);
    assert!(ran.err.contains("cut or changed"), "{ran:?}");
    let elsewhere = world.config_text().replace("/v1\"", "/v2\"");
    world.put("elsewhere.toml", elsewhere.as_bytes());
    assert!(!world.dir().join("other").exists());
    for file in ["no/such/folder", "staff.csv"] {
        world.run(&["state", "export", file]).expect(2);
    }
    // What an import that was ended half way leaves.
    fs::create_dir(world.dir().join("half")).unwrap();
    fs::set_permissions(world.dir().join("half"), Permissions::from_mode(0o700)).unwrap();
    world.put("half/importing", b"");
    Place::Folder("half").configure(&world, &Config::default());
    for command in ["pause", "resume", "sync"] {
        let ran = world.run(&[command]);
        assert!(ran.code != Some(0) && ran.err.contains("state import"), "{command}: {ran:?}");
    }
    world.run(&["state", "import", "moved.rosterd"]).expect(0);
    world.run(&["pause"]).expect(0);
    world.run(&["state", "move", "x"]).expect(2);
}
