//! People's slips: a number mistyped or given twice, a column shifted or sorted apart, a filter left on, zeros lost.
//!
//! The oracle knows who each person really is. Whatever the slip, in whichever column and in however many rows: no one
//! who is there is removed by absence, no one becomes another person, no one is created twice; and a plan that does not
//! say that all is as it was reports what it does not use. Nor does it matter where the rows lie, or what they say of
//! people.

use std::fs;
use std::ops::Range;

use serde_json::{Value, json};

use crate::inbox::{Inbox, inbox_of};
use crate::support::config::UNLIMITED;
use crate::support::scripted::{Said, Scripted, code, done};
use crate::support::{Config, World, slapd};

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
    /// A value that no one has.
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
const EXTENTS: [Range<usize>; 4] = [10..11, 10..15, 20..40, 0..PEOPLE];
/// The same where the rows lie elsewhere than in a file read in place.
const FEW_EXTENTS: [Range<usize>; 2] = [10..11, 20..40];

/// Rows, and whether they break off within the last.
#[derive(PartialEq, Eq)]
struct Rows {
    rows: Vec<Row>,
    is_cut: bool,
}

impl Rows {
    fn whole() -> Self {
        Self { rows: everybody(), is_cut: false }
    }

    /// As a file.
    fn text(&self) -> String {
        let whole = text(&self.rows);
        whole[..whole.len() - if self.is_cut { 20 } else { 0 }].to_owned()
    }

    /// As entries, which have no attribute without a value.
    fn entries(&self) -> Vec<Said> {
        let entry = |(at, row): (usize, &Row)| {
            let names = ["no", "name", "email", "status", "mobile", "entryUUID"];
            // Nothing slips in the number of a phone, and only a second entry of a person is behind all others.
            let uuid = format!("00000000-0000-0000-{:04}-{:0>12}", at / PEOPLE, &row[4][11..]);
            let values = row[..5].iter().chain([&uuid]).map(|value| vec![value.clone().into_bytes()]);
            let attributes =
                names.into_iter().map(str::to_owned).zip(values).filter(|(_, values)| !values[0].is_empty());
            Said::Entry(format!("uid=u{at},ou=people,dc=example,dc=org"), attributes.collect())
        };
        let end = if self.is_cut { code(4, "") } else { done(b"") };
        self.rows.iter().enumerate().map(entry).chain([end]).collect()
    }
}

/// All rows with the slip in a column of some.
fn slipped(slip: Slip, column: usize, extent: Range<usize>) -> Rows {
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
        Slip::Filtered => _ = rows.drain(extent),
        Slip::Truncated => rows.truncate(extent.end),
        _ => rows.extend(twice),
    }
    Rows { rows, is_cut: slip == Slip::Truncated }
}

/// UTF-8 read as Windows-1252.
fn mangled(letter: char) -> Vec<char> {
    let mut bytes = [0; 4];
    letter.encode_utf8(&mut bytes).bytes().map(char::from).collect()
}

/// What is said of people, and where it lies at the service.
struct Kind {
    list: &'static str,
    target: &'static str,
    /// The two fields that say who it is of, as plans call them, and as the service does.
    who: [&'static str; 2],
    shown: [&'static str; 2],
}

const STAFF: Kind = Kind { list: "staff", target: "staff", who: ["name", "email"], shown: ["name", "email"] };
const MEMBERS: Kind = Kind { list: "sp.member", target: "contractor", ..STAFF };
const HOLDERS: Kind = Kind {
    list: "certification.holder",
    target: "certification-holder",
    who: ["holder", "holder"],
    shown: ["record_id", "record_id"],
};

/// Something at the service, and who it really is of.
struct Real {
    id: i64,
    who: [String; 2],
}

fn real(world: &World, kind: &Kind) -> Vec<Real> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let one = |one: Value| Real { id: one["id"].as_i64().unwrap(), who: kind.shown.map(|field| text(&one[field])) };
    world.service().all(kind.list).into_iter().map(one).collect()
}

/// Fails where what a plan would send by itself harms anybody; says what it tells besides.
fn harmless(plan: &Value, people: &[Real], kind: &Kind, case: &str) -> bool {
    let job = &plan["jobs"][0];
    let went = |change: &&Value| change["held"].is_null();
    for change in job["changes"].as_array().unwrap().iter().filter(went) {
        let to = |field: &str| change["fields"][field]["to"].as_str().map(str::to_owned);
        match (change["action"].as_str().unwrap(), change["target"].as_str().unwrap()) {
            ("delete", _) => panic!("{case}: somebody is removed: {change}"),
            ("update", of) if of == kind.target => {
                let real = people.iter().find(|one| change["id"] == one.id).expect("somebody who is there");
                let as_it_is = |at: usize| match change["fields"].get(kind.who[at]) {
                    Some(_) => to(kind.who[at]).unwrap_or_default(),
                    None => real.who[at].clone(),
                };
                let who = [as_it_is(0), as_it_is(1)];
                let is_same = |one: &Real| one.who[0] == who[0] || one.who[1] == who[1];
                assert!(is_same(real), "{case}: somebody becomes somebody else: {change}");
                let other = people.iter().find(|one| one.id != real.id && is_same(one));
                assert!(other.is_none(), "{case}: somebody gets what is another's: {change}");
            }
            ("create", of) if of == kind.target => {
                let who = kind.who.map(to);
                let twin = people.iter().any(|one| (0..2).any(|at| who[at].as_ref() == Some(&one.who[at])));
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

/// Where the rows lie.
enum Place {
    File,
    Inbox,
    Directory(Scripted),
}

impl Place {
    fn lay(&self, world: &World, rows: Rows) {
        match self {
            Self::File => world.csv(rows.text()),
            Self::Inbox => {
                let inbox = Inbox(world);
                inbox.waiting().iter().for_each(|name| fs::remove_file(inbox.path(name)).unwrap());
                inbox.drop("people.csv", rows.text());
            }
            Self::Directory(server) => server.say_pages(move |_, _| rows.entries()),
        }
    }
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
fn walk(world: &World, kind: &Kind, mode: Mode) {
    walk_from(world, &Place::File, kind, mode, &EXTENTS);
}

/// The same with rows that lie elsewhere.
fn walk_from(world: &World, place: &Place, kind: &Kind, mode: Mode, extents: &[Range<usize>]) {
    let people = real(world, kind);
    assert_eq!(people.len(), PEOPLE);
    for slip in SLIPS {
        for column in COLUMNS {
            for extent in extents {
                if matches!(slip, Slip::Filtered | Slip::Truncated) && column > 0 {
                    continue;
                }
                let case = format!("{slip:?} in column {column} of rows {extent:?}");
                let rows = slipped(slip, column, extent.clone());
                let is_as_ever = rows == Rows::whole();
                place.lay(world, rows);
                let plan = world.plan().expect(0).json();
                // So few rows that say that they are gone, or that are gone, are what a source says every day.
                let is_word = (is_statement(slip, column) || slip == Slip::Filtered) && extent.len() == 1;
                if is_word {
                    let changes = plan["jobs"][0]["changes"].as_array().unwrap();
                    assert!(
                        changes
                            .iter()
                            .filter(|change| change["action"] == "delete" && change["target"] == kind.target)
                            .count()
                            <= 1,
                        "{case}"
                    );
                    continue;
                }
                let is_told = harmless(&plan, &people, kind, &case);
                let says_nothing =
                    means_nothing(kind, slip, column) || (mode == Mode::Changes && slip == Slip::Filtered);
                assert!(is_told || is_as_ever || says_nothing, "{case}: nothing is told: {plan}");
            }
        }
    }
}

/// Slips that leave everything as it is.
fn means_nothing(kind: &Kind, slip: Slip, column: usize) -> bool {
    // The service knows a certification by who holds which.
    let is_key_unknown = kind.target == HOLDERS.target && column == 0;
    // Every status is the same, and none counts as active; a second row of the same values is no second person.
    is_key_unknown || column == 3 || (slip == Slip::ZerosLost && column == 0) || (slip == Slip::Twice && column == 0)
}

#[test]
fn no_slip_in_a_file_of_staff_removes_exchanges_or_doubles_anybody() {
    for match_on in ["[\"employee_id\", \"email\"]", "[\"employee_id\"]", "[\"email\"]"] {
        let world = World::of(staff(match_on, "settle = \"0s\"\n"));
        assert_eq!(world.sync_of(text(&everybody())).expect(0).writes(), (PEOPLE as u64, 0, 0));
        walk(&world, &STAFF, Mode::Full);
    }
}

#[test]
fn no_slip_in_a_file_of_changes_exchanges_or_doubles_anybody() {
    let world = World::of(staff("[\"employee_id\", \"email\"]", "settle = \"0s\"\nmode = \"changes\"\n"));
    assert_eq!(world.sync_of(text(&everybody())).expect(0).writes(), (PEOPLE as u64, 0, 0));
    walk(&world, &STAFF, Mode::Changes);
}

#[test]
fn no_slip_in_a_file_of_contractors_removes_exchanges_or_doubles_anybody() {
    let world = World::of(Config {
        api: UNLIMITED.into(),
        name: "sites".into(),
        target: "contractor".into(),
        job: "key = \"{{ no }}\"\ninclude = \"{{ status == 'Active' or status == '' }}\"\n".into(),
        map: "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nservice_provider_id = \"{{ no }}\"\n\
              \"org.name\" = \"{{ company }}\"\n\"org.legalid\" = \"{{ company_no }}\"\n"
            .into(),
        ..Config::rest(LEAVERS)
    });
    world.sync_of(text(&everybody())).expect(0);
    walk(&world, &MEMBERS, Mode::Full);
    let pairs = world.service().all("sp.membership");
    for slip in [Slip::Shared, Slip::SortedApart, Slip::Shifted, Slip::Mistyped] {
        world.sync_of(slipped(slip, 0, 10..13).text());
        assert_eq!(world.service().all("sp.membership"), pairs, "{slip:?} of numbers moves no membership");
    }
}

#[test]
fn no_slip_in_a_dropped_file_removes_exchanges_or_doubles_anybody() {
    let world = inbox_of(World::of(staff("[\"employee_id\", \"email\"]", "settle = \"0s\"\n")));
    Place::Inbox.lay(&world, Rows::whole());
    assert_eq!(world.sync().expect(0).writes(), (PEOPLE as u64, 0, 0));
    walk_from(&world, &Place::Inbox, &STAFF, Mode::Full, &FEW_EXTENTS);
    let before = real(&world, &STAFF);
    for slip in SLIPS.into_iter().filter(|slip| *slip != Slip::Mistyped) {
        Place::Inbox.lay(&world, slipped(slip, 0, 10..15));
        let ran = world.sync();
        let now = real(&world, &STAFF);
        let is_same = |one: &Real, other: &Real| one.id == other.id && one.who == other.who;
        let are_same = now.len() == PEOPLE && before.iter().all(|one| now.iter().any(|other| is_same(one, other)));
        assert!(are_same, "{slip:?} of numbers: {ran:?}");
    }
}

#[test]
fn no_slip_in_a_directory_removes_exchanges_or_doubles_anybody() {
    let place = Place::Directory(Scripted::of_pages(|_, _| Rows::whole().entries()));
    let Place::Directory(server) = &place else { unreachable!("it was just made") };
    let config = staff("[\"employee_id\", \"email\"]", &slapd::source(&[server.url()], ""));
    let world = World::of(config);
    assert_eq!(world.sync().expect(0).writes(), (PEOPLE as u64, 0, 0));
    walk_from(&world, &place, &STAFF, Mode::Full, &FEW_EXTENTS);
}

#[test]
fn no_slip_in_a_file_of_certifications_removes_exchanges_or_doubles_anybody_s() {
    let config = Config {
        job: "key = \"{{ no }}\"\ninclude = \"{{ status == 'Active' or status == '' }}\"\n".to_owned(),
        map: "certification = \"First Aid\"\nrecord_type = \"staff\"\nholder = \"{{ email }}\"\n\
              certification_number = \"{{ name }}\"\n"
            .to_owned(),
        ..Config::rest(LEAVERS)
    };
    let world = World::of(config);
    world.edit_config("target = \"staff\"", "target = \"certification-holder\"");
    world.service().put("certification", json!({"name": "First Aid"}));
    for number in 0..PEOPLE {
        let [no, name, email, ..] = person(number);
        world.service().put("staff", json!({"name": name, "email": email, "employee_id": no}));
    }
    assert_eq!(world.sync_of(Rows::whole().text()).expect(0).writes(), (PEOPLE as u64, 0, 0));
    walk_from(&world, &Place::File, &HOLDERS, Mode::Full, &FEW_EXTENTS);
}

/// A person leaves, and a slip gives their number to another person who stays.
#[test]
fn law_1_a_row_under_the_number_of_a_leaver_keeps_its_person_there() {
    for match_on in ["[\"employee_id\", \"email\"]", "[\"employee_id\"]"] {
        let world = World::of(staff(match_on, "settle = \"0s\"\n"));
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
