//! Every kind of trouble, and no person named where names are forbidden: page, metrics, health, webhook, mail (law 11).
//!
//! Every key, name, email and department of this test holds the word `canary`, and every mobile the digits `6421777`. What
//! the command line shows proves that each kind of trouble was there, with its keys.

use std::sync::Arc;

use rosterd::clock::Clock;
use rosterd::notify::Notifier;
use rosterd::sandbox::Options;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::monitoring::notices::Listener;
use crate::support::config::CONTROL;
use crate::support::daemon::eventually;
use crate::support::looked::Served;
use crate::support::{Config, World};

const HEAD: &str = "No,Name,Email,Mobile,Title,Dept\n";

fn row(key: &str, name: &str, email: &str, mobile: usize, title: &str, department: &str) -> String {
    format!(
        "Canary{key},CanaryName {name},canary-{email}@example.com,6421777{mobile:03},{title},CanaryDept {department}\n"
    )
}

/// One of forty: the first eight are a department of their own.
fn usual(number: usize, title: &str) -> String {
    let department = if number <= 8 { "A" } else { "B" };
    row(&format!("K{number:03}"), &number.to_string(), &number.to_string(), number, title, department)
}

fn config(web: &Listener, mail: &Listener) -> Config {
    let job = "key = \"{{ no }}\"\nmatch_on = [\"employee_id\", \"email\"]\non_drift = \"report\"\n\
               protect = [\"CanaryK020\"]\nvalues.titles = { Clerk = \"Clerk\", Baker = \"Baker\" }\n";
    let map = "name = \"{{ name }}\"\nemail = \"{{ email }}\"\nmobile = \"{{ mobile }}\"\nemployee_id = \"{{ no }}\"\n\
               title = \"{{ title | lookup('titles') }}\"\n";
    let rest = format!(
        "{CONTROL}[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n\
         [job.guard]\nmax_leavers = \"25%\"\nmax_updates = \"off\"\nsegment = \"{{{{ dept }}}}\"\n\
         [[job]]\nname = \"other\"\ntarget = \"staff\"\nkey = \"{{{{ no }}}}\"\nmatch_on = [\"employee_id\"]\n\
         [job.source]\ntype = \"csv\"\npath = \"other.csv\"\nsettle = \"0s\"\n\
         [job.map]\nname = \"{{{{ name }}}}\"\nemail = \"{{{{ email }}}}\"\nemployee_id = \"{{{{ mobile }}}}\"\n\
         [notify]\nwebhook = \"http://{}/hook\"\n\
         mail = {{ to = [\"it@example.com\"], from = \"rosterd@example.com\", smtp = \"smtp://{}\" }}\n",
        web.address, mail.address
    );
    Config { job: job.into(), map: map.into(), ..Config::rest(&rest) }
}

/// What is at the service and in the file that causes trouble, without what the service refuses.
fn trouble(world: &World) {
    for id in ["X1", "X2"] {
        let one =
            json!({"name": "CanaryName X", "email": "canary-amb@example.com", "employee_id": format!("Canary{id}")});
        world.service().put("staff", one);
    }
    let both = json!({"name": "CanaryName C", "email": "canary-c@example.com", "employee_id": "CanaryC1"});
    world.service().put("staff", both);
    let namesake = json!({"name": "CanaryName O3", "email": "canary-z@example.com", "employee_id": "CanaryZ"});
    world.service().put("staff", namesake);
    let id = |key: &str| {
        let person = world.staff().into_iter().find(|person| person["employee_id"] == key).unwrap();
        person["id"].as_i64().unwrap()
    };
    world.service().edit("staff", id("CanaryK008"), json!({"name": "CanaryName edited"}));
    world.service().edit("staff", id("CanaryK009"), json!({"onsite_status": "onsite"}));
    // Gone: six of a department of eight, one on site, one who is protected, one who comes with another key.
    let stays = (7..41).filter(|number| ![9, 20, 30].contains(number));
    let file = stays.fold(HEAD.to_owned(), |file, at| file + &usual(at, if at == 10 { "Baker" } else { "Clerk" }));
    let more = [
        row("N030", "30", "30", 30, "Clerk", "B"),
        // No word of their name is that of someone who is gone.
        row("S1", "S1", "12", 101, "Clerk", "B").replace("CanaryName", "CanaryOther"),
        row("T1", "T1", "t", 102, "Clerk", "B"),
        row("T2", "T2", "t", 103, "Clerk", "B"),
        row("C1", "C", "c1", 104, "Clerk", "B"),
        row("C2", "C", "c", 105, "Clerk", "B"),
        row("Amb", "Amb", "amb", 106, "Clerk", "B"),
        row("R2", "R2", "r2", 108, "CanaryTitle", "B"),
    ];
    world.put("staff.csv", (file + &more.concat()).as_bytes());
    let other = [
        row("O1", "O1", "o1", 13, "Clerk", "B").replace("6421777013", "CanaryK013"),
        row("O2", "O2", "o2", 111, "Clerk", "B").replace("6421777111", ""),
        row("O3", "O3", "o3", 112, "Clerk", "B"),
    ];
    world.put("other.csv", (HEAD.to_owned() + &other.concat()).as_bytes());
    world.faults(&["staff.update status=422"]);
}

/// What the command line shows of it.
const SHOWN: &[&str] = &[
    "segment \"CanaryDept A\": max_leavers: 6 people would be removed",
    "CanaryK009: on site",
    "CanaryK020: ",
    "only email says that this new record is the person with id",
    "whose key CanaryK030 is gone",
    "has the email of key CanaryK012, who is in the source too",
    "and that of key CanaryT1 have the same email",
    "both fit the person with id",
    "email fits several people at the service",
    "employee_id fits the person with id",
    "who belongs to key CanaryK013 of job staff",
    "empty in every field of match_on",
    "may be the same person; approve it",
    "(CanaryK008: name), which stays until the source changes",
    "1 change is parked: the service refused it (422",
    "key CanaryR2",
];

/// What it shows of rows whose key can't be trusted.
const SHOWN_OF_ROWS: &[&str] = &[
    "key that is not known here (CanaryR1)",
    "key CanaryR3 stands in several rows that differ",
    "key CanaryR1 name",
    "key CanaryR3: ",
];

/// Everything that people without a right to it may see.
struct Seen<'a> {
    world: &'a World,
    web: &'a Listener,
    mail: &'a Listener,
    runtime: Runtime,
}

impl Seen<'_> {
    /// Fails if a person is named anywhere, or if these texts were not reported.
    fn check(&self, stage: &str, told: &[&str]) {
        let config = self.world.checked();
        let mut teller =
            Notifier::open(&config.state.home, &config.notify, &Arc::default()).unwrap().for_jobs(&config.jobs);
        self.runtime.block_on(teller.look(&self.world.snapshot()));
        self.runtime.block_on(teller.deliver(Clock::system().now()));
        let (documents, mails) = (self.web.heard().concat(), self.mail.heard().concat());
        let book = self.world.document("notices.json");
        let served = Served::of(self.world);
        let [page, metrics, health] = ["/", "/metrics", "/healthz"].map(|path| served.get(path).2);
        for (what, text) in [
            ("webhook", &documents),
            ("mail", &mails),
            ("book", &book),
            ("page", &page),
            ("metrics", &metrics),
            ("health", &health),
        ] {
            let lower = text.to_lowercase();
            assert!(!lower.contains("canary") && !lower.contains("6421777"), "{stage}: {what}: {text}");
            unmarked(&format!("{stage}: {what}"), text);
        }
        for text in told {
            assert!(page.contains(text), "{stage}: {text:?} is not on the page: {page}");
        }
        assert!(!documents.is_empty() && !mails.is_empty(), "{stage}: nothing was told");
    }
}

/// Fails where a text still holds what marks a name inside the program.
fn unmarked(what: &str, text: &str) {
    assert!(!text.contains(['\u{fdd0}', '\u{fdd1}']), "{what} holds marks: {text}");
}

#[test]
fn law_11_trouble_of_every_kind_names_no_one_where_it_is_shown_to_all() {
    let (web, mail) = (Listener::start(Listener::http), Listener::start(Listener::smtp));
    let world = World::with(Options { accept_duplicates: true, ..Options::default() }, config(&web, &mail));
    let seen = Seen { world: &world, web: &web, mail: &mail, runtime: Runtime::new().unwrap() };
    world.put("staff.csv", (1..41).fold(HEAD.to_owned(), |file, at| file + &usual(at, "Clerk")).as_bytes());
    world.run(&["sync", "staff"]).expect(0);
    trouble(&world);
    let ran = world.run(&["sync"]).expect(4);
    unmarked("sync", &format!("{}{}", ran.out, ran.err));
    for text in SHOWN {
        assert!(ran.out.contains(text), "{text:?} is not shown: {}", ran.out);
    }
    let file = std::fs::read_to_string(world.dir().join("staff.csv")).unwrap();
    let rows = [
        row("R1", "", "r1", 107, "Clerk", "B").replace("CanaryName ,", ","),
        row("R3", "R3", "r3", 109, "Clerk", "B"),
        row("R3", "R3 again", "r3", 109, "Clerk", "B"),
    ];
    world.put("staff.csv", (file.clone() + &rows.concat()).as_bytes());
    let ran = world.run(&["sync", "staff"]).expect(4);
    unmarked("sync", &format!("{}{}", ran.out, ran.err));
    for text in SHOWN_OF_ROWS {
        assert!(ran.out.contains(text), "{text:?} is not shown: {}", ran.out);
    }
    seen.check("rows whose key can't be trusted", &["key … stands in several rows", "not known here (…)"]);
    world.put("staff.csv", file.as_bytes());
    world.run(&["sync", "staff"]).expect(4);
    seen.check(
        "trouble",
        &[
            "segment &quot;…&quot;: max_leavers",
            "whose key … is gone",
            "belongs to key … of job staff",
            "(…: name)",
            "(422",
        ],
    );
    for (code, arguments) in [
        (4, &["status"][..]),
        (4, &["status", "--json"]),
        (4, &["sync", "--json"]),
        (0, &["plan"]),
        (0, &["plan", "--json"]),
        (0, &["history", "--json"]),
        (0, &["explain", "staff", "CanaryT2"]),
        (1, &["approve", "staff", "CanaryC1"]),
        (0, &["queue", "list"]),
        (0, &["plan", "--out", "plan.json"]),
    ] {
        let ran = world.run(arguments).expect(code);
        unmarked(&format!("{arguments:?}"), &format!("{}{}", ran.out, ran.err));
    }
    unmarked("plan file", &std::fs::read_to_string(world.dir().join("plan.json")).unwrap());
    let file = std::fs::read_to_string(world.dir().join("staff.csv")).unwrap();
    world.put("staff.csv", (file + &row("R4", "R4", "r4", 110, "Clerk", "B,canary cell")).as_bytes());
    assert!(world.run(&["sync"]).expect(4).out.contains("incomplete read"));
    seen.check("a row that can't be read", &["incomplete read", "<td>41</td>"]);
    world.run(&["pause", "staff"]).expect(0);
    world.put("other.csv", b"no header of ours\n");
    world.run(&["sync"]).expect(1);
    seen.check("paused and failing", &["paused since", "failed"]);
    // The log names people by key, and by nothing else.
    world.run(&["resume"]).expect(0);
    let daemon = world.daemon_with(&["run"], |command| {
        command.env("ROSTERD_LOG", "debug");
    });
    daemon.signal(rustix::process::Signal::USR1);
    eventually("both jobs have run", || daemon.ended().len() >= 2);
    let log = daemon.log();
    unmarked("log", &log);
    assert!(log.contains("CanaryT1") && !log.contains("CanaryName") && !log.contains("canary-"), "{log}");
}
