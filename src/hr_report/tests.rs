use super::table::harmless;
use super::*;

pub(super) fn hr_report() -> HrReport {
    let line = |row, key: &str, outcome, reason: &str| ReportLine {
        row,
        key: Some(key.to_owned()),
        outcome,
        reason: reason.to_owned(),
        value: None,
        in_english: false,
    };
    HrReport {
        file: "staff <b>.csv".into(),
        job: "employees".into(),
        at: "2026-11-21T09:30:00+13:00[Pacific/Auckland]".parse().unwrap(),
        verdict: Verdict::Partly,
        messages: vec![Language::En.in_english("the file ends in its header".to_owned())],
        while_missing: Vec::new(),
        while_waiting: Vec::new(),
        updated: None,
        newer: None,
        lines: vec![
            line(Some(2), "=cmd()", RowOutcome::Added, ""),
            ReportLine {
                value: Some("=1+1".into()),
                ..line(Some(3), "</td><script>alert(1)</script>", RowOutcome::NotUsed, "\"a\" & 'b'\nc")
            },
            line(None, "E7\u{202e}", RowOutcome::Removed, ""),
        ],
        delimiter: b';',
        language: Language::En,
        contact: None,
        decide_at: None,
    }
}

#[test]
fn fault_90_no_cell_is_a_formula() {
    for (cell, expected) in [
        ("=1+1", "'=1+1"),
        ("+64", "'+64"),
        ("-1", "'-1"),
        ("@a", "'@a"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\nx", "'\nx"),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠a", "'＠a"),
        (" =1", "' =1"),
        ("\u{200b}=1", "'\u{200b}=1"),
        ("E00001", "E00001"),
        ("a=b", "a=b"),
        ("", ""),
    ] {
        assert_eq!(harmless(cell), expected, "{cell:?}");
    }
}

#[test]
fn the_table_has_a_mark_the_files_delimiter_and_a_line_for_each_row() {
    let expected = "\u{feff}row;key;outcome;reason;value\r\n;;file;the file ends in its header;\r\n2;'=cmd();added;;\r\n3;</td><script>alert(1)</script>;not used;\"\"\"a\"\" & 'b'\nc\";'=1+1\r\n;E7\u{202e};removed;;\r\n";
    assert_eq!(String::from_utf8(table(&hr_report())).unwrap(), expected);
}

#[test]
fn fault_90_no_text_of_the_page_is_markup() {
    let page = page(&hr_report());
    assert!(!page.contains("<script") && !page.contains("<b>.csv") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&quot;a&quot; &amp; &#39;b&#39; c"));
    assert!(page.contains("21 November 2026 at 09:30 (Pacific/Auckland)"));
    assert!(page.contains("Rows that were not used (1)"));
}

/// The lines of a page that name a person.
fn named(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| keyed(line).map(|(key, _)| key)).collect()
}

#[test]
fn a_page_lists_so_many_and_counts_the_rest() {
    for reason in ["why", ""] {
        let line = ReportLine {
            row: Some(2),
            key: Some("E1".into()),
            outcome: RowOutcome::NotUsed,
            reason: reason.into(),
            value: None,
            in_english: false,
        };
        let page = page(&HrReport { lines: vec![line; 1000], ..hr_report() });
        assert_eq!(named(&page), ["E1"; 200]);
        assert!(page.contains("… and 800 more: see the table."));
    }
}

#[test]
fn equal_reasons_are_shown_once_with_everybody_they_concern() {
    let lines = (2..62).map(|row| ReportLine {
        row: (row != 9).then_some(row),
        key: Some(format!("E{row}")),
        outcome: RowOutcome::Waiting,
        reason: if row == 5 { "its own".into() } else { "too <many>".into() },
        value: (row == 5 || row == 6).then(|| "<i>".into()),
        in_english: false,
    });
    let page = page(&HrReport { lines: lines.collect(), ..hr_report() });
    assert_eq!(page.matches("too &lt;many&gt;").count(), 1, "{page}");
    assert!(page.contains("<h3>59 × <span>too &lt;many&gt;</span></h3>"), "{page}");
    assert!(
        page.contains("<b>E2</b> row 2</li>")
            && page.contains("<b>E6</b> row 6 <q>&lt;i&gt;</q></li>")
            && page.contains("<b>E9</b></li>"),
        "{page}"
    );
    assert!(page.contains(">5</td><td>E5</td><td>its own</td><td><q>&lt;i&gt;</q></td>"), "{page}");
    let mut everybody: Vec<String> = (2..62).map(|row| format!("E{row}")).collect();
    everybody.sort();
    let mut named: Vec<&str> = named(&page);
    named.sort();
    assert_eq!(named, everybody, "each has a line, by which they can be taken out");
}

#[test]
fn in_every_language_a_report_is_known_for_one_and_names_its_people_its_contact_and_the_page_of_decisions() {
    for language in Language::all() {
        let waits = ReportLine {
            row: Some(9),
            key: Some("E9".into()),
            outcome: RowOutcome::Waiting,
            reason: "x".into(),
            value: None,
            in_english: false,
        };
        let hr_report = HrReport {
            language,
            contact: Some("<desk>".into()),
            decide_at: Some("https://approve.example.com/held/employees".into()),
            lines: hr_report().lines.into_iter().chain([waits]).collect(),
            ..hr_report()
        };
        let page = page(&hr_report);
        assert!(is_page(&page.as_bytes()[..64]), "{language:?}");
        assert_eq!(
            named(&page),
            ["&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;", "E9", "=cmd()", "E7\u{fffd}"],
            "{page}"
        );
        assert!(page.contains("&lt;desk&gt;") && !page.contains("<desk>"), "{language:?}");
        assert!(page.contains("<a href=\"https://approve.example.com/held/employees\">"), "{language:?}");
        assert!(!page.rsplit("</style>").next().unwrap().contains('{'), "every place is filled: {page}");
        let table = table(&hr_report);
        assert_eq!(delimiter_of(&table[..64]), Some(b';'), "{language:?}");
    }
    for other in ["row;key;outcome;reason", "\u{feff}row;key;title", "\u{feff}rowx", ""] {
        assert_eq!(delimiter_of(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn what_is_only_said_while_something_waits_goes_with_it() {
    let mut hr_report =
        HrReport { while_waiting: vec![Language::En.in_english("paused by it".to_owned())], ..hr_report() };
    assert_eq!(
        hr_report.messages().map(|message| message.text.as_str()).collect::<Vec<_>>(),
        ["the file ends in its header"]
    );
    hr_report.lines[1].outcome = RowOutcome::Waiting;
    assert_eq!(
        hr_report.messages().map(|message| message.text.as_str()).collect::<Vec<_>>(),
        ["the file ends in its header", "paused by it"]
    );
}
