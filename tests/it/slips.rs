//! People's slips: a number mistyped or given twice, a column shifted or sorted apart, a filter left on, zeros lost.
//!
//! The oracle knows who each person really is. Whatever the slip, in whichever column and in however many rows: nobody who
//! is there is removed by absence, nobody becomes somebody else, nobody is made twice; and a plan that does not say that all
//! is as it was tells of what it does not use.

use rosterd::sandbox::Options;
use serde_json::Value;

use crate::support::{Config, World};

const PEOPLE: usize = 60;
const FIRST: [&str; 10] = ["Ana", "Bo", "Cy", "Dee", "Eve", "Finn", "Gus", "Zoë", "Ian", "José"];
const LAST: [&str; 6] = ["Ames", "Bell", "Cole", "Núñez", "East", "Ford"];
const HEADER: &str = "No,Name,Email,Status,Mobile,Company No,Company";

/// Key, name, email, status, mobile, company.
type Row = [String; 7];

fn person(number: usize) -> Row {
    let name = format!("{} {}", FIRST[number % 10], LAST[number / 10]);
    let company = number % 7;
    [
        format!("{:05}", 100 + number),
        name,
        format!("p{number}@example.com"),
        "Active".to_owned(),
        format!("+64 21 555 {number:04}"),
        format!("94{company:04}"),
        format!("Company {company}"),
    ]
}

fn everybody() -> Vec<Row> {
    (0..PEOPLE).map(person).collect()
}

fn text(rows: &[Row]) -> String {
    rows.iter().fold(format!("{HEADER}\n"), |text, row| text + &row.join(",") + "\n")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    /// A value that nobody has.
    Mistyped,
    /// The value of the row above the first.
    Shared,
    /// An error of a spreadsheet.
    Broken,
    /// A long number cut short.
    Cut,
    /// Nothing.
    Blank,
    /// Each row has the value of the one before it.
    Shifted,
    /// The values in another order.
    SortedApart,
    /// Leading zeros lost.
    ZerosLost,
    /// Read in another encoding than it was written in.
    Reencoded,
    /// The rows are not there.
    Filtered,
    /// The file ends within the last of the rows.
    Truncated,
    /// The rows are there twice, the second time with another value.
    Twice,
}

const SLIPS: [Slip; 12] = [
    Slip::Mistyped,
    Slip::Shared,
    Slip::Broken,
    Slip::Cut,
    Slip::Blank,
    Slip::Shifted,
    Slip::SortedApart,
    Slip::ZerosLost,
    Slip::Reencoded,
    Slip::Filtered,
    Slip::Truncated,
    Slip::Twice,
];

/// Key, name, match field, include column.
const COLUMNS: [usize; 4] = [0, 1, 2, 3];
/// In one row, in a few, in a third, in all.
const EXTENTS: [std::ops::Range<usize>; 4] = [10..11, 10..15, 20..40, 0..PEOPLE];

/// A file with the slip in a column of some rows.
fn slipped(slip: Slip, column: usize, extent: std::ops::Range<usize>) -> String {
    let mut rows = everybody();
    let before: Vec<String> = rows.iter().map(|row| row[column].clone()).collect();
    let mut twice = Vec::new();
    for at in extent.clone() {
        let cell = &mut rows[at][column];
        match slip {
            Slip::Mistyped if column == 2 => *cell = format!("x{cell}"),
            Slip::Mistyped => *cell = format!("{cell}9"),
            Slip::Shared => *cell = before[(extent.start + PEOPLE - 1) % PEOPLE].clone(),
            Slip::Broken => *cell = "#N/A".to_owned(),
            Slip::Cut => *cell = "4.1E+03".to_owned(),
            Slip::Blank => cell.clear(),
            Slip::Shifted => *cell = if at == 0 { String::new() } else { before[at - 1].clone() },
            Slip::SortedApart => *cell = before[extent.start + extent.end - 1 - at].clone(),
            Slip::ZerosLost => *cell = cell.trim_start_matches('0').to_owned(),
            Slip::Reencoded => *cell = cell.chars().flat_map(mangled).collect(),
            Slip::Twice => {
                let mut row = rows[at].clone();
                row[column] = format!("{}7", row[column]);
                twice.push(row);
            }
            Slip::Filtered | Slip::Truncated => {}
        }
    }
    match slip {
        Slip::Filtered => {
            rows.drain(extent);
            text(&rows)
        }
        Slip::Truncated => {
            rows.truncate(extent.end);
            let whole = text(&rows);
            whole[..whole.len() - 20].to_owned()
        }
        _ => {
            rows.extend(twice);
            text(&rows)
        }
    }
}

/// UTF-8 read as Windows-1252.
fn mangled(letter: char) -> Vec<char> {
    let mut bytes = [0; 4];
    letter.encode_utf8(&mut bytes).bytes().map(char::from).collect()
}

/// Somebody at the service, and who they really are.
struct Real {
    id: i64,
    name: String,
    email: String,
}

fn real(world: &World, what: &str) -> Vec<Real> {
    let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
    let one =
        |one: Value| Real { id: one["id"].as_i64().unwrap(), name: text(&one, "name"), email: text(&one, "email") };
    world.service().all(what).into_iter().map(one).collect()
}

/// Fails where what a plan would send by itself harms anybody; says what it tells besides.
fn harmless(plan: &Value, people: &[Real], target: &str, case: &str) -> bool {
    let job = &plan["jobs"][0];
    let went = |change: &&Value| change["held"].is_null();
    for change in job["changes"].as_array().unwrap().iter().filter(went) {
        let to = |field: &str| change["fields"][field]["to"].as_str().map(str::to_owned);
        let has = |field: &str| change["fields"].get(field).is_some();
        match (change["action"].as_str().unwrap(), change["target"].as_str().unwrap()) {
            ("delete", _) => panic!("{case}: somebody is removed: {change}"),
            ("update", of) if of == target => {
                let who = people.iter().find(|one| change["id"] == one.id).expect("somebody who is there");
                let name = if has("name") { to("name").unwrap_or_default() } else { who.name.clone() };
                let email = if has("email") { to("email").unwrap_or_default() } else { who.email.clone() };
                assert!(name == who.name || email == who.email, "{case}: somebody becomes somebody else: {change}");
                let other = people.iter().find(|one| one.id != who.id && (one.name == name || one.email == email));
                assert!(other.is_none(), "{case}: somebody gets what is another's: {change}");
            }
            ("create", of) if of == target => {
                let twin = people
                    .iter()
                    .any(|one| Some(&one.name) == to("name").as_ref() || Some(&one.email) == to("email").as_ref());
                assert!(!twin, "{case}: somebody is made twice: {change}");
            }
            _ => {}
        }
    }
    let is_some = |field: &str| job[field].as_array().is_some_and(|list| !list.is_empty());
    job["complete"] == false
        || !job["held"].is_null()
        || ["rejected", "rejected_values", "missing", "changes", "incomplete"].into_iter().any(is_some)
}

/// What absence from the file means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Full,
    Changes,
}

const LEAVERS: &str = "[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n";

fn staff(match_on: &str, source: &str) -> Config {
    Config {
        job: format!(
            "key = \"{{{{ no }}}}\"\nmatch_on = {match_on}\ninclude = \"{{{{ status == 'Active' or status == '' }}}}\"\n"
        ),
        source: source.to_owned(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nemployee_id = \"{{ no }}\"\nmobile = \"{{ mobile }}\"\n"
            .to_owned(),
        ..Config::rest(LEAVERS)
    }
}

/// What the slip makes of who is there by their own word: `include` says of these rows that they do not count.
fn is_statement(slip: Slip, column: usize) -> bool {
    column == 3
        && !matches!(
            slip,
            Slip::Shared | Slip::Blank | Slip::Shifted | Slip::SortedApart | Slip::ZerosLost | Slip::Reencoded
        )
        && !matches!(slip, Slip::Filtered | Slip::Truncated | Slip::Twice)
}

/// Walks through the table on a world whose people are in step with [`everybody`].
fn walk(world: &World, what: &str, target: &str, mode: Mode) {
    let people = real(world, what);
    assert_eq!(people.len(), PEOPLE);
    let whole = text(&everybody());
    for slip in SLIPS {
        for column in COLUMNS {
            for (at, extent) in EXTENTS.into_iter().enumerate() {
                if matches!(slip, Slip::Filtered | Slip::Truncated) && column > 0 {
                    continue;
                }
                let case = format!("{slip:?} in column {column} of rows {extent:?}");
                let file = slipped(slip, column, extent.clone());
                world.csv(&file);
                let plan = world.plan().expect(0).json();
                // So few rows that say that they are gone, or that are gone, are what a source says every day.
                let is_word = (is_statement(slip, column) || slip == Slip::Filtered) && at == 0;
                if is_word {
                    let changes = plan["jobs"][0]["changes"].as_array().unwrap();
                    assert!(
                        changes
                            .iter()
                            .filter(|change| change["action"] == "delete" && change["target"] == target)
                            .count()
                            <= 1,
                        "{case}"
                    );
                    continue;
                }
                let is_told = harmless(&plan, &people, target, &case);
                let says_nothing = means_nothing(slip, column) || (mode == Mode::Changes && slip == Slip::Filtered);
                assert!(is_told || file == whole || says_nothing, "{case}: nothing is told: {plan}");
            }
        }
    }
}

/// Slips that leave everything as it is.
fn means_nothing(slip: Slip, column: usize) -> bool {
    // Every status is the same, and none counts as active; a second row of the same values is no second person.
    column == 3 || (slip == Slip::ZerosLost && column == 0) || (slip == Slip::Twice && column == 0)
}

#[test]
fn no_slip_in_a_file_of_staff_removes_exchanges_or_doubles_anybody() {
    for match_on in ["[\"employee_id\", \"email\"]", "[\"employee_id\"]", "[\"email\"]"] {
        let world = World::with(Options::default(), staff(match_on, "settle = \"0s\"\n"));
        assert_eq!(world.sync_of(text(&everybody())).expect(0).writes(), (PEOPLE as u64, 0, 0));
        walk(&world, "staff", "staff", Mode::Full);
    }
}

#[test]
fn no_slip_in_a_file_of_changes_exchanges_or_doubles_anybody() {
    let world =
        World::with(Options::default(), staff("[\"employee_id\", \"email\"]", "settle = \"0s\"\nmode = \"changes\"\n"));
    assert_eq!(world.sync_of(text(&everybody())).expect(0).writes(), (PEOPLE as u64, 0, 0));
    walk(&world, "staff", "staff", Mode::Changes);
}

#[test]
fn no_slip_in_a_file_of_contractors_removes_exchanges_or_doubles_anybody() {
    let world = World::new(Options::default());
    let url = world.service().url();
    let config = format!(
        "[api]\nbase_url = \"{url}\"\napi_key_file = \"api_key\"\nrequests_per_minute = 100000\n[state]\ndir = \"state\"\n\
         [[job]]\nname = \"sites\"\ntarget = \"contractor\"\nkey = \"{{{{ no }}}}\"\n\
         include = \"{{{{ status == 'Active' or status == '' }}}}\"\n[job.source]\ntype = \"csv\"\npath = \"staff.csv\"\n\
         settle = \"0s\"\n[job.map]\nname = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\n\
         service_provider_id = \"{{{{ no }}}}\"\n\"org.name\" = \"{{{{ company }}}}\"\n\"org.legalid\" = \"{{{{ company_no }}}}\"\n{LEAVERS}"
    );
    world.put("config.toml", config.as_bytes());
    world.sync_of(text(&everybody())).expect(0);
    walk(&world, "sp.member", "contractor", Mode::Full);
    let pairs = world.service().all("sp.membership");
    for slip in [Slip::Shared, Slip::SortedApart, Slip::Shifted, Slip::Mistyped] {
        world.sync_of(slipped(slip, 0, 10..13));
        assert_eq!(world.service().all("sp.membership"), pairs, "{slip:?} of numbers moves no membership");
    }
}

/// Somebody leaves, and a slip gives their number to somebody who stays.
#[test]
fn law_1_a_row_under_the_number_of_a_leaver_keeps_its_person_there() {
    for match_on in ["[\"employee_id\", \"email\"]", "[\"employee_id\"]"] {
        let world = World::with(Options::default(), staff(match_on, "settle = \"0s\"\n"));
        assert_eq!(world.sync_of(text(&everybody())).expect(0).writes(), (PEOPLE as u64, 0, 0));
        let mut rows = everybody();
        rows[10][0] = rows[9][0].clone();
        rows.remove(9);
        assert_eq!(world.sync_of(text(&rows)).expect(4).writes(), (0, 0, 0));
        let mut whole = everybody();
        whole.remove(9);
        assert_eq!(world.sync_of(text(&whole)).expect(0).writes(), (0, 0, 1), "the leaver");
        assert_eq!(world.sync().expect(0).writes(), (0, 0, 0));
    }
}
