//! The state damaged on purpose: an error that says so, never a wrong write, and the next healthy run finishes the work.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::disk::full::Mounted;
use crate::support::config::OfAFolder;
use crate::support::{Config, Ran, World, people, row};

const LEAVE_AT_ONCE: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

/// Thirty people in step; then one got another title, one is gone and one is new.
fn world() -> World {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage), 30);
    world.csv(wanted());
    world
}

fn wanted() -> String {
    people(1..30).replace(&row(1, "Clerk"), &row(1, "Boss")) + &row(31, "Clerk")
}

/// Copies a folder with all that is in it.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { fs::copy(&path, &to).map(|_| ()).unwrap() }
    }
}

/// Puts back the state as it was laid aside.
pub(super) fn restore(world: &World, aside: &Path) {
    fs::remove_dir_all(world.state()).unwrap();
    copy(aside, &world.state());
}

/// The files of the state that a run rests on.
fn files(state: &Path) -> Vec<PathBuf> {
    let mut found = vec![state.join("commits")];
    let mut folders = vec![state.join("store")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// What a plan of a damaged state may come to: an error that names the way out, or just what a sound one comes to.
fn check_plan(name: &str, ran: &Ran, sound: &serde_json::Value) -> bool {
    if ran.code == Some(0) {
        assert_eq!(ran.job()["changes"], *sound, "{name}");
        return false;
    }
    assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
    assert!(ran.err.contains("rosterd rebuild"), "{name}: {ran:?}");
    true
}

#[test]
fn law_9_fault_12_bytes_flipped_or_cut_anywhere_are_an_error_or_nothing_and_a_rebuild_finishes_the_work() {
    let world = world();
    let sound = world.plan().expect(0).job()["changes"].clone();
    assert_eq!(sound.as_array().unwrap().len(), 3);
    let (aside, writes) = (world.dir().join("aside"), world.service().writes());
    copy(&world.state(), &aside);
    let mut refused = 0;
    let mut cases = 0;
    for file in files(&world.state()) {
        let whole = fs::read(&file).unwrap();
        let used = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let mut damaged: Vec<(String, Vec<u8>)> = (0..8)
            .map(|part| used * part / 8)
            .filter(|at| *at < used)
            .map(|at| {
                let mut bytes = whole.clone();
                bytes[at..(at + 16).min(used)].iter_mut().for_each(|byte| *byte ^= 0x55);
                (format!("flipped at {at}"), bytes)
            })
            .collect();
        damaged
            .extend([0, used / 3, used.saturating_sub(1)].map(|cut| (format!("cut at {cut}"), whole[..cut].to_vec())));
        for (what, bytes) in damaged {
            restore(&world, &aside);
            fs::write(&file, bytes).unwrap();
            let name = format!("{} {what}", file.file_name().unwrap().to_string_lossy());
            cases += 1;
            refused += u32::from(check_plan(&name, &world.plan(), &sound));
            assert_eq!(world.service().writes(), writes, "{name}");
        }
    }
    assert!(refused * 2 > cases, "of {cases} damages only {refused} were noticed");

    restore(&world, &aside);
    fs::write(world.state().join("store/db"), b"not a database").unwrap();
    world.sync().expect(1);
    assert_eq!(world.service().writes(), writes);
    world.run(&["rebuild", "--damaged"]).expect(0);
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 0));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!(world.staff().len(), 31, "nobody is doubled, nobody left by it");
}

#[test]
fn law_9_fault_16_a_state_restored_from_a_backup_undoes_no_work_of_others() {
    let world = World::synced(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage), 30);
    let aside = world.dir().join("aside");
    copy(&world.state(), &aside);
    assert_eq!(world.sync_of(wanted()).expect(0).writes(), (1, 1, 1));
    restore(&world, &aside);
    let ran = world.sync().expect(0);
    assert_eq!(ran.writes(), (0, 0, 0), "{ran:?}");
    assert_eq!(world.keys().len(), 30);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_16_a_mass_reversal_by_an_old_file_over_an_old_state_is_held() {
    let mut world =
        World::synced(Config::rest("[job.guard]\nmax_updates = \"off\"\n").in_a_folder(OfAFolder::Damage), 30);
    let aside = world.dir().join("aside");
    copy(&world.state(), &aside);
    let moved = (1..11).fold(people(1..31), |text, number| text.replace(&row(number, "Clerk"), &row(number, "Boss")));
    assert_eq!(world.sync_of(moved).expect(0).writes(), (0, 10, 0));
    restore(&world, &aside);
    world.reconfigure(|config| Config { rest: String::new(), ..config });
    let ran = world.sync_of(people(1..31)).expect(4);
    assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(10)), "{ran:?}");
}

#[test]
fn fault_16_a_whole_state_folder_laid_back_with_the_old_file_undoes_nothing_until_a_person_says_so() {
    let mut world = World::synced(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Damage), 60);
    world.reconfigure(|config| Config {
        rest: format!("{LEAVE_AT_ONCE}[job.guard]\nmax_updates = \"off\"\n"),
        ..config
    });
    let old = people(1..61);
    world.sync_of(&old).expect(0);
    let aside = world.dir().join("aside");
    copy(&world.state(), &aside);
    // Fifteen move, two leave, one joins; and another user edits what no job owns.
    let moved = (1..16).fold(people(1..59), |text, number| text.replace(&row(number, "Clerk"), &row(number, "Boss")));
    let new = moved + &row(70, "New");
    assert_eq!(world.sync_of(&new).expect(0).writes(), (1, 15, 2));
    let id = world.held_as(30).unwrap()["id"].as_i64().unwrap();
    world.service().edit("staff", id, serde_json::json!({"mobile": "64 21 555"}));
    let (after, writes) = (world.staff(), world.service().writes());
    restore(&world, &aside);
    world.csv(&old);
    for _ in 0..2 {
        let ran = world.sync().expect(4);
        assert_eq!((ran.writes(), ran.job()["held"].as_u64()), ((0, 0, 0), Some(17)), "{ran:?}");
        assert!(ran.reason().contains("laid back"), "{ran:?}");
    }
    assert_eq!((world.staff(), world.service().writes()), (after, writes));
    // The file of today says what the service holds: nothing is left to decide.
    assert_eq!(world.sync_of(&new).expect(0).writes(), (0, 0, 0));
    let ran = world.sync_of(new.replace(&row(20, "Clerk"), &row(20, "Boss"))).expect(0);
    assert_eq!(ran.writes(), (0, 1, 0), "it goes on as ever: {ran:?}");
}

#[test]
fn fault_16_a_state_that_was_only_copied_goes_on_with_what_it_was_about_to_do() {
    let world = world();
    let aside = world.dir().join("aside");
    copy(&world.state(), &aside);
    restore(&world, &aside);
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 1));
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

#[test]
fn fault_11_a_store_that_cannot_be_read_fails_and_names_it() {
    let world = world();
    let writes = world.service().writes();
    let (db, aside) = (world.state().join("store/db"), world.state().join("store/aside"));
    fs::rename(&db, &aside).unwrap();
    fs::create_dir(&db).unwrap();
    let ran = world.run(&["sync"]);
    assert!(matches!(ran.code, Some(1 | 2)) && ran.err.contains("state"), "{ran:?}");
    assert_eq!(world.service().writes(), writes);
    fs::remove_dir(&db).unwrap();
    fs::rename(&aside, &db).unwrap();
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 1));
}

#[test]
fn law_9_an_audit_file_that_cannot_be_written_stops_the_run_and_the_next_one_finishes() {
    let world = world();
    let (month, writes) = (world.audit_file(), world.service().writes());
    let aside = world.dir().join("aside.ndjson");
    fs::rename(&month, &aside).unwrap();
    fs::create_dir(&month).unwrap();
    let ran = world.run(&["sync"]).expect(1);
    assert!(ran.err.contains("audit"), "{ran:?}");
    assert_eq!(world.service().writes(), writes);
    fs::remove_dir(&month).unwrap();
    fs::rename(&aside, &month).unwrap();
    world.sync().expect(0);
    let mut keys: Vec<String> = (1..30).map(|number| format!("P{number:05}")).collect();
    keys.push("P00031".to_owned());
    assert_eq!(world.keys(), keys);
    assert_eq!(world.held_as(1).unwrap()["title"], "Boss");
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
}

fn is_root(world: &World) -> bool {
    fs::metadata(world.dir()).unwrap().uid() == 0
}

#[test]
fn fault_9_a_full_disk_stops_the_run_and_the_next_one_with_space_finishes() {
    let world = World::of(Config::rest(LEAVE_AT_ONCE).in_a_folder(OfAFolder::Disk));
    fs::create_dir(world.state()).unwrap();
    let Some(_mounted) = Mounted::over(&world.state(), "size=24m,mode=0700") else { return };
    world.csv(people(1..30));
    world.sync().expect(0);
    let filler = world.state().join("filler");
    let mut file = File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[7; 4096]).is_ok() {}
    drop(file);
    let writes = world.service().writes();
    world.csv(wanted());
    let ran = world.run(&["sync"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let said = format!("{}{}", ran.out, ran.err).to_lowercase();
    assert!(said.contains("full") || said.contains("space"), "{ran:?}");
    assert!(world.service().writes() - writes <= 3, "{ran:?}");
    assert!(world.state().join("store").exists(), "never thrown away by itself");

    // What is kept in reserve is enough to look at what is there.
    let status = world.run(&["status", "--json"]);
    assert_eq!(
        (status.json()["disk_full"].as_bool(), status.job()["known"].as_u64()),
        (Some(true), Some(29)),
        "{status:?}"
    );
    assert!(world.run(&["status"]).out.contains("is full: nothing is sent"));
    world.run(&["explain", "staff", "P00002"]).expect(0);
    let writes = world.service().writes();
    let ran = world.sync().expect(1);
    assert!(ran.err.contains("free at least 8 MiB"), "{ran:?}");
    assert_eq!(world.service().writes(), writes);

    fs::remove_file(&filler).unwrap();
    world.sync().expect(0);
    assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    assert_eq!((world.staff().len(), world.held_as(1).unwrap()["title"].as_str()), (30, Some("Boss")));
}

#[test]
fn fault_18_a_state_on_a_read_only_disk_exits_2_and_writes_nothing() {
    let world = world();
    let writes = world.service().writes();
    let bind =
        |arguments: &[&str]| Command::new("mount").args(arguments).output().is_ok_and(|output| output.status.success());
    let state = world.state().to_str().unwrap().to_owned();
    if !bind(&["--bind", &state, &state]) {
        assert!(!is_root(&world) || std::env::var_os("CI").is_none(), "root must be able to mount in CI");
        eprintln!("skipped: this user may not mount a folder read-only");
        return;
    }
    let _mounted = Mounted(world.state());
    assert!(bind(&["-o", "remount,ro,bind", &state]));
    let ran = world.run(&["sync"]).expect(2);
    assert!(ran.err.contains(&state), "{ran:?}");
    assert_eq!(world.service().writes(), writes);
    assert!(bind(&["-o", "remount,rw,bind", &state]));
    assert_eq!(world.sync().expect(0).writes(), (1, 1, 1));
}
