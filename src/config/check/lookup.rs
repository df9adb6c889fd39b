//! Checks `[job.lookup.NAME]`: second sources that add values.

use super::section::Section;
use super::source;
use crate::config::options::Mode;
use crate::lookup::Lookup;
use crate::mapping::LookupOptions;

/// Words that mean something else in templates.
const RESERVED: &[&str] = &[
    "all", "and", "elif", "else", "false", "for", "if", "in", "is", "last", "left", "loop", "none", "not", "or",
    "self", "set", "source", "true", "with",
];

/// A lookup that was checked.
pub(super) struct Checked {
    /// How its rows are found. Templates are compiled with it in any case, so that their mistakes are reported together.
    pub(super) options: LookupOptions,
    /// `None` where anything is wrong with its source.
    pub(super) lookup: Option<Lookup>,
}

/// Checks the lookups of a job.
pub(super) fn check(job: &Section<'_>) -> Vec<Checked> {
    let all = job.section("lookup");
    let mut names: Vec<&str> = all.keys().collect();
    names.sort_unstable();
    names.into_iter().map(|name| one(job, name, &all.section(name))).collect()
}

fn one(job: &Section<'_>, name: &str, table: &Section<'_>) -> Checked {
    let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.is_empty()
        && !RESERVED.contains(&name);
    if !is_name {
        let hint = "use small letters, digits and `_`, such as \"directory\", and no word of the template language";
        table.problem("", format!("{name:?} is no name for a lookup"), Some(hint));
    }
    let on =
        template(table, "on", "say what of a row of the job's own source is sought, such as \"{{ email | lower }}\"");
    let key = template(table, "key", "say what of a row of the lookup is found, such as \"{{ mail | lower }}\"");
    let mapped = job.texts("map");
    let is_named = |text: &String| text.contains(&format!("{name}.")) || text.contains(&format!("{name}["));
    if !mapped.values().any(is_named) {
        let hint = format!("name a column of it in [job.map], as {{{{ {name}.mail }}}}, or leave it out");
        table.warning("", "no template names it", Some(&hint));
    }
    let from = table.section("source");
    // Its secrets are its own: `JOB.NAME.password`.
    let called = job.text("name").map(|job| format!("{job}.{name}"));
    let source = source::check(&from, called.as_deref()).and_then(|source::Checked { source, mode, inbox, .. }| {
        // What can't be looked at may be a file that comes later.
        let is_meant =
            || from.has("order") || from.has("pattern") || from.text("path").is_some_and(|path| path.ends_with('/'));
        if inbox.is_some_and(|inbox| inbox.dir.is_dir() || is_meant()) {
            return from.wrong("path", "is an inbox, and a lookup is one file", Some("name the file itself"));
        }
        if mode == Mode::Changes {
            return from.wrong("mode", "a lookup is always read whole", Some("leave it out"));
        }
        if from.has("expect_every") {
            return from.wrong("expect_every", "is of no use in a lookup", Some("leave it out"));
        }
        Some(source)
    });
    let optional = from.list("optional");
    let options =
        LookupOptions { name: name.to_owned(), on, key, optional, photos: super::mapping::photo_cells(&from) };
    Checked { options, lookup: source.map(|source| Lookup { name: name.to_owned(), source, loaded: None }) }
}

fn template(table: &Section<'_>, key: &str, hint: &str) -> String {
    let Some(text) = table.required(key, hint) else { return String::new() };
    if super::mapping::is_constant(text) {
        table.problem(key, "is the same text for every row", Some(hint));
    }
    text.to_owned()
}
