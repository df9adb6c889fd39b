//! The alerts: each fires when it should and not before, and says where to read what to do.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::monitoring::page::tool;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The alerts of the rules, each with its text.
fn alerts() -> Vec<(String, String)> {
    let rules = read("alerts/rosterd.rules.yml");
    let alerts = rules.split("- alert: ").skip(1).map(|rule| {
        let (name, text) = rule.split_once('\n').unwrap();
        (name.to_owned(), text.to_owned())
    });
    let alerts: Vec<_> = alerts.collect();
    assert!(alerts.len() > 5);
    alerts
}

#[test]
fn each_alert_fires_when_it_should_and_not_before() {
    let tests = read("alerts/rosterd.test.yml");
    let cases: BTreeSet<&str> =
        tests.lines().filter_map(|line| Some(line.strip_prefix("  - name: ")?.split(',').next().unwrap())).collect();
    let names = alerts().into_iter().map(|(name, _)| name).collect::<BTreeSet<String>>();
    let tried: BTreeSet<String> =
        cases.into_iter().filter(|case| case.starts_with("Rosterd")).map(str::to_owned).collect();
    assert_eq!(names, tried, "each alert has a case, and each case an alert");
    let Some(promtool) = tool("promtool") else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("alerts");
    let ran = Command::new(promtool).args(["test", "rules", "rosterd.test.yml"]).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn each_alert_says_where_to_read_what_to_do() {
    let page = read("docs/alerts.md");
    for (name, text) in alerts() {
        let runbook = format!("runbook: docs/alerts.md#{}\n", name.to_lowercase());
        assert!(format!("{text}\n").contains(&runbook), "{name}: {text}");
        let section = page.split(&format!("\n## {name}\n")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{name} has no section")).split("\n#").next().unwrap();
        assert!(section.contains("**What to do.** ") && section.len() > 150, "{name}: {section}");
    }
    let sections = page.lines().filter_map(|line| line.strip_prefix("## Rosterd"));
    assert_eq!(sections.count(), alerts().len(), "a section for each alert, and no other");
}
