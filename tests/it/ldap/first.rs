//! The first configuration that `init` writes for each kind of directory.

use crate::support::World;
use crate::support::scripted::{Asked, SEARCH, Said, Scripted, code, done};

const SUFFIX: &str = "dc=example,dc=org";
const USERS: &str = "cn=users,cn=accounts,dc=example,dc=org";
const ALL: [&str; 4] = ["cn=Ana", "sn=Lee", "mail=ana@example.com", "entryUUID=00000000-0000-0000-0000-000000000001"];

/// A server that calls itself so, and holds these entries: their names, and their attributes as `name=value`.
#[derive(Clone, Default)]
struct Directory {
    root: Vec<&'static str>,
    entries: Vec<(String, Vec<&'static str>)>,
    /// Entries that are there, though no account may see them.
    hidden: Vec<&'static str>,
}

impl Directory {
    fn of(root: &[&'static str]) -> Self {
        let mut root = root.to_vec();
        root.push("namingContexts=dc=example,dc=org");
        Self { root, ..Self::default() }
    }

    fn with(mut self, dn: &str, attributes: &[&[&'static str]]) -> Self {
        self.entries.push((dn.to_owned(), attributes.concat()));
        self
    }

    fn start(self) -> Scripted {
        Scripted::start(move |asked, _| match asked.operation {
            SEARCH => self.answer(asked),
            _ => vec![code(0, "")],
        })
    }

    fn answer(&self, asked: &Asked) -> Vec<Said> {
        if asked.name.is_empty() {
            return vec![entry("", &self.root), code(0, "")];
        }
        if asked.cookie.is_none() {
            let is_there = self.entries.iter().any(|(dn, _)| dn.ends_with(&asked.name));
            let is_hidden = self.hidden.contains(&asked.name.as_str());
            return match (is_there, is_hidden) {
                (true, _) => vec![entry(&asked.name, &[]), code(0, "")],
                (false, true) => vec![code(0, "")],
                (false, false) => vec![code(32, "")],
            };
        }
        let below = self.entries.iter().filter(|(dn, _)| dn.ends_with(&asked.name));
        let mut said: Vec<Said> = below.map(|(dn, attributes)| entry(dn, attributes)).collect();
        said.push(done(b""));
        said
    }
}

fn entry(dn: &str, attributes: &[&str]) -> Said {
    let pairs = attributes.iter().map(|pair| pair.split_once('=').unwrap());
    Said::Entry(dn.to_owned(), pairs.map(|(name, value)| (name.to_owned(), vec![value.into()])).collect())
}

fn active_directory() -> Directory {
    let plain = |guid| ["userAccountControl=512", "accountExpires=0", guid];
    let people = [
        ("CN=Administrator,CN=Users", plain("objectGUID=0123456789abcde1"), &["cn=x", "thumbnailPhoto=x"][..]),
        ("CN=rosterd,CN=Users", plain("objectGUID=0123456789abcde2"), &["displayName=rosterd"]),
        ("CN=Ana,OU=Sales,OU=Staff", plain("objectGUID=0123456789abcde3"), &["displayName=A", "mail=a@example.com"]),
        ("CN=Bob,OU=Staff", plain("objectGUID=0123456789abcde4"), &["displayName=Bob Ray", "employeeID=P2"]),
    ];
    let directory = Directory::of(&["supportedCapabilities=1.2.840.113556.1.4.800"]);
    people.iter().fold(directory, |directory, (name, plain, further)| {
        directory.with(&format!("{name},{SUFFIX}"), &[&plain[..], further])
    })
}

fn fedora() -> Directory {
    Directory::of(&["vendorName=389 Project"])
}

#[test]
fn init_fits_the_kind_of_directory() {
    struct Case {
        name: &'static str,
        directory: Directory,
        /// What stands behind the address.
        base: &'static str,
        has: &'static [&'static str],
        lacks: &'static [&'static str],
    }
    let unique = ["nsUniqueId=11111111-1111-1111-1111-111111111111"];
    let cases = [
        Case {
            name: "Active Directory",
            directory: active_directory(),
            base: "",
            has: &[
                "key = \"{{ objectGUID | guid }}\"",
                "include = \"{{ not (userAccountControl | bit(2)) and displayName != '' and (mail != '' or employeeID != '') }}\"",
                "leaves out 2 of 4 enabled accounts",
                "active_until = \"{{ accountExpires | filetime | last_day }}\"",
                "name = \"{{ displayName }}\"",
                "photo = \"{{ thumbnailPhoto }}\"",
                "base = \"dc=example,dc=org\"",
                "# base = \"OU=Staff,dc=example,dc=org\"",
                "segment = \"{{ dn | ou }}\"",
            ],
            lacks: &["{{ cn }}"],
        },
        Case {
            name: "Active Directory where nobody has a displayName",
            directory: Directory { entries: active_directory().entries[..1].to_vec(), ..active_directory() },
            base: "",
            has: &["include = \"{{ not (userAccountControl | bit(2)) }}\"", "name = \"{{ cn }}\""],
            lacks: &["displayName"],
        },
        Case {
            name: "389 Directory Server",
            directory: fedora().with(&format!("uid=ana,ou=people,{SUFFIX}"), &[&ALL[..3], &unique]),
            base: "",
            has: &[
                "(389 Directory Server)",
                "key = \"{{ nsUniqueId }}\"",
                "include = \"{{ (nsAccountLock | lower) != 'true' }}\"",
                "\"nsAccountLock\"",
                "segment = \"{{ dn | ou }}\"",
            ],
            lacks: &["active_until"],
        },
        Case {
            name: "FreeIPA",
            directory: fedora().with(&format!("uid=ana,{USERS}"), &[&ALL[..3], &["ipaUniqueID=a"]]),
            base: "",
            has: &[
                "(FreeIPA)",
                "base = \"cn=users,cn=accounts,dc=example,dc=org\"",
                "key = \"{{ ipaUniqueID }}\"",
                "include = \"{{ (nsAccountLock | lower) != 'true' }}\"",
                "active_until = \"{{ krbPrincipalExpiration | last_day }}\"",
            ],
            lacks: &[],
        },
        Case {
            name: "FreeIPA with a base of one's own",
            directory: fedora().with(&format!("uid=ana,{USERS}"), &[&ALL[..3], &["ipaUniqueID=a"]]),
            base: "/cn=accounts,dc=example,dc=org",
            has: &["(FreeIPA)", "\nbase = \"cn=accounts,dc=example,dc=org\""],
            lacks: &["\nbase = \"cn=users"],
        },
        Case {
            name: "389 Directory Server that hides what it has",
            directory: Directory {
                hidden: vec![USERS],
                ..fedora().with(&format!("uid=ana,ou=people,{SUFFIX}"), &[&ALL[..3], &unique])
            },
            base: "/ou=people,dc=example,dc=org",
            has: &["(389 Directory Server)", "base = \"ou=people,dc=example,dc=org\""],
            lacks: &["FreeIPA"],
        },
        Case {
            name: "a key that only some have",
            directory: fedora()
                .with(&format!("uid=ana,ou=people,{SUFFIX}"), &[&ALL, &unique])
                .with(&format!("uid=bob,ou=people,{SUFFIX}"), &[&ALL[..3], &unique]),
            base: "",
            has: &["key = \"{{ nsUniqueId }}\""],
            lacks: &["entryUUID"],
        },
        Case {
            name: "no key that everybody has",
            directory: Directory::of(&[])
                .with(&format!("uid=ana,ou=people,{SUFFIX}"), &[&ALL])
                .with(&format!("uid=bob,ou=people,{SUFFIX}"), &[&ALL[..3]]),
            base: "",
            has: &["\n# key = "],
            lacks: &["\nkey = "],
        },
    ];
    let world = World::default();
    for Case { name, directory, base, has, lacks } in cases {
        let server = directory.start();
        let printed = world.run(&["init", &format!("{}{base}", server.url())]).expect(0).out;
        has.iter().for_each(|line| assert!(printed.contains(line), "{name}: {line:?} in\n{printed}"));
        lacks.iter().for_each(|line| assert!(!printed.contains(line), "{name}: no {line:?} in\n{printed}"));
        assert!(!printed.contains("Ana") && !printed.contains("@example.com"), "{name}: nobody is shown\n{printed}");
    }
}

#[test]
fn what_init_writes_for_active_directory_makes_people_of_people_only() {
    let world = World::default();
    let server = active_directory().start();
    let printed = world.run(&["init", &server.url()]).expect(0).out;
    world.put_config(&world.filled_in(&printed));
    let plan = world.plan().expect(0).job();
    assert_eq!((plan["complete"].clone(), plan["new"].clone()), (true.into(), 2.into()), "{plan}");
    assert_eq!(plan["rejected"], serde_json::json!([]), "{plan}");
}

#[test]
fn init_that_saw_no_one_fails_with_a_form_and_what_to_do() {
    let world = World::default();
    let server = Directory::of(&[]).start();
    let ran = world.run(&["init", &server.url()]).expect(1);
    assert!(ran.out.contains("[job.source]") && ran.err.contains("--bind-dn"), "{ran:?}");
}
