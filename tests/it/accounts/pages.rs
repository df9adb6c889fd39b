//! Page and metrics of several accounts at one address.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::monitoring::page::tool;
use crate::support::accounts::Accounts;
use crate::support::daemon::eventually;
use crate::support::looked::get;
use crate::support::ports::free_address;
use crate::support::{Config, people};

#[test]
fn every_series_of_an_account_has_its_name_and_prometheus_takes_them() {
    let accounts = Accounts::of(&["north", "south"]);
    for (name, last) in [("north", 4), ("south", 6)] {
        accounts.put(&format!("{name}/staff.csv"), &people(1..last));
    }
    let daemon = accounts.daemon();
    daemon.signal(Signal::USR1);
    let mut text = String::new();
    eventually("both runs are seen", || {
        text = get(accounts.address, "/metrics").2;
        [("north", 3), ("south", 5)].iter().all(|(name, known)| {
            let known = format!("rosterd_job_known_records{{account=\"{name}\",job=\"staff\"}} {known}");
            let run = format!("rosterd_runs_total{{account=\"{name}\",job=\"staff\",status=\"done\"}} 1");
            [known, run].iter().all(|line| text.lines().any(|written| written == line))
        })
    });
    let series = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("rosterd_build_info"));
    for line in series {
        assert!(line.contains("{account=\"north\"") || line.contains("{account=\"south\""), "{line}");
    }
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    assert_eq!(heads.len(), heads.iter().collect::<BTreeSet<_>>().len(), "each figure has one head");
    let Some(promtool) = tool("promtool") else { return };
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let checked = check.wait_with_output().unwrap();
    assert!(checked.status.success() && checked.stderr.is_empty() && checked.stdout.is_empty(), "{checked:?}");
    assert!(daemon.stop().success());
}

#[test]
fn a_table_leads_to_each_account_and_another_address_is_another_page() {
    let mut accounts = Accounts::of(&["north", "south"]);
    let other = free_address();
    accounts.add("apart", Config::rest(&format!("[status]\nlisten = \"{other}\"\nhosts = [\"apart.example.com\"]\n")));
    let daemon = accounts.daemon();
    let (status, _, page) = get(accounts.address, "/");
    assert_eq!(status, 200);
    for name in ["north", "south"] {
        assert!(page.contains(&format!("<a href=\"/account/{name}\">{name}</a>")), "{page}");
        let (status, _, page) = get(accounts.address, &format!("/account/{name}"));
        assert!(status == 200 && page.contains(&format!("{name}: Nothing has run yet")), "{page}");
        assert!(page.contains(&format!("/account/{name}?reload")), "{page}");
    }
    assert!(!page.contains("apart"), "{page}");
    assert_eq!(get(accounts.address, "/account/apart").0, 404);
    let (_, _, page) = get(other, "/");
    assert!(page.contains("/account/apart") && !page.contains("north"), "{page}");
    assert!(get(accounts.address, "/?reload").1.contains("refresh: 60"));
    assert!(daemon.stop().success());
}
