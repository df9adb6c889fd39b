//! Reports in a real browser: nothing is cut off or overlaps, on a phone or a desk, by day or by night.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::inbox::{Inbox, world};
use crate::support::{HEADER, people};

/// Widths of a small phone, a phone, a tablet and a desk, in pixels.
const WIDTHS: [u32; 4] = [320, 390, 768, 1440];

/// A page that shows another in frames of each width and writes down how it came out. The page itself runs no script.
const FRAMES: &str = r#"<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><body style="margin:0"><pre id="found"></pre><script>
const found = [];
const measure = (frame, width) => {
  const page = frame.contentDocument, root = page.documentElement;
  frame.style.height = Math.min(root.scrollHeight, 2400) + "px";
  const outside = [...page.querySelectorAll("body *")].filter(element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && (box.right > width + 0.5 || box.left < -0.5);
  });
  const texts = ["h1", "header p", "td", "dt", "footer p"].map(name => page.querySelector(name)).filter(Boolean);
  const smallest = Math.min(...texts.map(element => parseFloat(frame.contentWindow.getComputedStyle(element).fontSize)));
  const style = element => frame.contentWindow.getComputedStyle(element);
  found.push({width, scroll: root.scrollWidth, outside: outside.map(element => element.outerHTML.slice(0, 80)), smallest,
    scripts: page.scripts.length, rows: page.querySelectorAll("tbody tr").length, ink: style(page.body).color,
    paper: style(page.body).backgroundColor});
  if (found.length === WIDTHS.length) document.getElementById("found").textContent = "FOUND" + JSON.stringify(found) + "END";
};
const WIDTHS = [WIDTHS_HERE];
for (const width of WIDTHS) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:2400px;border:0;display:block;margin-bottom:20px`;
  frame.onload = () => measure(frame, width);
  frame.srcdoc = PAGE_HERE;
  document.body.append(frame);
}
</script>"#;

/// The browser; none where this machine has none, which only a machine without duties may.
pub(crate) fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&folders).flat_map(|dir| names.map(|name| dir.join(name))).find(|path| path.exists());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "CI needs the package chromium");
    found
}

fn run(browser: &Path, home: &Path, dark: bool, further: &[&str]) -> String {
    let scheme =
        if dark { "--blink-settings=preferredColorScheme=0" } else { "--blink-settings=preferredColorScheme=1" };
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args([scheme, "--virtual-time-budget=10000"])
        .arg(format!("--user-data-dir={}", home.display()))
        .args(further)
        .env("HOME", home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How bright a colour such as `rgb(1, 2, 3)` is, from 0 to 1 (WCAG 2, relative luminance).
fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches(|c: char| !c.is_ascii_digit()).trim_end_matches(')');
    let parts: Vec<f64> = digits.split(',').take(3).map(|part| part.trim().parse::<f64>().unwrap() / 255.0).collect();
    let linear = |part: f64| if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
    0.2126 * linear(parts[0]) + 0.7152 * linear(parts[1]) + 0.0722 * linear(parts[2])
}

/// Looks at a page in frames of each width: nothing is cut off, all can be read.
pub(crate) fn look(browser: &Path, home: &Path, name: &str, page: &str, dark: bool) {
    let script = serde_json::to_string(page).unwrap().replace("</", "<\\/");
    let widths = WIDTHS.map(|width| width.to_string()).join(",");
    let frames = home.join(format!("{name}.html"));
    fs::write(&frames, FRAMES.replace("WIDTHS_HERE", &widths).replace("PAGE_HERE", &script)).unwrap();
    let url = format!("file://{}", frames.display());
    let dom = run(browser, home, dark, &["--dump-dom", &url]);
    let found = dom.split_once("FOUND").and_then(|(_, rest)| rest.split_once("END")).map(|(found, _)| found);
    let found = found.unwrap_or_else(|| panic!("{name}: the browser measured nothing: {dom}"));
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let found: Vec<Value> = serde_json::from_str(&found).unwrap();
    assert_eq!(found.len(), WIDTHS.len());
    for one in &found {
        assert_eq!(one["scroll"], one["width"], "{name} overflows sideways: {one}");
        assert_eq!(one["outside"], serde_json::json!([]), "{name}: something stands outside: {one}");
        assert!(one["smallest"].as_f64().unwrap() >= 14.0, "{name}: too small to read: {one}");
        assert_eq!(one["scripts"], 0, "{name}");
        let (ink, paper) = (luminance(one["ink"].as_str().unwrap()), luminance(one["paper"].as_str().unwrap()));
        assert_eq!(paper < ink, dark, "{name}: {one}");
        let contrast = (ink.max(paper) + 0.05) / (ink.min(paper) + 0.05);
        assert!(contrast >= 7.0, "{name}: contrast {contrast}: {one}");
    }
    examine(browser, home, name, page, dark);
    if let Some(folder) = std::env::var_os("ROSTERD_PICTURES") {
        let kind = if dark { "dark" } else { "light" };
        let picture = Path::new(&folder).join(format!("{name}-{kind}.png"));
        run(browser, home, dark, &[&format!("--screenshot={}", picture.display()), "--window-size=1440,5200", &url]);
    }
}

/// axe-core, which knows the rules of accessible pages and is installed by `tests/run`.
fn axe() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/axe/node_modules/axe-core/axe.min.js");
    let found = Some(path).filter(|path| path.exists());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "CI needs axe-core, which tests/run installs");
    found
}

/// Asks axe-core what keeps people with a screen reader, a keyboard or weak eyes from using a page: nothing may.
#[expect(clippy::print_stderr, reason = "a test says what it leaves out")]
pub(crate) fn examine(browser: &Path, home: &Path, name: &str, page: &str, dark: bool) {
    let Some(axe) = axe() else {
        eprintln!("skipped: no axe-core; `npm ci` in tests/it/monitoring/axe, as tests/run does it");
        return;
    };
    let script = format!(
        "<script src=\"file://{}\"></script><script>axe.run().then(found => document.title = 'AXE' + JSON.stringify(\
         [found.passes.length, found.violations.map(rule => [rule.id, rule.nodes.map(node => node.html)])]) + 'END');\
         </script></body>",
        axe.display()
    );
    // The policy of a page forbids every script.
    let page = page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"policy\"").replace("</body>", &script);
    let file = home.join(format!("{name}-axe.html"));
    fs::write(&file, page).unwrap();
    let dom = run(browser, home, dark, &["--dump-dom", &format!("file://{}", file.display())]);
    let found = dom.split_once("<title>AXE").and_then(|(_, rest)| rest.split_once("END</title>"));
    let (found, _) = found.unwrap_or_else(|| panic!("{name}: nothing was examined: {dom}"));
    let (passed, violations): (usize, Value) =
        serde_json::from_str(found).unwrap_or_else(|_| panic!("{name}: {found}"));
    assert_eq!(violations, serde_json::json!([]), "{name}");
    assert!(passed > 10, "{name}: only {passed} rules were asked");
}

/// Takes a picture of a page, at a width that the browser can't go below by itself (500 pixels) too: it looks at the page in a
/// frame. Returns the width and height of the picture.
pub(crate) fn picture(browser: &Path, home: &Path, name: &str, page: &str, width: u32, dark: bool) -> (u32, u32) {
    let height = 2600;
    let file = home.join(format!("{name}.html"));
    let script = serde_json::to_string(page).unwrap().replace("</", "<\\/");
    let framed = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\"><script>const frame = document.createElement('iframe');\
         frame.style.cssText = 'width:{width}px;height:{height}px;border:0;display:block'; frame.srcdoc = {script};\
         document.body.append(frame);</script>"
    );
    fs::write(&file, framed).unwrap();
    let folder = std::env::var_os("ROSTERD_PICTURES").map_or_else(|| home.to_owned(), PathBuf::from);
    let picture = folder.join(format!("{name}-{width}-{}.png", if dark { "dark" } else { "light" }));
    let (shot, size) = (format!("--screenshot={}", picture.display()), format!("--window-size={width},{height}"));
    run(browser, home, dark, &[&shot, &size, &format!("file://{}", file.display())]);
    // The header of a PNG: eight bytes that say so, then the first part with both sizes.
    let bytes = fs::read(&picture).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{}", picture.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert!(bytes.len() > 20_000, "{} is nearly empty: {} bytes", picture.display(), bytes.len());
    (number(16), number(20))
}

#[test]
fn reports_are_readable_on_a_phone_and_at_a_desk_by_day_and_by_night() {
    let Some(browser) = browser() else {
        eprintln!("skipped: no chromium on this machine");
        return;
    };
    let world = world("", "[job.guard]\nmax_updates = 0\n[job.leavers]\naction = \"delete\"\ngrace = \"0s\"\n");
    let inbox = Inbox(&world);
    let long = "X".repeat(180);
    let awkward = "<b>&\"'=1+1 \u{202e}ﷺ 員工 Ω".to_owned();
    let mut pages = Vec::new();
    let mut take = |name: &'static str, folder: &str| {
        pages.push((name, inbox.text(folder, ".report.html")));
        fs::remove_dir_all(inbox.path(folder)).unwrap();
        fs::create_dir(inbox.path(folder)).unwrap();
    };
    inbox.drop("staff-2026-11-14.csv", people(1..60));
    world.sync().expect(0);
    take("used", "processed");
    let bad = (100..112).map(|number| format!("P{number:05},,x{number}@example.com,Clerk\n")).collect::<String>();
    let odd = format!(
        "{long},Long Key,long@example.com,Clerk\n\"{}\",,odd@example.com,Clerk\n",
        awkward.replace('"', "\"\"")
    );
    let doubled = "P00077,One,one@example.com,A\nP00077,Two,two@example.com,B\n";
    inbox.drop(
        &format!("staff-2026-11-21-{}.csv", "long".repeat(25)),
        people(1..58).replace("Clerk", "Baker") + &bad + &odd + doubled,
    );
    world.sync().expect(4);
    take("waits", "processed");
    inbox.drop("staff-2026-11-22.csv", people(1..60) + &bad + &odd);
    world.sync().expect(3);
    take("partly", "processed");
    inbox.drop("staff-2026-11-23.csv", HEADER.replace("Title", "Position"));
    world.sync().expect(1);
    take("not-used", "failed");
    inbox.drop("Mitarbeiterliste November.xls", "PK");
    world.sync().expect(1);
    take("spreadsheet", "failed");
    let home = tempfile::tempdir().unwrap();
    for (name, page) in pages {
        look(&browser, home.path(), name, &page, false);
        look(&browser, home.path(), name, &page, true);
    }
}
