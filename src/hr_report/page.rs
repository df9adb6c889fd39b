//! The report as a page.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use jiff::Zoned;

use super::{HrReport, ReportLine, RowOutcome, Verdict};
use crate::text::Markup;

/// How many lines of one kind the page lists; the rest is in the table.
const LISTED_MAX: usize = 200;

/// What a row begins with, in a table and in a list of those with one reason.
const ROW: &str = "<tr><td>";
const ENTRY: &str = "<li><b>";

const HEAD: &str = concat!(include_str!("base.html"), include_str!("head.html"));

/// The text of what stands in a page.
pub fn text_of(markup: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    signs.iter().fold(markup.to_owned(), |text, (sign, character)| text.replace(sign, character))
}

/// Whether what begins with these bytes is such a page.
pub fn is_page(head: &[u8]) -> bool {
    !head.is_empty() && HEAD.as_bytes().starts_with(head)
}

/// The key, as markup, in a line of the page that is about one row, and the rest of that line: each has a line of its own.
pub fn keyed(line: &str) -> Option<(&str, &str)> {
    let in_table = || line.strip_prefix(ROW)?.split_once("</td><td>")?.1.split_once("</td>");
    let in_list = || line.strip_prefix(ENTRY)?.split_once("</b>");
    in_table().or_else(in_list)
}

/// Writes the page.
pub fn page(hr_report: &HrReport) -> String {
    let mut page = String::new();
    build(hr_report, &mut page).expect("memory takes everything");
    page
}

fn build(hr_report: &HrReport, page: &mut String) -> fmt::Result {
    let (class, title) = headline(hr_report.verdict);
    let file = Markup(&hr_report.file);
    page.push_str(HEAD);
    writeln!(page, "<title>{title}: {file}</title>\n</head>\n<body>\n<main>")?;
    writeln!(page, "<header class=\"{class}\">\n<h1>{title}</h1>")?;
    writeln!(page, "<p class=\"file\">{file}</p>")?;
    writeln!(page, "<p>{}</p>\n</header>", sentence(hr_report))?;
    if let Some(updated) = &hr_report.updated {
        writeln!(page, "<p>Brought up to date on {}, after what waited was decided on.", time(updated))?;
        if let Some(newer) = &hr_report.newer {
            writeln!(page, "Another file was read since, {}: its report tells what waits now.", Markup(newer))?;
        }
        writeln!(page, "</p>")?;
    }
    if !hr_report.messages.is_empty() {
        writeln!(page, "<section>\n<h2>About the whole file</h2>\n<ul class=\"plain\">")?;
        for message in &hr_report.messages {
            writeln!(page, "<li>{}</li>", Markup(message))?;
        }
        writeln!(page, "</ul>\n</section>")?;
    }
    counts(hr_report, page)?;
    for section in SECTIONS {
        list(hr_report, section, page)?;
    }
    writeln!(
        page,
        "<footer>\n<p>Read on {} by the job <b>{}</b>. People are named by their key only, the value that identifies them \
         in the file. “Row” is the line in the file; the first line is 1. Every row is in the table next to this \
         page, for a spreadsheet.</p>\n</footer>\n</main>\n</body>\n</html>",
        time(&hr_report.at),
        Markup(&hr_report.job)
    )
}

fn time(at: &Zoned) -> String {
    Markup(&at.strftime("%-d %B %Y at %H:%M (%Q)").to_string()).to_string()
}

fn headline(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Used => ("good", "The file was used"),
        Verdict::Missing => ("look", "The file was used, and people are missing from it"),
        Verdict::Partly => ("look", "The file was used in part"),
        Verdict::Waits => ("look", "The file was read, and something waits"),
        Verdict::NotUsed => ("bad", "The file was not used"),
        Verdict::Again => ("good", "This file was used before"),
    }
}

fn sentence(hr_report: &HrReport) -> &'static str {
    match hr_report.verdict {
        Verdict::Used => "Everything in it is done. There is nothing for you to do.",
        Verdict::Missing => {
            "Everything in it is done. People who were known before are not in it: if they have left, there is nothing for you \
             to do; if a filter was left on in the export, drop the whole list before they are removed."
        }
        Verdict::Partly => {
            "The rows that could be used are done. Please look at what is listed below, mend it in your system or the workbook, and \
             drop the next file as usual."
        }
        Verdict::Waits => {
            "Part of it changes so much, or is so unclear, that IT has to approve it first; the rest is done. If \
             the file is wrong, drop a corrected one: what waits is then computed again. If it is right, ask IT to approve."
        }
        Verdict::NotUsed => {
            "Nothing was changed, and no person was removed. Please do what is said below, and drop the file again."
        }
        Verdict::Again => {
            "It is the same, to the last character, as the one read before, so there was nothing to do. If you expected \
             changes, check that the export is a new one."
        }
    }
}

fn counts(hr_report: &HrReport, page: &mut String) -> fmt::Result {
    const SHOWN: [(RowOutcome, &str); 11] = [
        (RowOutcome::Added, "added"),
        (RowOutcome::Changed, "changed"),
        (RowOutcome::Removed, "removed"),
        (RowOutcome::Unchanged, "already right"),
        (RowOutcome::NotIncluded, "not included"),
        (RowOutcome::Waiting, "waiting"),
        (RowOutcome::Dropped, "rejected before"),
        (RowOutcome::Refused, "refused"),
        (RowOutcome::Missing, "missing"),
        (RowOutcome::NotUsed, "not used"),
        (RowOutcome::ValueNotUsed, "values not used"),
    ];
    if hr_report.lines.is_empty() {
        return Ok(());
    }
    writeln!(page, "<dl>")?;
    for (outcome, name) in SHOWN {
        let count = hr_report.count(outcome);
        if count > 0
            || matches!(outcome, RowOutcome::Added | RowOutcome::Changed | RowOutcome::Removed | RowOutcome::NotUsed)
        {
            writeln!(page, "<div><dt>{name}</dt><dd>{count}</dd></div>")?;
        }
    }
    writeln!(page, "</dl>")
}

/// A list of lines, its heading, and what to do about them.
struct Section {
    outcome: RowOutcome,
    heading: &'static str,
    help: &'static str,
}

const SECTIONS: &[Section] = &[
    Section {
        outcome: RowOutcome::NotUsed,
        heading: "Rows that were not used",
        help: "Nothing was done with these rows: the people in them stay as they are, or are not there yet. As long as such a row \
               may be anybody's, because its key is unreadable, unknown or in another row too, no person is removed for not being \
               in the file. Mend them in your system or the workbook; the next file brings them.",
    },
    Section {
        outcome: RowOutcome::ValueNotUsed,
        heading: "Values that were not used",
        help: "The rest of these rows was used. Each of these fields stays as it is, or empty for a new person, until the value \
               is mended in your system or the workbook.",
    },
    Section {
        outcome: RowOutcome::Missing,
        heading: "Not in this file",
        help: "These people were known before and are in no row. Was a filter left on in the export? A person who has not left must \
               be in the next file.",
    },
    Section {
        outcome: RowOutcome::Refused,
        heading: "Refused by the service",
        help: "The service did not take these. Mend what it says; a row that has changed is tried again.",
    },
    Section {
        outcome: RowOutcome::Waiting,
        heading: "Waiting",
        help: "Nothing happens to these until IT approves them, or, for a person who is on site, until they have left.",
    },
    Section {
        outcome: RowOutcome::Dropped,
        heading: "Rejected before",
        help: "A person rejected these. They stay so until the row changes.",
    },
    Section { outcome: RowOutcome::Added, heading: "Added", help: "" },
    Section { outcome: RowOutcome::Changed, heading: "Changed", help: "" },
    Section {
        outcome: RowOutcome::Removed,
        heading: "Removed",
        help: "Those who were in the file before and are not in this one, or whose row says so.",
    },
    Section {
        outcome: RowOutcome::NotIncluded,
        heading: "Not included",
        help: "These rows say that the person is not to be there.",
    },
];

fn list(hr_report: &HrReport, section: &Section, page: &mut String) -> fmt::Result {
    let lines: Vec<&ReportLine> = hr_report.lines.iter().filter(|line| line.outcome == section.outcome).collect();
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(page, "<section>\n<h2>{} ({})</h2>", section.heading, lines.len())?;
    if !section.help.is_empty() {
        writeln!(page, "<p>{}</p>", section.help)?;
    }
    let (groups, singles) = grouped(&lines);
    let mut left = LISTED_MAX;
    for group in groups {
        writeln!(page, "<h3>{} × {}</h3>\n<ul class=\"keys\">", group.len(), Markup(&group[0].reason))?;
        for line in group.iter().take(left) {
            let row = line.row.map(|row| format!(" row {row}")).unwrap_or_default();
            writeln!(page, "{ENTRY}{}</b>{row}</li>", key(line))?;
        }
        writeln!(page, "</ul>")?;
        left = left.saturating_sub(group.len());
    }
    let singles = &singles[..singles.len().min(left)];
    if !singles.is_empty() {
        table(singles, page)?;
    }
    if lines.len() > LISTED_MAX {
        writeln!(page, "<p>… and {} more: see the table.</p>", lines.len() - LISTED_MAX)?;
    }
    writeln!(page, "</section>")
}

/// Lines with one reason, each group of several in order of its first; then those that are alone with theirs, or have none.
fn grouped<'a>(lines: &[&'a ReportLine]) -> (Vec<Vec<&'a ReportLine>>, Vec<&'a ReportLine>) {
    let mut groups: Vec<Vec<&ReportLine>> = Vec::new();
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    let mut singles = Vec::new();
    for line in lines {
        if line.reason.is_empty() {
            singles.push(*line);
            continue;
        }
        let at = *by_reason.entry(&line.reason).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    let (groups, alone): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.len() > 1);
    singles.extend(alone.into_iter().flatten());
    (groups, singles)
}

fn table(lines: &[&ReportLine], page: &mut String) -> fmt::Result {
    let has_reasons = lines.iter().any(|line| !line.reason.is_empty());
    let why = if has_reasons { "<th>Why</th>" } else { "" };
    writeln!(page, "<table>\n<thead><tr><th>Row</th><th>Key</th>{why}</tr></thead>\n<tbody>")?;
    for line in lines {
        let row = line.row.map_or_else(|| "–".to_owned(), |row| row.to_string());
        write!(page, "{ROW}{row}</td><td>{}</td>", key(line))?;
        if has_reasons {
            write!(page, "<td>{}</td>", Markup(&line.reason))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</tbody>\n</table>")
}

fn key(line: &ReportLine) -> Markup<'_> {
    Markup(line.key.as_deref().unwrap_or("unknown"))
}
