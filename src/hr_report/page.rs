//! The report as a page.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Zoned;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde::Serialize;

use super::language::{Sentences, filled};
use super::{FileMessage, HrReport, Language, ReportLine, RowOutcome, Verdict};
use crate::web::templates;

/// How many lines of one kind the page lists; the rest is in the table.
const LISTED_MAX: usize = 200;

/// What a row begins with, in a table and in a list of those with one reason. The template has each in a line of its own.
const ROW: &str = "<tr><td";
const ENTRY: &str = "<li><b>";

const BASE: &str = concat!(include_str!("../web/base.html"), include_str!("head.html"));

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| templates(&[("page", include_str!("page.html"))]));

/// The outcomes that have a list of their own, in this order.
const LISTED: [RowOutcome; 12] = [
    RowOutcome::NotUsed,
    RowOutcome::ValueNotUsed,
    RowOutcome::Missing,
    RowOutcome::Refused,
    RowOutcome::Waiting,
    RowOutcome::Superseded,
    RowOutcome::NotYet,
    RowOutcome::Dropped,
    RowOutcome::Added,
    RowOutcome::Changed,
    RowOutcome::Removed,
    RowOutcome::NotIncluded,
];

/// The text of what stands in a page.
pub fn text_of(markup: &str) -> String {
    let signs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    signs.iter().fold(markup.to_owned(), |text, (sign, character)| text.replace(sign, character))
}

/// Whether what begins with these bytes is such a page.
pub fn is_page(head: &[u8]) -> bool {
    !head.is_empty() && Language::all().any(|language| head_in(language).as_bytes().starts_with(head))
}

/// The key, as markup, in a line of the page that is about one row, and the rest of that line: each has a line of its own.
pub fn keyed(line: &str) -> Option<(&str, &str)> {
    let in_table = || line.strip_prefix(ROW)?.split_once("</td><td>")?.1.split_once("</td>");
    let in_list = || line.strip_prefix(ENTRY)?.split_once("</b>");
    in_table().or_else(in_list)
}

/// Writes the page.
pub fn page(hr_report: &HrReport) -> String {
    let made = TEMPLATES
        .get_template("page")
        .and_then(|template| template.render(Value::from(Serde(PageData::of(hr_report)))));
    format!("{}{}", head_in(hr_report.language), made.expect("the template fits what it is given"))
}

/// What every page in a language begins with.
fn head_in(language: Language) -> String {
    format!("<!DOCTYPE html>\n<html lang=\"{}\">\n{BASE}", language.code())
}

/// What the template shows.
#[derive(Serialize)]
struct PageData<'a> {
    words: Words<'a>,
    mood: &'static str,
    title: &'a str,
    file: &'a str,
    sentence: &'a str,
    decide: Option<&'a str>,
    contact: Option<String>,
    updated: Option<String>,
    newer: Option<String>,
    messages: Vec<&'a FileMessage>,
    /// The language of what is not translated, where it is another.
    english: Option<&'static str>,
    counts: Vec<Count<'a>>,
    sections: Vec<Section<'a>>,
    footer: String,
}

/// The sentences that the template itself shows.
#[derive(Serialize)]
struct Words<'a> {
    whole_file: &'a str,
    decide: &'a str,
    row: &'a str,
    key: &'a str,
    why: &'a str,
    value: &'a str,
    for_it: &'a str,
}

#[derive(Serialize)]
struct Count<'a> {
    name: &'a str,
    count: usize,
}

/// A list of lines with one outcome, its heading, and what to do about them.
#[derive(Serialize)]
struct Section<'a> {
    heading: &'a str,
    count: usize,
    help: &'a str,
    groups: Vec<ReasonGroup<'a>>,
    lines: Vec<Line<'a>>,
    has_reasons: bool,
    has_values: bool,
    more: Option<String>,
}

/// Lines with one reason.
#[derive(Serialize)]
struct ReasonGroup<'a> {
    count: usize,
    reason: &'a str,
    in_english: bool,
    lines: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    row: Option<u64>,
    key: &'a str,
    reason: &'a str,
    in_english: bool,
    value: &'a str,
}

impl<'a> PageData<'a> {
    fn of(hr_report: &'a HrReport) -> Self {
        let HrReport { language, file, job, verdict, lines, .. } = hr_report;
        let sentences = language.sentences();
        let words = &sentences.verdicts[verdict];
        let time = |at: &Zoned| at.strftime(&sentences.date).to_string();
        let waits = hr_report.count(RowOutcome::Waiting) > 0;
        let sections = LISTED.into_iter().filter_map(|outcome| Section::of(lines, outcome, sentences));
        Self {
            words: Words {
                whole_file: &sentences.whole_file,
                decide: &sentences.decide,
                row: &sentences.row,
                key: &sentences.key,
                why: &sentences.why,
                value: &sentences.value,
                for_it: &sentences.for_it,
            },
            mood: mood(*verdict),
            title: &words.title,
            file,
            sentence: &words.sentence,
            decide: hr_report.decide_at.as_deref().filter(|_| waits),
            contact: hr_report.contact.as_ref().map(|contact| filled(&sentences.contact, "contact", contact)),
            updated: hr_report.updated.as_ref().map(|at| filled(&sentences.updated, "at", &time(at))),
            newer: hr_report.newer.as_ref().map(|newer| filled(&sentences.newer, "file", newer)),
            messages: hr_report.messages().collect(),
            english: (*language != Language::En).then_some("en"),
            counts: counts(hr_report, sentences),
            sections: sections.collect(),
            footer: filled(&filled(&sentences.footer, "at", &time(&hr_report.at)), "job", job),
        }
    }
}

fn mood(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Used | Verdict::Again => "good",
        Verdict::Missing | Verdict::Partly | Verdict::Waits | Verdict::Superseded => "look",
        Verdict::NotUsed => "bad",
    }
}

/// How many there are of each; those that people look for first also where there are none.
fn counts<'a>(hr_report: &HrReport, sentences: &'a Sentences) -> Vec<Count<'a>> {
    use RowOutcome::{
        Added, Changed, Dropped, Missing, NotIncluded, NotUsed, NotYet, Refused, Removed, Superseded, Unchanged,
        ValueNotUsed, Waiting,
    };
    const SHOWN: [RowOutcome; 13] = [
        Added,
        Changed,
        Removed,
        Unchanged,
        NotIncluded,
        NotYet,
        Waiting,
        Superseded,
        Dropped,
        Refused,
        Missing,
        NotUsed,
        ValueNotUsed,
    ];
    if hr_report.lines.is_empty() {
        return Vec::new();
    }
    let all = SHOWN.iter().map(|outcome| (outcome, hr_report.count(*outcome)));
    all.filter(|(outcome, count)| *count > 0 || matches!(outcome, Added | Changed | Removed | NotUsed))
        .map(|(outcome, count)| Count { name: &sentences.outcomes[outcome].count, count })
        .collect()
}

impl<'a> Section<'a> {
    fn of(lines: &'a [ReportLine], outcome: RowOutcome, sentences: &'a Sentences) -> Option<Self> {
        let lines: Vec<&ReportLine> = lines.iter().filter(|line| line.outcome == outcome).collect();
        if lines.is_empty() {
            return None;
        }
        let words = &sentences.outcomes[&outcome];
        let shown = |line: &'a ReportLine| Line {
            row: line.row,
            key: line.key.as_deref().unwrap_or(&sentences.unknown_key),
            reason: &line.reason,
            in_english: line.in_english,
            value: line.value.as_deref().unwrap_or_default(),
        };
        let (groups, singles) = grouped(&lines);
        let mut left = LISTED_MAX;
        let mut listed = Vec::new();
        for group in groups {
            let lines: Vec<Line<'a>> = group.iter().take(left).map(|line| shown(line)).collect();
            left -= lines.len();
            let Line { reason, in_english, .. } = shown(group[0]);
            listed.push(ReasonGroup { count: group.len(), reason, in_english, lines });
        }
        let singles: Vec<Line<'a>> = singles.into_iter().take(left).map(shown).collect();
        let more = lines.len().checked_sub(LISTED_MAX).filter(|more| *more > 0);
        Some(Self {
            heading: &words.heading,
            count: lines.len(),
            help: &words.help,
            groups: listed,
            has_values: singles.iter().any(|line| !line.value.is_empty()),
            has_reasons: singles.iter().any(|line| !line.reason.is_empty()),
            lines: singles,
            more: more.map(|more| filled(&sentences.more, "count", &more.to_string())),
        })
    }
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
