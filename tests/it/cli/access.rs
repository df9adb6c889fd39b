//! Secrets, permissions, the environment, and which folder and account belong together.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::config::OfAFolder;
use crate::support::kept;
use crate::support::{Config, Ran, World, people};

/// The number of an account that has nothing.
const NOBODY: u32 = 65_534;

fn world() -> World {
    world_of(Config::default())
}

/// The same whose state lies in a folder.
fn in_a_folder(why: OfAFolder) -> World {
    world_of(Config::default().in_a_folder(why))
}

fn world_of(config: Config) -> World {
    let world = World::of(config);
    world.csv(people(1..4));
    world
}

fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file and folder below a folder, itself included.
fn below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() {
        all.extend(fs::read_dir(path).unwrap().flat_map(|entry| below(&entry.unwrap().path())));
    }
    all
}

#[test]
fn fault_106_what_others_may_read_or_write_is_refused() {
    // file, mode, whether the secret itself is in the configuration, exit code
    for (file, bits, inline, code) in [
        ("api_key", 0o600, false, 0),
        ("api_key", 0o400, false, 0),
        ("api_key", 0o644, false, 2),
        ("api_key", 0o604, false, 2),
        ("api_key", 0o602, false, 2),
        ("config.toml", 0o644, false, 0),
        ("config.toml", 0o666, false, 2),
        ("config.toml", 0o602, false, 2),
        ("config.toml", 0o600, true, 0),
        ("config.toml", 0o644, true, 2),
    ] {
        let world = world();
        if inline {
            world.edit_config("api_key_file = \"api_key\"", "api_key = \"sandbox-key\"");
        }
        mode(&world.dir().join(file), bits);
        for arguments in [&["sync"][..], &["check", "--offline"]] {
            let ran = world.run(arguments).hides(&["sandbox-key"]);
            assert_eq!(ran.code, Some(code), "{file} {bits:o}, inline {inline}: {ran:?}");
            assert!(code == 0 || ran.err.contains(file), "{file} {bits:o} is not named: {ran:?}");
        }
    }
}

#[test]
fn fault_107_a_secret_that_is_missing_or_empty_exits_2() {
    for (name, bytes, code) in [
        ("with a line end", Some(&b"sandbox-key\n"[..]), 0),
        ("empty", Some(b""), 2),
        ("a line end only", Some(b"\n"), 2),
        ("missing", None, 2),
    ] {
        let world = world();
        match bytes {
            Some(bytes) => drop(world.put("api_key", bytes)),
            None => fs::remove_file(world.dir().join("api_key")).unwrap(),
        }
        let ran = world.run(&["sync"]);
        assert_eq!(ran.code, Some(code), "{name}: {ran:?}");
        assert!(code == 0 || ran.err.contains("api_key"), "{name}: {ran:?}");
        assert!(code == 0 || world.service().requests().is_empty(), "{name}");
    }
    let world = world();
    world.edit_config("api_key_file = \"api_key\"\n", "");
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains("api_key"), "no credential at all: {ran:?}");
    world.edit_config("[state]", "client_id = \"sandbox-client\"\n[state]");
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains("client_secret") && ran.err.contains("auth_url"), "{ran:?}");
}

#[test]
fn what_asks_nothing_of_the_service_needs_no_secret() {
    let held = || {
        let guarded = Config::default().job("writes = \"approve\"\n");
        let world = World::of(guarded);
        world.csv(people(1..4));
        world.sync().expect(4);
        world
    };
    let client = "auth_url = \"https://login.example.com\"\nclient_id = \"rosterd\"\n";
    for (kind, credential) in [
        ("no credential at all", ""),
        ("a client without its secret", client),
        ("a file that is not there", "api_key_file = \"gone\"\n"),
    ] {
        let world = held();
        world.edit_config("api_key_file = \"api_key\"\n", credential);
        for (arguments, code) in [
            (&["status"][..], 4),
            (&["history"], 0),
            (&["history", "1"], 0),
            (&["explain", "staff", "P00001"], 0),
            (&["queue", "list"], 0),
            (&["approve", "staff", "P00001"], 0),
            (&["reject", "staff", "P00002"], 0),
            (&["pause"], 0),
            (&["resume"], 0),
            (&["forget", "P00003"], 0),
            (&["rebuild"], 0),
        ] {
            let ran = world.run(arguments);
            assert_eq!(ran.code, Some(code), "{kind}: {arguments:?}: {ran:?}");
        }
        for arguments in [&["sync"][..], &["plan"], &["check", "--offline"], &["api", "staff.list"]] {
            let ran = world.run(arguments).expect(2);
            assert!(["secret", "credential", "gone"].iter().any(|word| ran.err.contains(word)), "{kind}: {ran:?}");
        }
    }
}

#[test]
fn law_11_a_refused_credential_fails_the_run_and_is_not_shown() {
    let world = world();
    world.put("api_key", b"s3cret-of-another");
    let ran = world.sync().expect(1).hides(&["s3cret-of-another"]);
    assert_eq!(ran.ended().0, "failed");
    assert!(ran.ended().2.contains("credential") || ran.ended().2.contains("refused"), "{ran:?}");
}

#[test]
fn a_client_and_its_secret_are_as_good_as_a_key() {
    let world = world();
    let auth = world.service().auth_url();
    let client = format!("auth_url = \"{auth}\"\nclient_id = \"sandbox-client\"\nclient_secret_file = \"secret\"");
    world.edit_config("api_key_file = \"api_key\"", &client);
    world.put("secret", b"sandbox-secret\n");
    assert_eq!(world.sync().expect(0).writes(), (3, 0, 0));
    assert_eq!(world.service().token_requests(), 1, "one token serves the run");

    world.edit_config("client_secret_file = \"secret\"\n", "");
    let ran = run(world.command(&["sync", "--json"]).env("ROSTERD__API__CLIENT_SECRET", "sandbox-secret"));
    assert_eq!(ran.expect(0).writes(), (0, 0, 0));
}

#[test]
fn systemd_credentials_are_found_by_their_name() {
    let world = world();
    world.edit_config("api_key_file = \"api_key\"\n", "");
    fs::create_dir(world.dir().join("credentials")).unwrap();
    world.put("credentials/api_key", b"sandbox-key");
    let folder = world.dir().join("credentials");
    assert_eq!(
        run(world.command(&["sync", "--json"]).env("CREDENTIALS_DIRECTORY", folder)).expect(0).writes(),
        (3, 0, 0)
    );
}

#[test]
fn the_environment_overrides_the_file() {
    let world = in_a_folder(OfAFolder::Place);
    world.edit_config(&world.service().url(), "https://api.example.com/v1");
    let url = world.service().url();
    let ran = run(world
        .command(&["sync", "--json"])
        .env("ROSTERD__API__BASE_URL", &url)
        .env("ROSTERD__STATE__DIR", world.dir().join("elsewhere")));
    assert_eq!(ran.expect(0).writes(), (3, 0, 0));
    assert!(world.dir().join("elsewhere").is_dir() && !world.state().exists());

    for (name, value, key) in [
        ("ROSTERD__API__BASE_URL", "http://api.example.com/v1", "base_url"),
        ("ROSTERD__API__TIMEOUT", "soon", "timeout"),
        ("ROSTERD__API__BASE_ULR", url.as_str(), "base_url"),
    ] {
        let ran = run(world.command(&["sync"]).env("ROSTERD__API__BASE_URL", &url).env(name, value)).expect(2);
        assert!(ran.err.to_lowercase().contains(key), "{name}: {ran:?}");
    }
}

#[test]
fn the_file_may_be_named_by_the_environment() {
    let world = world();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rosterd"));
    command.env_clear().env("ROSTERD_CONFIG", world.config_path()).args(["sync", "--json"]);
    assert_eq!(run(&mut command).expect(0).writes(), (3, 0, 0));
}

#[test]
fn law_2_a_state_folder_belongs_to_one_account() {
    let one = World::synced(Config::default().in_a_folder(OfAFolder::Place), 3);
    let other = World::default();
    one.edit_config(&one.service().url(), &other.service().url());
    for command in ["sync", "plan"] {
        let ran = one.run(&[command]).expect(2);
        assert!(ran.err.contains("state.dir") || ran.err.contains("rebuild"), "{command}: {ran:?}");
    }
    assert_eq!(other.service().requests(), [], "nothing is asked there");
    one.edit_config("dir = \"state\"", "dir = \"state of the other\"");
    assert_eq!(one.sync().expect(0).writes(), (3, 0, 0));
}

#[test]
fn law_11_nothing_in_the_state_folder_has_bits_for_others() {
    let world = in_a_folder(OfAFolder::Rights);
    let binary = env!("CARGO_BIN_EXE_rosterd");
    for arguments in ["plan", "sync", "plan", "status"] {
        let script = format!("umask 000; exec {binary} --config config.toml {arguments}");
        let status =
            Command::new("sh").args(["-c", &script]).env_clear().current_dir(world.dir()).output().unwrap().status;
        assert_eq!(status.code(), Some(0), "{arguments}");
        for path in below(&world.state()) {
            let bits = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(bits & 0o077, 0, "{arguments}: {} is {bits:o}", path.display());
        }
    }
    assert!(below(&world.state()).len() > 2);
}

#[test]
fn fault_18_a_file_in_place_of_the_state_folder_exits_2_with_its_path() {
    let world = in_a_folder(OfAFolder::Rights);
    world.put("state", b"a file");
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains(world.state().to_str().unwrap()), "{ran:?}");
}

/// The binary as a user who is not root; `None` if there is no such user here.
fn as_nobody(world: &World, arguments: &[&str]) -> Option<Command> {
    let program = env!("CARGO_BIN_EXE_rosterd");
    let mut command = Command::new(program);
    if fs::metadata(world.dir()).unwrap().uid() == 0 {
        let drop = ["--reuid=65534", "--regid=65534", "--clear-groups", program];
        if !Command::new("setpriv").args(drop).arg("--version").output().is_ok_and(|output| output.status.success()) {
            return None;
        }
        command = Command::new("setpriv");
        command.args(drop);
        below(world.dir()).iter().for_each(|path| chown(path, Some(65_534), Some(65_534)).unwrap());
    }
    command.current_dir(world.dir()).args(["--config", "config.toml"]).args(arguments);
    Some(command)
}

fn closed(bits: u32) -> World {
    let world = in_a_folder(OfAFolder::Rights);
    fs::create_dir(world.state()).unwrap();
    mode(&world.state(), bits);
    world
}

#[test]
fn fault_18_a_state_folder_without_leave_to_write_exits_2_with_its_path() {
    for bits in [0o500, 0o000] {
        let world = closed(bits);
        let Some(mut command) = as_nobody(&world, &["sync"]) else { return };
        let ran = run(&mut command).expect(2);
        assert!(ran.err.contains(world.state().to_str().unwrap()), "{bits:o}: {ran:?}");
        assert_eq!(world.service().requests(), []);
    }
}

#[test]
fn fault_18_check_names_a_state_folder_without_leave_to_write() {
    for bits in [0o500, 0o000] {
        let world = closed(bits);
        let Some(mut check) = as_nobody(&world, &["check", "--offline", "--json"]) else { return };
        let checks = run(&mut check).expect(1).json();
        let own = checks["checks"].as_array().unwrap().iter().find(|check| check["what"] == "state folder").unwrap();
        assert_eq!(own["verdict"], "wrong", "{checks}");
    }
}

/// The folder and all in it belongs to `uid`.
fn give(world: &World, uid: u32) {
    below(world.dir()).iter().for_each(|path| chown(path, Some(uid), Some(uid)).unwrap());
}

fn is_root(world: &World) -> bool {
    fs::metadata(world.dir()).unwrap().uid() == 0
}

#[test]
fn fault_18_a_state_folder_of_another_owner_exits_2_with_its_path() {
    let world = in_a_folder(OfAFolder::Rights);
    if !is_root(&world) {
        assert!(std::env::var_os("CI").is_none(), "in CI root is wanted");
        return;
    }
    fs::create_dir(world.state()).unwrap();
    let Some(mut command) = as_nobody(&world, &["sync"]) else { panic!("setpriv is there wherever root is") };
    chown(world.state(), Some(1), Some(1)).unwrap();
    mode(&world.state(), 0o755);
    let ran = run(&mut command).expect(2);
    assert!(ran.err.contains(world.state().to_str().unwrap()) && ran.err.contains("user 1"), "{ran:?}");
    assert_eq!(world.service().writes(), 0);
}

/// What stands below a folder: mode, owner and, of a file, what is in it.
fn picture(path: &Path) -> Vec<(PathBuf, u32, u32, Option<Vec<u8>>)> {
    let seen = |path: PathBuf| {
        let found = fs::symlink_metadata(&path).unwrap();
        let content = found.is_file().then(|| fs::read(&path).unwrap());
        (path, found.mode(), found.uid(), content)
    };
    let mut all: Vec<_> = below(path).into_iter().map(seen).collect();
    all.sort();
    all
}

#[test]
fn root_trusts_no_file_on_disk_on_who_owns_the_state() {
    // How the state's place looks; the folder around it belongs to another, or only the state does.
    type Lay = fn(&World);
    let cases: &[(&str, Lay)] = &[
        ("it is another's", |world| {
            fs::create_dir(world.state()).unwrap();
            chown(world.state(), Some(NOBODY), Some(NOBODY)).unwrap();
        }),
        ("it is missing in another's folder", |world| give(world, NOBODY)),
        ("it is root's in another's folder", |world| {
            give(world, NOBODY);
            fs::create_dir(world.state()).unwrap();
        }),
        ("another's link leads to root's folder", |world| {
            fs::create_dir(world.dir().join("kept")).unwrap();
            std::os::unix::fs::symlink("kept", world.state()).unwrap();
            std::os::unix::fs::lchown(world.state(), Some(NOBODY), Some(NOBODY)).unwrap();
        }),
    ];
    for (case, lay) in cases {
        let world = in_a_folder(OfAFolder::Rights);
        if !is_root(&world) {
            assert!(std::env::var_os("CI").is_none(), "in CI root is wanted");
            return;
        }
        lay(&world);
        let before = picture(world.dir());
        for arguments in [
            &["sync"][..],
            &["status"],
            &["history"],
            &["pause"],
            &["rebuild"],
            &["check"],
            &["api", "staff.list"],
            &["run"],
        ] {
            let ran = world.run(arguments).expect(2);
            assert!(
                ran.err.contains("state.user") && ran.err.contains(&NOBODY.to_string()),
                "{case}: {arguments:?}: {ran:?}"
            );
        }
        assert_eq!(picture(world.dir()), before, "{case}: something was changed");
        assert_eq!(world.service().requests(), [], "{case}");
    }
}

#[test]
fn an_account_that_is_named_and_not_there_is_reported() {
    let world = world();
    world.edit_config("[state]", "[state]\nuser = \"nobody-of-that-name\"");
    if is_root(&world) {
        let ran = world.run(&["sync"]).expect(2);
        assert!(ran.err.contains("nobody-of-that-name"), "{ran:?}");
    }
}

#[test]
fn check_changes_nothing() {
    let world = world();
    if kept::is_asked_for() {
        // There it claims the account, and so makes it.
        world.run(&["check"]).expect(0);
    }
    let before = (picture(world.dir()), world.kept());
    world.run(&["check"]).expect(0);
    world.run(&["check", "--offline"]).expect(0);
    assert!((picture(world.dir()), world.kept()) == before);
}

/// Gives all of a world to another account, whose state it is by the configuration; false where this is not root, which may not.
fn is_of_nobody(world: &World) -> bool {
    if !is_root(world) {
        assert!(std::env::var_os("CI").is_none(), "in CI root is wanted");
        return false;
    }
    fs::create_dir(world.state()).unwrap();
    mode(&world.state(), 0o700);
    give(world, NOBODY);
    world.edit_config("[state]", &format!("[state]\nuser = \"{NOBODY}\""));
    true
}

#[test]
fn root_works_as_the_owner_of_the_state_and_leaves_nothing_of_its_own_there() {
    let world = in_a_folder(OfAFolder::Rights);
    if !is_of_nobody(&world) {
        return;
    }
    // The secret and the configuration stay root's own, as systemd's credentials are.
    for file in ["api_key", "config.toml"] {
        chown(world.dir().join(file), Some(0), Some(0)).unwrap();
    }
    let mut command = world.command(&["sync"]);
    run(command.env("SUDO_USER", "ana")).expect(0);
    for arguments in [&["status"][..], &["plan"], &["pause"], &["resume"], &["check"], &["sync"]] {
        run(world.command(arguments).env("SUDO_USER", "ana")).expect(0);
    }
    assert_eq!(world.staff().len(), 3);
    let roots: Vec<PathBuf> =
        below(&world.state()).into_iter().filter(|path| fs::metadata(path).unwrap().uid() == 0).collect();
    assert_eq!(roots, Vec::<PathBuf>::new());
    let decided = fs::read_to_string(world.audit_file()).unwrap();
    assert!(decided.contains("\"by\":\"root (sudo by ana)\""), "{decided}");
    // A daemon that is that account from its start can't read what is root's own: `check` names each of these files.
    for file in ["api_key", "config.toml"] {
        mode(&world.dir().join(file), 0o600);
    }
    let checked = run(world.command(&["check", "--offline"]).env("SUDO_USER", "ana")).expect(0).out;
    assert!(
        ["api_key", "config.toml"].iter().all(|file| checked.contains(&format!("{file}, and the account"))),
        "{checked}"
    );
    // What that account may not read it does not read for root either.
    mode(&world.dir().join("staff.csv"), 0o600);
    chown(world.dir().join("staff.csv"), Some(0), Some(0)).unwrap();
    assert!(world.sync().expect(1).reason().contains("ermission"));
}

#[test]
fn check_names_an_inbox_of_another_group_and_one_that_can_not_be_written_to() {
    const ADM: u32 = 4;
    let world = crate::inbox::inbox_of(in_a_folder(OfAFolder::Rights));
    if !is_of_nobody(&world) {
        return;
    }
    let inbox = world.dir().join("inbox");
    for (owner, bits, code, words) in [
        (NOBODY, 0o3770, 0, Some("usermod -aG adm")),
        (0, 0o755, 1, Some("may not write to")),
        (NOBODY, 0o700, 0, None),
    ] {
        chown(&inbox, Some(owner), Some(ADM)).unwrap();
        mode(&inbox, bits);
        let checked = run(&mut world.command(&["check"])).expect(code).out;
        let said = ["usermod -aG adm", "may not write to"].into_iter().find(|words| checked.contains(words));
        assert_eq!(said, words, "{owner} {bits:o}: {checked}");
    }
}
