use super::table::harmless;
use super::*;

pub(super) fn receipt() -> Receipt {
    let line = |row, key: &str, outcome, reason: &str| Line {
        row,
        key: Some(key.to_owned()),
        outcome,
        reason: reason.to_owned(),
    };
    Receipt {
        file: "staff <b>.csv".into(),
        job: "employees".into(),
        at: "2026-11-21T09:30:00+13:00[Pacific/Auckland]".parse().unwrap(),
        verdict: Verdict::Partly,
        messages: vec!["the file ends in its header".into()],
        holds: Vec::new(),
        updated: None,
        newer: None,
        lines: vec![
            line(Some(2), "=cmd()", Outcome::Added, ""),
            line(Some(3), "</td><script>alert(1)</script>", Outcome::NotUsed, "\"a\" & 'b'\nc"),
            line(None, "E7\u{202e}", Outcome::Removed, ""),
        ],
        delimiter: b';',
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
    let expected = "\u{feff}row;key;outcome;reason\r\n;;file;the file ends in its header\r\n2;'=cmd();added;\r\n3;</td><script>alert(1)</script>;not used;\"\"\"a\"\" & 'b'\nc\"\r\n;E7\u{202e};removed;\r\n";
    assert_eq!(String::from_utf8(table(&receipt())).unwrap(), expected);
}

#[test]
fn fault_90_no_text_of_the_page_is_markup() {
    let page = page(&receipt());
    assert!(!page.contains("<script") && !page.contains("<b>.csv") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&quot;a&quot; &amp; &#39;b&#39; c"));
    assert!(page.contains("21 November 2026 at 09:30 (Pacific/Auckland)"));
    assert!(page.contains("Rows that were not used (1)"));
}

#[test]
fn a_page_lists_so_many_and_counts_the_rest() {
    let line = Line { row: Some(2), key: None, outcome: Outcome::NotUsed, reason: "why".into() };
    let page = page(&Receipt { lines: vec![line; 1000], ..receipt() });
    assert_eq!(page.matches("<td>why</td>").count(), 200);
    assert!(page.contains("… and 800 more: see the table."));
}
